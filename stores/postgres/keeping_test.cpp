// Rows of held instances stay between transactions: a turn reads nothing. Whatever others do to these rows in
// between, the next turn is what it would be if it had read them.
#include "calls_test.hpp"

#include <holdfast/clock.hpp>

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::postgres_store::keeping_test {
namespace {

using namespace std::chrono_literals;
using store::ActivityId;
using store::TurnCommit;

/// Counts what is asked of the server.
class Counter final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    const std::lock_guard lock(mutex_);
    ++counts_[std::string(point)];
    return Fault::none;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
  }
  [[nodiscard]] int of(const std::string& point) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(point);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_{};
  std::map<std::string, int> counts_{};
};

/// A worker that holds an instance with two activities in its own hands, and another process.
class Holder {
 public:
  explicit Holder(const TestSchema& its_schema)
      : schema(its_schema),
        other(schema.open({.clock = &clock})),
        worker(schema.open({.clock = &clock, .faults = &counter}), "holder") {
    EXPECT_TRUE(start(*worker.store, start_of("order-1")));
    turn = worker.fetch_turns().value().turns.at(0);
    TurnCommit commit = next_turn();
    for (const store::Message& message : turn.messages) commit.consumed.push_back(message.id);
    commit.seen = turn.messages.back().id;
    commit.waits = std::vector<Address>{{Address::Kind::event, "paid"}};
    schedule(commit, {1, 2});
    const auto committed = this->commit(commit);
    EXPECT_TRUE(committed && committed->handed_off.at(0) && committed->handed_off.at(1));
    token = commit.activity_token;
    counter.clear();
  }

  /// One that keeps the instance.
  [[nodiscard]] TurnCommit next_turn() const {
    TurnCommit commit = TestWorker::end_of(turn);
    commit.seen = turn.messages.back().id;
    commit.keep_lock = true;
    return commit;
  }
  static void schedule(TurnCommit& commit, const std::vector<std::uint64_t>& events) {
    commit.activity_token = random_token<LockToken>(system_random());
    for (const std::uint64_t event : events) {
      commit.activities.push_back({.event = {event}, .name = "say", .body = "hello", .hand_off = true});
    }
  }
  StoreResult<store::Committed> commit(const TurnCommit& commit) {
    const std::array commits{commit};
    auto committed = patiently([&] {
      return worker.store
          ->commit_turns({.worker = worker.key, .abilities = &worker.abilities, .activity_lease = 1min},
                         commits)
          .front();
    });
    if (committed) turn.stamp = commit.stamp;
    return committed;
  }
  [[nodiscard]] ActivityId activity(std::uint64_t event) const { return {turn.key, turn.execution, {event}}; }
  /// How often the instance was read before a turn of it.
  [[nodiscard]] int reads() const { return counter.of("postgres.instances"); }

  const TestSchema& schema;
  ManualClock clock{};
  Counter counter{};
  std::shared_ptr<Store> other;
  TestWorker worker;
  store::LockedTurn turn{};
  LockToken token{};  ///< of its activities
};

// ---- nothing is read -----------------------------------------------------------------------------

TEST(PostgresKeeping, ATurnOfAHeldInstanceReadsNothing) {
  const TestSchema schema;
  Holder holder(schema);
  TurnCommit commit = holder.next_turn();
  commit.completed = {{.event = {1}, .token = holder.token}};
  Holder::schedule(commit, {3});
  const auto committed = holder.commit(commit);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_TRUE(committed->handed_off.at(0));
  for (const char* const read :
       {"postgres.time", "postgres.worker", "postgres.sessions", "postgres.instances", "postgres.unread",
        "postgres.activities", "postgres.urgent"}) {
    EXPECT_EQ(holder.counter.of(read), 0) << read;
  }
  EXPECT_EQ(holder.counter.of("postgres.guards"), 1);
}

