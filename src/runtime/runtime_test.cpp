// A runtime with its threads on the memory store: what a user sees of it.
#include "testkit/support/lines.hpp"
#include "testkit/support/outage.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/saga.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::runtime_test {
namespace {

using support::Lines;
using support::Outage;
using namespace std::chrono_literals;

constexpr Duration kSoon = 60s;  // a deadline for what happens at once

RuntimeOptions quiet() { return {.activity_slots = 8, .logger = null_logger()}; }

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

Task<int> sum_of_squares(Context& ctx, int n) {
  std::vector<Op<int>> parts;
  for (int i = 1; i <= n; ++i) parts.push_back(ctx.activity<int>("square", i));
  int sum = 0;
  for (const int part : co_await when_all(std::move(parts))) sum += part;
  co_return sum;
}

Task<std::string> approval(Context& ctx, Duration limit) {
  auto decision = co_await with_timeout(ctx.event<std::string>("decision"), limit);
  co_return decision ? *decision : "too late";
}

Task<int> child_sum(Context& ctx, int n) {
  if (n == 0) co_return 0;
  co_return n + co_await ctx.child<int>("child_sum", n - 1);
}

Task<int> count_down(Context& ctx, int n, int done) {
  done += co_await ctx.activity<int>("square", 1);
  if (n > 1) co_await ctx.continue_as_new(n - 1, done);
  co_return done;
}

// The second one is dropped in the turn that has started it.
Task<std::string> greets_two_of_three(Context& ctx) {
  auto first = ctx.activity<std::string>("greet", "Ada").start();
  {
    auto dropped = ctx.activity<std::string>("greet", "Bob").start();
  }
  auto third = ctx.activity<std::string>("greet", "Cleo").start();
  const std::string one = co_await first;
  co_return one + " " + co_await third;
}

Task<std::string> stubborn(Context& ctx) {
  std::string text;
  try {
    co_await ctx.event<int>("never");
  } catch (const Cancelled& e) {
    text = e.failure().message;
  }
  co_return text;
}

Task<void> waits_for_ever(Context& ctx) { co_await ctx.event<int>("never"); }

Task<int> fails(Context& ctx) {
  co_return co_await ctx.activity<int>("broken", {.retry = {.max_attempts = 3, .first_delay = 1ms}});
}

std::vector<StartItem> many(int count, int input, const std::string& prefix = "i") {
  std::vector<StartItem> items;
  for (int i = 0; i < count; ++i) items.push_back(start_item(prefix + std::to_string(i), input));
  return items;
}

class RuntimeTest : public ::testing::Test {
 protected:
  void add_code(Runtime& rt) {
    rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
    rt.activity("square", [](ActivityContext&, int n) { return n * n; });
    rt.activity("broken", [this](ActivityContext& ctx) -> int {
      attempts = ctx.attempt();
      throw ActivityFailure("out_of_paper", "the printer is empty");
    });
    rt.orchestration("hello", hello);
    rt.orchestration("sum_of_squares", sum_of_squares);
    rt.orchestration("approval", approval);
    rt.orchestration("child_sum", child_sum);
    rt.orchestration("count_down", count_down);
    rt.orchestration("greets_two_of_three", greets_two_of_three);
    rt.orchestration("stubborn", stubborn);
    rt.orchestration("waits_for_ever", waits_for_ever);
    rt.orchestration("fails", fails);
  }

  std::shared_ptr<Store> store = memory();
  std::atomic<int> attempts{0};
};

TEST_F(RuntimeTest, RunsAnOrchestrationAndGivesItsResult) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  auto run = rt.client().start("hello", {.id = "run-1"}, "Ada");
  EXPECT_EQ(run.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(run.status(), Status::completed);
  EXPECT_EQ(rt.client().run("run-1").wait<std::string>(kSoon), "Hello, Ada!");
}

TEST_F(RuntimeTest, StartsThatAreRepeatedGiveTheSameRunAndOthersConflict) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  const auto first = rt.client().start("hello", {.id = "run-1"}, "Ada");
  EXPECT_EQ(rt.client().start("hello", {.id = "run-1"}, "Ada").key(), first.key());
  try {
    rt.client().start("hello", {.id = "run-1"}, "Bob");
    FAIL() << "nobody objected";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::conflict);
  }
  EXPECT_EQ(first.wait<std::string>(kSoon), "Hello, Ada!");
  auto again = rt.client().start("hello", {.id = "run-1", .reuse = Reuse::after_end}, "Bob");
  EXPECT_NE(again.key(), first.key());
  EXPECT_EQ(again.wait<std::string>(kSoon), "Hello, Bob!");
  const auto said_of = [](const auto& run) {
    try {
      return "its status is " + std::string(to_string(run.info().status));
    } catch (const ClientError& e) {
      EXPECT_EQ(e.kind(), ClientError::Kind::not_found);
      return std::string(e.what());
    }
  };
  EXPECT_NE(said_of(first).find("another one was started under its id"), std::string::npos) << said_of(first);
  EXPECT_THROW(static_cast<void>(first.result<std::string>(kSoon)), ClientError);
  rt.client().delete_instance("run-1");
  const std::string said = said_of(again);
  EXPECT_NE(said.find("was deleted"), std::string::npos) << said;
}

