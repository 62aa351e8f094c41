// Schedules as users see them.
#include "stores_test.hpp"

#include <holdfast/schedule.hpp>

#include <functional>
#include <set>
#include <string>

namespace holdfast::e2e::schedules_test {
namespace {

class SchedulesTest : public OnEachStore {
 protected:
  /// With an orchestration that ends at once, and one that ends when it is told to.
  std::unique_ptr<Runtime> worker() {
    return runtime([](Runtime& rt) {
      rt.orchestration("echo", [](Context&, std::string text) -> Task<std::string> { co_return text; });
      rt.orchestration("told", told);
    });
  }
  Client client() { return Client(store()); }
};
HOLDFAST_ON_EACH_STORE(SchedulesTest);

const ScheduleSpec kOften{.intervals = {{.every = 1s}}};
const ScheduleSpec kRarely{.cron = {"0 0 29 2 *"}};

CalendarTime day(int number) {
  return CalendarTime(std::chrono::sys_days(std::chrono::year(2020) / 1 / number));
}

TEST_P(SchedulesTest, StartOrchestrationsAgainAndAgain) {
  const auto rt = worker();
  const Schedule schedule =
      client().create_schedule("often", Orchestration<std::string(std::string)>{"echo"},
                               {.spec = kOften, .overlap = Overlap::allow, .max_runs = 3}, "tick");
  schedule.run().wait(kSoon);
  const ScheduleInfo info = schedule.describe();
  EXPECT_EQ(info.status, Status::completed);
  EXPECT_EQ(info.orchestration, "echo");
  EXPECT_EQ(info.counts.started, 3U);
  EXPECT_TRUE(info.next.empty());
  ASSERT_EQ(info.recent.size(), 3U);
  std::set<CalendarTime> times;
  for (const ScheduleRun& run : info.recent) {
    EXPECT_EQ(client().run(run.id).wait<std::string>(kSoon), "tick");
    EXPECT_EQ(run.time.time_since_epoch() % 1s, Duration(0));
    times.insert(run.time);
  }
  EXPECT_EQ(times.size(), 3U);
}

TEST_P(SchedulesTest, AreMadeOnceAndFoundById) {
  const auto rt = worker();
  Client c = client();
  c.create_schedule("s", "echo", {.spec = kRarely}, "x");
  EXPECT_EQ(c.create_schedule("s", "echo", {.spec = kRarely}, "x").id(), "s");
  try {
    c.create_schedule("s", "echo", {.spec = kOften}, "x");
    ADD_FAILURE() << "it is there";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::conflict);
    EXPECT_EQ(e.failure().message,
              "schedule 's' exists, and was made with other options or inputs; change it with "
              "Schedule::update(), or "
              "delete it first");
  }
  EXPECT_EQ(c.schedule("s").id(), "s");
  EXPECT_THROW(static_cast<void>(c.schedule("t")), ClientError);
  c.start("told", {.id = "no schedule"});
  EXPECT_THROW(static_cast<void>(c.schedule("no schedule")), ClientError);
  c.create_schedule("t", "echo", {.spec = kRarely, .paused = true, .note = "not yet"}, "x");
  std::vector<std::string> ids;
  for (const Schedule& schedule : c.schedules()) ids.push_back(schedule.id());
  EXPECT_EQ(ids, (std::vector<std::string>{"t", "s"}));
  c.delete_schedule("s");
  EXPECT_EQ(c.schedules().size(), 1U);
  c.create_schedule("s", "echo", {.spec = kOften}, "x");  // its id is free again
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.failure().type;
  }
  return "taken";
}

