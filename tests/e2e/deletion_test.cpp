// Deleting one instance, and the history of one execution.
#include "stores_test.hpp"

#include <holdfast/fault.hpp>

#include <atomic>
#include <optional>
#include <thread>

namespace holdfast::e2e::deletion_test {
namespace {

std::optional<ClientError::Kind> kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& e) {
    return e.kind();
  }
  return std::nullopt;
}

class DeletionTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(DeletionTest);

TEST_P(DeletionTest, AnInstanceThatHasEndedIsGoneAndItsIdIsFree) {
  const auto rt = runtime([](Runtime& r) { add_program(r); });
  Client client = rt->client();
  const Run run = client.start("hello", {.id = "h"}, "Ada");
  run.wait<std::string>(kSoon);
  client.delete_instance("h");
  EXPECT_FALSE(client.find("h"));
  EXPECT_EQ(kind_of([&] { static_cast<void>(run.info()); }), ClientError::Kind::not_found);
  EXPECT_EQ(kind_of([&] { client.delete_instance("h"); }), ClientError::Kind::not_found);
  const Run again = client.start("hello", {.id = "h"}, "Grace");
  EXPECT_NE(again.key(), run.key());
  EXPECT_EQ(again.wait<std::string>(kSoon), "Hello, Grace!");
}

TEST_P(DeletionTest, OneThatRunsNeedsForceAndWhoWaitsForItIsTold) {
  const auto rt = runtime([](Runtime& r) { add_program(r); });
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "end"); }));
  EXPECT_EQ(kind_of([&] { client.delete_instance("t"); }), ClientError::Kind::conflict);
  std::atomic<bool> told{false};
  std::jthread waiter([&] {
    EXPECT_EQ(kind_of([&] { run.wait<int>(kSoon); }), ClientError::Kind::not_found);
    told = true;
  });
  client.delete_instance("t", {.force = true});
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_FALSE(client.find("t"));
}

Task<int> parent(Context& ctx) { co_return co_await ctx.child<int>("told", {.id = "child"}); }

TEST_P(DeletionTest, AChildThatItsParentWaitsForIsNotDeletedUnderIt) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("parent", parent);
  });
  Client client = rt->client();
  const Run run = client.start("parent", {.id = "p"});
  EXPECT_TRUE(eventually([&] { return client.find("child").has_value(); }));
  EXPECT_EQ(kind_of([&] { client.delete_instance("child", {.force = true}); }), ClientError::Kind::conflict);
  client.terminate("child", "enough");
  EXPECT_THROW(run.wait<int>(kSoon), RunFailed);  // it was not terminated itself
  client.delete_instance("child");
  EXPECT_FALSE(client.find("child"));
}

TEST_P(DeletionTest, ADeletionWhoseAnswerIsLostIsNotAnError) {
  FaultScript faults;
  Client client(store(&faults));
  client.start("hello", {.id = "h"}, "Ada");
  faults.inject(point("memory.delete_instances", "sqlite.commit", "postgres.commit"), 1, Fault::lose_answer);
  client.delete_instance("h", {.force = true});
  EXPECT_EQ(faults.pending(), 0U);
  EXPECT_FALSE(client.find("h"));
}

Task<int> rounds(Context& ctx, int left) {
  if (left == 0) co_return co_await ctx.event<int>("end");
  const int next = left - 1;
  co_await ctx.continue_as_new(next);
}

TEST_P(DeletionTest, TheHistoryOfOneExecutionIsPrunedAndTheInstanceGoesOn) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("rounds", rounds); });
  Client client = rt->client();
  const Run run = client.start("rounds", {.id = "r"}, 4);
  EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "end"); }));
  const ExecutionNumber current = run.info().execution;
  EXPECT_EQ(current, ExecutionNumber{5});
  EXPECT_TRUE(client.prune_execution("r", ExecutionNumber{2}));
  EXPECT_FALSE(client.prune_execution("r", ExecutionNumber{2}));
  EXPECT_EQ(kind_of([&] { client.prune_execution("r", current); }), ClientError::Kind::conflict);
  EXPECT_EQ(client.prune_executions("r", 2), 2U);  // 1 and 3: 2 is gone, 4 and 5 stay
  rt->stop();
  const auto again = runtime([](Runtime& r) { r.orchestration("rounds", rounds); });
  run.raise("end", 7);
  EXPECT_EQ(run.wait<int>(kSoon), 7);
}

}  // namespace
}  // namespace holdfast::e2e::deletion_test
