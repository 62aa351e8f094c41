#include "schedules/keeper.hpp"

#include <holdfast/ended_instance.hpp>
#include <holdfast/testing/replay.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::schedules::keeper_test {
namespace {

using namespace std::chrono_literals;
using testing::OperationKind;
using testing::ReplayHarness;
using testing::SentMessage;
using testing::StartedOperation;

using Texts = std::vector<std::string>;

/// A schedule that runs each hour, from 2030-01-01T00:00:00Z on.
class Hourly {
 public:
  /// `behind`: for so long nobody has looked at it.
  explicit Hourly(ScheduleOptions options = {}, std::uint64_t history_budget = 10'000, Duration behind = {})
      : harness_(testing::ReplayOptions{.instance = "hourly",
                                        .orchestration = std::string(kOrchestration),
                                        .history_budget = history_budget}) {
    if (options.spec.cron.empty() && options.spec.intervals.empty()) options.spec.intervals = {{.every = 1h}};
    harness_.start(keep_schedule, State{.orchestration = "work",
                                        .input = {"json", "[1,2]"},
                                        .progress = {.options = std::move(options),
                                                     .handled_until = ManualClock::kCalendarStart - behind}});
    settle();
  }

  ReplayHarness& harness() { return harness_; }
  /// Lets time pass, hour by hour, and starts what is to be started.
  void pass(int hours) {
    for (int i = 0; i < hours; ++i) {
      harness_.advance(1h);
      settle();
    }
  }
  /// Answers starts until there is none, and goes on as new when the code does.
  void settle() {
    while (true) {
      if (harness_.state() == ReplayHarness::State::continued_as_new) {
        harness_.next_execution();
        ++executions;
      }
      for (; launched_ < harness_.launched().size(); ++launched_) note(harness_.launched()[launched_]);
      const std::optional<StartedOperation> start = open(OperationKind::detached);
      if (!start) return;
      note(*start);
      harness_.complete(start->id, start->instance);
    }
  }
  /// The run that is waited for ends.
  void end_run(Status status = Status::completed) {
    const std::optional<StartedOperation> end = open(OperationKind::ended);
    ASSERT_TRUE(end);
    harness_.complete(end->id, EndedInstance{.status = status});
    settle();
  }
  void command(const Command& command) {
    harness_.send(kCommands, command);
    settle();
  }
  std::optional<StartedOperation> open(OperationKind kind) {
    for (const StartedOperation& operation : harness_.open()) {
      if (operation.kind == kind) return operation;
    }
    return std::nullopt;
  }
  Progress progress() { return harness_.status<Progress>().value(); }

  Texts started;  // the ids without the schedule's
  int executions = 1;

 private:
  void note(const StartedOperation& start) {
    started.push_back(start.instance.substr(std::string("hourly-").size()));
    EXPECT_EQ(start.input.bytes, "[1,2]");
  }

  ReplayHarness harness_;
  std::size_t launched_ = 0;
};

std::string at(int hour) {
  return (hour < 10 ? "2030-01-01T0" : "2030-01-01T") + std::to_string(hour) + ":00:00Z";
}

TEST(KeptSchedule, StartsARunAtEachTime) {
  Hourly schedule({.overlap = Overlap::allow});
  schedule.pass(3);
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2), at(3)}));
  EXPECT_EQ(schedule.progress().counts.started, 3U);
  EXPECT_EQ(schedule.progress().recent.front().id, "hourly-" + at(3));
}

TEST(KeptSchedule, SkipsTimesWhileItsRunGoesOn) {
  Hourly schedule;
  schedule.pass(3);
  EXPECT_EQ(schedule.started, Texts{at(1)});
  EXPECT_EQ(schedule.progress().counts.skipped, 2U);
  EXPECT_EQ(schedule.progress().running->id, "hourly-" + at(1));
  schedule.end_run(Status::failed);
  EXPECT_EQ(schedule.progress().recent.front().ended, Status::failed);
  schedule.pass(1);
  EXPECT_EQ(schedule.started, (Texts{at(1), at(4)}));
}

