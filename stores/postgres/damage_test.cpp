// Rows that can't be read: they are set aside with their bytes, and stop nobody but themselves.
#include "server_test.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::postgres_store::damage_test {
namespace {

using namespace std::chrono_literals;

class PostgresDamage : public testing::Test {
 protected:
  void SetUp() override { worker_ = join(); }

  WorkerKey join() { return store_->join({.node = "a", .abilities = abilities_, .code = code_}).value(); }
  void start(const std::string& id) {
    const std::array requests{store::StartRequest{.instance = id, .code = {"order", "1"}}};
    ASSERT_TRUE(store_->start(requests).front());
  }
  std::vector<store::LockedTurn> fetch() {
    const auto fetched = store_->fetch_turns({.worker = worker_,
                                              .code = &code_,
                                              .token = random_token<LockToken>(system_random()),
                                              .lease = 1h,
                                              .max = 10});
    EXPECT_TRUE(fetched) << fetched.error().message;
    return fetched ? fetched->turns : std::vector<store::LockedTurn>{};
  }
  std::vector<std::string> fetch_names() {
    std::vector<std::string> names;
    for (const store::LockedTurn& turn : fetch()) names.push_back(turn.instance);
    std::ranges::sort(names);
    return names;
  }
  void commit(store::TurnCommit turn, const store::LockedTurn& of) {
    turn.key = of.key;
    turn.token = of.token;
    turn.expected = of.stamp;
    turn.stamp = random_token<TurnStamp>(system_random());
    turn.execution = of.execution;
    for (const store::Message& message : of.messages) turn.consumed.push_back(message.id);
    const auto answer = store_->commit_turns({.worker = worker_}, std::array{turn}).front();
    EXPECT_TRUE(answer) << answer.error().message;
  }
  StoreResult<store::FetchedActivities> fetch_activities() {
    return store_->fetch_activities({.worker = worker_,
                                     .abilities = &abilities_,
                                     .token = random_token<LockToken>(system_random()),
                                     .lease = 1h,
                                     .max = 10});
  }
  /// An instance that waits for an event, and has a row that nobody can read.
  void start_victim() {
    start("victim");
    commit({.waits = std::vector<Address>{{Address::Kind::event, "paid"}}}, fetch().at(0));
    schema_.run("UPDATE instances SET waits = '\\xff01', due_at = 1 WHERE name = 'victim'");
  }
  [[nodiscard]] std::vector<store::SetAsideRow> aside() const { return store_->set_aside(0, 100).value(); }

