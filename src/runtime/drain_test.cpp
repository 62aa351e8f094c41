#include "runtime/drain.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::drain_test {
namespace {

using namespace std::chrono_literals;
using Order = Drain::Order;

constexpr BootTime kNow{};
constexpr Drain::Look kBusy{};
constexpr Drain::Look kEndsSoon{.ends_soon = true};
constexpr Drain::Look kQuiet{.quiet = true};

TEST(Drain, AQuietWorkerLeavesAtOnce) {
  Drain drain(kNow + 10s, 5s);
  EXPECT_EQ(drain.next(kNow, kQuiet), Order::leave);
  EXPECT_TRUE(drain.ended_by_itself());
}

TEST(Drain, WhatRunsMayEndByItselfUntilTheDeadline) {
  Drain drain(kNow + 10s, 5s);
  EXPECT_EQ(drain.store_until(), kNow + 15s);
  EXPECT_EQ(drain.next(kNow + 9s, kBusy), Order::wait);
  EXPECT_EQ(drain.due(), kNow + 10s);
  EXPECT_TRUE(drain.is_finishing());
  EXPECT_EQ(drain.next(kNow + 9s, kQuiet), Order::leave);
  EXPECT_TRUE(drain.ended_by_itself());
}

TEST(Drain, ThenItIsAskedToStopAndHasItsGrace) {
  Drain drain(kNow + 10s, 5s);
  EXPECT_EQ(drain.next(kNow + 10s, kBusy), Order::stop_activities);
  EXPECT_FALSE(drain.is_finishing());
  EXPECT_EQ(drain.next(kNow + 14s, kBusy), Order::wait);
  EXPECT_EQ(drain.due(), kNow + 15s);
  EXPECT_EQ(drain.next(kNow + 14s, kQuiet), Order::leave);
  EXPECT_FALSE(drain.ended_by_itself());
}

TEST(Drain, WhatEndsSoonHasAMomentMore) {
  Drain drain(kNow, 5s);
  EXPECT_EQ(drain.next(kNow, kEndsSoon), Order::stop_activities);
  EXPECT_EQ(drain.next(kNow + 5s, kEndsSoon), Order::wait);
  EXPECT_EQ(drain.due(), kNow + 5s + Drain::kMomentToEnd);
  EXPECT_EQ(drain.next(drain.due(), kEndsSoon), Order::leave);
}

TEST(Drain, WhatGoesOnIsNotWaitedFor) {
  Drain drain(kNow, 5s);
  EXPECT_EQ(drain.next(kNow, kBusy), Order::stop_activities);
  EXPECT_EQ(drain.next(kNow + 5s, kBusy), Order::leave);
  EXPECT_FALSE(drain.ended_by_itself());
}

TEST(Drain, ADeadlineThatIsNeverWaitsForEver) {
  Drain drain(BootTime::max(), never);
  EXPECT_EQ(drain.next(kNow + 1000h, kBusy), Order::wait);
}

// Who looks without changing it, to see whether there is something to do, must see that as well.
TEST(Drain, GoesOnWhenTheGraceIsOverAlsoWhereItWaitsForSomethingElseThen) {
  Drain drain(kNow, 5s);
  EXPECT_TRUE(drain.goes_on(kNow, kEndsSoon));
  EXPECT_EQ(drain.next(kNow, kEndsSoon), Order::stop_activities);
  EXPECT_FALSE(drain.goes_on(kNow + 4s, kEndsSoon));
  EXPECT_TRUE(drain.goes_on(kNow + 5s, kEndsSoon));
  EXPECT_EQ(drain.next(kNow + 5s, kEndsSoon), Order::wait);
  EXPECT_FALSE(drain.goes_on(kNow + 6s, kEndsSoon));
  EXPECT_TRUE(drain.goes_on(kNow + 7s, kEndsSoon));
  EXPECT_EQ(drain.next(kNow + 7s, kEndsSoon), Order::leave);
}

}  // namespace
}  // namespace holdfast::runtime::drain_test