TEST(KeptSchedule, OneFollowsTheRunThatGoesOn) {
  Hourly schedule({.overlap = Overlap::one_after});
  schedule.pass(4);
  schedule.end_run();
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2)}));
  EXPECT_EQ(schedule.progress().counts.skipped, 2U);
}

TEST(KeptSchedule, AllFollowTheRunThatGoesOnUpToAHundred) {
  Hourly schedule({.overlap = Overlap::all_after});
  schedule.pass(110);
  EXPECT_EQ(schedule.progress().waiting.size(), kMaxWaiting);
  EXPECT_EQ(schedule.progress().counts.skipped, 9U);
  schedule.end_run();
  schedule.end_run();
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2), at(3)}));
}

TEST(KeptSchedule, TheRunThatGoesOnIsEndedForTheNewestOne) {
  for (const auto& [overlap, kind] : {std::pair(Overlap::cancel, SentMessage::Kind::cancel),
                                      std::pair(Overlap::terminate, SentMessage::Kind::terminate)}) {
    Hourly schedule({.overlap = overlap});
    schedule.pass(2);
    EXPECT_EQ(schedule.harness().sent().back().kind, kind);
    EXPECT_EQ(schedule.harness().sent().back().instance, "hourly-" + at(1));
    schedule.pass(1);
    schedule.end_run(Status::cancelled);
    EXPECT_EQ(schedule.started, (Texts{at(1), at(3)}));
    EXPECT_EQ(schedule.progress().counts.skipped, 1U);
  }
}

TEST(KeptSchedule, MakesUpForWhatWasMissedNotTooLongAgo) {
  Hourly schedule({.overlap = Overlap::allow, .catch_up = 2h}, 10'000, /*behind=*/10h);
  EXPECT_EQ(schedule.started, (Texts{"2029-12-31T22:00:00Z", "2029-12-31T23:00:00Z", at(0)}));
  EXPECT_EQ(schedule.progress().counts.missed, 7U);
}

TEST(KeptSchedule, WhatIsTakenALittleLateIsNotMissed) {
  Hourly schedule({.overlap = Overlap::allow, .catch_up = Duration(0)});
  schedule.harness().advance(1h + 5s);
  schedule.settle();
  EXPECT_EQ(schedule.started, Texts{at(1)});
  schedule.harness().advance(1h);
  schedule.settle();
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2)}));
  EXPECT_EQ(schedule.progress().counts.missed, 0U);
}