TEST_F(RuntimeTest, FansOutAndIn) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_EQ(rt.client().start("sum_of_squares", {.id = "s"}, 20).wait<int>(kSoon), 2870);
}

TEST_F(RuntimeTest, WhatIsHandedOffIsWhatWasScheduledAlsoBesideWhatWasDroppedAtOnce) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_EQ(rt.client().start("greets_two_of_three", {.id = "run-1"}).wait<std::string>(kSoon),
            "Hello, Ada! Hello, Cleo!");
}

TEST_F(RuntimeTest, ManyRunsAtOnce) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  std::vector<StartItem> items;
  for (int i = 0; i < 300; ++i) items.push_back(start_item("s" + std::to_string(i), 5));
  for (const auto& run : rt.client().start_all("sum_of_squares", items)) EXPECT_EQ(run.wait<int>(kSoon), 55);
}

TEST_F(RuntimeTest, ATimerFiresAndAnEventWins) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_EQ(rt.client().start("approval", {.id = "late"}, Duration(20ms)).wait<std::string>(kSoon),
            "too late");
  auto run = rt.client().start("approval", {.id = "fine"}, Duration(1h));
  run.raise("decision", std::string("yes"));
  EXPECT_EQ(run.wait<std::string>(kSoon), "yes");
}

TEST_F(RuntimeTest, AnEventMayComeBeforeItsInstance) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  rt.client().raise("early", "decision", std::string("yes"));
  EXPECT_EQ(rt.client().start("approval", {.id = "early"}, Duration(1h)).wait<std::string>(kSoon), "yes");
}

TEST_F(RuntimeTest, ChildrenReportToTheirParents) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_EQ(rt.client().start("child_sum", {.id = "c"}, 10).wait<int>(kSoon), 55);
}

TEST_F(RuntimeTest, ContinuesAsNew) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  auto run = rt.client().start("count_down", {.id = "c"}, 10, 0);
  EXPECT_EQ(run.wait<int>(kSoon), 10);
  EXPECT_EQ(run.info().execution, ExecutionNumber{10});
}

Task<std::vector<int>> a_life_per_message(Context& ctx, std::vector<int> got) {
  const Future<void> beside = ctx.activity<void>("slow").start();
  if (got.empty()) co_await ctx.event<int>("go");
  got.push_back(co_await ctx.mailbox<int>("numbers").receive());
  if (got.size() < 3) co_await ctx.continue_as_new(got);
  co_return got;
}

TEST_F(RuntimeTest, UnreadMessagesReachTheNextExecutionAlsoWhileAnActivityRuns) {
  std::atomic<bool> begun{false};
  Runtime rt(store, quiet());
  rt.orchestration("lives", a_life_per_message);
  rt.activity("slow", [&](ActivityContext& ctx) {
    begun = true;
    while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
  });
  rt.start();
  const auto run = rt.client().start("lives", {.id = "l"}, std::vector<int>{});
  while (!begun) std::this_thread::yield();
  for (const int number : {1, 2, 3}) run.send("numbers", number);
  run.raise("go", 1);
  EXPECT_EQ(run.wait<std::vector<int>>(kSoon), (std::vector<int>{1, 2, 3}));
}

TEST_F(RuntimeTest, AFailureIsRetriedAndThenThrown) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  const Result<int> result = rt.client().start("fails", {.id = "f"}).result<int>(kSoon);
  ASSERT_FALSE(result);
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(result.error().type, "out_of_paper");
  EXPECT_EQ(result.error().source, "activity broken");
  EXPECT_EQ(result.error().attempt, 3);
}