TEST(PostgresKeeping, SoDoesItsFirstTurnAndItsLast) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(start(*holder.worker.store, start_of("order-2")));
  store::LockedTurn second = holder.worker.fetch_turns().value().turns.at(0);
  holder.counter.clear();
  TurnCommit first = TestWorker::end_of(second);
  first.consumed = {second.messages.at(0).id};
  first.seen = first.consumed.back();
  first.keep_lock = true;
  ASSERT_TRUE(holder.worker.commit(first));
  second.stamp = first.stamp;
  TurnCommit last = TestWorker::end_of(second);
  last.seen = first.seen;
  last.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.worker.commit(last));
  EXPECT_EQ(holder.reads(), 0);
  EXPECT_EQ(holder.counter.of("postgres.time"), 0);
  EXPECT_EQ(schema.number("SELECT count(*) FROM messages AS m JOIN instances AS i ON i.key = m.key"
                          " WHERE i.name = 'order-2'"),
            0);
}

TEST(PostgresKeeping, ARenewalLeavesWhatIsKept) {
  const TestSchema schema;
  Holder holder(schema);
  const std::array turns{store::TurnRenewal{.key = holder.turn.key, .token = holder.turn.token}};
  const std::array activities{store::ActivityRenewal{.id = holder.activity(1), .token = holder.token}};
  ASSERT_TRUE(holder.worker.store->renew_turns(holder.worker.key, 1h, turns).front());
  ASSERT_TRUE(holder.worker.store->renew_activities(holder.worker.key, 1h, activities).front());
  holder.counter.clear();
  TurnCommit commit = holder.next_turn();
  commit.completed = {{.event = {1}, .token = holder.token}, {.event = {2}, .token = holder.token}};
  commit.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(holder.reads(), 0);
  EXPECT_EQ(schema.number("SELECT count(*) FROM activities"), 0);
}

TEST(PostgresKeeping, WhatElseNeedsARowLocksTheKeptOnesWithIt) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(start(*holder.other, start_of("other")));
  TurnCommit commit = holder.next_turn();
  commit.completed = {{.event = {1}, .token = holder.token}, {.event = {2}, .token = holder.token}};
  commit.messages = {{.instance = "other", .message = {.kind = store::MessageKind::control}}};
  commit.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(holder.counter.of("postgres.instances_by_name"), 1);
  EXPECT_EQ(holder.counter.of("postgres.activities"), 0) << "they are kept all the same";
  EXPECT_EQ(schema.number("SELECT count(*) FROM activities"), 0);
}

TEST(PostgresKeeping, ASegmentThatIsThereIsWrittenAnew) {
  const TestSchema schema;
  Holder holder(schema);
  for (const char* const segment : {"first", "second"}) {
    TurnCommit commit = holder.next_turn();
    commit.first_event = {9};
    commit.segment = segment;
    ASSERT_TRUE(holder.commit(commit));
  }
  const auto history = holder.other->read_history(holder.turn.key, holder.turn.execution, {}, 1000);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 1U);
  EXPECT_EQ(history->at(0).bytes, "second");
}

// ---- what others do meanwhile --------------------------------------------------------------------

store::ClientMessage event(const std::string& name) {
  return {.instance = "order-1",
          .message = {.kind = store::MessageKind::delivery, .address = {Address::Kind::event, name}},
          .request = random_token<RequestId>(system_random())};
}

TEST(PostgresKeeping, AMessageThatComesMeanwhileIsSeenByTheTurnThatKeepsTheLock) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(send(*holder.other, event("paid")));
  const auto committed = holder.commit(holder.next_turn());
  ASSERT_TRUE(committed);
  EXPECT_TRUE(committed->ready);
}

TEST(PostgresKeeping, AMessageThatComesMeanwhileMakesAnInstanceReadyThatIsGivenBack) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(send(*holder.other, event("paid")));
  TurnCommit commit = holder.next_turn();
  commit.keep_lock = false;
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(holder.worker.fetch_turns().value().turns.size(), 1U) << "nobody will ever run it";
}