TEST(KeptSchedule, MakesUpForALongTimeInSlices) {
  Hourly schedule({.spec = {.intervals = {{.every = 60s}}}, .catch_up = never}, 10'000, /*behind=*/24h);
  EXPECT_EQ(schedule.started, Texts{"2029-12-31T00:01:00Z"});
  EXPECT_EQ(schedule.progress().counts.skipped, 24U * 60 - 1);
}

TEST(KeptSchedule, CountsOfALongOutageEndSomewhere) {
  Hourly schedule({.spec = {.intervals = {{.every = 1s}}}, .overlap = Overlap::allow, .catch_up = 10s},
                  10'000,
                  /*behind=*/24h);
  EXPECT_EQ(schedule.started.size(), 11U);
  EXPECT_EQ(schedule.progress().counts.missed, kMostMissed);
}

TEST(KeptSchedule, StartsNothingWhileItIsPausedAndMakesUpForNothing) {
  Hourly schedule({.overlap = Overlap::allow});
  schedule.pass(1);
  schedule.command({.kind = Command::Kind::pause, .note = "closed"});
  schedule.pass(3);
  EXPECT_EQ(schedule.started, Texts{at(1)});
  EXPECT_EQ(schedule.progress().options.note, "closed");
  EXPECT_TRUE(schedule.progress().options.paused);
  schedule.command({.kind = Command::Kind::trigger});
  schedule.command({.kind = Command::Kind::trigger});
  schedule.command({.kind = Command::Kind::resume, .note = "open"});
  schedule.pass(1);
  EXPECT_EQ(schedule.started,
            (Texts{at(1), "trigger-2030-01-01T04:00:00Z", "trigger-2030-01-01T04:00:00.000001Z", at(5)}));
}

TEST(KeptSchedule, WhatIsTriggeredMayObeyTheRule) {
  Hourly schedule;
  schedule.pass(1);
  schedule.command({.kind = Command::Kind::trigger, .overlap = Overlap::skip});
  EXPECT_EQ(schedule.progress().counts.skipped, 1U);
  schedule.command({.kind = Command::Kind::trigger, .overlap = Overlap::all_after});
  schedule.end_run();
  EXPECT_EQ(schedule.started, (Texts{at(1), "trigger-2030-01-01T01:00:00.000001Z"}));
}

// Whoever has the code of a run, and when: other times and requests don't wait for that.
TEST(KeptSchedule, GoesOnWhileARunHasNotBegun) {
  Hourly schedule({.overlap = Overlap::one_after});
  schedule.harness().advance(1h);
  schedule.harness().advance(1h);
  EXPECT_EQ(schedule.progress().counts.started, 1U);
  EXPECT_EQ(schedule.progress().waiting.size(), 1U);
  schedule.harness().send(kCommands, Command{.kind = Command::Kind::trigger, .overlap = Overlap::allow});
  ASSERT_EQ(schedule.harness().launched().size(), 1U);
  EXPECT_EQ(schedule.harness().launched()[0].instance, "hourly-trigger-2030-01-01T02:00:00Z");
  schedule.harness().send(kCommands, Command{.kind = Command::Kind::pause});
  EXPECT_TRUE(schedule.progress().options.paused);
}

TEST(KeptSchedule, ARunIsEndedOnlyWhenItIsKnownToHaveBegun) {
  Hourly schedule({.overlap = Overlap::terminate});
  schedule.harness().advance(1h);
  schedule.harness().advance(1h);
  EXPECT_TRUE(schedule.harness().sent().empty());
  schedule.settle();
  ASSERT_EQ(schedule.harness().sent().size(), 1U);
  EXPECT_EQ(schedule.harness().sent()[0].instance, "hourly-" + at(1));
}

TEST(KeptSchedule, ARunThatIsDeletedBeforeItBeginsIsWaitedForNoLonger) {
  Hourly schedule;
  schedule.harness().advance(1h);
  schedule.harness().fail(schedule.open(OperationKind::ended)->id, Failure{.type = "instance_deleted"});
  EXPECT_FALSE(schedule.progress().running);
  schedule.pass(1);
  EXPECT_EQ(schedule.started, Texts{at(2)});
}

TEST(KeptSchedule, BackfillsOneAfterTheOther) {
  Hourly schedule({.paused = true});
  const CalendarTime day{std::chrono::sys_days(std::chrono::year(2029) / 12 / 24)};
  schedule.command(
      {.kind = Command::Kind::backfill, .overlap = Overlap::all_after, .from = day, .until = day + 3h});
  EXPECT_EQ(schedule.started, Texts{"2029-12-24T00:00:00Z"});
  schedule.end_run();
  schedule.end_run();
  schedule.end_run();
  EXPECT_EQ(schedule.started,
            (Texts{"2029-12-24T00:00:00Z", "2029-12-24T01:00:00Z", "2029-12-24T02:00:00Z"}));
}

TEST(KeptSchedule, BackfillsFromTheBeginningOfTime) {
  Hourly schedule({.paused = true});
  schedule.command({.kind = Command::Kind::backfill,
                    .overlap = Overlap::all_after,
                    .from = CalendarTime::min(),
                    .until = CalendarTime(90min)});
  schedule.end_run();
  EXPECT_EQ(schedule.started, (Texts{"1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z"}));
}

TEST(KeptSchedule, TheIdsOfItsRunsAreNames) {
  const std::string id = checked_id(std::string(kMaxIdBytes, 'x'));
  const CalendarTime latest{std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) - Duration(1)};
  for (const Waiting& run : {Waiting{.time = latest}, Waiting{.time = latest, .trigger = true}})
    EXPECT_LE(run_id(id, run).size(), 255U) << run_id(id, run);
}

TEST(KeptSchedule, TakesOtherOptionsForTheTimesFromThenOn) {
  Hourly schedule({.overlap = Overlap::allow});
  schedule.pass(1);
  schedule.command({.kind = Command::Kind::update,
                    .options = ScheduleOptions{.spec = {.cron = {"30 * * * *"}}, .overlap = Overlap::allow}});
  schedule.harness().advance(30min);
  schedule.settle();
  EXPECT_EQ(schedule.started, (Texts{at(1), "2030-01-01T01:30:00Z"}));
}

