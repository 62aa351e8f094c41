#include "runtime/worker_log.hpp"

#include "testkit/support/lines.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::runtime::worker_log_test {
namespace {

using support::Lines;
using namespace std::chrono_literals;

class WorkerLogTest : public ::testing::Test {
 protected:
  void say(std::string_view message, int times = 1, LogLevel level = LogLevel::warn) {
    for (int i = 0; i < times; ++i) log(worker, level, message, {{"number", i}});
  }

  ManualClock clock;
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  WorkerLog worker{lines, "w1", clock};
};

TEST_F(WorkerLogTest, EachLineNamesTheWorker) {
  say("something happened");
  EXPECT_EQ(lines->count("warn  something happened number=0 worker=w1"), 1U) << lines->all();
}

TEST_F(WorkerLogTest, ABurstIsCutShortAndTheRestIsCounted) {
  say("failed", 10'000);
  EXPECT_EQ(lines->count("failed number="), WorkerLog::kBurst);
  worker.tell_left_out();
  EXPECT_EQ(lines->count("left out"), 0U) << "it may still go on";
  clock.advance(WorkerLog::kWindow);
  worker.tell_left_out();
  EXPECT_EQ(lines->count("warn  more lines of one kind were left out count=9900 message=failed worker=w1"),
            1U)
      << lines->all();
  worker.tell_left_out();
  EXPECT_EQ(lines->count("left out"), 1U);
}

TEST_F(WorkerLogTest, TheNumberIsSaidBeforeTheNextLineOfItsKind) {
  say("failed", 150);
  clock.advance(WorkerLog::kWindow);
  say("failed");
  EXPECT_EQ(lines->count("left out count=50"), 1U) << lines->all();
  EXPECT_EQ(lines->count("failed number="), WorkerLog::kBurst + 1);
}

TEST_F(WorkerLogTest, KindsAreCountedByThemselves) {
  say("failed", 200);
  say("stopped", 3);
  EXPECT_EQ(lines->count("stopped"), 3U);
}

TEST_F(WorkerLogTest, WhatWasLeftOutIsSaidWhenTheWorkerHasStopped) {
  say("failed", 101);
  worker.close();
  EXPECT_EQ(lines->count("left out count=1"), 1U) << lines->all();
}

TEST_F(WorkerLogTest, LongTextsAreCut) {
  log(worker, LogLevel::warn, "failed", {{"failure", std::string(100'000, 'x')}});
  EXPECT_EQ(lines->count("failure=" + std::string(kMaxLogText, 'x') + " worker=w1"), 1U);
}

TEST(WorkerLog, WhoeverWantsLinesOfLevelDebugGetsAllOfThem) {
  const auto all = std::make_shared<Lines>(LogLevel::debug);
  WorkerLog worker(all, "w1", real_clock());
  for (int i = 0; i < 1000; ++i) log(worker, LogLevel::debug, "renewed");
  EXPECT_EQ(all->count("renewed"), 1000U);
}

}  // namespace
}  // namespace holdfast::runtime::worker_log_test
