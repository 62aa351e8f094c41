#include "runtime/session_books.hpp"

#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::session_books_test {
namespace {

using namespace std::chrono_literals;
using store::SessionReason;
using Change = SessionChange::Kind;

class SessionBooksTest : public ::testing::Test {
 protected:
  SessionBooksTest() {
    standing.set_accepts(true);
    standing.heard_at(now());
  }

  BootTime now() { return clock.boot_now(); }
  static store::SessionGrant grant(const std::string& id, std::uint64_t generation,
                                   std::uint64_t held_since = 0) {
    store::SessionGrant made{.hold = {id, {generation}}};
    made.held_since = {held_since == 0 ? generation : held_since};
    made.lease = 30s;
    made.idle_timeout = 10min;
    made.claimed = true;
    made.reason = SessionReason::work;
    return made;
  }
  static store::LockedActivity activity(const store::SessionGrant& of, std::uint64_t event = 1) {
    return {.id = {{1}, {1}, {event}}, .name = "step", .session = of};
  }
  HeldPointer claim(const std::string& id, std::uint64_t generation = 1) {
    return books.take_up(grant(id, generation), now(), orders);
  }
  /// Since it was asked last.
  std::vector<std::pair<Change, std::string>> changes() {
    std::vector<std::pair<Change, std::string>> list;
    for (const SessionChange& change : std::exchange(orders, {}).changes)
      list.emplace_back(change.kind, change.hold.id);
    return list;
  }
  using Changes = std::vector<std::pair<Change, std::string>>;
  std::vector<std::string> renewed_ids() {
    std::vector<std::string> ids;
    for (const store::SessionRenewal& one : books.renewals()) ids.push_back(one.hold.id);
    return ids;
  }

