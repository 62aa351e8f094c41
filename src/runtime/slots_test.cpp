#include "runtime/slots.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::slots_test {
namespace {

using namespace std::chrono_literals;

constexpr BootTime kNow{};

store::LockedActivity activity(std::uint64_t event) { return {.id = {{}, {}, EventId{event}}}; }

TEST(Slots, ATurnGetsAsManyAsAreFree) {
  Slots slots(3);
  EXPECT_EQ(slots.reserve_for_hand_off(2), 2U);
  EXPECT_EQ(slots.reserve_for_hand_off(2), 1U);
  EXPECT_EQ(slots.reserve_for_hand_off(2), 0U);
  slots.unreserve(3);
  EXPECT_EQ(slots.in_use(), 0U);
}

TEST(Slots, AFetchGetsAllThatAreFree) {
  Slots slots(3);
  EXPECT_EQ(slots.reserve_for_hand_off(1), 1U);
  EXPECT_EQ(slots.reserve_for_fetch(true), 2U);
  EXPECT_EQ(slots.reserve_for_fetch(true), 0U);
}

TEST(Slots, AWorkerThatBeginsNothingReservesNothing) {
  Slots slots(3);
  EXPECT_EQ(slots.reserve_for_fetch(false), 0U);
  EXPECT_TRUE(slots.left_behind());
}

TEST(Slots, WhileWorkIsLeftBehindEverySecondFreeOneIsForIt) {
  Slots slots(2);
  ASSERT_EQ(slots.reserve_for_fetch(true), 2U);
  slots.occupy();
  slots.occupy();
  slots.set_left_behind(true);
  slots.free(true);
  EXPECT_EQ(slots.reserve_for_hand_off(1), 0U);
  slots.free(true);
  EXPECT_EQ(slots.reserve_for_hand_off(2), 1U);
  slots.set_left_behind(false);
  EXPECT_EQ(slots.reserve_for_hand_off(1), 1U);
}

TEST(Slots, WhatWaitsGetsTheNextOneThatIsFree) {
  Slots slots(1);
  slots.note(1ms);  // so short that it is worth to lock ahead
  ASSERT_EQ(slots.reserve_for_fetch(true), 2U);
  slots.occupy();
  EXPECT_TRUE(slots.are_full());
  slots.wait({activity(7), {}, kNow, kNow});
  EXPECT_EQ(slots.in_use(), 1U);
  EXPECT_EQ(slots.waiting(), 1U);
  const auto next = slots.free(true);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->locked.id.event, EventId{7});
  EXPECT_TRUE(slots.are_full());
  EXPECT_FALSE(slots.free(true));
  EXPECT_EQ(slots.in_use(), 0U);
}

TEST(Slots, AWorkerThatBeginsNothingLeavesWhatWaits) {
  Slots slots(1);
  slots.note(1ms);
  ASSERT_EQ(slots.reserve_for_fetch(true), 2U);
  slots.occupy();
  slots.wait({activity(7), {}, kNow, kNow});
  EXPECT_FALSE(slots.free(false));
  EXPECT_EQ(slots.waiting(), 1U);
}

TEST(Slots, WhatWaitsNoMoreNeedsNoRoom) {
  Slots slots(1);
  slots.note(1ms);
  ASSERT_EQ(slots.reserve_for_fetch(true), 2U);
  slots.wait({activity(7), {}, kNow, kNow});
  slots.wait({activity(8), {}, kNow, kNow});
  EXPECT_TRUE(slots.remove(activity(7).id, {}));
  EXPECT_FALSE(slots.remove(activity(7).id, {}));
  EXPECT_EQ(slots.next_due(), kNow + AheadList::kPatience);
  EXPECT_EQ(slots.take_late(kNow + AheadList::kPatience).size(), 1U);
  EXPECT_EQ(slots.in_use(), 0U);
  EXPECT_EQ(slots.reserve_for_fetch(true), 1U);
}

}  // namespace
}  // namespace holdfast::runtime::slots_test
