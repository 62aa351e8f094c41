// Rows that can't be decoded are set aside with their bytes, and stop nobody but themselves: what is this
// store's own. The rest is damaged by the conformance suite.
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

TEST_F(PostgresDamage, AnInstanceThatCantBeReadIsShownAndDeletable) {
  start_victim();
  EXPECT_TRUE(store_->find("victim"));
  EXPECT_TRUE(store_->describe("victim"));
  EXPECT_EQ(store_->list({})->instances.size(), 1U);
  EXPECT_TRUE(store_->state());
  EXPECT_TRUE(store_->delete_instance("victim", true, {}));
  EXPECT_FALSE(store_->find("victim"));
}

TEST_F(PostgresDamage, AnActivityOfAKindThatIsMissingFails) {
  start("order-1");
  commit({.activities = {{.event = {1}, .name = "say", .start_within = 1s, .body = "hello"},
                         {.event = {2}, .name = "say"}}},
         fetch().at(0));
  schema_.run("UPDATE activities SET kind = kind + 1000000 WHERE event = 1");
  EXPECT_EQ(fetch_activities()->activities.size(), 1U);
  clock_.advance(2s);
  const auto swept = store_->sweep({});
  ASSERT_TRUE(swept) << swept.error().message;
  const std::vector<store::LockedTurn> turns = fetch();
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns.front().messages.size(), 1U);
  EXPECT_EQ(std::get<store::ActivityTaken>(turns.front().messages.front().body).reason,
            CancelReason::unreadable);
  ASSERT_EQ(aside().size(), 1U);
  EXPECT_EQ(aside().front().bytes, "hello");
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
