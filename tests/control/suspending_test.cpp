// Instances that are suspended and resumed.
#include "control_test.hpp"

#include <atomic>
#include <future>
#include <optional>
#include <vector>

namespace holdfast::control::suspending_test {
namespace {

/// So many steps one after the other.
Task<int> steps(Context& ctx, int count) {
  int sum = 0;
  for (int i = 1; i <= count; ++i) {
    sum += co_await ctx.activity<int>("square", i);
    ctx.set_status(i);
  }
  co_return sum;
}

Task<int> naps(Context& ctx) {
  co_await ctx.sleep(50ms);
  co_return 7;
}

Task<std::string> minds(Context& ctx) {
  std::string end = "not asked";
  try {
    co_await ctx.event<int>("end");
  } catch (const Cancelled& e) {
    end = e.failure().message;
  }
  co_return end;
}

Task<int> parent(Context& ctx) { co_return co_await ctx.child<int>("told", {.id = "child"}); }

class SuspendingTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker() {
    return runtime([this](Runtime& r) {
      add_program(r);
      r.activity("wait", [this](ActivityContext&) {
        begun = true;
        EXPECT_TRUE(eventually([&] { return goes_on.load(); }));
        return 42;
      });
      r.orchestration("steps", steps);
      r.orchestration("naps", naps);
      r.orchestration("minds", minds);
      r.orchestration("parent", parent);
    });
  }
  static void wait_for_event(const Run& run) {
    EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "end"); }));
  }

  std::atomic<bool> begun{false};
  std::atomic<bool> goes_on{false};
};
HOLDFAST_ON_EACH_STORE(SuspendingTest);

TEST_P(SuspendingTest, NoTurnIsCommittedUntilItIsResumed) {
  const auto rt = worker();
  const Client client = rt->client();
  for (int round = 0; round < 5; ++round) {
    Client starter = client;
    const Run run = starter.start("steps", 60);
    EXPECT_TRUE(eventually([&] { return run.info().custom_status_version > 3; }));
    try {
      run.suspend();
    } catch (const ClientError& e) {
      EXPECT_EQ(e.kind(), ClientError::Kind::conflict);  // it was faster
      continue;
    }
    const auto then = run.executions();
    // Whatever was under way has its chance to be committed wrongly.
    EXPECT_EQ(starter.start("steps", 20).wait<int>(kSoon), 2870);
    EXPECT_EQ(run.executions(), then);
    EXPECT_EQ(run.status(), Status::suspended);
    run.resume();
    EXPECT_EQ(run.wait<int>(kSoon), 73810);
  }
}

TEST_P(SuspendingTest, WhatComesWaitsAndIsShown) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  wait_for_event(run);
  run.suspend();
  run.raise("end", 5);
  EXPECT_EQ(run.describe().unread_messages, 1U);
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::worker);
  EXPECT_EQ(wait.state, "suspended: what comes for it waits until it is resumed");
  EXPECT_FALSE(wait.served);
  EXPECT_TRUE(wait.since);
  EXPECT_EQ(client.list({.statuses = {Status::suspended}}).runs.size(), 1U);
  EXPECT_EQ(client.list({.statuses = {Status::running}}).runs.size(), 0U);
  run.resume();
  EXPECT_EQ(run.wait<int>(kSoon), 5);
}

TEST_P(SuspendingTest, ActivitiesGoOnAndTheirOutcomesWait) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("waiting");
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  run.suspend();
  goes_on = true;
  EXPECT_TRUE(eventually([&] { return run.describe().unread_messages == 1; }));
  EXPECT_EQ(run.status(), Status::suspended);
  run.resume();
  EXPECT_EQ(run.wait<int>(kSoon), 42);
}

TEST_P(SuspendingTest, TimersComeDueAndWait) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("naps");
  EXPECT_TRUE(eventually([&] { return !run.history().events.empty(); }));
  if (refusal([&] { run.suspend(); }) != "fine") GTEST_SKIP() << "it had ended before";
  EXPECT_TRUE(eventually([&] { return run.describe().unread_messages == 1; }));
  run.resume();
  EXPECT_EQ(run.wait<int>(kSoon), 7);
}

