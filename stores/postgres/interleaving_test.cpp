// Two handles of one database whose transactions meet: what one does between two statements of the other must
// neither be overwritten nor missed.
#include "meanwhile_test.hpp"
#include "server_test.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::postgres_store::interleaving_test {
namespace {

using namespace std::chrono_literals;

const store::Code kCode{.orchestrations = {{"order", "1"}}};
const store::Abilities kAbilities{.handlers = {"say"}, .queues = {.any = true}};

InstanceKey start(Store& store, const std::string& id) {
  const std::array requests{store::StartRequest{
      .instance = id, .code = {"order", "1"}, .request = random_token<RequestId>(system_random())}};
  return store.start(requests).front().value().key;
}

WorkerKey join(Store& store, const std::string& node) {
  return store.join({.node = node, .abilities = kAbilities, .code = kCode}).value();
}

std::vector<store::LockedTurn> fetch(Store& store, WorkerKey worker, Duration lease = 1h) {
  return store
      .fetch_turns({.worker = worker,
                    .code = &kCode,
                    .token = random_token<LockToken>(system_random()),
                    .lease = lease})
      .value()
      .turns;
}

store::TurnCommit commit_of(const store::LockedTurn& turn) {
  return {.key = turn.key,
          .token = turn.token,
          .expected = turn.stamp,
          .stamp = random_token<TurnStamp>(system_random()),
          .execution = turn.execution};
}

void commit(Store& store, WorkerKey worker, const store::TurnCommit& turn) {
  EXPECT_TRUE(store.commit_turns({.worker = worker}, std::array{turn}).front());
}

/// An instance that wants to hear of the session `gpu`.
void start_watcher(Store& store, WorkerKey worker) {
  start(store, "watcher");
  store::TurnCommit turn = commit_of(fetch(store, worker).at(0));
  turn.watch_sessions = {"gpu"};
  commit(store, worker, turn);
}

TEST(PostgresInterleaving, AWatcherThatIsDeletedMeanwhileIsNotTold) {
  const TestSchema schema;
  const auto other = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const WorkerKey worker = join(*store, "a");
  start_watcher(*store, worker);
  // Between the look for watchers and the lock of their instances.
  plan.after("postgres.watchers", "postgres.instances",
             [&] { EXPECT_TRUE(other->delete_instance("watcher", true, {})); });
  EXPECT_TRUE(store->acquire_session(worker, kAbilities, "gpu", {}));
  EXPECT_TRUE(plan.happened());
  EXPECT_FALSE(store->find("watcher"));
  EXPECT_EQ(store->session("gpu")->worker, worker);
}

TEST(PostgresInterleaving, AWatcherThatIsDeletedMeanwhileIsNotToldOfAnEnd) {
  const TestSchema schema;
  const auto other = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const WorkerKey worker = join(*store, "a");
  EXPECT_TRUE(store->acquire_session(worker, kAbilities, "gpu", {}));
  start_watcher(*store, worker);
  plan.after("postgres.watchers", "postgres.instances",
             [&] { EXPECT_TRUE(other->delete_instance("watcher", true, {})); });
  EXPECT_TRUE(store->close_session("gpu", store::SessionReason::operated));
  EXPECT_TRUE(plan.happened());
  EXPECT_FALSE(store->find("watcher"));
}

// Calls that come while a transaction is under way share the next one.
TEST(PostgresInterleaving, WhatIsDeletedInATransactionIsGoneForTheCallsThatFollowInIt) {
  const TestSchema schema;
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const WorkerKey worker = join(*store, "a");
  start(*store, "order");
  const std::vector<store::LockedTurn> turns = fetch(*store, worker);
  const std::array release{store::TurnRelease{.key = turns.at(0).key, .token = turns.at(0).token}};
  const std::array message{store::ClientMessage{
      .instance = "order", .message = {.kind = store::MessageKind::control, .body = "hello"}}};
  std::vector<std::future<bool>> calls;
  const auto call = [&](std::function<bool()> what) {
    calls.push_back(std::async(std::launch::async, std::move(what)));
    std::this_thread::sleep_for(20ms);  // they queue in this order
  };
  plan.at("postgres.insert_instances", [&] {
    call([&] { return store->release_turns(release).front().has_value(); });
    call([&] { return store->delete_instance("order", true, {}).has_value(); });
    call([&] { return store->send(message).front().has_value(); });
  });
  start(*store, "another");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_TRUE(calls[0].get());
  EXPECT_TRUE(calls[1].get());
  EXPECT_FALSE(calls[2].get());
  EXPECT_FALSE(store->find("order"));
  EXPECT_EQ(schema.number("SELECT count(*) FROM instances WHERE name = 'order'"), 0);
}

// ---- workers -------------------------------------------------------------------------------------

TEST(PostgresInterleaving, ARefreshDoesNotUndoThatANewerIncarnationHasJoined) {
  const TestSchema schema;
  const auto newer = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const WorkerKey old = join(*store, "a");
  std::future<WorkerKey> joined;
  plan.at("postgres.update_worker",
          [&] { joined = until_done_or_blocked(schema, [&] { return join(*newer, "a"); }); });
  EXPECT_TRUE(store->refresh(old, false));
  ASSERT_TRUE(plan.happened());
  EXPECT_GT(joined.get(), old);
  const auto again = store->refresh(old, false);
  ASSERT_FALSE(again) << "the old incarnation is alive again";
  EXPECT_EQ(again.error().kind, StoreError::Kind::superseded);
}

TEST(PostgresInterleaving, AWorkerWhoseRefreshIsAnsweredIsNotSweptAway) {
  const TestSchema schema;
  ManualClock clock;
  const auto other = schema.open({.clock = &clock});
  Meanwhile plan;
  const auto store = schema.open({.clock = &clock, .faults = &plan});
  const WorkerKey late = join(*other, "late");
  clock.advance(2min);
  const WorkerKey sweeper = join(*store, "sweeper");
  EXPECT_EQ(store->sweep({.worker = sweeper})->workers_removed, 0U) << "it may be late itself";
  clock.advance(40s);
  std::future<StoreResult<void>> refreshed;
  plan.at("postgres.delete_workers",
          [&] { refreshed = until_done_or_blocked(schema, [&] { return other->refresh(late, false); }); });
  EXPECT_TRUE(store->sweep({.worker = sweeper}));
  ASSERT_TRUE(plan.happened());
  const bool answered = refreshed.get().has_value();
  const bool there = other->refresh(late, false).has_value();
  EXPECT_EQ(answered, there) << "it was told that it is there, and was removed";
}

TEST(PostgresInterleaving, AnIncarnationThatWasReplacedMeanwhileAcquiresNoSession) {
  const TestSchema schema;
  const auto newer = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const WorkerKey old = join(*store, "a");
  std::future<WorkerKey> joined;
  plan.at("postgres.next_generation",
          [&] { joined = until_done_or_blocked(schema, [&] { return join(*newer, "a"); }); });
  EXPECT_TRUE(store->acquire_session(old, kAbilities, "gpu", {}));
  ASSERT_TRUE(plan.happened());
  EXPECT_GT(joined.get(), old);
  // Either it came before, and its session was taken from it; or it was refused.
  EXPECT_NE(store->session("gpu")->worker, old) << "held by an incarnation that was replaced";
}

// ---- time ----------------------------------------------------------------------------------------

TEST(PostgresInterleaving, TheOffsetOfLeaseTimeNeverShrinks) {
  const TestSchema schema;
  schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  // The server's clock has stepped back by half an hour; another process has seen a whole one.
  schema.run(
      "UPDATE deployment SET lease_high = extract(epoch FROM now() + interval '30 minutes') * 1000000");
  plan.at("postgres.save_time", [&] { schema.run("UPDATE deployment SET lease_offset = 3600000000"); });
  start(*store, "order-1");
  ASSERT_TRUE(plan.happened());
  EXPECT_EQ(schema.number("SELECT lease_offset FROM deployment"), 3600000000);
}

/// Notes in which order statements are asked for.
class Recorder final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    points_.emplace_back(point);
    return Fault::none;
  }
  void clear() { points_.clear(); }
  [[nodiscard]] std::ptrdiff_t place_of(std::string_view point) const {
    const auto found = std::ranges::find(points_, point);
    EXPECT_NE(found, points_.end()) << point;
    return found - points_.begin();
  }

 private:
  std::vector<std::string> points_{};
};

