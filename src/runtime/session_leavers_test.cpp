#include "runtime/session_leavers.hpp"

#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::session_leavers_test {
namespace {

using namespace std::chrono_literals;
using store::SessionReason;

class SessionLeaversTest : public ::testing::Test {
 protected:
  SessionLeaversTest() { standing.set_accepts(true); }

  HeldPointer add(const std::string& id, Duration idle_timeout = 1min) {
    auto held = std::make_shared<HeldSession>(HeldSession{.hold = {id, Generation{1}},
                                                          .number = ++last_number,
                                                          .idle_timeout = idle_timeout,
                                                          .quiet_since = clock.boot_now()});
    held->memory = std::make_shared<SessionMemory>(
        id, std::nullopt, [] { return StoreResult<std::optional<std::string>>(std::nullopt); },
        [](const std::shared_ptr<void>&) {});
    leavers.add(held);
    books.emplace(id, held);
    return held;
  }
  /// Who is to be released now, and why.
  std::vector<std::pair<std::string, SessionReason>> released(bool draining = false) {
    leavers.choose(books, draining, orders);
    std::vector<std::pair<std::string, SessionReason>> list;
    for (const store::SessionRelease& one : leavers.releases()) list.emplace_back(one.hold.id, one.reason);
    return list;
  }
  using Released = std::vector<std::pair<std::string, SessionReason>>;

  ManualClock clock;
  SeededRandom random{1};
  Settings settings{memory({.clock = &clock}), {.logger = null_logger()}, Registry(), random};
  Waker waker{[](Step) {}};
  Standing standing{waker, settings.options.worker_stale_after};
  SessionWishes wishes;
  SessionLeavers leavers{settings, standing, wishes};
  std::map<std::string, HeldPointer> books;
  SessionOrders orders;
  std::uint64_t last_number = 0;
};

TEST_F(SessionLeaversTest, OneLeavesWhenItWasIdleForLongEnough) {
  add("s");
  EXPECT_EQ(leavers.next_due(books), clock.boot_now() + 1min);
  EXPECT_EQ(released(), Released());
  clock.advance(1min);
  EXPECT_EQ(released(), (Released{{"s", SessionReason::idle}}));
}

TEST_F(SessionLeaversTest, OneThatWorksDoesNotLeave) {
  const HeldPointer held = add("s");
  held->activities = 1;
  clock.advance(1h);
  EXPECT_EQ(released(), Released());
  held->activities = 0;
  leavers.rest_from_now(held);
  leavers.came_to_rest(held, orders);
  EXPECT_EQ(orders.keep_by, clock.boot_now() + 1min);
  clock.advance(1min);
  EXPECT_EQ(released(), (Released{{"s", SessionReason::idle}}));
}

TEST_F(SessionLeaversTest, OneThatAVerbAsksForStays) {
  add("s");
  wishes.insert("s");
  clock.advance(1h);
  EXPECT_EQ(released(), Released());
  EXPECT_EQ(released(true), Released());
}

TEST_F(SessionLeaversTest, ADrainReleasesAllThatAreAtRest) {
  add("a");
  add("b")->activities = 1;
  add("c");
  EXPECT_EQ(released(true), (Released{{"a", SessionReason::drained}, {"c", SessionReason::drained}}));
}

TEST_F(SessionLeaversTest, TheLongestQuietOneMakesRoomAndOneIsEnough) {
  const HeldPointer first = add("a");
  add("b");
  clock.advance(1s);
  leavers.rest_from_now(first);
  leavers.want_room(clock.boot_now());
  EXPECT_EQ(released(), (Released{{"b", SessionReason::displaced}}));
  leavers.want_room(clock.boot_now());
  leavers.choose(books, false, orders);
  EXPECT_FALSE(first->leaving) << "the room that one makes may be enough";
}

TEST_F(SessionLeaversTest, OneThatNobodyElseMayHaveIsNotDisplaced) {
  add("s")->fails = true;
  leavers.want_room(clock.boot_now());
  EXPECT_EQ(released(), Released());
}

TEST_F(SessionLeaversTest, WhatTheStoreWontLetGoIsTriedAgain) {
  const HeldPointer held = add("s");
  leavers.want_hand_over(held);
  EXPECT_EQ(released(), (Released{{"s", SessionReason::handed_over}}));
  leavers.stays(held, "something of it is queued", orders);
  EXPECT_TRUE(orders.released);
  EXPECT_FALSE(held->leaving);
  EXPECT_TRUE(held->refused);
  EXPECT_EQ(released(), Released());
}

TEST_F(SessionLeaversTest, WhatTheStoreDidNotAnswerIsAskedAgainAtItsTime) {
  const HeldPointer held = add("s");
  leavers.want_hand_over(held);
  ASSERT_EQ(released().size(), 1U);
  leavers.not_released(*held, clock.boot_now() + 5s, orders);
  EXPECT_EQ(released(), Released());
  EXPECT_EQ(leavers.next_due(books), clock.boot_now() + 5s);
  clock.advance(5s);
  EXPECT_EQ(released().size(), 1U);
}

TEST_F(SessionLeaversTest, WhatCantBeSavedStaysUnlessItsWorkerGoes) {
  const HeldPointer held = add("s");
  leavers.want_hand_over(held);
  ASSERT_EQ(released().size(), 1U);
  leavers.saved(held, {.problem = "disk full"}, orders);
  EXPECT_FALSE(held->leaving);
  EXPECT_TRUE(held->unsaved);
  EXPECT_FALSE(leavers.lost_a_state());

  standing.set_accepts(false);
  clock.advance(1s);
  ASSERT_EQ(released(true).size(), 1U);
  leavers.saved(held, {.problem = "disk full"}, orders);
  EXPECT_TRUE(held->leaving);
  EXPECT_TRUE(leavers.lost_a_state());
  ASSERT_EQ(orders.changes.size(), 1U);
  EXPECT_EQ(orders.changes[0].kind, SessionChange::Kind::released_unsaved);
}

}  // namespace
}  // namespace holdfast::runtime::session_leavers_test