  TestSchema schema_{};
  ManualClock clock_{};
  store::Code code_{.orchestrations = {{"order", "1"}}};
  store::Abilities abilities_{.handlers = {"say"}, .queues = {.any = true}};
  std::shared_ptr<Store> store_ = schema_.open({.clock = &clock_});
  WorkerKey worker_{};
};

TEST_F(PostgresDamage, WhatAnInstanceWaitsForIsSaidAnewByItsNextTurn) {
  start_victim();
  start("healthy");
  const TurnStamp before = store_->state()->instances.front().stamp;
  std::vector<store::LockedTurn> turns = fetch();
  ASSERT_EQ(turns.size(), 2U);
  const auto victim = std::ranges::find(turns, "victim", &store::LockedTurn::instance);
  EXPECT_NE(victim->stamp, before) << "a frame in memory would not tell again what it waits for";
  ASSERT_EQ(aside().size(), 1U);
  EXPECT_EQ(aside().front().key, victim->key);
  EXPECT_EQ(aside().front().bytes, "\xff\x01");
  commit({.waits = std::vector<Address>{{Address::Kind::event, "paid"}}}, *victim);
  const std::array messages{store::ClientMessage{
      .instance = "victim",
      .message = {.kind = store::MessageKind::delivery, .address = {Address::Kind::event, "paid"}}}};
  ASSERT_TRUE(store_->send(messages).front());
  EXPECT_EQ(fetch_names(), std::vector<std::string>{"victim"});
  EXPECT_EQ(aside().size(), 1U);
}

TEST_F(PostgresDamage, AnInstanceThatCantBeReadIsShownAndDeletable) {
  start_victim();
  EXPECT_TRUE(store_->find("victim"));
  EXPECT_TRUE(store_->describe("victim"));
  EXPECT_EQ(store_->list({})->instances.size(), 1U);
  EXPECT_TRUE(store_->state());
  EXPECT_TRUE(store_->delete_instance("victim", true, {}));
  EXPECT_FALSE(store_->find("victim"));
}

TEST_F(PostgresDamage, AnInstanceWhoseCodeIsNotKnownIsParked) {
  start("victim");
  start("healthy");
  schema_.run("UPDATE instances SET route = 4711 WHERE name = 'victim'");
  store_ = schema_.open({.clock = &clock_});
  EXPECT_EQ(fetch_names(), std::vector<std::string>{"healthy"});
  const std::array messages{
      store::ClientMessage{.instance = "victim", .message = {.kind = store::MessageKind::control}}};
  EXPECT_TRUE(store_->send(messages).front());
  EXPECT_EQ(store_->find("victim")->status, store::InstanceStatus::parked);
  EXPECT_NE(store_->find("victim")->parked_because.find("4711"), std::string::npos);
  EXPECT_EQ(aside().size(), 1U);
  EXPECT_TRUE(store_->delete_instance("victim", true, {}));
}

TEST_F(PostgresDamage, ASessionThatCantBeReadEndsAndItsItemsFail) {
  start("order-1");
  commit({.activities = {{.event = {1}, .name = "say", .session = store::SessionUse{.id = "bad"}},
                         {.event = {2}, .name = "say"},
                         {.event = {3}, .name = "say", .session = store::SessionUse{.id = "good"}}}},
         fetch().at(0));
  schema_.run("UPDATE sessions SET policy = '\\xff' WHERE id = 'bad'");
  const auto fetched = fetch_activities();
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->activities.size(), 2U);
  EXPECT_EQ(store_->session("bad")->state, store::SessionStatus::failed);
  EXPECT_NE(store_->session("bad")->note.find("damaged"), std::string::npos);
  ASSERT_EQ(aside().size(), 1U);
  EXPECT_EQ(aside().front().what, "session bad");
  EXPECT_EQ(aside().front().bytes, "\xff");
  const auto swept = store_->sweep({});
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_EQ(swept->activities_timed_out, 1U);
  const std::vector<store::LockedTurn> turns = fetch();
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns.front().messages.size(), 1U);
  EXPECT_EQ(std::get<store::ActivityTaken>(turns.front().messages.front().body).reason,
            CancelReason::unreadable);
  EXPECT_EQ(aside().size(), 1U);
}

TEST_F(PostgresDamage, AWorkerThatCantBeReadHasToJoinAgain) {
  schema_.run("UPDATE workers SET info = '\\xff'");
  store_ = schema_.open({.clock = &clock_});
  EXPECT_TRUE(store_->workers());
  const WorkerKey other = store_->join({.node = "b", .abilities = abilities_, .code = code_}).value();
  EXPECT_TRUE(store_->sweep({.worker = other}));
  const auto refreshed = store_->refresh(worker_, false);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().kind, StoreError::Kind::not_found);
  ASSERT_EQ(aside().size(), 1U);
  EXPECT_EQ(aside().front().what, "worker " + to_string(worker_));
  EXPECT_EQ(store_->workers()->size(), 1U);
}

TEST_F(PostgresDamage, TablesThatAreGoneAreNoOutage) {
  schema_.run("ALTER TABLE history RENAME TO lost");
  const auto history = store_->read_history({1}, {1}, {}, 1000);
  ASSERT_FALSE(history);
  schema_.run("ALTER TABLE lost RENAME TO history");
  EXPECT_EQ(history.error().kind, StoreError::Kind::damaged) << history.error().message;
}

// As a huge one it would be poison.
TEST_F(PostgresDamage, ACountBelowZeroIsNone) {
  start("victim");
  schema_.run("UPDATE instances SET delivery = -5");
  EXPECT_EQ(fetch().at(0).delivery, 1U);
}

}  // namespace
}  // namespace holdfast::postgres_store::damage_test