TEST_F(RuntimeTest, TheNextAttemptBeginsWhereTheLastHeartbeatWas) {
  FaultScript faults;
  Runtime rt(memory({.faults = &faults}), quiet());
  rt.orchestration("import", [](Context& ctx) -> Task<int> {
    co_return co_await ctx.activity<int>("rows", {.retry = {.max_attempts = 2, .first_delay = 1ms}});
  });
  rt.activity("rows", [](ActivityContext& ctx) {
    const int begin = ctx.last_heartbeat<int>().value_or(0);
    ctx.heartbeat(begin + 6);
    ctx.heartbeat(begin + 7);
    if (ctx.attempt() == 1) throw std::runtime_error("out of memory");
    return begin;
  });
  rt.start();
  faults.inject("memory.finish_activities", 1, Fault::fail_before);
  EXPECT_EQ(rt.client().start("import", {.id = "i"}).wait<int>(kSoon), 7);
  EXPECT_EQ(faults.pending(), 0U);
}

TEST_F(RuntimeTest, CancelAsksAndTerminateDoesNot) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  auto stubborn_run = rt.client().start("stubborn", {.id = "stubborn"});
  stubborn_run.cancel("enough");
  EXPECT_EQ(stubborn_run.wait<std::string>(kSoon), "enough");

  auto cancelled = rt.client().start("waits_for_ever", {.id = "cancelled"});
  cancelled.cancel("enough");
  EXPECT_EQ(cancelled.result<>(kSoon).error().category, Category::cancelled);
  EXPECT_EQ(cancelled.status(), Status::cancelled);

  auto terminated = rt.client().start("waits_for_ever", {.id = "terminated"});
  terminated.terminate("now");
  EXPECT_EQ(terminated.result<>(kSoon).error().category, Category::terminated);
  EXPECT_THROW(terminated.cancel("again"), ClientError);
  EXPECT_THROW(rt.client().cancel("nobody", "x"), ClientError);
}

TEST_F(RuntimeTest, WaitingGivesUpInTimeAndTheRunGoesOn) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  auto run = rt.client().start("approval", {.id = "a"}, Duration(1h));
  try {
    run.wait<std::string>(1ms);
    FAIL() << "nobody has approved it";
  } catch (const RunTimedOut& e) {
    EXPECT_STREQ(e.what(), "instance 'a' has not ended within 1 ms; it goes on (wait_timeout)");
  }
  EXPECT_EQ(run.status(), Status::running);
}

TEST_F(RuntimeTest, AClientNeedsNoRuntimeAndTheWorkIsDoneLater) {
  Client client(store);
  auto run = client.start("hello", {.id = "run-1"}, "Ada");
  EXPECT_EQ(run.status(), Status::running);
  EXPECT_EQ(run.describe().waits.at(0).kind, RunWait::Kind::worker);
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_EQ(run.wait<std::string>(kSoon), "Hello, Ada!");
}

TEST_F(RuntimeTest, ASecondRuntimeGoesOnWhereTheFirstStopped) {
  Client client(store);
  {
    Runtime rt(store, quiet());
    add_code(rt);
    rt.start();
    client.start("approval", {.id = "a"}, Duration(1h));
    EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "x").wait<std::string>(kSoon), "Hello, x!");
  }
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  client.run("a").raise("decision", std::string("yes"));
  EXPECT_EQ(client.run("a").wait<std::string>(kSoon), "yes");
}

TEST_F(RuntimeTest, StopLetsRunningActivitiesFinish) {
  std::atomic<bool> begun{false};
  Runtime rt(store, quiet());
  rt.orchestration("hello", hello);
  rt.activity("greet", [&](ActivityContext&, std::string who) {
    begun = true;
    std::this_thread::sleep_for(50ms);
    return "Bye, " + who;
  });
  rt.start();
  auto run = rt.client().start("hello", {.id = "h"}, "Ada");
  while (!begun) std::this_thread::yield();
  EXPECT_TRUE(rt.drain(kSoon));
  // Its result is with the store; the next worker needs no second run of it.
  Runtime next(store, quiet());
  next.orchestration("hello", hello);
  next.activity("greet",
                [](ActivityContext&, std::string) -> std::string { throw std::runtime_error("ran twice"); });
  next.start();
  EXPECT_EQ(run.wait<std::string>(kSoon), "Bye, Ada");
}

