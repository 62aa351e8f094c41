#include "connection.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::pack_test {
namespace {

using support::TemporaryFolder;
using namespace holdfast::store;
using namespace std::chrono_literals;

/// An instance whose first turn hands activities off, which are kept together.
class SqlitePacks : public ::testing::Test {
 protected:
  SqlitePacks() : worker_(store_->join({.node = "n", .abilities = abilities_, .code = code_}).value()) {
    const StartRequest request{.instance = "i", .code = {"o", "1"}, .body = "input"};
    (void)store_->start(std::span(&request, 1));
    const auto fetched =
        store_->fetch_turns({.worker = worker_, .code = &code_, .token = kTurn, .lease = 1h, .max = 10});
    const LockedTurn turn = fetched.value().turns.at(0);
    key_ = turn.key;
    seen_ = turn.messages.at(0).id;
  }

  TurnCommit turn() {
    TurnCommit commit{.key = key_,
                      .token = kTurn,
                      .expected = {1, turns_},
                      .stamp = {1, turns_ + 1},
                      .execution = {1},
                      .first_event = {100 * turns_ + 1},
                      .segment = "events",
                      .seen = seen_,
                      .activity_token = {2, turns_ + 1},
                      .keep_lock = true};
    if (turns_ == 0) {
      commit.expected = {};
      commit.consumed = {seen_};
    }
    ++turns_;
    return commit;
  }
  TurnCommit hand_off(std::vector<std::uint64_t> events, const std::string& body = "x") {
    TurnCommit commit = turn();
    for (const std::uint64_t event : events) {
      commit.activities.push_back({.event = {event}, .name = "a", .body = body, .hand_off = true});
    }
    return commit;
  }
  Committed commit(const TurnCommit& commit) {
    auto answers = store_->commit_turns({.worker = worker_, .abilities = &abilities_, .activity_lease = 30s},
                                        std::span(&commit, 1));
    return std::move(answers.at(0)).value();
  }
  std::vector<std::uint64_t> running() {
    std::vector<std::uint64_t> events;
    for (const ActivityView& activity : store_->describe("i").value().activities) {
      if (activity.running) events.push_back(activity.id.event.value);
    }
    return events;
  }
  ActivityId id(std::uint64_t event) const { return {key_, {1}, {event}}; }

  static constexpr LockToken kTurn{7, 7};
  static constexpr LockToken kFirst{2, 1};  // of what the first turn hands off