TEST(PostgresKeeping, AMessageThatComesMeanwhileGoesWithTheInstance) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(send(*holder.other, event("paid")));
  ASSERT_TRUE(send(*holder.other, event("called")));
  TurnCommit commit = holder.next_turn();
  commit.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(schema.number("SELECT count(*) FROM messages"), 0);
}

TEST(PostgresKeeping, ATimerThatEndsMeanwhileIsSeen) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another", 0, "something else");
  TurnCommit commit = holder.next_turn();
  commit.timers = {{.event = {7}, .due = holder.clock.calendar_now() + 1s}};
  ASSERT_TRUE(holder.commit(commit));
  holder.clock.advance(2s);
  ASSERT_TRUE(another.fetch_turns());
  const auto committed = holder.commit(holder.next_turn());
  ASSERT_TRUE(committed);
  EXPECT_TRUE(committed->ready);
}

// A fetch looks for news of the instance while somebody has its row, and comes back to it for a timer when
// the row is free again.
TEST(PostgresKeeping, MessagesOfAnInstanceThatIsLockedForAMomentAreNotPassedOver) {
  const TestSchema schema;
  ManualClock clock;
  Meanwhile plan;
  const auto other = schema.open({.clock = &clock});
  TestWorker worker(schema.open({.clock = &clock, .faults = &plan}), "holder");
  ASSERT_TRUE(start(*other, start_of("order-1")));
  const store::LockedTurn turn = worker.next_turn();
  TurnCommit commit = TestWorker::end_of(turn);
  for (const store::Message& message : turn.messages) commit.consumed.push_back(message.id);
  commit.seen = turn.messages.back().id;
  commit.keep_lock = true;
  commit.waits = std::vector<Address>{{Address::Kind::event, "paid"}};
  commit.timers = {{.event = {7}, .due = clock.calendar_now() + 1s}};
  ASSERT_TRUE(worker.commit(commit));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(send(*other, event("paid")));
  clock.advance(2s);

  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  plan.after("postgres.messages_after", "postgres.instances_now", [&] { intruder.leave(); });
  const std::array held{store::HeldInstance{turn.key, turn.token, commit.seen}};
  const auto fetched = worker.store->fetch_turns({.worker = worker.key,
                                                  .code = &worker.code,
                                                  .token = random_token<LockToken>(system_random()),
                                                  .lease = 1h,
                                                  .max = 10,
                                                  .held = held});
  ASSERT_TRUE(plan.happened());
  ASSERT_TRUE(fetched) << fetched.error().message;
  ASSERT_EQ(fetched->turns.size(), 1U);
  std::vector<store::MessageKind> kinds;
  for (const store::Message& message : fetched->turns.front().messages) kinds.push_back(message.kind);
  using store::MessageKind;
  EXPECT_EQ(kinds, (std::vector{MessageKind::delivery, MessageKind::delivery, MessageKind::timer}));
}

TEST(PostgresKeeping, AnInstanceThatWasTakenMeanwhileIsLost) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  holder.clock.advance(2h);
  ASSERT_EQ(another.fetch_turns().value().turns.size(), 0U) << "nothing has happened to it";
  ASSERT_TRUE(send(*holder.other, event("paid")));
  const store::LockedTurn taken = another.fetch_turns().value().turns.at(0);
  const auto committed = holder.commit(holder.next_turn());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::Kind::lost);
  EXPECT_TRUE(another.commit(TestWorker::end_of(taken)));
}

TEST(PostgresKeeping, AnInstanceThatWasDeletedMeanwhileIsLost) {
  for (const bool again : {false, true}) {
    const TestSchema schema;
    Holder holder(schema);
    ASSERT_TRUE(holder.other->delete_instance("order-1", true, {}));
    if (again) ASSERT_TRUE(start(*holder.other, start_of("order-1")));
    TurnCommit commit = holder.next_turn();
    commit.first_event = {9};
    commit.segment = "history";
    Holder::schedule(commit, {3});
    const auto committed = holder.commit(commit);
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().kind, StoreError::Kind::lost);
    EXPECT_EQ(schema.number("SELECT count(*) FROM history"), 0);
    EXPECT_EQ(schema.number("SELECT count(*) FROM activities"), 0);
  }
}

