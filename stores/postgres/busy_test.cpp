// What somebody else keeps locked, for longer than a call takes: a worker puts aside what needs it, a client
// waits, and nobody else notices.
#include "calls_test.hpp"

#include <future>
#include <thread>

namespace holdfast::postgres_store {
namespace {

using namespace std::chrono_literals;
using store::TurnCommit;

template <class Call>
std::chrono::steady_clock::duration time_of(Call call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - began;
}

/// A worker with a turn of each of two instances, `a` and `b`.
struct TwoTurns {
  explicit TwoTurns(const TestSchema& schema) : worker(schema.open(), "w") {
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
  std::vector<StoreResult<store::Committed>> answers;
  EXPECT_LT(time_of([&] { answers = two.commit(); }), 15s);
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().kind, StoreError::Kind::busy) << answers[0].error().message;
  EXPECT_TRUE(answers[1]) << answers[1].error().message;
  intruder.leave();
  EXPECT_TRUE(patiently([&] { return two.worker.commit(two.commits[0]); })) << "nothing has happened";
}

TEST(PostgresBusy, WhatIsKnownToBeLockedIsAnsweredAtOnce) {
  const TestSchema schema;
  TwoTurns two(schema);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'a' FOR UPDATE");
  EXPECT_FALSE(two.commit()[0]);
  constexpr int kTries = 30;
  const auto took = time_of([&] {
    for (int i = 0; i < kTries; ++i) {
      const auto answer = two.worker.commit(two.commits[0]);
      EXPECT_FALSE(answer);
      if (!answer) {
        EXPECT_EQ(answer.error().kind, StoreError::Kind::busy) << answer.error().message;
      }
    }
  });
  EXPECT_LT(took, kTries * 100ms) << "each of them waited";
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
  StoreResult<void> refreshed;
  EXPECT_LT(time_of([&] { refreshed = two.worker.store->refresh(two.worker.key, false); }), 15s);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().kind, StoreError::Kind::busy) << refreshed.error().message;
  const std::array renewals{store::TurnRenewal{.key = two.turns[0].key, .token = two.turns[0].token}};
  EXPECT_TRUE(two.worker.store->renew_turns(two.worker.key, 1h, renewals).front());
}

// However many wait, what they cost the others is one look at all of their rows now and then.
TEST(PostgresBusy, ManyClientsThatWaitLeaveTheWriterToOthers) {
  constexpr int kWaiting = 60;
  constexpr int kStarts = 100;
  const TestSchema schema;
  const auto store = schema.open();
  for (int i = 0; i < kWaiting; ++i) ASSERT_TRUE(start(*store, start_of("locked " + std::to_string(i))));
  const auto time_of_starts = [&](const std::string& name) {
    return time_of([&] {
      for (int i = 0; i < kStarts; ++i) EXPECT_TRUE(start(*store, start_of(name + std::to_string(i))));
    });
  };
  const auto alone = time_of_starts("alone ");
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  std::vector<std::future<StoreResult<InstanceKey>>> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    const auto message = tell("locked " + std::to_string(i));
    waiting.push_back(std::async(std::launch::async, [store, message] { return send(*store, message); }));
  }
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(time_of_starts("free "), 10 * alone);
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
}  // namespace holdfast::postgres_store