TEST_F(RuntimeTest, AnActivityThatIsStoppedByADrainIsPutBackAndCostsNoAttempt) {
  std::atomic<bool> begun{false};
  Runtime rt(store, quiet());
  rt.orchestration("once", [](Context& ctx) -> Task<int> {
    co_return co_await ctx.activity<int>("slow", {.retry = {.max_attempts = 1}});
  });
  rt.activity("slow", [&](ActivityContext& ctx) -> int {
    begun = true;
    while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
    throw ActivityFailure("stopped", "no time left");
  });
  rt.start();
  auto run = rt.client().start("once", {.id = "o"});
  while (!begun) std::this_thread::yield();
  EXPECT_FALSE(rt.drain(1ms));

  Runtime next(store, quiet());
  next.orchestration("once", [](Context& ctx) -> Task<int> {
    co_return co_await ctx.activity<int>("slow", {.retry = {.max_attempts = 1}});
  });
  next.activity("slow", [](ActivityContext& ctx) { return 10 * ctx.attempt() + ctx.delivery(); });
  next.start();
  EXPECT_EQ(run.wait<int>(kSoon), 11);
}

/// As a sweep does that takes them for gone.
void forget_workers(Store& store) {
  for (const store::WorkerView& worker : store.workers().value()) EXPECT_TRUE(store.leave(worker.key));
}

TEST_F(RuntimeTest, AWorkerThatOthersTookForGoneJoinsAgain) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  forget_workers(*store);
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(store->workers().value().size(), 1U);
}

TEST_F(RuntimeTest, AWorkerThatJoinsAgainKnowsItselfAlsoWhenTheAnswerWasLost) {
  FaultScript faults;
  const auto shaky = memory({.faults = &faults});
  RuntimeOptions options = quiet();
  options.node_id = "a";
  const auto lines = std::make_shared<Lines>();
  options.logger = lines;
  Runtime rt(shaky, options);
  add_code(rt);
  rt.start();
  faults.inject("memory.join", 1, Fault::lose_answer);
  forget_workers(*shaky);
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(shaky->workers().value().size(), 1U);
  EXPECT_TRUE(lines->wait_for("it has joined again"));
}

TEST_F(RuntimeTest, ANodeNameThatAnotherTookMeanwhileStaysWithIt) {
  RuntimeOptions options = quiet();
  options.node_id = "a";
  const auto lines = std::make_shared<Lines>();
  options.logger = lines;
  Runtime rt(store, options);
  add_code(rt);
  std::atomic<int> told{0};
  rt.on_superseded([&] {
    ++told;
    throw std::runtime_error("it is logged");
  });
  EXPECT_EQ(rt.state(), RuntimeState::made);
  rt.start();
  EXPECT_EQ(rt.state(), RuntimeState::working);
  forget_workers(*store);
  const WorkerKey other = store->join({.node = "a"}).value();
  Client(store).start("hello", {.id = "h"}, "Ada");  // it looks for work, and is told that nobody knows it
  EXPECT_TRUE(lines->wait_for("this worker was superseded"));
  EXPECT_TRUE(lines->wait_for("a hook has thrown"));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(rt.state(), RuntimeState::superseded);
  EXPECT_NE(rt.metrics().prometheus().find("holdfast_superseded_workers 1"), std::string::npos);
  ASSERT_EQ(store->workers().value().size(), 1U);
  EXPECT_EQ(store->workers().value().front().key, other);
  rt.stop();
  EXPECT_EQ(rt.state(), RuntimeState::stopped);
}

TEST_F(RuntimeTest, WhatWasHandedOffByACommitInDoubtIsRunSoon) {
  FaultScript faults;
  RuntimeOptions options = quiet();
  options.activity_lease = 1h;  // so long nobody would wait for a lock that nobody uses
  options.session_idle_timeout = 2h;
  Runtime rt(memory({.faults = &faults}), options);
  add_code(rt);
  rt.start();
  faults.inject("memory.commit_turns", 1, Fault::lose_answer);
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(faults.pending(), 0U);
}

