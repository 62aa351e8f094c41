// What somebody else keeps locked, for longer than a call takes: a worker puts aside what needs it, a client
// waits, and nobody else notices.
#include "calls_test.hpp"

#include <cstdint>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::postgres_store::busy_test {
namespace {

using namespace std::chrono_literals;
using store::TurnCommit;

/// How many transactions that write a store has begun since `counts` was cleared.
std::uint64_t begun(const FaultScript& counts) { return counts.passed("postgres.begin"); }

/// A worker with a turn of each of two instances, `a` and `b`.
struct TwoTurns {
  explicit TwoTurns(const TestSchema& schema, PostgresOptions options = {})
      : worker(schema.open(std::move(options)), "w") {
    for (const char* const id : {"a", "b"}) EXPECT_TRUE(start(*worker.store, start_of(id)));
    const auto fetched = worker.fetch_turns();
    for (const auto& turn : fetched->turns) {
      turns.push_back(turn);
      commits.push_back(TestWorker::end_of(turn));
    }
    EXPECT_EQ(turns.size(), 2U);
  }
  auto commit() {
    return worker.store->commit_turns({.worker = worker.key, .abilities = &worker.abilities}, commits);
  }

  TestWorker worker;
  std::vector<store::LockedTurn> turns{};
  std::vector<TurnCommit> commits{};
};

TEST(PostgresBusy, ACommitOfTurnsPutsAsideTheOneWhoseRowIsLocked) {
  const TestSchema schema;
  TwoTurns two(schema);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'a' FOR UPDATE");
  const auto answers = two.commit();
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().kind, StoreError::Kind::busy) << answers[0].error().message;
  EXPECT_TRUE(answers[1]) << answers[1].error().message;
  intruder.leave();
  EXPECT_TRUE(patiently([&] { return two.worker.commit(two.commits[0]); })) << "nothing has happened";
}

TEST(PostgresBusy, WhatIsKnownToBeLockedIsAnsweredWithoutATransaction) {
  const TestSchema schema;
  FaultScript counts;
  TwoTurns two(schema, {.faults = &counts});
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'a' FOR UPDATE");
  EXPECT_FALSE(two.commit()[0]);
  counts.clear();
  constexpr std::uint64_t kTries = 30;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const auto answer = two.worker.commit(two.commits[0]);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, StoreError::Kind::busy) << answer.error().message;
  }
  // What was seen to be locked is forgotten after some seconds: on a machine that stands still, between two
  // tries.
  EXPECT_LT(begun(counts), kTries / 3) << "each of them tried";
  intruder.leave();
  EXPECT_TRUE(patiently([&] { return two.worker.commit(two.commits[0]); }));
}

TEST(PostgresBusy, AParentThatIsLockedMakesTheTurnsOfItsChildrenBusyAndNoOthers) {
  const TestSchema schema;
  TwoTurns two(schema);
  ASSERT_TRUE(start(*two.worker.store, start_of("parent", "none")));
  const InstanceKey parent = two.worker.store->find("parent")->key;
  two.commits[0].messages = {{.key = parent, .message = {.kind = store::MessageKind::outcome, .body = "1"}}};
  two.commits[0].end = store::InstanceEnd{};
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'parent' FOR UPDATE");
  const auto answers = two.commit();
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().kind, StoreError::Kind::busy);
  EXPECT_TRUE(answers[1]);
  intruder.leave();
  EXPECT_TRUE(patiently([&] { return two.worker.commit(two.commits[0]); }));
}

TEST(PostgresBusy, ASessionThatIsLockedMakesAnswersOfItsActivitiesBusyAndNoOthers) {
  const TestSchema schema;
  TestWorker worker(schema.open(), "w");
  worker.schedule("order", {"chat", ""});
  const auto fetched = worker.fetch();
  ASSERT_EQ(fetched->activities.size(), 2U);
  std::vector<store::ActivityResult> results;
  std::vector<store::ActivityRenewal> renewals;
  for (const auto& activity : fetched->activities) {
    results.push_back({.id = activity.id, .token = worker.token});
    renewals.push_back({.id = activity.id, .token = worker.token});
  }
  const std::size_t bound = fetched->activities[0].session ? 0 : 1;
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM sessions FOR UPDATE");
  const auto renewed = worker.store->renew_activities(worker.key, 1h, renewals);
  EXPECT_TRUE(renewed[1 - bound]);
  const auto answers = worker.store->finish_activities(results);
  ASSERT_FALSE(answers[bound]);
  EXPECT_EQ(answers[bound].error().kind, StoreError::Kind::busy) << answers[bound].error().message;
  EXPECT_TRUE(answers[1 - bound]) << answers[1 - bound].error().message;
  intruder.leave();
  EXPECT_TRUE(patiently([&] { return worker.finish(results[bound].id, results[bound].token); }));
}

// The thread that keeps leases must not wait for one of them.
TEST(PostgresBusy, AWorkerWhoseRowIsLockedGoesOnRenewing) {
  const TestSchema schema;
  TwoTurns two(schema);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM workers FOR UPDATE");
  const auto refreshed = two.worker.store->refresh(two.worker.key, false);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().kind, StoreError::Kind::busy) << refreshed.error().message;
  const std::array renewals{store::TurnRenewal{.key = two.turns[0].key, .token = two.turns[0].token}};
  EXPECT_TRUE(two.worker.store->renew_turns(two.worker.key, 1h, renewals).front());
}

// However many wait, what they cost the others is one look at all of their rows now and then, and no
// transaction.
TEST(PostgresBusy, ManyClientsThatWaitLeaveTheWriterToOthers) {
  constexpr std::uint64_t kWaiting = 60;
  const TestSchema schema;
  FaultScript counts;
  const auto store = schema.open({.faults = &counts});
  for (std::uint64_t i = 0; i < kWaiting; ++i)
    ASSERT_TRUE(start(*store, start_of("locked " + std::to_string(i))));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  std::vector<std::future<StoreResult<InstanceKey>>> waiting;
  for (std::uint64_t i = 0; i < kWaiting; ++i) {
    const auto message = tell("locked " + std::to_string(i));
    waiting.push_back(std::async(std::launch::async, [store, message] { return send(*store, message); }));
  }
  std::this_thread::sleep_for(500ms);
  counts.clear();
  // Long enough for each of them to look a dozen times.
  std::uint64_t started = 0;
  for (const auto end = std::chrono::steady_clock::now() + 1500ms; std::chrono::steady_clock::now() < end;
       ++started) {
    ASSERT_TRUE(start(*store, start_of("free " + std::to_string(started))));
  }
  // One that has only begun to wait may have tried until then, by itself.
  EXPECT_LT(begun(counts), started + 3 * kWaiting) << "those who wait try again and again";
  intruder.leave();
  for (auto& one : waiting) EXPECT_TRUE(one.get());
}

// A lock on the row of the deployment: a person's, or that of a process which was stopped in its commit.
TEST(PostgresBusy, NobodyWaitsToWriteDownWhatTimeItIs) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 500ms});
  ASSERT_TRUE(start(*store, start_of("before")));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM deployment FOR UPDATE");
  const auto high = [&] { return schema.number("SELECT lease_high FROM deployment"); };
  const std::int64_t before = high();
  std::this_thread::sleep_for(1100ms);
  const auto answer = start(*store, start_of("meanwhile"));
  EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(high(), before);
  intruder.leave();
  ASSERT_TRUE(start(*store, start_of("after")));
  EXPECT_GT(high(), before) << "it is made up for";
}

}  // namespace
}  // namespace holdfast::postgres_store::busy_test
