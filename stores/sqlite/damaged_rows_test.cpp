// Rows that can't be decoded are set aside, shown and deletable, and in nobody's way: those that only this
// store has. The others are damaged by the conformance suite.
#include "stores/sqlite/connection.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sqlite_store::damaged_rows_test {
namespace {

using support::TemporaryFolder;
using namespace holdfast::store;
using namespace std::chrono_literals;

class SqliteDamagedRows : public ::testing::Test {
 protected:
  SqliteDamagedRows()
      : worker_(store_->join({.node = "n", .abilities = abilities_, .code = code_}).value()) {}

  bool start(const std::string& instance) {
    const StartRequest request{.instance = instance, .code = {"o", "1"}, .request = {next(), 1}};
    return store_->start(std::span(&request, 1)).at(0).has_value();
  }
  std::vector<LockedTurn> fetch_turns(Duration lease = 5s) {
    const TurnRequest request{
        .worker = worker_, .code = &code_, .token = {next(), 2}, .lease = lease, .max = 10};
    return store_->fetch_turns(request).value().turns;
  }
  TurnCommit commit_of(const LockedTurn& turn) {
    TurnCommit commit{.key = turn.key,
                      .token = turn.token,
                      .expected = turn.stamp,
                      .stamp = {next(), 3},
                      .execution = turn.execution,
                      .first_event = {next()},
                      .segment = "s",
                      .activity_token = {7, 7}};
    for (const Message& message : turn.messages) commit.consumed.push_back(message.id);
    return commit;
  }
  /// One turn of "victim", and what it does.
  void commit(const TurnCommit& commit) {
    const CommitRequest request{.worker = worker_, .abilities = &abilities_, .activity_lease = 10s};
    EXPECT_TRUE(store_->commit_turns(request, std::span(&commit, 1)).at(0));
  }
  TurnCommit first_turn() {
    EXPECT_TRUE(start("victim"));
    return commit_of(fetch_turns().at(0));
  }
  void damage(const std::string& sql) {
    Connection other(path_, SQLITE_OPEN_READWRITE);
    other.exec(sql);
    EXPECT_EQ(other.changes(), 1) << sql;
  }
  std::vector<std::pair<std::string, std::string>> set_aside() {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const SetAsideRow& row : store_->set_aside(0, 100).value()) rows.emplace_back(row.what, row.bytes);
    return rows;
  }
  /// Now and when all that time alone does has been done.
  void expect_nobody_else_to_notice() {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(start("other " + std::to_string(next())));
      EXPECT_TRUE(store_->refresh(worker_, false));
      EXPECT_TRUE(store_->sweep({.worker = worker_}));
      EXPECT_TRUE(store_->workers());
      EXPECT_TRUE(store_->state());
      EXPECT_TRUE(store_->list({}));
      EXPECT_TRUE(store_->sessions({.limit = 100}));
      fetch_activities();
      fetch_turns();
      clock_.advance(20s);
    }
  }
  void expect_that_it_can_be_seen_and_deleted() {
    EXPECT_TRUE(store_->describe("victim"));
    EXPECT_TRUE(store_->delete_instance("victim", true, {}));
    EXPECT_EQ(store_->find("victim").error().kind, StoreError::Kind::not_found);
    EXPECT_TRUE(start("victim"));
  }
  void open_again() { store_ = sqlite(path_, {.durability = Durability::off, .clock = &clock_}); }
  std::vector<std::string> fetch_activities() {
    const auto fetched = store_->fetch_activities(
        {.worker = worker_, .abilities = &abilities_, .token = {next(), 4}, .lease = 5s, .max = 10});
    std::vector<std::string> names;
    for (const LockedActivity& activity : fetched.value().activities) names.push_back(activity.name);
    return names;
  }
  std::uint64_t next() { return ++numbers_; }

  const TemporaryFolder folder_{};
  const std::string path_ = folder_ / "a.db";
  ManualClock clock_{};
  std::shared_ptr<Store> store_ = sqlite(path_, {.durability = Durability::off, .clock = &clock_});
  Abilities abilities_{.handlers = {"a"}, .session_limit = 10};
  Code code_{.orchestrations = {{"o", "1"}}};
  WorkerKey worker_;
  std::uint64_t numbers_ = 10;
};

