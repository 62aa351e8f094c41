// Schedules.
#include "server/api/api.hpp"
#include "server/api/payloads.hpp"
#include "server/api/views.hpp"

#include <utility>

namespace holdfast::server {

struct CreateScheduleBody {
  std::string id{};
  std::string orchestration{};
  ScheduleOptions options{};
  Json input{};
  std::optional<BytesBody> input_bytes{};
  HOLDFAST_REQUIRED(id, orchestration, options)
};
struct NoteBody {
  std::string note{};
};
struct TriggerBody {
  Overlap overlap = Overlap::allow;
};
struct BackfillBody {
  CalendarTime from{};
  CalendarTime until{};
  Overlap overlap = Overlap::all_after;
  HOLDFAST_REQUIRED(from, until)
};
struct ScheduleListView {
  std::vector<ScheduleInfo> schedules{};
};
struct ScheduleIdView {
  std::string id{};
};

HOLDFAST_TAKEN(CreateScheduleBody, "CreateSchedule");
HOLDFAST_TAKEN(ScheduleOptions, "ScheduleOptions");
HOLDFAST_TAKEN(ScheduleSpec, "ScheduleSpec");
HOLDFAST_TAKEN(CalendarSpec, "ScheduleCalendar");
HOLDFAST_TAKEN(IntervalSpec, "ScheduleInterval");
HOLDFAST_TAKEN(NoteBody, "Note");
HOLDFAST_TAKEN(TriggerBody, "TriggerSchedule");
HOLDFAST_TAKEN(BackfillBody, "BackfillSchedule");
HOLDFAST_GIVEN(ScheduleRun, "ScheduleRun");
HOLDFAST_GIVEN(ScheduleCounts, "ScheduleCounts");
HOLDFAST_GIVEN(ScheduleInfo, "Schedule");
HOLDFAST_GIVEN(ScheduleListView, "ScheduleList");
HOLDFAST_GIVEN(ScheduleIdView, "ScheduleId");

namespace {

Schedule schedule_of(const Asked& asked) { return asked.client().schedule(asked.part("id")); }

ScheduleListView all_schedules(const Asked& asked) {
  ScheduleListView shown;
  for (const Schedule& schedule : asked.client().schedules()) {
    try {
      shown.schedules.push_back(schedule.describe());
    } catch (const ClientError& error) {
      if (error.kind() != ClientError::Kind::not_found) throw;  // it was deleted meanwhile
    }
  }
  return shown;
}

ScheduleIdView create_schedule(const Asked& asked, const CreateScheduleBody& body) {
  Client client = asked.client();
  const Payload payload = payload_of(body.input, body.input_bytes, "body.input");
  return {client.create_schedule(body.id, body.orchestration, body.options, payload).id()};
}

}  // namespace

void add_schedules(Endpoints& endpoints) {
  const std::string one = "/schedules/{id}";
  const auto change = [&](const char* method, const std::string& path, const char* operation) {
    return below_namespace(method, path, operation, true);
  };
  endpoints.add<Nothing, ScheduleListView>(below_namespace("GET", "/schedules", "list_schedules"),
                                           {.summary = "Schedules, the newest first"}, all_schedules);
  endpoints.add<CreateScheduleBody, ScheduleIdView>(
      change("POST", "/schedules", "create_schedule"),
      {.summary =
           "Start an orchestration again and again; the same again with the same id gives the same schedule",
       .status = 201},
      create_schedule);
  endpoints.add<Nothing, ScheduleInfo>(below_namespace("GET", one, "get_schedule"),
                                       {.summary = "A schedule, its next times and its last runs"},
                                       [](const Asked& asked) { return schedule_of(asked).describe(); });
  endpoints.add<Nothing, Nothing>(
      change("DELETE", one, "delete_schedule"), {.summary = "Remove a schedule; what it has started goes on"},
      [](const Asked& asked) { asked.client().delete_schedule(asked.part("id")); });
  endpoints.add<ScheduleOptions, Nothing>(
      change("PUT", one + "/options", "update_schedule"), {.summary = "Take the place of its options"},
      [](const Asked& asked, const ScheduleOptions& options) { schedule_of(asked).update(options); });
  endpoints.add<NoteBody, Nothing>(
      change("POST", one + "/pause", "pause_schedule"),
      {.summary = "Its times start nothing until it is resumed"},
      [](const Asked& asked, const NoteBody& body) { schedule_of(asked).pause(body.note); });
  endpoints.add<NoteBody, Nothing>(
      change("POST", one + "/resume", "resume_schedule"), {.summary = "Its times count again"},
      [](const Asked& asked, const NoteBody& body) { schedule_of(asked).resume(body.note); });
  endpoints.add<TriggerBody, Nothing>(change("POST", one + "/trigger", "trigger_schedule"),
                                      {.summary = "Start one run now"},
                                      [](const Asked& asked, const TriggerBody& body) {
                                        schedule_of(asked).trigger({.overlap = body.overlap});
                                      });
  endpoints.add<BackfillBody, Nothing>(
      change("POST", one + "/backfill", "backfill_schedule"),
      {.summary = "Start what its times between two moments would have started"},
      [](const Asked& asked, const BackfillBody& body) {
        schedule_of(asked).backfill(body.from, body.until, {.overlap = body.overlap});
      });
}

}  // namespace holdfast::server
