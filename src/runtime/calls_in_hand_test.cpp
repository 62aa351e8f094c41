#include "runtime/calls_in_hand.hpp"

#include "client/bodies.hpp"

#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace holdfast::runtime::calls_in_hand_test {
namespace {

using namespace std::chrono_literals;
using State = store::CancelRecord::State;

class CallsInHandTest : public ::testing::Test {
 protected:
  static store::LockedActivity locked(std::uint64_t event, std::uint32_t delivery = 1) {
    return {.id = {InstanceKey{1}, ExecutionNumber{1}, EventId{event}},
            .instance = "i",
            .name = "work",
            .delivery = delivery};
  }
  static CallsInHand::Key key(std::uint64_t event, LockToken token = kToken) {
    return {locked(event).id, token};
  }
  CallPointer begin(std::uint64_t event) {
    auto call = std::make_shared<detail::ActivityCall>(
        locked(event), kToken, bodies::Activity{}, detail::make_activity([](ActivityContext&) {}), nullptr,
        settings.registry, clock, clock.boot_now(), 0);
    calls.add(call, clock.boot_now() + settings.options.activity_lease);
    return call;
  }
  /// What is to be done when nothing but time has passed.
  CallOrders check() {
    CallOrders due;
    calls.check(due);
    return due;
  }

  static constexpr LockToken kToken{1, 1};
  static constexpr LockToken kNewer{1, 2};
  static constexpr LockToken kNewest{1, 3};
  ManualClock clock;
  SeededRandom random{1};
  Settings settings{memory({.clock = &clock}),
                    {.activity_lease = 30s, .cancel_grace = 5s, .logger = null_logger()},
                    Registry(),
                    random};
  CallsInHand calls{settings};
  CallOrders orders;
};

TEST_F(CallsInHandTest, ACallIsHereUntilTheStoreKnowsHowItEnded) {
  const CallPointer call = begin(1);
  const CallsInHand::CodeEnd end = calls.code_ended(*call, orders);
  EXPECT_TRUE(end.known);
  EXPECT_TRUE(end.frees_slot);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls.close(key(1), orders), call);
  EXPECT_EQ(calls.size(), 0U);
  EXPECT_EQ(orders.over, std::vector{call}) << "whoever holds no mutex lets it go";
  EXPECT_TRUE(orders.acknowledge.empty());
}

TEST_F(CallsInHandTest, WhatIsTakenAwayIsAskedToStopAndAcknowledgedWhenItsCodeHasEnded) {
  const CallPointer call = begin(1);
  calls.cancel(key(1), CancelReason::cancel_requested, std::nullopt, orders);
  ASSERT_EQ(orders.stop.size(), 1U);
  EXPECT_EQ(orders.stop[0].reason, CancelReason::cancel_requested);
  EXPECT_EQ(orders.limit_by, clock.boot_now() + 5s);
  EXPECT_FALSE(call->answer()) << "what it returns counts no more";
  EXPECT_TRUE(calls.renewals().empty());
  EXPECT_EQ(calls.code_ended(*call, orders).stopped, CancelReason::cancel_requested);
  ASSERT_EQ(orders.acknowledge.size(), 1U);
  EXPECT_EQ(orders.acknowledge[0].state, State::acknowledged);
  EXPECT_EQ(calls.size(), 0U);
}

TEST_F(CallsInHandTest, WhatGoesOnAfterItsGraceIsAbandoned) {
  const CallPointer call = begin(1);
  calls.cancel(key(1), CancelReason::cancel_requested, std::nullopt, orders);
  clock.advance(5s);
  const CallOrders late = check();
  EXPECT_EQ(late.abandoned, std::vector{call});
  ASSERT_EQ(late.acknowledge.size(), 1U);
  EXPECT_EQ(late.acknowledge[0].state, State::abandoned);
  EXPECT_EQ(calls.size(), 0U);
  EXPECT_FALSE(calls.code_ended(*call, orders).known);
}

TEST_F(CallsInHandTest, ALeaseThatIsOverIsSaidOnceAndItsResultStillCounts) {
  const CallPointer call = begin(1);
  EXPECT_EQ(calls.next_limit(), clock.boot_now() + 30s);
  clock.advance(30s);
  const CallOrders late = check();
  EXPECT_EQ(late.lapsed, std::vector{call});
  EXPECT_EQ(late.stop.size(), 1U);
  EXPECT_TRUE(check().lapsed.empty());
  EXPECT_TRUE(call->answer());
}

