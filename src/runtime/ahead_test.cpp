#include "runtime/ahead.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::ahead_test {
namespace {

using namespace std::chrono_literals;

AheadList::Item item(std::uint64_t event, BootTime since = {}) {
  AheadList::Item made;
  made.locked.id = {InstanceKey{1}, ExecutionNumber{1}, EventId{event}};
  made.token = LockToken{7, 7};
  made.since = since;
  return made;
}

TEST(Ahead, HasRoomOnlyOnceActivitiesAreKnownToBeShort) {
  AheadList ahead;
  EXPECT_EQ(ahead.room(4), 0U);
  ahead.note(10ms);
  EXPECT_EQ(ahead.room(4), 4U);
}

TEST(Ahead, HasNoRoomWhileTheyTakeLong) {
  AheadList ahead;
  ahead.note(10ms);
  ahead.note(10s);
  EXPECT_EQ(ahead.room(4), 0U);
  for (int i = 0; i < 100; ++i) ahead.note(1ms);
  EXPECT_EQ(ahead.room(4), 4U);
}

TEST(Ahead, GivesThemInTheirOrder) {
  AheadList ahead;
  ahead.add(item(1));
  ahead.add(item(2));
  EXPECT_EQ(ahead.size(), 2U);
  EXPECT_EQ(ahead.take()->locked.id.event, EventId{1});
  EXPECT_EQ(ahead.take()->locked.id.event, EventId{2});
  EXPECT_FALSE(ahead.take());
}

TEST(Ahead, LetsOneBeTakenAway) {
  AheadList ahead;
  ahead.add(item(1));
  const AheadList::Item wanted = item(1);
  EXPECT_FALSE(ahead.remove(wanted.locked.id, LockToken{8, 8}));
  EXPECT_TRUE(ahead.remove(wanted.locked.id, wanted.token));
  EXPECT_EQ(ahead.size(), 0U);
}

TEST(Ahead, KeepsNoneForLong) {
  AheadList ahead;
  EXPECT_EQ(ahead.next_due(), BootTime::max());
  ahead.note(1ms);
  const BootTime began{1h};
  ahead.add(item(1, began));
  ahead.add(item(2, began + 1ms));
  EXPECT_EQ(ahead.next_due(), began + AheadList::kPatience);
  EXPECT_TRUE(ahead.take_late(began).empty());
  EXPECT_EQ(ahead.take_late(began + AheadList::kPatience).size(), 1U);
  EXPECT_EQ(ahead.room(4), 0U);  // it must not come back at once
  EXPECT_EQ(ahead.size(), 1U);
  EXPECT_EQ(ahead.take_all().size(), 1U);
  EXPECT_EQ(ahead.size(), 0U);
}

}  // namespace
}  // namespace holdfast::runtime::ahead_test
