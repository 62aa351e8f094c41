#include "runtime/stopping.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::stopping_test {
namespace {

using namespace std::chrono_literals;
using Order = Stopping::Order;

constexpr BootTime kNow{};

TEST(Stopping, NobodyIsStoppedWithoutBeingAsked) {
  Stopping stopping;
  EXPECT_EQ(stopping.check(BootTime::max() - 1us, true), Order::none);
  EXPECT_EQ(stopping.due(), BootTime::max());
  EXPECT_FALSE(stopping.reason());
}

TEST(Stopping, ItsCodeIsToldOnceAndTheFirstReasonStays) {
  Stopping stopping;
  EXPECT_TRUE(stopping.ask(CancelReason::cancel_requested, kNow, 10s));
  EXPECT_FALSE(stopping.ask(CancelReason::worker_stopping, kNow, 10s));
  EXPECT_EQ(stopping.reason(), CancelReason::cancel_requested);
}

TEST(Stopping, WhoAsksAgainMakesTheGraceOnlyShorter) {
  Stopping stopping;
  stopping.ask(CancelReason::cancel_requested, kNow, 10s);
  stopping.ask(CancelReason::worker_stopping, kNow + 1s, 10s);
  EXPECT_EQ(stopping.due(), kNow + 10s);
  stopping.ask(CancelReason::worker_stopping, kNow + 1s, 2s);
  EXPECT_EQ(stopping.due(), kNow + 3s);
}

TEST(Stopping, CodeThatCantBeEndedIsAbandonedAfterItsGrace) {
  Stopping stopping;
  stopping.ask(CancelReason::cancel_requested, kNow, 10s);
  EXPECT_EQ(stopping.check(kNow + 9s, false), Order::none);
  EXPECT_EQ(stopping.check(kNow + 10s, false), Order::abandon);
}

TEST(Stopping, ACoroutineIsEndedAfterItsGraceAndHasAMomentForIt) {
  Stopping stopping;
  stopping.ask(CancelReason::cancel_requested, kNow, 10s);
  EXPECT_EQ(stopping.check(kNow + 10s, true), Order::end);
  EXPECT_EQ(stopping.due(), kNow + 10s + Stopping::kMomentToEnd);
  EXPECT_EQ(stopping.check(kNow + 10s, true), Order::none);
  EXPECT_EQ(stopping.check(stopping.due(), true), Order::abandon);
}

TEST(Stopping, AGraceThatIsNeverOverIsNever) {
  Stopping stopping;
  stopping.ask(CancelReason::cancel_requested, kNow, never);
  EXPECT_EQ(stopping.due(), BootTime::max());
}

}  // namespace
}  // namespace holdfast::runtime::stopping_test