TEST_P(SchedulesTest, WhatIsNoneIsRefusedAtOnce) {
  Client c = client();
  for (const ScheduleOptions& options :
       {ScheduleOptions{}, ScheduleOptions{.spec = {.cron = {"61 * * * *"}}},
        ScheduleOptions{.spec = {.cron = {"@daily"}, .time_zone = "Mars/Base"}},
        ScheduleOptions{.spec = kRarely, .catch_up = -1s}, ScheduleOptions{.spec = kRarely, .jitter = 25h},
        ScheduleOptions{.spec = kRarely, .overlap = static_cast<Overlap>(77)},
        ScheduleOptions{.spec = kRarely, .note = "\xff"}})
    EXPECT_EQ(refusal([&] { c.create_schedule("s", "echo", options); }), "invalid_schedule");
  EXPECT_EQ(refusal([&] { c.create_schedule("s", "echo", {.spec = kRarely, .version = "v2"}); }),
            "invalid_version");
  const std::string longest(218, 'x');
  EXPECT_EQ(refusal([&] { c.create_schedule(longest + "x", "echo", {.spec = kRarely}); }),
            "invalid_schedule");
  EXPECT_FALSE(c.find(longest + "x"));
  EXPECT_EQ(
      refusal([&] { c.create_schedule("s", "echo", {.spec = kRarely, .note = std::string(5'000, 'n')}); }),
      "invalid_schedule");
  EXPECT_EQ(refusal([&] { c.create_schedule("s", "echo", {.spec = kRarely}, std::string(2'000'000, 'i')); }),
            "invalid_schedule");
  const Schedule schedule = c.create_schedule(longest, "echo", {.spec = kRarely}, 1);
  EXPECT_EQ(refusal([&] { schedule.pause("\xff"); }), "invalid_schedule");
  EXPECT_EQ(refusal([&] { schedule.trigger({.overlap = static_cast<Overlap>(77)}); }), "invalid_schedule");
  EXPECT_EQ(refusal([&] { schedule.backfill(CalendarTime(2h), CalendarTime(1h)); }), "invalid");
  EXPECT_FALSE(c.find("s"));
}

TEST_P(SchedulesTest, ArePausedTriggeredBackfilledAndChanged) {
  const auto rt = worker();
  const Schedule schedule =
      client().create_schedule("s", "told", {.spec = kRarely, .overlap = Overlap::all_after});
  EXPECT_TRUE(eventually([&] { return schedule.describe().next.size() == 5; }));
  schedule.pause("closed");
  schedule.trigger();
  EXPECT_TRUE(eventually([&] { return schedule.describe().counts.started == 1; }));
  ScheduleInfo info = schedule.describe();
  EXPECT_TRUE(info.options.paused);
  EXPECT_EQ(info.options.note, "closed");
  EXPECT_TRUE(info.next.empty());
  EXPECT_TRUE(info.recent.front().id.starts_with("s-trigger-20")) << info.recent.front().id;

  ScheduleOptions options = info.options;
  options.spec = {.cron = {"@daily"}};
  schedule.update(options);
  EXPECT_TRUE(eventually([&] { return schedule.describe().options.spec.cron.front() == "@daily"; }));
  schedule.backfill(day(1), day(4));
  EXPECT_TRUE(eventually([&] { return schedule.describe().running.has_value(); }));
  EXPECT_EQ(schedule.describe().running->id, "s-2020-01-01T00:00:00Z");
  EXPECT_EQ(schedule.describe().waiting, (std::vector{day(2), day(3)}));
  for (int i = 1; i <= 3; ++i) {
    const std::string id = "s-2020-01-0" + std::to_string(i) + "T00:00:00Z";
    EXPECT_TRUE(eventually([&] { return client().find(id).has_value(); })) << id;
    client().raise(id, "end", i);
    EXPECT_EQ(client().run(id).wait<int>(kSoon), i);
  }
  EXPECT_TRUE(eventually([&] { return !schedule.describe().running; }));
  EXPECT_EQ(schedule.describe().recent.front().ended, Status::completed);
  schedule.resume("open");
  EXPECT_TRUE(eventually([&] { return schedule.describe().options.note == "open"; }));
  EXPECT_EQ(schedule.describe().next.size(), 5U);

  // What was run for its time is not run again.
  schedule.backfill(day(2), day(3));
  EXPECT_TRUE(eventually([&] { return schedule.describe().recent.front().existed; }));
  EXPECT_THROW(schedule.backfill(day(1), day(1) + 24h * 1'001), ClientError);
}

TEST_P(SchedulesTest, OneThatIsMadeAnewTriggersRunsOfItsOwn) {
  const auto rt = worker();
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const Schedule schedule = client().create_schedule("s", "told", {.spec = kRarely});
    schedule.trigger();
    EXPECT_TRUE(eventually([&] { return schedule.describe().counts.started == 1; }));
    ids.insert(schedule.describe().recent.front().id);
    client().delete_schedule("s");
  }
  EXPECT_EQ(ids.size(), 3U);
  for (const std::string& id : ids)
    EXPECT_TRUE(eventually([&] { return client().find(id).has_value(); })) << id;
}

TEST_P(SchedulesTest, GoOnWhenNobodyHasTheCodeOfARun) {
  const auto rt = worker();
  for (const Overlap overlap : {Overlap::skip, Overlap::allow}) {
    const std::string id(to_string(overlap));
    const Schedule schedule =
        client().create_schedule(id, "nobody has this", {.spec = kRarely, .overlap = overlap});
    schedule.trigger({.overlap = overlap});
    EXPECT_TRUE(eventually([&] { return schedule.describe().counts.started == 1; }));
    schedule.trigger();
    EXPECT_TRUE(eventually([&] { return schedule.describe().counts.started == 2; }));
    schedule.pause("until it is deployed");
    EXPECT_TRUE(eventually([&] { return schedule.describe().options.paused; }));
  }
}

TEST_P(SchedulesTest, ARunThatOverlapsIsEndedForTheNextOne) {
  for (const auto& [overlap, status] :
       {std::pair(Overlap::cancel, Status::cancelled), std::pair(Overlap::terminate, Status::terminated)}) {
    const auto rt = worker();
    const std::string id(to_string(overlap));
    const Schedule schedule = client().create_schedule(id, "told", {.spec = kRarely});
    schedule.trigger({.overlap = overlap});
    EXPECT_TRUE(eventually([&] { return schedule.describe().running.has_value(); }));
    schedule.trigger({.overlap = overlap});
    EXPECT_TRUE(eventually([&] { return schedule.describe().counts.started == 2; }));
    const ScheduleInfo info = schedule.describe();
    EXPECT_EQ(client().run(info.recent[1].id).status(), status);
    EXPECT_EQ(client().run(info.recent[0].id).status(), Status::running);
    client().delete_schedule(id);
    EXPECT_EQ(client().run(info.recent[0].id).status(), Status::running);  // what it has started goes on
  }
}

TEST_P(SchedulesTest, SurviveTheEndOfTheirWorker) {
  {
    const auto rt = worker();
    client().create_schedule("s", "echo",
                             {.spec = kOften, .overlap = Overlap::allow, .catch_up = 1h, .max_runs = 4}, "x");
    EXPECT_TRUE(eventually([&] { return client().schedule("s").describe().counts.started >= 1; }));
  }
  const auto rt = worker();
  client().run("s").wait(kSoon);
  const ScheduleInfo info = client().schedule("s").describe();
  ASSERT_EQ(info.recent.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(info.recent[i - 1].time - info.recent[i].time, 1s);  // none is missing
}

TEST_P(SchedulesTest, EndWithTheirInstance) {
  const auto rt = worker();
  const Schedule schedule = client().create_schedule("s", "echo", {.spec = kRarely}, "x");
  schedule.run().cancel("no longer wanted");
  EXPECT_THROW(schedule.run().wait(kSoon), RunCancelled);
  EXPECT_EQ(schedule.describe().status, Status::cancelled);
  try {
    schedule.trigger();
    ADD_FAILURE() << "it has ended";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::conflict);
  }
}

}  // namespace
}  // namespace holdfast::e2e::schedules_test
