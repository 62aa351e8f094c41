#include "runtime/turn_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime::turn_watch_test {
namespace {

using namespace std::chrono_literals;

struct Elsewhere final : detail::FrameExecutor {
  [[nodiscard]] std::string_view name() const noexcept override { return "elsewhere"; }
  bool post(std::function<void()> /*work*/) override { return true; }
};

class TurnWatchTest : public ::testing::Test {
 protected:
  using Batches = std::vector<std::shared_ptr<TurnBatch>>;

  static std::shared_ptr<TurnBatch> in_place() {
    return std::make_shared<TurnBatch>(RunId{}, std::vector<InstanceCache::Taken>());
  }
  std::shared_ptr<TurnBatch> on_executor() {
    return std::make_shared<TurnBatch>(std::make_shared<FrameHome>(executor),
                                       std::vector<InstanceCache::Taken>());
  }
  static BootTime at(Duration time) { return BootTime(time); }

  Elsewhere executor;
  TurnWatch watch;
};

TEST_F(TurnWatchTest, CodeThatComesBackInTimeKeepsItsBatch) {
  const auto batch = in_place();
  TurnWatch::Running running(watch, *batch, at(10s));
  EXPECT_EQ(watch.next_due(), at(10s));
  EXPECT_EQ(watch.give_up_overdue(at(10s) - 1us), Batches());
  EXPECT_TRUE(running.came_back());
  EXPECT_EQ(watch.next_due(), BootTime::max());
  EXPECT_EQ(watch.give_up_overdue(at(1h)), Batches());
}

TEST_F(TurnWatchTest, WhatHasTakenTooLongIsGivenToOneCallerAndIsNotItsThreadsAnyMore) {
  const auto late = in_place();
  const auto early = in_place();
  TurnWatch::Running first(watch, *late, at(10s));
  TurnWatch::Running second(watch, *early, at(20s));
  EXPECT_EQ(watch.give_up_overdue(at(10s)), Batches{late});
  EXPECT_EQ(watch.give_up_overdue(at(10s)), Batches());
  EXPECT_FALSE(first.came_back());
  EXPECT_TRUE(second.came_back());
}

// Code that throws past whoever runs it.
TEST_F(TurnWatchTest, CodeThatLeavesByAnExceptionIsNotWatchedAnyMore) {
  const auto batch = in_place();
  {
    const TurnWatch::Running running(watch, *batch, at(10s));
  }
  EXPECT_EQ(watch.give_up_overdue(at(1h)), Batches());
}

TEST_F(TurnWatchTest, ABatchIsKeptAliveByWhoeverGivesItUp) {
  auto batch = in_place();
  watch.add(*batch, at(10s));
  const std::weak_ptr<TurnBatch> alive = batch;
  const Batches given_up = watch.give_up_overdue(at(10s));
  batch.reset();
  EXPECT_FALSE(alive.expired());
}

TEST_F(TurnWatchTest, WhatExecutorsHaveIsGivenUpWhateverItsTime) {
  const auto here = in_place();
  const auto there = on_executor();
  watch.add(*here, at(10s));
  watch.add(*there, BootTime::max());
  EXPECT_EQ(watch.give_up_elsewhere(), Batches{there});
  EXPECT_FALSE(watch.remove(*there));
  EXPECT_TRUE(watch.remove(*here));
}

}  // namespace
}  // namespace holdfast::runtime::turn_watch_test