// Who waits for a lock while time passes must not take a lease for live that is over.
TEST(PostgresInterleaving, ATransactionReadsTheTimeOnceItHasItsLocks) {
  const TestSchema schema;
  Recorder recorder;
  const auto store = schema.open({.faults = &recorder});
  const WorkerKey worker = join(*store, "a");
  start(*store, "order-1");
  const store::LockedTurn turn = fetch(*store, worker).at(0);
  const auto other = schema.open({.faults = &recorder});  // which keeps nothing of it
  recorder.clear();
  const std::array renewals{store::TurnRenewal{.key = turn.key, .token = turn.token}};
  ASSERT_TRUE(other->renew_turns(worker, 1min, renewals).front());
  EXPECT_LT(recorder.place_of("postgres.instances"), recorder.place_of("postgres.time"));
  recorder.clear();
  start(*store, "order-2");
  EXPECT_LT(recorder.place_of("postgres.reserve"), recorder.place_of("postgres.time"));
}

// ---- requests ------------------------------------------------------------------------------------

store::ClientMessage early(const std::string& id) {
  return {.instance = id,
          .message = {.kind = store::MessageKind::delivery, .address = {Address::Kind::event, "paid"}},
          .request = random_token<RequestId>(system_random()),
          .keep_early = 1h};
}