TEST_P(SuspendingTest, TerminateEndsItAtOnce) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told");
  wait_for_event(run);
  run.suspend();
  run.raise("end", 5);
  run.terminate("enough");
  EXPECT_THROW(run.wait<int>(kSoon), RunCancelled);
  EXPECT_EQ(run.status(), Status::terminated);
  EXPECT_EQ(run.info().failure->message, "enough");
}

TEST_P(SuspendingTest, TerminateEndsOneThatHasNotBegun) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "later", .delay = 1h});
  run.suspend();
  run.terminate("never mind");
  EXPECT_THROW(run.wait<int>(kSoon), RunCancelled);
  EXPECT_EQ(run.status(), Status::terminated);
}

TEST_P(SuspendingTest, ACancelIsKeptAndTakesEffectAtResume) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("minds");
  wait_for_event(run);
  run.suspend();
  run.cancel("no need");
  EXPECT_TRUE(run.info().cancel_requested_at);
  EXPECT_EQ(client.start("hello", "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(run.status(), Status::suspended);
  run.resume();
  EXPECT_EQ(run.wait<std::string>(kSoon), "no need");
}

TEST_P(SuspendingTest, TerminateAfterRunsOn) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("minds");
  wait_for_event(run);
  run.suspend();
  run.cancel({.terminate_after = 100ms}, "no need");
  EXPECT_THROW(run.wait<std::string>(kSoon), RunCancelled);
  EXPECT_EQ(run.status(), Status::terminated);
}

TEST_P(SuspendingTest, ASecondWishSaysSo) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  EXPECT_EQ(refusal([&] { run.resume(); }), "conflict: instance 't' is not suspended: it is running");
  run.suspend();
  EXPECT_EQ(refusal([&] { client.suspend("t"); }), "conflict: instance 't' is suspended already");
  client.resume("t");
  run.raise("end", 1);
  run.wait<int>(kSoon);
  EXPECT_EQ(refusal([&] { run.suspend(); }), "conflict: instance 't' has ended");
  EXPECT_EQ(refusal([&] { client.suspend("nobody"); }).substr(0, 9), "not_found");
}

TEST_P(SuspendingTest, CallsThatNobodyWaitsForKeepTheirOrder) {
  const auto rt = worker();
  Client client = rt->client();
  std::vector<std::future<void>> calls;
  const Run run = client.start("told", {.id = "t"});
  for (int i = 0; i < 20; ++i) {
    calls.push_back(run.suspend_async().future());
    calls.push_back(client.raise_async("t", "other", i).future());
    calls.push_back(client.resume_async("t").future());
  }
  for (std::future<void>& call : calls) EXPECT_NO_THROW(call.get());
  EXPECT_EQ(run.status(), Status::running);
  EXPECT_THROW(run.resume_async().future().get(), ClientError);
}

TEST_P(SuspendingTest, ChildrenGoOnAndParentsHearAtResume) {
  const auto rt = worker();
  Client client = rt->client();
  const Run run = client.start("parent");
  EXPECT_TRUE(eventually([&] { return client.find("child").has_value(); }));
  const Run child = client.run("child");
  wait_for_event(child);
  child.suspend();
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::child);
  EXPECT_EQ(wait.state.substr(0, 9), "suspended");
  EXPECT_FALSE(wait.served);
  child.resume();
  run.suspend();
  child.raise("end", 3);
  EXPECT_EQ(child.wait<int>(kSoon), 3);
  EXPECT_EQ(run.status(), Status::suspended);
  run.resume();
  EXPECT_EQ(run.wait<int>(kSoon), 3);
}

TEST_P(SuspendingTest, AnAnswerThatIsLostIsAskedForAgain) {
  FaultScript faults;
  Client client(store(&faults));
  client.start("told", {.id = "t"});
  faults.inject(point("memory.set_suspended", "sqlite.commit", "postgres.commit"), 1, Fault::lose_answer);
  client.suspend("t");
  EXPECT_EQ(faults.pending(), 0U);
  EXPECT_EQ(client.run("t").status(), Status::suspended);
}

}  // namespace
}  // namespace holdfast::control::suspending_test