TEST_F(CallsInHandTest, ARenewedLeaseIsNotOver) {
  begin(1);
  clock.advance(20s);
  calls.renewed(calls.renewals(), clock.boot_now(), orders);
  EXPECT_EQ(orders.limit_by, clock.boot_now() + 30s);
  clock.advance(20s);
  EXPECT_TRUE(check().lapsed.empty());
}

TEST_F(CallsInHandTest, WhatThisWorkerLocksAgainGoesOn) {
  const CallPointer call = begin(1);
  clock.advance(30s);
  check();
  EXPECT_EQ(calls.take_again(locked(1, 2), kNewer, clock.boot_now(), nullptr), kToken);
  EXPECT_EQ(call->token(), kNewer);
  EXPECT_EQ(calls.newer_lock(key(1)), kNewer);
  EXPECT_EQ(calls.find(key(1)), nullptr);
  EXPECT_EQ(calls.find(key(1, kNewer)), call);
  EXPECT_TRUE(check().lapsed.empty());
}

TEST_F(CallsInHandTest, WhatThisWorkerLocksAgainAndAgainGoesOn) {
  const CallPointer call = begin(1);
  ASSERT_EQ(calls.take_again(locked(1, 2), kNewer, clock.boot_now(), nullptr), kToken);
  EXPECT_EQ(calls.take_again(locked(1, 3), kNewest, clock.boot_now(), nullptr), kNewer);
  EXPECT_EQ(calls.find(key(1, kNewest)), call);
  EXPECT_EQ(calls.newer_lock(key(1)), kNewest);
  EXPECT_EQ(calls.newer_lock(key(1, kNewer)), kNewest);
}

// The store takes back the delivery of what is put back. A fetch may lock it before the answer to that is
// here.
TEST_F(CallsInHandTest, WhatWasLockedAgainAndPutBackIsRunAnew) {
  const CallPointer call = begin(1);
  ASSERT_EQ(calls.take_again(locked(1, 2), kNewer, clock.boot_now(), nullptr), kToken);
  calls.code_ended(*call, orders);
  EXPECT_FALSE(calls.take_again(locked(1, 2), kNewest, clock.boot_now(), nullptr));
  EXPECT_EQ(calls.close(key(1, kNewer), orders), call);
  EXPECT_EQ(calls.size(), 0U);
}

TEST_F(CallsInHandTest, WhatSomebodyElseHadInBetweenIsRunAnew) {
  begin(1);
  EXPECT_FALSE(calls.take_again(locked(1, 3), kNewer, clock.boot_now(), nullptr));
}

TEST_F(CallsInHandTest, ALockThatAFetchUnderWayMayHaveIsNotTakenForLost) {
  begin(1);
  calls.expect(kNewer);
  EXPECT_TRUE(calls.may_be_locked_again(key(1)));
  calls.cancel(key(1), CancelReason::lease_lost, std::nullopt, orders);
  EXPECT_TRUE(orders.stop.empty());
  calls.stop_expecting(kNewer, orders);
  EXPECT_FALSE(calls.may_be_locked_again(key(1)));
  calls.cancel(key(1), CancelReason::lease_lost, std::nullopt, orders);
  EXPECT_EQ(orders.stop.size(), 1U);
}

TEST_F(CallsInHandTest, ADroppedOneIsAnsweredForTheRequestThatWillFindNobody) {
  const CallPointer call = begin(1);
  calls.code_ended(*call, orders);
  EXPECT_EQ(calls.drop(key(1), orders), call);
  ASSERT_EQ(orders.acknowledge.size(), 1U);
  EXPECT_EQ(orders.acknowledge[0].state, State::acknowledged);
  EXPECT_EQ(calls.size(), 0U);
}

TEST_F(CallsInHandTest, ATimeoutThatTheStoreKnowsKeepsItsCallUntilItsCodeEnds) {
  const CallPointer call = begin(1);
  ASSERT_TRUE(call->answer());
  EXPECT_EQ(calls.close(key(1), orders), nullptr);
  EXPECT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls.code_ended(*call, orders).frees_slot);
  EXPECT_EQ(calls.size(), 0U);
}

}  // namespace
}  // namespace holdfast::runtime::calls_in_hand_test