// The same holder, through another handle.
TEST(PostgresKeeping, ARenewalOfAnotherHandleIsNotUndone) {
  const TestSchema schema;
  Holder holder(schema);
  const std::array turns{store::TurnRenewal{.key = holder.turn.key, .token = holder.turn.token}};
  ASSERT_TRUE(holder.other->renew_turns(holder.worker.key, 5h, turns).front());
  ASSERT_TRUE(holder.commit(holder.next_turn()));
  const std::int64_t until = (holder.clock.boot_now() + 5h).time_since_epoch().count();
  EXPECT_EQ(schema.number("SELECT until FROM instances"), until);
}

TEST(PostgresKeeping, ARenewalOfAnotherHandleIsNotUndoneByAMessageEither) {
  const TestSchema schema;
  Holder holder(schema);
  const std::array turns{store::TurnRenewal{.key = holder.turn.key, .token = holder.turn.token}};
  ASSERT_TRUE(holder.other->renew_turns(holder.worker.key, 5h, turns).front());
  ASSERT_TRUE(send(*holder.worker.store, event("paid")));
  const std::int64_t until = (holder.clock.boot_now() + 5h).time_since_epoch().count();
  EXPECT_EQ(schema.number("SELECT until FROM instances"), until);
}

TEST(PostgresKeeping, ATurnOfAnotherHandleIsNotWrittenOver) {
  const TestSchema schema;
  Holder holder(schema);
  const TurnCommit late = holder.next_turn();
  const std::array commits{holder.next_turn()};
  ASSERT_TRUE(holder.other->commit_turns({.worker = holder.worker.key}, commits).front());
  const auto committed = holder.commit(late);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::Kind::lost);
}

// Somebody who holds the row for a moment has not changed it.
TEST(PostgresKeeping, ARowThatWasOnlyLockedIsWhatItWas) {
  const TestSchema schema;
  Holder holder(schema);
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  auto committed = until_done_or_blocked(schema, [&] { return holder.commit(holder.next_turn()); });
  intruder.leave();
  ASSERT_TRUE(committed.get());
}

TEST(PostgresKeeping, ARowThatChangesWhileItIsWaitedForIsReadAnew) {
  const TestSchema schema;
  Holder holder(schema);
  Intruder intruder(schema);
  intruder.run("UPDATE instances SET token = NULL, locked = false");
  auto committed = until_done_or_blocked(schema, [&] { return holder.commit(holder.next_turn()); });
  intruder.run("COMMIT");
  const auto answer = committed.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, StoreError::Kind::lost);
}

// Calls that come while a transaction is under way share the next one: there the instance ends and is
// deleted, and no row of it is written.
TEST(PostgresKeeping, ATurnThatIsLateIsLostAlsoWhenItsInstanceGoesWithIt) {
  const TestSchema schema;
  Meanwhile plan;
  TestWorker worker(schema.open({.faults = &plan}), "holder");
  const auto other = schema.open();
  const store::LockedTurn turn = worker.schedule("order-1", {}, true);
  TurnCommit late = TestWorker::end_of(turn);
  late.end = store::InstanceEnd{};
  std::future<StoreResult<store::Committed>> committed;
  std::future<StoreResult<void>> deleted;
  plan.at("postgres.insert_instances", [&] {
    committed = std::async(std::launch::async, [&] { return worker.commit(late); });
    std::this_thread::sleep_for(20ms);  // they queue in this order
    deleted =
        std::async(std::launch::async, [&] { return worker.store->delete_instance("order-1", true, {}); });
    std::this_thread::sleep_for(20ms);
    TurnCommit first = TestWorker::end_of(turn);
    first.keep_lock = true;
    const std::array commits{first};
    EXPECT_TRUE(other->commit_turns({.worker = worker.key}, commits).front());
  });
  ASSERT_TRUE(start(*worker.store, start_of("another")));
  const auto answer = committed.get();
  EXPECT_FALSE(answer) << "another turn was committed before";
  EXPECT_TRUE(deleted.get());
  EXPECT_FALSE(other->find("order-1"));
}