  ManualClock clock;
  SeededRandom random{1};
  Settings settings{
      memory({.clock = &clock}), {.worker_stale_after = 1h, .logger = null_logger()}, Registry(), random};
  Waker waker{[](Step) {}};
  Standing standing{waker, settings.options.worker_stale_after};
  SessionWishes wishes;
  SessionLeavers leavers{settings, standing, wishes};
  std::vector<std::string> memories_made;  ///< with what was saved; "?" where it has to be read
  SessionBooks books{settings, standing, leavers,
                     [this](const HeldPointer& held, std::optional<std::optional<std::string>> saved) {
                       memories_made.push_back(saved ? saved->value_or("nothing") : "?");
                       return std::make_shared<SessionMemory>(
                           held->hold.id, std::nullopt,
                           [] { return StoreResult<std::optional<std::string>>(std::nullopt); },
                           [](const std::shared_ptr<void>&) {});
                     }};
  SessionOrders orders;
};

// ---- coming --------------------------------------------------------------------------------------

TEST_F(SessionBooksTest, TheLeaseCountsFromBeforeTheClaimWasAskedFor) {
  const BootTime asked = now();
  clock.advance(20s);
  const HeldPointer held = books.take_up(grant("s", 1), asked, orders);
  EXPECT_TRUE(books.is_held(*held));
  EXPECT_EQ(orders.keep_by, asked + 10s);
  clock.advance(10s);
  EXPECT_FALSE(books.is_held(*held));
}

TEST_F(SessionBooksTest, AClaimSaysWhatWasSavedAndAGrantWithoutOneLeavesThatToBeRead) {
  store::SessionGrant with_state = grant("a", 1);
  with_state.saved = "state";
  books.take_up(with_state, now(), orders);
  store::SessionGrant lost_claim = grant("b", 1);
  lost_claim.claimed = false;
  books.take_up(lost_claim, now(), orders);
  claim("c");
  EXPECT_EQ(memories_made, (std::vector<std::string>{"state", "?", "nothing"}));
}

TEST_F(SessionBooksTest, OneThatAnotherWorkerHadIsSaidToHaveCome) {
  store::SessionGrant moved = grant("s", 2);
  moved.previous_owner = "other";
  books.take_up(moved, now(), orders);
  store::SessionGrant own = grant("t", 2);
  own.previous_owner = "me";
  own.same_owner = true;
  books.take_up(own, now(), orders);
  EXPECT_EQ(changes(), (Changes{{Change::came, "s"}, {Change::claimed, "t"}}));
}

TEST_F(SessionBooksTest, AnAnswerThatComesLateChangesNothing) {
  claim("s", 3);
  changes();
  const HeldPointer held = claim("s", 2);
  EXPECT_EQ(held->hold.generation, Generation{3});
  EXPECT_EQ(books.enter(activity(grant("s", 2)), now(), orders), nullptr);
  EXPECT_EQ(changes(), Changes());
  EXPECT_EQ(memories_made.size(), 1U);
}

TEST_F(SessionBooksTest, AClaimWithNobodyInBetweenKeepsWhatIsInMemory) {
  const HeldPointer before = claim("s", 1);
  const auto memory = before->memory;
  changes();
  EXPECT_EQ(books.take_up(grant("s", 2, 1), now(), orders), before);
  EXPECT_EQ(before->memory, memory);
  EXPECT_EQ(before->hold.generation, Generation{2});
  EXPECT_EQ(changes(), (Changes{{Change::reclaimed, "s"}}));
}

TEST_F(SessionBooksTest, AClaimAfterSomebodyElseHadItBeginsWithNothing) {
  const HeldPointer before = claim("s", 1);
  changes();
  const HeldPointer held = books.take_up(grant("s", 3, 3), now(), orders);
  EXPECT_NE(held, before);
  EXPECT_EQ(orders.let_go.size(), 1U);
  EXPECT_EQ(changes(), (Changes{{Change::left, "s"}, {Change::claimed, "s"}}));
  EXPECT_EQ(memories_made.size(), 2U);
}

TEST_F(SessionBooksTest, AcquiringWhatIsHeldExtendsItAndWhatAnotherHadBeginsAnew) {
  const HeldPointer held = claim("s", 1);
  books.lapsed(held->hold, orders);
  changes();
  store::Acquired reused{.kind = store::Acquired::Kind::reused,
                         .session = {.id = "s", .generation = {1}, .held_since = {1}, .lease_left = 25s}};
  clock.advance(10s);
  books.acquired(reused, now(), orders);
  EXPECT_TRUE(books.is_held(*held));
  EXPECT_EQ(held->lease_until, now() + 25s);
  EXPECT_EQ(changes(), Changes());
  store::Acquired taken{.kind = store::Acquired::Kind::reacquired,
                        .session = {.id = "s", .generation = {4}, .held_since = {4}}};
  books.acquired(taken, now(), orders);
  EXPECT_EQ(changes(), (Changes{{Change::left, "s"}, {Change::claimed, "s"}}));
}

// ---- activities ----------------------------------------------------------------------------------

TEST_F(SessionBooksTest, TheFirstActivityIsTheFreshOne) {
  const HeldPointer held = books.enter(activity(grant("s", 1), 7), now(), orders);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(books.enter(activity(grant("s", 1), 8), now(), orders), held);
  EXPECT_EQ(held->activities, 2);
  EXPECT_EQ(held->first->event, EventId{7});
}

TEST_F(SessionBooksTest, NothingRunsPastTheLeaseOrOnceTheStoreIsAskedToLetItGo) {
  const HeldPointer held = claim("s");
  held->leaving.emplace().asked = true;
  EXPECT_EQ(books.enter(activity(grant("s", 1)), now(), orders), nullptr);
  held->leaving.reset();
  held->wanted_back = true;
  EXPECT_EQ(books.enter(activity(grant("s", 1)), now(), orders), nullptr) << "an operator asks for it";
  held->wanted_back = false;
  const BootTime asked = now();
  clock.advance(30s);
  EXPECT_EQ(books.enter(activity(grant("s", 1)), asked, orders), nullptr);
  EXPECT_EQ(held->activities, 0);
}

TEST_F(SessionBooksTest, AnActivityThatAbortsItsSessionEndsItHereToo) {
  const HeldPointer held = books.enter(activity(grant("s", 1)), now(), orders);
  changes();
  books.end_stay(held, true, orders);
  EXPECT_EQ(books.find("s"), nullptr);
  ASSERT_EQ(orders.changes.size(), 1U);
  EXPECT_EQ(orders.changes[0].reason, SessionReason::aborted);
}

TEST_F(SessionBooksTest, AnActivityMayOutliveItsSessionHere) {
  const HeldPointer held = books.enter(activity(grant("s", 1)), now(), orders);
  books.leave(held, SessionReason::lapsed, orders);
  EXPECT_EQ(orders.let_go.size(), 1U);
  claim("s", 5);
  books.end_stay(held, true, orders);
  EXPECT_NE(books.find("s"), nullptr) << "the new one is not what it has aborted";
}

// ---- keeping -------------------------------------------------------------------------------------

TEST_F(SessionBooksTest, LeasesAreRenewedAfterAThirdOfThemByIdAndNotThoseThatHaveLapsed) {
  claim("b");
  clock.advance(1s);
  claim("a");
  claim("c");
  EXPECT_EQ(books.renewal_due(), now() + 9s);
  books.lapsed({"c", {1}}, orders);
  EXPECT_EQ(renewed_ids(), (std::vector<std::string>{"a", "b"}));
  books.renewed({"b", {1}}, now());
  EXPECT_EQ(books.renewal_due(), now() + 10s);
}

TEST_F(SessionBooksTest, ARenewalThatWasNotAnsweredWaitsAndOneOfAnOlderHoldCountsForNothing) {
  const HeldPointer held = claim("s", 2);
  books.not_renewed(held->hold, now() + 5s);
  EXPECT_EQ(renewed_ids(), std::vector<std::string>());
  clock.advance(5s);
  EXPECT_EQ(renewed_ids(), std::vector<std::string>{"s"});
  const BootTime until = held->lease_until;
  books.renewed({"s", {1}}, now());
  EXPECT_EQ(held->lease_until, until);
}

TEST_F(SessionBooksTest, NothingIsHeldOnceOthersMayTakeTheWorkerForGone) {
  const HeldPointer held = claim("s");
  for (int i = 0; i < 240; ++i) {
    clock.advance(15s);
    books.renewed(held->hold, now());
  }
  EXPECT_LT(standing.known_until(), now());
  EXPECT_FALSE(books.is_held(*held));
  standing.heard_at(now());
  EXPECT_TRUE(books.is_held(*held));
}

TEST_F(SessionBooksTest, WhichLeasesAreOverIsSaidOnceForEach) {
  claim("a");
  clock.advance(10s);
  claim("b");
  changes();
  clock.advance(20s);
  books.note_overdue(orders);
  books.note_overdue(orders);
  EXPECT_EQ(changes(), (Changes{{Change::overdue, "a"}}));
  clock.advance(10s);
  books.note_overdue(orders);
  EXPECT_EQ(changes(), (Changes{{Change::overdue, "b"}}));
  books.renewed({"a", {1}}, now());
  clock.advance(30s);
  books.note_overdue(orders);
  EXPECT_EQ(changes(), (Changes{{Change::overdue, "a"}})) << "it was held in between";
}

TEST_F(SessionBooksTest, ThoseThatHaveLapsedAreAskedForInTurns) {
  for (const char* const id : {"a", "b", "c"}) books.lapsed(claim(id)->hold, orders);
  const auto ids = [&](std::size_t max) {
    std::vector<std::string> list;
    for (const store::SessionHold& hold : books.lapsed_ones(max)) list.push_back(hold.id);
    return list;
  };
  EXPECT_EQ(ids(2), (std::vector<std::string>{"a", "b"}));
  clock.advance(1s);
  EXPECT_EQ(ids(2), (std::vector<std::string>{"c", "a"}));
}

TEST_F(SessionBooksTest, OneThatHasLapsedIsHeldAgainWhenTheStoreSaysSoAndNobodyElseHadIt) {
  const HeldPointer held = claim("s", 1);
  books.lapsed(held->hold, orders);
  changes();
  store::SessionView view{.id = "s", .generation = {2}, .held_since = {2}, .lease_left = 20s};
  view.policy.lease = 30s;
  books.held_again({"s", {1}}, view, now(), orders);
  EXPECT_FALSE(books.is_held(*held)) << "another had it in between";
  view.held_since = {1};
  books.held_again({"s", {1}}, view, now(), orders);
  EXPECT_TRUE(books.is_held(*held));
  EXPECT_EQ(held->lease_until, now() + 20s);
  EXPECT_EQ(changes(), (Changes{{Change::reclaimed, "s"}}));
}

// ---- leaving -------------------------------------------------------------------------------------

TEST_F(SessionBooksTest, WhenAllLeaveNoneIsLeft) {
  claim("a");
  claim("b");
  changes();
  books.all_left(SessionReason::drained, orders);
  EXPECT_TRUE(books.all().empty());
  EXPECT_EQ(orders.let_go.size(), 2U);
  EXPECT_EQ(orders.changes.size(), 2U);
  EXPECT_EQ(orders.changes[0].reason, SessionReason::drained);
}

}  // namespace
}  // namespace holdfast::runtime::session_books_test
