#include "client/core.hpp"
#include "schedules/state.hpp"
#include "schedules/times.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/schedule.hpp>

#include <optional>
#include <string>
#include <utility>

namespace holdfast {

std::string_view to_string(Overlap overlap) noexcept { return detail::enum_name(overlap); }

namespace {

constexpr std::size_t kTimesShown = 5;

ScheduleRun shown(const schedules::Started& run) {
  return {.id = run.id, .time = run.time, .existed = run.existed, .ended = run.ended};
}

std::vector<CalendarTime> next_of(const schedules::Progress& progress) {
  if (progress.options.paused || !progress.handled_until) return {};
  return next_times(progress.options.spec, *progress.handled_until, kTimesShown);
}

void send(const Run& run, const schedules::Command& command) { run.send(schedules::kCommands, command); }

}  // namespace

Schedule Client::create_schedule_with(std::string_view id, std::string_view orchestration,
                                      const ScheduleOptions& options, Payload input) {
  schedules::check_options(options);
  schedules::check_input(input);
  const std::string checked_id = schedules::checked_id(id);
  const schedules::State state{.orchestration = detail::checked_name("an orchestration", orchestration),
                               .input = {std::string(input.encoding.id()), std::move(input.bytes)},
                               .progress = {.options = options}};
  try {
    return Schedule(start(schedules::kOrchestration, {.id = checked_id}, state));
  } catch (const ClientError& e) {
    const std::optional<Run> there = find(id);
    if (e.kind() != ClientError::Kind::conflict || !there ||
        there->info().orchestration != schedules::kOrchestration)
      throw;
    throw ClientError(
        ClientError::Kind::conflict,
        "schedule '" + checked_id +
            "' exists, and was made with other options or inputs; change it with Schedule::update(), "
            "or delete it first");
  }
}

Schedule Client::schedule(std::string_view id) const {
  return Schedule(run_of(schedules::kOrchestration, id));
}

std::vector<Schedule> Client::schedules() const {
  std::vector<Schedule> all;
  store::InstanceFilter filter{.orchestration = std::string(schedules::kOrchestration), .limit = 1'000};
  for (std::optional<ListPlace> after = ListPlace(); after;) {
    filter.after = *after;
    const store::InstancePage page = core_->call([&] { return core_->store().list(filter); });
    for (const store::InstanceView& view : page.instances)
      all.emplace_back(Run(core_, view.instance, view.key));
    after = page.next;
  }
  return all;
}

void Client::delete_schedule(std::string_view id) const {
  static_cast<void>(schedule(id));
  delete_instance(id, {.force = true});
}

ScheduleInfo Schedule::describe() const {
  const RunInfo run = run_.info();
  auto state = run_.input<schedules::State>();
  const schedules::State begun = state ? *std::move(state) : schedules::State();
  const schedules::Progress progress = run.status_as<schedules::Progress>().value_or(begun.progress);
  ScheduleInfo info{.id = run.id,
                    .status = run.status,
                    .orchestration = begun.orchestration,
                    .options = progress.options,
                    .counts = {.started = progress.counts.started,
                               .skipped = progress.counts.skipped,
                               .missed = progress.counts.missed,
                               .failed = progress.counts.failed}};
  if (!run.has_ended()) info.next = next_of(progress);
  if (progress.running) info.running = shown(*progress.running);
  for (const schedules::Waiting& it : progress.waiting) info.waiting.push_back(it.time);
  for (const schedules::Started& it : progress.recent) info.recent.push_back(shown(it));
  return info;
}

void Schedule::pause(std::string_view note) const {
  send(run_, {.kind = schedules::Command::Kind::pause, .note = schedules::checked_note(note)});
}

void Schedule::resume(std::string_view note) const {
  send(run_, {.kind = schedules::Command::Kind::resume, .note = schedules::checked_note(note)});
}

void Schedule::trigger(TriggerOptions options) const {
  send(run_,
       {.kind = schedules::Command::Kind::trigger, .overlap = schedules::checked_overlap(options.overlap)});
}

void Schedule::backfill(CalendarTime from, CalendarTime until, BackfillOptions options) const {
  if (from >= until)
    throw ClientError(ClientError::Kind::invalid,
                      "a backfill takes the times from `from` on and before `until`, "
                      "which is not after it");
  const Overlap overlap = schedules::checked_overlap(options.overlap);
  const auto progress = run_.custom_status<schedules::Progress>();
  if (progress && schedules::times_between(progress->options.spec, from, until).more) {
    throw ClientError(ClientError::Kind::invalid, "a backfill takes at most " +
                                                      std::to_string(schedules::kMaxBackfill) +
                                                      " times, and these are more: ask for a part of them");
  }
  send(run_, {.kind = schedules::Command::Kind::backfill, .overlap = overlap, .from = from, .until = until});
}

void Schedule::update(const ScheduleOptions& options) const {
  schedules::check_options(options);
  send(run_, {.kind = schedules::Command::Kind::update, .options = options});
}

}  // namespace holdfast
