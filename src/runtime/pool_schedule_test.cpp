#include "runtime/pool_schedule.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::runtime::pool_schedule_test {
namespace {

using namespace std::chrono_literals;
using Kind = PoolSchedule::Kind;
using Order = PoolSchedule::Order;
using From = PoolSchedule::From;

class PoolScheduleTest : public ::testing::Test {
 protected:
  Order post(const std::string& name, Kind kind = Kind::ordinary, From from = From::outside) {
    return schedule.post([this, name] { begun = name; }, kind, from, now);
  }
  /// What a thread that is free begins; "rest" for that.
  std::string begin() {
    if (!schedule.anything()) return "nothing";
    piece = schedule.begin(now);
    begun = "rest";
    if (piece.work) piece.work();
    return begun;
  }

  PoolSchedule schedule;
  PoolSchedule::Time now{1h};
  PoolSchedule::Piece piece{};
  std::string begun;
};

TEST_F(PoolScheduleTest, WhatIsPostedFromOutsideIsBegunInItsOrderByThreadsThatAreCalled) {
  EXPECT_EQ(post("a"), Order::call);
  EXPECT_EQ(post("b"), Order::call);
  EXPECT_EQ(begin(), "a");
  EXPECT_EQ(piece.others, Order::call) << "nobody knows how long it takes";
  EXPECT_EQ(begin(), "b");
  EXPECT_EQ(piece.others, Order::none);
  EXPECT_EQ(begin(), "nothing");
}

TEST_F(PoolScheduleTest, TheThreadThatPostsComesBackForOnePieceButNotForWhatIsApart) {
  EXPECT_EQ(post("next", Kind::ordinary, From::work), Order::none);
  EXPECT_EQ(post("more", Kind::ordinary, From::work), Order::call);
  begin();
  begin();
  EXPECT_EQ(post("waited for", Kind::apart, From::work), Order::call);
}

TEST_F(PoolScheduleTest, BriefWorkIsLeftToWhoeverIsBusyWithOtherBriefWork) {
  EXPECT_EQ(post("a", Kind::brief), Order::call) << "nobody is";
  EXPECT_EQ(begin(), "a");
  EXPECT_EQ(post("b", Kind::brief), Order::look);
  schedule.end_work(true);
  EXPECT_EQ(begin(), "b");
  schedule.end_work(true);
  EXPECT_EQ(post("c", Kind::brief), Order::call);
}

TEST_F(PoolScheduleTest, WhoTakesBriefWorkLeavesOnlyBriefWorkThatIsNotLateToItself) {
  post("a", Kind::brief);
  post("b", Kind::brief);
  begin();
  EXPECT_EQ(piece.others, Order::look);
  now += PoolSchedule::kLateAfter + 1us;
  EXPECT_TRUE(schedule.anything_late(now));
  post("c", Kind::brief);
  begin();
  EXPECT_EQ(piece.others, Order::look) << "what is left came just now";
  post("d", Kind::ordinary);
  begin();
  EXPECT_EQ(piece.others, Order::call) << "ordinary work waits for nobody";
}

TEST_F(PoolScheduleTest, BriefWorkThatIsLateIsNotLeftToOneThread) {
  for (const char* const name : {"a", "b", "c"}) post(name, Kind::brief);
  now += PoolSchedule::kLateAfter + 1us;
  EXPECT_EQ(begin(), "a");
  EXPECT_EQ(piece.others, Order::call);
}

TEST_F(PoolScheduleTest, TheRestComesAfterWorkThatOthersWantToBeginUnlessThatGoesOn) {
  EXPECT_EQ(schedule.ask_for_rest(From::work, now), Order::none) << "its thread looks in a moment";
  post("a");
  post("b");
  EXPECT_EQ(begin(), "a");
  now += PoolSchedule::kRestWaitsAtLeast + 1us;
  EXPECT_EQ(begin(), "rest");
  EXPECT_EQ(begin(), "b");
  EXPECT_EQ(begin(), "nothing");
}

TEST_F(PoolScheduleTest, ARestThatTakesLongWaitsLongerForWorkButNeverForLong) {
  for (int i = 0; i < 100; ++i) schedule.end_rest(2ms, false, now);
  schedule.ask_for_rest(From::outside, now);
  post("a");
  post("b");
  now += 900us;
  EXPECT_EQ(begin(), "a");
  now += 150us;
  EXPECT_EQ(begin(), "rest");
  begin();
  for (int i = 0; i < 100; ++i) schedule.end_rest(1s, false, now);
  schedule.ask_for_rest(From::outside, now);
  post("c");
  now += PoolSchedule::kRestWaitsAtMost + 1us;
  EXPECT_EQ(begin(), "rest");
}

TEST_F(PoolScheduleTest, WhoAsksFromOutsideOrFromTheRestItselfNeedsAThread) {
  EXPECT_EQ(schedule.ask_for_rest(From::outside, now), Order::call);
  EXPECT_EQ(begin(), "rest");
  EXPECT_EQ(schedule.ask_for_rest(From::rest, now), Order::call);
}

TEST_F(PoolScheduleTest, TheRestIsDoneAgainWhenItSaysSoAndNeverOnceItHasStopped) {
  schedule.end_rest(1us, true, now);
  EXPECT_EQ(begin(), "rest");
  post("a");
  schedule.ask_for_rest(From::outside, now);
  schedule.stop();
  schedule.end_rest(1us, true, now);
  EXPECT_EQ(begin(), "a") << "what was posted is run";
  EXPECT_EQ(begin(), "nothing");
}

}  // namespace
}  // namespace holdfast::runtime::pool_schedule_test
