// Rows that somebody else has locked: what needs them is put aside, step by step, in virtual time.
#include "runtime/worker.hpp"
#include "testkit/support/forwarding_store.hpp"
#include "testkit/support/lines.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::locked_test {
namespace {

using support::ForwardingStore;
using support::Lines;
using namespace std::chrono_literals;

Task<int> works(Context& ctx) {
  const int first = co_await ctx.activity<int>("work");
  co_return first + co_await ctx.activity<int>("work");
}

/// Somebody else has locked what some instances need.
class Locks final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override {
    return each<store::Committed>(
        commits, [](const store::TurnCommit& commit) { return commit.key; },
        [&](const store::TurnCommit& commit) {
          return std::move(ForwardingStore::commit_turns(request, {&commit, 1}).front());
        });
  }
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override {
    return each<void>(
        results, [](const store::ActivityResult& result) { return result.id.instance; },
        [&](const store::ActivityResult& result) {
          return std::move(ForwardingStore::finish_activities({&result, 1}).front());
        });
  }

  std::set<InstanceKey> locked{};
  int refused = 0;

 private:
  template <class Answer, class Item, class Key, class Call>
  std::vector<StoreResult<Answer>> each(std::span<const Item> items, Key key, Call call) {
    std::vector<StoreResult<Answer>> answers;
    for (const Item& item : items) {
      if (locked.contains(key(item))) {
        ++refused;
        answers.push_back(Unexpected(StoreError{.kind = StoreError::Kind::busy, .message = "it is locked"}));
      } else {
        answers.push_back(call(item));
      }
    }
    return answers;
  }
};

/// Activities end when the test says so.
class ByHand final : public Executor {
 public:
  void post(Work work) override { work_.push_back(std::move(work)); }
  void run_all() {
    while (!work_.empty()) {
      Work next = std::move(work_.front());
      work_.pop_front();
      next();
    }
  }

 private:
  std::deque<Work> work_;
};

class LockedTest : public ::testing::Test {
 protected:
  LockedTest() { EXPECT_TRUE(node_.join()); }

  void start(const std::string& id) { client_.start("works", {.id = id}); }
  InstanceKey key_of(const std::string& id) { return database_->find(id)->key; }
  /// Everything that can be done now is done.
  void go_on() {
    for (int i = 0; i < 4; ++i) {
      node_.hear({.work = store::kAllWork});
      for (const Step step : {Step::turns, Step::activities, Step::answers, Step::keep}) node_.run(step);
      by_hand_.run_all();
    }
  }
  Registry registry() {
    Registry registry;
    registry.add_orchestration("works", "1", detail::make_orchestration(works));
    registry.add_activity("work", detail::make_activity([this](ActivityContext&) {
                            ++runs_;
                            return 1;
                          }));
    return registry;
  }

  ManualClock clock_;
  SeededRandom random_{1};
  ByHand by_hand_;
  int runs_ = 0;
  std::shared_ptr<Store> database_ = memory({.clock = &clock_});
  std::shared_ptr<Locks> store_ = std::make_shared<Locks>(database_);
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  Client client_{database_};
  Worker node_{store_, {.activity_slots = 4, .logger = lines_}, registry(), by_hand_, random_, [](Step) {}};
};

TEST_F(LockedTest, ATurnIsPutAsideAndTheOthersGoOn) {
  start("locked");
  start("free");
  store_->locked = {key_of("locked")};
  go_on();
  EXPECT_EQ(client_.find("free")->info().status, Status::completed);
  EXPECT_EQ(client_.find("locked")->info().status, Status::running);
  EXPECT_EQ(runs_, 2) << "those of the free one";
  EXPECT_TRUE(database_->describe("locked")->locked_by.empty()) << "its lock was given back";
}

TEST_F(LockedTest, ItIsTriedAgainWithGrowingPausesAndNeverCountsAsPoison) {
  start("locked");
  store_->locked = {key_of("locked")};
  for (int i = 0; i < 400; ++i) {
    go_on();
    clock_.advance(50ms);
  }
  EXPECT_GE(store_->refused, 20) << "in twenty seconds, once per second";
  EXPECT_LE(store_->refused, 30);
  store_->locked.clear();
  clock_.advance(1s);
  go_on();
  EXPECT_EQ(client_.find("locked")->info().status, Status::completed);
}

TEST_F(LockedTest, PeopleAreToldNowAndThen) {
  start("locked");
  store_->locked = {key_of("locked")};
  for (int i = 0; i < 100; ++i) {
    go_on();
    clock_.advance(50ms);
  }
  EXPECT_EQ(lines_->count("another transaction has locked"), 1U);
  EXPECT_EQ(lines_->count("could not answer"), 0U);
}

TEST_F(LockedTest, AnActivityThatHasEndedIsNotRunAgain) {
  start("locked");
  node_.run(Step::turns);  // its first turn is committed, and hands the activity to this worker
  store_->locked = {key_of("locked")};
  for (int i = 0; i < 100; ++i) {
    go_on();
    clock_.advance(500ms);  // longer than all leases together
  }
  EXPECT_EQ(runs_, 1);
  EXPECT_GT(store_->refused, 1);
  store_->locked.clear();
  for (int i = 0; i < 4; ++i) {
    clock_.advance(1s);
    go_on();
  }
  EXPECT_EQ(client_.find("locked")->info().status, Status::completed);
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace holdfast::runtime::locked_test