// ---- activities ----------------------------------------------------------------------------------

/// Another worker has taken the first activity when its lease was over. Nothing of that is in the instance.
LockToken take_one(Holder& holder, TestWorker& another) {
  holder.clock.advance(2min);
  const auto fetched = another.fetch(1);
  EXPECT_EQ(fetched->activities.at(0).id, holder.activity(1));
  return another.token;
}

TEST(PostgresKeeping, AnActivityThatWasTakenMeanwhileIsNotCompleted) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  const LockToken taken = take_one(holder, another);
  TurnCommit commit = holder.next_turn();
  commit.completed = {{.event = {1}, .token = holder.token}};
  const auto committed = holder.commit(commit);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::Kind::lost);
  EXPECT_TRUE(another.finish(holder.activity(1), taken));
}

TEST(PostgresKeeping, AnActivityThatWasTakenMeanwhileIsCancelledWhereItRuns) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  take_one(holder, another);
  TurnCommit commit = holder.next_turn();
  commit.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(holder.other->cancel_records(another.key)->size(), 1U);
}

TEST(PostgresKeeping, AResultOfAnActivityThatWasTakenMeanwhileIsRefused) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  const LockToken taken = take_one(holder, another);
  const std::array late{store::ActivityResult{
      .id = holder.activity(1), .token = holder.token, .result = store::Retry{.failure = "it broke"}}};
  const auto refused = holder.worker.store->finish_activities(late).front();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::lost);
  EXPECT_TRUE(another.finish(holder.activity(1), taken));
}

TEST(PostgresKeeping, AnActivityThatOthersHaveFinishedIsOver) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  const LockToken taken = take_one(holder, another);
  ASSERT_TRUE(another.finish(holder.activity(1), taken));
  const auto committed = holder.commit(holder.next_turn());
  ASSERT_TRUE(committed);
  EXPECT_TRUE(committed->ready) << "its outcome is there";
}

// Others take it from the queue, and the instance has no word of that.
TEST(PostgresKeeping, AnActivityThatIsGivenBackIsKeptNoMore) {
  const TestSchema schema;
  Holder holder(schema);
  TestWorker another(holder.other, "another");
  const std::array back{
      store::ActivityResult{.id = holder.activity(1), .token = holder.token, .result = store::PutBack{}}};
  ASSERT_TRUE(holder.worker.store->finish_activities(back).front());
  ASSERT_EQ(another.fetch().value().activities.size(), 1U);
  TurnCommit commit = holder.next_turn();
  commit.end = store::InstanceEnd{};
  ASSERT_TRUE(holder.commit(commit));
  EXPECT_EQ(holder.other->cancel_records(another.key)->size(), 1U);
  EXPECT_EQ(schema.number("SELECT count(*) FROM activities"), 0);
}

TEST(PostgresKeeping, WhoWaitsForAKeptInstanceHoldsNoActivity) {
  const TestSchema schema;
  Holder holder(schema);
  const std::array back{
      store::ActivityResult{.id = holder.activity(1), .token = holder.token, .result = store::PutBack{}}};
  ASSERT_TRUE(holder.worker.store->finish_activities(back).front());
  ASSERT_EQ(holder.worker.fetch().value().activities.size(), 1U);
  TurnCommit commit = holder.next_turn();
  commit.completed = {{.event = {1}, .token = holder.worker.token}};
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  auto committed = until_done_or_blocked(schema, [&] { return holder.commit(commit); });
  EXPECT_NO_THROW(intruder.run("SELECT 1 FROM activities FOR UPDATE NOWAIT"));
  intruder.leave();
  EXPECT_TRUE(committed.get());
}

// ---- what stands in no row of the instance -------------------------------------------------------