TEST_F(RuntimeTest, AnOutageOfTheStoreFailsNothingAndIsSaid) {
  Outage outage;
  const auto shared = memory_database();
  const auto lines = std::make_shared<Lines>();
  RuntimeOptions options = quiet();
  options.logger = lines;
  options.instance_lease = options.activity_lease = 300ms;
  Runtime rt(memory({.database = shared, .faults = &outage}), options);
  add_code(rt);
  rt.start();
  Client client(memory({.database = shared}));
  const auto before = client.start_all("sum_of_squares", many(50, 3));
  outage.begin();
  const auto during = client.start_all("child_sum", many(20, 3, "c"));
  EXPECT_TRUE(lines->wait_for("the store could not answer; trying again"));
  outage.wait_for(20);
  outage.end();
  for (const auto& run : before) EXPECT_EQ(run.wait<int>(kSoon), 14);
  for (const auto& run : during) EXPECT_EQ(run.wait<int>(kSoon), 6);
  EXPECT_TRUE(lines->wait_for("the store answers again"));
}

// Code that blocks until it is let go.
struct Door {
  std::atomic<bool> open{false};
  std::atomic<int> inside{0};
  std::atomic<bool> blocks{true};
  void pass() {
    ++inside;
    open.wait(false);
    --inside;
  }
  void let_go() {
    open = true;
    open.notify_all();
    while (inside > 0) std::this_thread::yield();
  }
};
Door door;

Task<int> blocks(Context&) {
  door.pass();
  co_return 1;
}

Task<int> blocks_after_activity(Context& ctx) {
  const auto greeting = co_await ctx.activity<std::string>("greet", "Ada");
  door.pass();
  co_return static_cast<int>(greeting.size());
}

Task<int> blocks_in_replay(Context& ctx) {
  if (door.blocks) door.pass();
  co_await ctx.event<int>("never");
  co_return 1;
}

class StuckTurnTest : public RuntimeTest {
 protected:
  std::unique_ptr<Runtime> started(std::uint32_t poison_after = 10) {
    RuntimeOptions options = quiet();
    options.logger = lines;
    options.poison_after = poison_after;
    options.turn_time_limit = 20ms;
    options.turn_threads = 1;
    auto rt = std::make_unique<Runtime>(store, options);
    add_code(*rt);
    rt->orchestration("blocks", blocks)
        .orchestration("blocks_after_activity", blocks_after_activity)
        .orchestration("blocks_in_replay", blocks_in_replay);
    rt->start();
    return rt;
  }
  void SetUp() override { door.open = false; }
  void TearDown() override { door.let_go(); }

  const std::shared_ptr<Lines> lines = std::make_shared<Lines>();
};