// A turn too many does no harm; one too few would leave it waiting for ever.
TEST_F(SqliteDamagedRows, AnInstanceThatWaitsForNobodyKnowsWhatGetsAllThatIsSentToIt) {
  TurnCommit turn = first_turn();
  turn.waits = std::vector<Address>{{Address::Kind::event, "e"}};
  commit(turn);
  damage("UPDATE instances SET waits = x'ff01' WHERE name = 'victim'");
  const ClientMessage message{
      .instance = "victim",
      .message = {.kind = MessageKind::delivery, .address = {Address::Kind::event, "e"}, .body = "b"},
      .request = {next(), 5}};
  EXPECT_TRUE(store_->send(std::span(&message, 1)).at(0));
  const auto turns = fetch_turns();
  ASSERT_EQ(turns.size(), 1U);
  TurnCommit last = commit_of(turns[0]);
  last.waits = std::vector<Address>{};
  commit(last);
  EXPECT_TRUE(fetch_turns().empty());
}

TEST_F(SqliteDamagedRows, APackOfActivities) {
  TurnCommit turn = first_turn();
  for (std::uint64_t event = 100; event < 103; ++event) {
    turn.activities.push_back({.event = {event}, .name = "a", .body = "x", .hand_off = true});
  }
  commit(turn);
  damage("UPDATE packs SET items = x'ff'");
  const ActivityResult result{
      .id = {turn.key, turn.execution, {100}}, .token = {7, 7}, .result = Finished{"done"}};
  EXPECT_FALSE(store_->finish_activities(std::span(&result, 1)).at(0));
  expect_nobody_else_to_notice();
  ASSERT_EQ(set_aside().size(), 1U);
  EXPECT_EQ(set_aside()[0].second, "\xff");
  EXPECT_EQ(set_aside()[0].first, "instance " + to_string(turn.key) + " (its running activities)");
  const InstanceView victim = store_->find("victim").value();
  EXPECT_EQ(victim.status, InstanceStatus::parked);
  EXPECT_NE(victim.parked_because.find("running activities can't be decoded"), std::string::npos)
      << victim.parked_because;
  expect_that_it_can_be_seen_and_deleted();
}

// The requirements that stand with the kind only spare a look at the session, whose policy has them too.
TEST_F(SqliteDamagedRows, WhatIsRequiredOfWhoRunsAnActivity) {
  TurnCommit turn = first_turn();
  turn.activities.push_back({.event = {100}, .name = "a", .session = SessionUse{.id = "s"}, .body = "x"});
  commit(turn);
  damage("UPDATE kinds SET requirements = x'ff'");
  open_again();
  EXPECT_EQ(fetch_activities(), std::vector<std::string>{"a"});
  expect_nobody_else_to_notice();
  expect_that_it_can_be_seen_and_deleted();
}

TEST_F(SqliteDamagedRows, WhatAnActivityIs) {
  TurnCommit turn = first_turn();
  for (const char* const name : {"a", "b"}) {
    turn.activities.push_back({.event = {turn.activities.size() + 100}, .name = name, .body = name});
  }
  commit(turn);
  damage("DELETE FROM kinds WHERE name = 'b'");
  open_again();
  EXPECT_TRUE(store_->queue_depths());
  EXPECT_EQ(fetch_activities(), std::vector<std::string>{"a"});
  ASSERT_EQ(set_aside().size(), 1U);
  EXPECT_EQ(set_aside()[0].second, "b");
  EXPECT_TRUE(store_->sweep({.worker = worker_}));
  const auto turns = fetch_turns();
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns[0].messages.size(), 1U);
  EXPECT_EQ(std::get<ActivityTaken>(turns[0].messages[0].body).reason, CancelReason::unreadable);
  EXPECT_EQ(set_aside().size(), 1U);
}

TEST_F(SqliteDamagedRows, WhichCodeInstancesNeed) {
  EXPECT_TRUE(start("victim"));
  damage("UPDATE routes SET id = id + 50");
  open_again();
  EXPECT_EQ(store_->find("victim").value().status, InstanceStatus::running) << "who looks changes nothing";
  EXPECT_TRUE(start("other"));
  ASSERT_EQ(fetch_turns().size(), 1U);
  EXPECT_EQ(store_->find("victim").value().status, InstanceStatus::parked);
  EXPECT_EQ(store_->list({.orchestration = "o"}).value().instances.size(), 1U);
  expect_that_it_can_be_seen_and_deleted();
}

TEST_F(SqliteDamagedRows, AreNotCalledUnavailable) {
  damage("DELETE FROM counters");
  open_again();
  const auto key = store_->join({.node = "m", .abilities = abilities_, .code = code_});
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, StoreError::Kind::damaged) << key.error().message;
}

}  // namespace
}  // namespace holdfast::sqlite_store::damaged_rows_test