TEST(PostgresInterleaving, ARequestForAnIdThatDoesNotExistYetTakesEffectOnce) {
  const TestSchema schema;
  const auto other = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const std::array messages{early("order-1")};
  plan.at("postgres.reserve", [&] { EXPECT_TRUE(other->send(messages).front()); });
  EXPECT_TRUE(store->send(messages).front());
  ASSERT_TRUE(plan.happened());
  EXPECT_EQ(store->state()->early.size(), 1U);
}

TEST(PostgresInterleaving, AStartThatIsRepeatedWhileItsInstanceIsDeletedBeginsNothing) {
  const TestSchema schema;
  const auto other = schema.open();
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const std::array requests{store::StartRequest{
      .instance = "order-1", .code = {"order", "1"}, .request = random_token<RequestId>(system_random())}};
  const InstanceKey first = other->start(requests).front()->key;
  plan.at("postgres.reserve", [&] { EXPECT_TRUE(other->delete_instance("order-1", true, {})); });
  const auto again = store->start(requests).front();
  ASSERT_TRUE(plan.happened());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->key, first);
  EXPECT_FALSE(again->is_new);
  EXPECT_FALSE(store->find("order-1"));
}

// ---- another server ------------------------------------------------------------------------------

/// As if a standby with these tables had been promoted, and the old server were gone.
void let_another_server_answer(const TestSchema& schema) {
  schema.run("UPDATE deployment SET timeline = 'FFFFFFFF'");
  schema.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
      " AND pid <> pg_backend_pid()");
}

TEST(PostgresInterleaving, WhatWasTakenAfterAnotherServerWasAdoptedIsNotFreedAgain) {
  TestServer server;
  const TestSchema schema(server);
  start(*schema.open(), "order-1");
  schema.run("UPDATE deployment SET timeline = 'FFFFFFFF'");
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM deployment FOR UPDATE");
  auto first = std::async(std::launch::async, [&] { return schema.open(); });
  auto second = std::async(std::launch::async, [&] { return schema.open(); });
  until_blocked(schema, 2);
  intruder.leave();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_LT(schema.number("SELECT nextval('generations')"), 2'000'000) << "it was adopted twice";
}

TEST(PostgresInterleaving, NothingIsWrittenBeforeAnotherServerIsAdopted) {
  TestServer server;
  const TestSchema schema(server);
  const auto store = schema.open();
  const WorkerKey worker = join(*store, "a");
  start(*store, "order-1");
  ASSERT_EQ(fetch(*store, worker).size(), 1U);
  ASSERT_TRUE(store->find("order-1"));
  let_another_server_answer(schema);
  // The adoption takes a while.
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances FOR UPDATE");
  const auto until_answered = [](auto call) {
    auto answer = call();
    while (!answer && answer.error().kind == StoreError::Kind::unavailable) answer = call();
    return answer;
  };
  auto read =
      std::async(std::launch::async, [&] { return until_answered([&] { return store->find("order-1"); }); });
  until_blocked(schema);
  auto acquired = std::async(std::launch::async, [&] {
    return until_answered([&] { return store->acquire_session(worker, kAbilities, "gpu", {}); });
  });
  until_blocked_or_done(schema, 2, acquired);
  intruder.leave();
  EXPECT_TRUE(read.get());
  const auto session = acquired.get();
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_GT(session->session.generation.value, 1'000'000U) << "the old server may have given it to another";
}

// It is not among the workers that the sweep has read.
TEST(PostgresInterleaving, ASweepTakesNothingFromAWorkerThatJoinsMeanwhile) {
  const TestSchema schema;
  Meanwhile plan;
  const auto sweeping = schema.open({.faults = &plan});
  const auto other = schema.open();
  const WorkerKey sweeper = join(*sweeping, "a");
  plan.at("postgres.due_sessions", [&] {
    const WorkerKey worker = join(*other, "b");
    EXPECT_TRUE(other->acquire_session(worker, kAbilities, "gpu", {.lease = 1h}));
  });
  EXPECT_TRUE(sweeping->sweep({.worker = sweeper}));
  ASSERT_TRUE(plan.happened());
  EXPECT_EQ(other->session("gpu")->state, store::SessionStatus::active);
}

}  // namespace
}  // namespace holdfast::postgres_store::interleaving_test