TEST_F(StuckTurnTest, IsGivenUpItsInstanceParkedAndItsThreadReplaced) {
  Client client(store);
  const auto stuck = client.start("blocks", {.id = "stuck"});
  std::vector<holdfast::Run> others;
  for (int i = 0; i < 20; ++i)
    others.push_back(client.start("hello", {.id = "h" + std::to_string(i)}, "Ada"));
  const auto rt = started();
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  for (const auto& run : others) EXPECT_EQ(run.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(door.inside, 1);
  EXPECT_EQ(stuck.status(), Status::parked);
  EXPECT_EQ(stuck.describe().info.parked_because, "a turn took longer than turn_time_limit");
  door.let_go();
  EXPECT_TRUE(lines->wait_for("a turn that was given up has come back"));
  EXPECT_EQ(stuck.status(), Status::parked);
  EXPECT_EQ(client.start("hello", {.id = "again"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
}

TEST_F(StuckTurnTest, IsTriedAgainByTheNextDeployment) {
  auto rt = started();
  const auto stuck = rt->client().start("blocks", {.id = "stuck"});
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  rt.reset();  // does not wait for it
  EXPECT_EQ(door.inside, 1);
  door.let_go();
  rt = started();
  EXPECT_EQ(Client(store).run("stuck").wait<int>(kSoon), 1);
}

TEST_F(StuckTurnTest, LosesNoResultOfAnActivity) {
  auto rt = started();
  const auto stuck = rt->client().start("blocks_after_activity", {.id = "stuck"});
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  rt.reset();
  door.let_go();
  rt = started();
  EXPECT_EQ(Client(store).run("stuck").wait<int>(kSoon), 11);
}

TEST_F(StuckTurnTest, OfAParkedInstanceIsNotNeededToTerminateIt) {
  door.blocks = false;
  auto rt = started();
  const auto stuck = rt->client().start("blocks_in_replay", {.id = "stuck"});
  while (stuck.describe().waits.empty()) std::this_thread::yield();
  rt.reset();
  door.blocks = true;
  rt = started();
  stuck.raise("never", 1);
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  stuck.terminate("hopeless");
  EXPECT_EQ(stuck.result<int>(kSoon).error().category, Category::terminated);
  EXPECT_EQ(lines->count("a turn has not come back within turn_time_limit"), 1U);
}

TEST_F(StuckTurnTest, IsNotWaitedForByAStopThatComesBeforeItsLimit) {
  auto rt = started();
  rt->client().start("blocks", {.id = "stuck"});
  while (door.inside == 0) std::this_thread::yield();
  rt.reset();
  EXPECT_EQ(door.inside, 1);
}

/// Says that its thread has ended.
struct AtThreadEnd {
  ~AtThreadEnd() {
    ended = true;
    ended.notify_all();
  }
  static inline std::atomic<bool> ended{false};
};

Task<int> blocks_and_ends_its_thread(Context&) {
  thread_local const AtThreadEnd at_end;
  static_cast<void>(at_end);
  door.pass();
  co_return 1;
}

/// Lets a turn come back while it is being given up, and holds whoever gives it up until its thread has
/// ended.
class LetsComeBack final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::error; }
  void write(const LogRecord& record) noexcept override {
    if (record.message.find("a turn has not come back") == std::string_view::npos) return;
    door.let_go();
    AtThreadEnd::ended.wait(false);
  }
};

TEST_F(StuckTurnTest, MayComeBackWhileItIsGivenUp) {
  AtThreadEnd::ended = false;
  RuntimeOptions options = quiet();
  options.logger = std::make_shared<LetsComeBack>();
  options.turn_time_limit = 20ms;
  options.turn_threads = 1;
  Runtime rt(store, options);
  add_code(rt);
  rt.orchestration("blocks", blocks_and_ends_its_thread);
  rt.start();
  const auto stuck = rt.client().start("blocks", {.id = "stuck"});
  AtThreadEnd::ended.wait(false);
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  rt.stop();  // which waits for the threads that are not stuck
  EXPECT_EQ(stuck.status(), Status::parked);
}

// An instance that was handed out so often that it is run by itself waits for the others of its step. When
// one of those does not come back, it is not lost with them.
TEST_F(StuckTurnTest, TakesNoSuspectAlong) {
  Client client(store);
  const auto suspect = client.start("hello", {.id = "suspect"}, "Ada");
  const store::Code code{.orchestrations = {{"hello", ""}}};  // whose version the first turn decides
  const WorkerKey worker = *store->join({.node = "other", .code = code});
  for (std::uint64_t i = 1; i <= 2; ++i) {  // nobody has ever committed its turn
    const LockToken token{0, i};
    const auto fetched = store->fetch_turns(
        {.worker = worker, .code = &code, .token = token, .lease = 1h, .max = 1, .held = {}});
    const store::TurnRelease release{.key = fetched->turns.at(0).key, .token = token, .counts = true};
    ASSERT_TRUE(store->release_turns({&release, 1}).front());
  }
  client.start("blocks", {.id = "stuck"});
  const auto rt = started(3);
  EXPECT_TRUE(lines->wait_for("an instance is run by itself"));
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  EXPECT_EQ(suspect.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
}

TEST_F(RuntimeTest, WaitingGivesUpInTimeAlsoWhenTheStoreIsAway) {
  Outage outage;
  Client client(memory({.faults = &outage}), {.retry_for = 1h});
  const auto run = client.start("hello", {.id = "h"}, "Ada");
  outage.begin();
  EXPECT_EQ(run.result<std::string>(10ms).error().type, "wait_timeout");
}

TEST_F(RuntimeTest, StopDoesNotWaitForCodeThatIgnoresIt) {
  std::atomic<bool> begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> ended{false};
  {
    RuntimeOptions options = quiet();
    options.cancel_grace = 10ms;
    Runtime rt(store, options);
    rt.orchestration("hello", hello);
    rt.activity("greet", [&](ActivityContext&, std::string who) {
      begun = true;
      while (!may_end) std::this_thread::yield();
      ended = true;
      return who;
    });
    rt.start();
    rt.client().start("hello", {.id = "h"}, "Ada");
    while (!begun) std::this_thread::yield();
    EXPECT_FALSE(rt.drain(1ms));
  }
  EXPECT_FALSE(ended);
  may_end = true;
  while (!ended) std::this_thread::yield();
}

TEST_F(RuntimeTest, ADrainThatLeavesAThreadBehindSaysSo) {
  std::atomic<bool> may_end{false};
  std::atomic<bool> ended{false};
  {
    const auto lines = std::make_shared<Lines>();
    RuntimeOptions options = quiet();
    options.logger = lines;
    options.cancel_grace = 10ms;
    Runtime rt(store, options);
    rt.orchestration("hasty", [](Context& ctx) -> Task<int> {
      co_return co_await ctx.activity<int>("deaf", {.timeout = 10ms, .retry = {.max_attempts = 1}});
    });
    rt.activity("deaf", [&](ActivityContext&) {
      while (!may_end) std::this_thread::yield();
      ended = true;
      return 1;
    });
    rt.start();
    EXPECT_EQ(rt.client().start("hasty", {.id = "h"}).result<int>(kSoon).error().type, "attempt_timeout");
    EXPECT_TRUE(lines->wait_for("activity goes on after its grace"));
    EXPECT_FALSE(rt.drain(kSoon));
    EXPECT_FALSE(rt.drain(kSoon)) << "the answer stays what it was";
    EXPECT_TRUE(lines->wait_for_parts({"code does not end", "deaf of h"})) << lines->all();
  }
  may_end = true;
  while (!ended) std::this_thread::yield();
}

TEST_F(RuntimeTest, ASecondStopWaitsForTheFirst) {
  std::atomic<bool> begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> ended{false};
  RuntimeOptions options = quiet();
  options.cancel_grace = kSoon;
  Runtime rt(store, options);
  rt.orchestration("hello", hello);
  rt.activity("greet", [&](ActivityContext&, std::string who) {
    begun = true;
    while (!may_end) std::this_thread::sleep_for(1ms);
    ended = true;
    return who;
  });
  rt.start();
  rt.client().start("hello", {.id = "h"}, "Ada");
  while (!begun) std::this_thread::yield();
  std::thread first([&] { rt.stop(); });
  const auto is_stopping = [&] {
    try {
      rt.renew_session("none");
      return false;
    } catch (const std::logic_error&) {
      return true;
    }
  };
  while (!is_stopping()) std::this_thread::yield();
  std::atomic<bool> asked{false};
  std::thread second([&] {
    asked = true;
    rt.stop();
    EXPECT_TRUE(ended) << "it returned while the first was still under way";
  });
  while (!asked) std::this_thread::yield();
  may_end = true;
  first.join();
  second.join();
}

TEST_F(RuntimeTest, AnActivityMayWaitForTheHookOfASessionThatItAcquires) {
  std::promise<void> told;
  std::promise<void> let_go;
  Runtime rt(store, quiet());
  rt.on_session_acquired([&](const SessionNotice&) { told.set_value(); });
  rt.on_session_released([&](const SessionNotice&) { let_go.set_value(); });
  rt.orchestration("calls",
                   [](Context& ctx) -> Task<bool> { co_return co_await ctx.activity<bool>("verbs"); });
  rt.activity("verbs", [&](ActivityContext&) {
    rt.acquire_session("s");
    const bool came = told.get_future().wait_for(kSoon) == std::future_status::ready;
    rt.close_session("s");
    return came && let_go.get_future().wait_for(kSoon) == std::future_status::ready;
  });
  rt.start();
  EXPECT_TRUE(rt.client().start("calls", {.id = "c"}).wait<bool>(3 * kSoon));
}

TEST_F(RuntimeTest, AVersionThatIsNoNameIsRefused) {
  for (const std::string& version : {std::string("\n\x01"), std::string(1 << 20, '1')}) {
    try {
      Client(memory()).start("hello", StartOptions{.version = version}, "Ada");
      ADD_FAILURE() << "nobody objected";
    } catch (const Error& e) {
      EXPECT_EQ(e.failure().type, "invalid_name");
    }
  }
}

TEST_F(RuntimeTest, RegistrationAfterStartIsRefused) {
  Runtime rt(store, quiet());
  add_code(rt);
  rt.start();
  EXPECT_THROW(rt.activity("late", [](ActivityContext&) {}), std::logic_error);
  EXPECT_THROW(rt.start(), std::logic_error);
}

}  // namespace
}  // namespace holdfast::runtime_test