  TemporaryFolder folder_;
  ManualClock clock_;
  Abilities abilities_{.handlers = {"a"}};
  Code code_{.orchestrations = {{"o", "1"}}};
  std::shared_ptr<Store> store_ = sqlite(folder_ / "packs.db", {.clock = &clock_});
  WorkerKey worker_;
  InstanceKey key_{};
  MessageId seen_{};
  std::uint64_t turns_ = 0;
};

using Events = std::vector<std::uint64_t>;

TEST_F(SqlitePacks, EachActivityMayGoItsOwnWay) {
  commit(hand_off({2, 3, 4, 5, 6}));
  EXPECT_EQ(running(), (Events{2, 3, 4, 5, 6}));

  const ActivityResult result{.id = id(3), .token = kFirst, .result = Finished{"done"}};
  EXPECT_TRUE(store_->finish_activities(std::span(&result, 1)).at(0));
  EXPECT_EQ(store_->finish_activities(std::span(&result, 1)).at(0).error().kind, StoreError::Kind::gone);
  clock_.advance(20s);
  const ActivityRenewal renewal{.id = id(4), .token = kFirst, .progress = "half"};
  EXPECT_TRUE(store_->renew_activities(worker_, 30s, std::span(&renewal, 1)).at(0));
  TurnCommit next = turn();
  next.completed = {{.event = {2}, .token = kFirst}};
  next.cancelled = {{.event = {6}}};
  commit(next);
  EXPECT_EQ(running(), (Events{4, 5}));

  clock_.advance(15s);  // the lock of 5 ends, that of 4 was renewed
  EXPECT_EQ(running(), (Events{4}));
  const auto fetched = store_->fetch_activities(
      {.worker = worker_, .abilities = &abilities_, .token = {3, 3}, .lease = 30s, .max = 5});
  ASSERT_EQ(fetched.value().activities.size(), 1U);
  EXPECT_EQ(fetched->activities[0].id, id(5));
  EXPECT_EQ(fetched->activities[0].delivery, 2U);
}

TEST_F(SqlitePacks, AnotherOneBeginsWhileSomeOfTheFirstStillRun) {
  commit(hand_off({2, 3}));
  TurnCommit next = hand_off({102, 103});
  next.completed = {{.event = {2}, .token = kFirst}};
  commit(next);
  EXPECT_EQ(running(), (Events{3, 102, 103}));
  TurnCommit last = hand_off({202});
  last.completed = {
      {.event = {3}, .token = kFirst}, {.event = {102}, .token = {2, 2}}, {.event = {103}, .token = {2, 2}}};
  commit(last);
  EXPECT_EQ(running(), (Events{202}));
}

TEST_F(SqlitePacks, MoreThanFitsIsKeptRowByRow) {
  Events events;
  for (std::uint64_t event = 2; event < 60; ++event) events.push_back(event);
  EXPECT_EQ(std::ranges::count_if(commit(hand_off(events, std::string(100, 'x'))).handed_off,
                                  [](const auto& activity) { return activity.has_value(); }),
            58);
  EXPECT_EQ(running(), events);
  TurnCommit next = hand_off({102}, std::string(10'000, 'y'));
  for (const std::uint64_t event : events) next.completed.push_back({.event = {event}, .token = kFirst});
  commit(next);
  EXPECT_EQ(running(), (Events{102}));
}

TEST_F(SqlitePacks, AnotherProcessFindsWhatThisOneHandedOff) {
  commit(hand_off({2, 3}));
  const auto other = sqlite(folder_ / "packs.db", {.clock = &clock_});
  const ActivityResult result{.id = id(3), .token = kFirst, .result = Finished{"done"}};
  EXPECT_TRUE(other->finish_activities(std::span(&result, 1)).at(0));
  TurnCommit next = turn();
  next.completed = {{.event = {2}, .token = kFirst}, {.event = {3}, .token = kFirst}};
  const auto answers = store_->commit_turns({.worker = worker_}, std::span(&next, 1));
  EXPECT_EQ(answers.at(0).error().kind, StoreError::Kind::lost);
  EXPECT_EQ(running(), (Events{2}));
}

TEST_F(SqlitePacks, WhatAnotherProcessHandsOffLeavesItAlone) {
  commit(hand_off({2, 3}));
  store_ = sqlite(folder_ / "packs.db", {.clock = &clock_});
  commit(hand_off({102}));
  EXPECT_EQ(running(), (Events{2, 3, 102}));
}

/// The same, in a session that the worker holds.
class SqlitePacksInASession : public SqlitePacks {
 protected:
  void acquire(const SessionPolicy& policy = {}) {
    ASSERT_TRUE(store_->acquire_session(worker_, abilities_, "s", policy));
  }
  TurnCommit hand_off_in_session(const std::vector<std::uint64_t>& events) {
    TurnCommit commit = hand_off(events);
    for (NewActivity& activity : commit.activities) activity.session = SessionUse{.id = "s"};
    return commit;
  }
  SessionView session() { return store_->session("s").value(); }
  std::vector<CancelReason> taken() {
    std::vector<CancelReason> reasons;
    for (const CancelRecord& record : store_->cancel_records(worker_).value())
      reasons.push_back(record.reason);
    return reasons;
  }
  bool release() {
    const SessionRelease release{{"s", session().generation}, SessionReason::idle};
    return store_->release_sessions(worker_, std::span(&release, 1)).at(0).has_value();
  }
};

TEST_F(SqlitePacksInASession, TheyAreInFlightInIt) {
  acquire();
  for (const auto& activity : commit(hand_off_in_session({2, 3, 4})).handed_off) {
    ASSERT_TRUE(activity && activity->session);
    EXPECT_EQ(activity->session->hold, (SessionHold{"s", session().generation}));
  }
  EXPECT_EQ(session().in_flight, 3U);
  EXPECT_FALSE(release());
  TurnCommit next = turn();
  next.completed = {{.event = {2}, .token = kFirst}, {.event = {4}, .token = kFirst}};
  commit(next);
  EXPECT_EQ(session().in_flight, 1U);
  clock_.advance(30s);  // their locks are over, and so is the lease
  EXPECT_EQ(session().in_flight, 0U);
  EXPECT_EQ(session().queued, 1U);
}

TEST_F(SqlitePacksInASession, OneWithoutSessionIsNotAmongThem) {
  acquire();
  TurnCommit mixed = hand_off_in_session({2, 3, 4});
  mixed.activities[1].session.reset();
  commit(mixed);
  EXPECT_EQ(running(), (Events{2, 3, 4}));
  EXPECT_EQ(session().in_flight, 2U);
}

TEST_F(SqlitePacksInASession, WhatRunsMayFinishWhenItIsClosedAndFailsWithItOtherwise) {
  acquire();
  commit(hand_off_in_session({2, 3}));
  EXPECT_TRUE(store_->close_session("s", SessionReason::closed_by_code));
  EXPECT_EQ(running(), (Events{2, 3}));
  TurnCommit next = turn();
  next.completed = {{.event = {2}, .token = kFirst}};
  commit(next);
  clock_.advance(30s);
  EXPECT_EQ(store_->sweep({.worker = worker_}).value().activities_timed_out, 1U);
  EXPECT_EQ(running(), Events{});
  EXPECT_EQ(store_->describe("i").value().unread, 1U);  // it is told so
}

TEST_F(SqlitePacksInASession, AnAbortTakesTheOthersAwayAndNotThoseThatEndWithIt) {
  acquire();
  commit(hand_off_in_session({2, 3, 4}));
  TurnCommit next = turn();
  next.completed = {{.event = {2}, .token = kFirst},
                    {.event = {3}, .token = kFirst, .abort_session = "no more"}};
  commit(next);
  EXPECT_EQ(running(), Events{});
  EXPECT_EQ(taken(), (std::vector{CancelReason::session_aborted}));
}

TEST_F(SqlitePacksInASession, WhatHasEndedStaysEndedWhenTheSameCommitExpiresTheSession) {
  acquire({.ttl = 10s});
  commit(hand_off_in_session({2, 3}));
  clock_.advance(11s);
  TurnCommit next = hand_off_in_session({102});
  next.completed = {{.event = {2}, .token = kFirst}, {.event = {3}, .token = kFirst}};
  commit(next);
  EXPECT_EQ(session().state, store::SessionStatus::expired);
  EXPECT_EQ(running(), Events{});
  EXPECT_EQ(session().in_flight, 0U);
}

TEST_F(SqlitePacks, OneThatCantBeDecodedIsSetAsideAndBlocksNobody) {
  commit(hand_off({2, 3}));
  sqlite_store::Connection(folder_ / "packs.db", SQLITE_OPEN_READWRITE)
      .exec("UPDATE packs SET items = x'ff'");
  clock_.advance(31s);
  const StartRequest request{.instance = "j", .code = {"o", "1"}, .body = "input"};
  EXPECT_TRUE(store_->start(std::span(&request, 1)).at(0));
  const auto aside = store_->set_aside(0, 10).value();
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_EQ(aside[0].key, key_);
  EXPECT_EQ(aside[0].bytes, "\xff");
}

// A pack has room for so many; whatever claims to have more was not written here.
TEST_F(SqlitePacks, OneWithTooManyActivitiesIsSetAside) {
  commit(hand_off({2, 3}));
  std::string many;  // event, kind, and an empty body
  for (int i = 0; i < 17; ++i) many += "020100";
  sqlite_store::Connection(folder_ / "packs.db", SQLITE_OPEN_READWRITE)
      .exec("UPDATE packs SET items = x'" + many + "'");
  clock_.advance(31s);
  const StartRequest request{.instance = "j", .code = {"o", "1"}, .body = "input"};
  EXPECT_TRUE(store_->start(std::span(&request, 1)).at(0));
  EXPECT_EQ(store_->set_aside(0, 10).value().size(), 1U);
}

}  // namespace
}  // namespace holdfast::pack_test