/// Whether the next activity is handed off.
bool hands_off(Holder& holder) {
  TurnCommit commit = holder.next_turn();
  Holder::schedule(commit, {3});
  const auto committed = holder.commit(commit);
  EXPECT_TRUE(committed) << committed.error().message;
  return committed && committed->handed_off.at(0).has_value();
}

TEST(PostgresKeeping, AWorkerThatWasReplacedMeanwhileGetsNothing) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(hands_off(holder));
  const TestWorker newer(holder.other, "holder");
  TurnCommit commit = holder.next_turn();
  Holder::schedule(commit, {4});
  const auto committed = holder.commit(commit);
  EXPECT_FALSE(committed && committed->handed_off.at(0)) << "it runs nothing any more";
}

TEST(PostgresKeeping, AWorkerThatDrainsMeanwhileGetsNothing) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(holder.other->refresh(holder.worker.key, true));
  EXPECT_FALSE(hands_off(holder));
}

TEST(PostgresKeeping, AWorkerThatWasSweptAwayMeanwhileGetsNothing) {
  const TestSchema schema;
  Holder holder(schema);
  schema.run("DELETE FROM workers");
  EXPECT_FALSE(hands_off(holder));
}

TEST(PostgresKeeping, WhatIsMoreUrgentMeanwhileGoesFirst) {
  const TestSchema schema;
  Holder holder(schema);
  ASSERT_TRUE(start(*holder.other, start_of("urgent", "rush")));
  TestWorker another(holder.other, "another", 0, "rush");
  const store::LockedTurn rush = another.fetch_turns().value().turns.at(0);
  TurnCommit commit = TestWorker::end_of(rush);
  commit.activities = {{.event = {1}, .name = "say", .priority = 5}};
  ASSERT_TRUE(another.commit(commit));
  EXPECT_FALSE(hands_off(holder));
}

TEST(PostgresKeeping, NothingIsWrittenToASchemaThatWasMigratedMeanwhile) {
  const TestSchema schema;
  Holder holder(schema);
  schema.run("INSERT INTO migrations (number) VALUES (1000)");
  TurnCommit commit = holder.next_turn();
  commit.first_event = {9};
  commit.segment = "history";
  const auto committed = holder.commit(commit);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::Kind::unavailable);
  const auto fetched = holder.worker.fetch_turns();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().kind, StoreError::Kind::unavailable);
  EXPECT_EQ(schema.number("SELECT count(*) FROM history"), 0);
  schema.run("DELETE FROM migrations WHERE number = 1000");
}

TEST(PostgresKeeping, NothingIsWrittenWithoutTheRowOfTheDeployment) {
  const TestSchema schema;
  Holder holder(schema);
  schema.run("CREATE TABLE saved AS SELECT * FROM deployment; DELETE FROM deployment");
  EXPECT_FALSE(holder.commit(holder.next_turn()));
  schema.run("INSERT INTO deployment SELECT * FROM saved; DROP TABLE saved");
}

// ---- what fails ----------------------------------------------------------------------------------

/// Loses the answer of one commit.
class LosesAnAnswer final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    return point == "postgres.commit" && armed.exchange(false) ? Fault::lose_answer : Fault::none;
  }
  std::atomic<bool> armed{false};
};

TEST(PostgresKeeping, NothingIsKeptOfATransactionWhoseAnswerIsLost) {
  const TestSchema schema;
  LosesAnAnswer plan;
  TestWorker worker(schema.open({.faults = &plan}), "a");
  store::LockedTurn turn = worker.schedule("order-1", {}, true);
  TurnCommit commit = TestWorker::end_of(turn);
  commit.keep_lock = true;
  plan.armed = true;
  ASSERT_FALSE(worker.commit(commit));
  EXPECT_EQ(worker.commit(commit).error().kind, StoreError::Kind::lost) << "it has happened";
  turn.stamp = commit.stamp;
  EXPECT_TRUE(worker.commit(TestWorker::end_of(turn)));
}

}  // namespace
}  // namespace holdfast::postgres_store::keeping_test