TEST(KeptSchedule, ARunThatIsThereAlreadyCountsAsStartedAndIsLeftAlone) {
  Hourly schedule({.overlap = Overlap::terminate});
  schedule.harness().advance(1h);
  schedule.harness().fail(schedule.open(OperationKind::detached)->id, Failure{.type = "id_taken"});
  EXPECT_EQ(schedule.progress().counts.started, 1U);
  EXPECT_TRUE(schedule.progress().recent.front().existed);
  EXPECT_FALSE(schedule.progress().running);
  schedule.pass(1);
  EXPECT_EQ(schedule.started, Texts{at(2)});
  EXPECT_TRUE(schedule.harness().sent().empty());
}

TEST(KeptSchedule, SoDoesOneThatHasEndedLongAgo) {
  Hourly schedule;
  schedule.harness().advance(1h);
  schedule.harness().complete(schedule.open(OperationKind::ended)->id,
                              EndedInstance{.status = Status::completed});
  EXPECT_TRUE(schedule.progress().recent.front().existed);
  EXPECT_FALSE(schedule.progress().recent.front().ended);
  EXPECT_FALSE(schedule.progress().running);
}

TEST(KeptSchedule, ARunThatCannotBeStartedIsCountedAndSaid) {
  Hourly schedule;
  schedule.harness().advance(1h);
  schedule.harness().fail(schedule.open(OperationKind::detached)->id, Failure{.type = "payload_too_large"});
  EXPECT_EQ(schedule.progress().counts.failed, 1U);
  EXPECT_FALSE(schedule.progress().running);
  schedule.pass(1);
  EXPECT_EQ(schedule.started, Texts{at(2)});
}

TEST(KeptSchedule, EndsAfterItsLastTimeAndItsLastRun) {
  const CalendarTime end = ManualClock::kCalendarStart + 3h;
  Hourly schedule({.spec = {.intervals = {{.every = 1h}}, .until = end}, .overlap = Overlap::one_after});
  schedule.pass(4);
  EXPECT_EQ(schedule.harness().state(), ReplayHarness::State::running);
  schedule.end_run();
  schedule.end_run();
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2)}));
  EXPECT_EQ(schedule.harness().state(), ReplayHarness::State::completed);
}

TEST(KeptSchedule, EndsAfterANumberOfRuns) {
  Hourly schedule({.overlap = Overlap::allow, .max_runs = 2}, 10'000, /*behind=*/0h);
  schedule.pass(2);
  EXPECT_EQ(schedule.started, (Texts{at(1), at(2)}));
  EXPECT_EQ(schedule.harness().state(), ReplayHarness::State::completed);
}

TEST(KeptSchedule, GoesOnAsNewWithAllThatItKnows) {
  Hourly schedule({.overlap = Overlap::one_after}, /*history_budget=*/30);
  schedule.pass(2);
  for (int i = 0; i < 40; ++i) {
    schedule.end_run();
    schedule.pass(1);
  }
  EXPECT_GT(schedule.executions, 2);
  ASSERT_EQ(schedule.started.size(), 41U);
  EXPECT_EQ(schedule.started[9], at(10));
  EXPECT_EQ(schedule.progress().counts.skipped, 0U);
}

TEST(KeptSchedule, JitterDelaysEachRunByItsOwnPart) {
  Hourly schedule({.overlap = Overlap::allow, .jitter = 30min});
  std::vector<Duration> delays;
  for (int i = 1; i <= 20; ++i) {
    const CalendarTime due = schedule.open(OperationKind::timer)->due;
    delays.push_back(due - (ManualClock::kCalendarStart + i * 1h));
    EXPECT_GE(delays.back(), Duration(0));
    EXPECT_LT(delays.back(), 30min);
    schedule.harness().fire_timer();
    schedule.settle();
  }
  EXPECT_NE(delays.front(), delays.back());
}

}  // namespace
}  // namespace holdfast::schedules::keeper_test
