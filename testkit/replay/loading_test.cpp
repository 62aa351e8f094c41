// The harness with a history from elsewhere: an instance that ran in a store, as such and as a file.
#include "testkit/support/eventually.hpp"

#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/testing/replay.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace holdfast::testing::loading_test {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using State = ReplayHarness::State;

constexpr Duration kSoon = 60s;

Task<std::string> sell(Context& ctx, std::string order) {
  ctx.set_value("order", order);
  const std::string receipt = co_await ctx.activity<std::string>("charge", order);
  ctx.launch("log", {.id = "log-1"}, receipt);
  const std::optional<bool> approved = co_await with_timeout(ctx.event<bool>("approval"), 24h);
  if (!approved.value_or(false)) co_return "not approved";
  co_return co_await ctx.activity<std::string>("ship", order, receipt);
}
/// Ships before it asks.
Task<std::string> sell_changed(Context& ctx, std::string order) {
  ctx.set_value("order", order);
  const std::string receipt = co_await ctx.activity<std::string>("charge", order);
  ctx.launch("log", {.id = "log-1"}, receipt);
  co_return co_await ctx.activity<std::string>("ship", order, receipt);
}
/// Does the same with another input.
Task<std::string> sell_with_more_input(Context& ctx, std::string order) {
  ctx.set_value("order", order);
  const std::string receipt = co_await ctx.activity<std::string>("charge", order + ", and a field more");
  ctx.launch("log", {.id = "log-1"}, receipt);
  const std::optional<bool> approved = co_await with_timeout(ctx.event<bool>("approval"), 24h);
  co_return approved ? "approved" : "not approved";
}

/// A worker, and an order that waits to be approved.
class Loading : public ::testing::Test {
 protected:
  Loading() {
    rt.activity("charge", [](ActivityContext&, std::string order) { return "receipt of " + order; });
    rt.orchestration("sell", {.version = "2"}, sell);
    rt.orchestration("log", [](Context&, std::string) -> Task<> { co_return; });
    rt.start();
    run = rt.client().start("sell", {.id = "order-7"}, "a lamp");
    EXPECT_TRUE(eventually([&] { return run.history().events.size() == 9; }));
  }

  Runtime rt{memory(), {.logger = null_logger()}};
  holdfast::Run run;
};

TEST_F(Loading, AHistoryFromAStoreIsReplayedWithTheCodeOfToday) {
  ReplayHarness harness;
  harness.load(read_history(run));
  EXPECT_EQ(harness.history_text().substr(0, 4), "   1");
  EXPECT_EQ(harness.history().size(), run.history().events.size());
  EXPECT_FALSE(harness.replay_with(sell));
  EXPECT_FALSE(harness.replay_with(sell_with_more_input));
  const std::optional<Divergence> divergence = harness.replay_with(sell_changed);
  ASSERT_TRUE(divergence);
  EXPECT_EQ(divergence->history_says, "a wait for the event 'approval'");
  EXPECT_EQ(divergence->code_did, "started activity 'ship'");
  EXPECT_EQ(divergence->event, run.history().events[7].id);
}

TEST_F(Loading, AHistoryFromAFileGoesOn) {
  std::stringstream file;
  write_history(run, file);
  ReplayHarness harness;
  harness.load(read_history(file, "order-7.jsonl"));
  EXPECT_EQ(harness.state(), State::not_started);
  harness.resume(sell);
  EXPECT_EQ(harness.state(), State::running);
  EXPECT_EQ(harness.value<std::string>("order"), "a lamp");
  ASSERT_EQ(harness.launched().size(), 1U);
  EXPECT_EQ(harness.launched()[0].instance, "log-1");
  EXPECT_TRUE(harness.is_open("approval"));
  harness.raise("approval", true);
  EXPECT_EQ((harness.open("ship").input_as<std::tuple<std::string, std::string>>()),
            (std::tuple("a lamp", "receipt of a lamp")));
  harness.forget();
  harness.complete("ship", "on its way");
  EXPECT_EQ(harness.result<std::string>().value(), "on its way");
}

TEST_F(Loading, TimeGoesOnFromTheLastTurn) {
  ReplayHarness harness;
  harness.load(read_history(run));
  EXPECT_EQ(harness.now(), run.history().events.back().time);
  harness.resume(sell_with_more_input);
  harness.advance(25h);
  EXPECT_EQ(harness.result<std::string>().value(), "not approved");
}

TEST_F(Loading, CodeThatDoesNotFitIsNotResumed) {
  ReplayHarness harness;
  harness.load(read_history(run));
  try {
    harness.resume(sell_changed);
    FAIL() << "it was resumed";
  } catch (const Error& e) {
    EXPECT_EQ(e.failure().category, Category::nondeterminism);
  }
  harness.resume(sell);
  EXPECT_EQ(harness.state(), State::running);
}

TEST_F(Loading, AHistoryThatHasEndedHasItsResult) {
  run.terminate("by hand");
  EXPECT_THROW(run.wait(kSoon), RunCancelled);
  ReplayHarness harness;
  harness.load(read_history(run));
  EXPECT_FALSE(harness.replay_with(sell));
  harness.resume(sell);
  EXPECT_EQ(harness.state(), State::terminated);
  EXPECT_EQ(harness.result<std::string>().error().message, "by hand");
  EXPECT_EQ(harness.cancelled().size(), 2U);
}

std::string message_of(const std::function<void()>& wrong) {
  try {
    wrong();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "it was accepted";
}

TEST_F(Loading, SaysInWhichOrderThingsAreDone) {
  ReplayHarness harness;
  EXPECT_EQ(message_of([&] { harness.resume(sell); }),
            "resume() goes on from a history that was loaded: call load() before it, once");
  harness.load(read_history(run));
  EXPECT_EQ(message_of([&] { harness.load(read_history(run)); }),
            "the instance was started or loaded before; use another ReplayHarness");
  EXPECT_EQ(message_of([&] { harness.start(sell, "a lamp"); }),
            "a history was loaded; resume() goes on from it");
  const holdfast::Run later = rt.client().start("sell", {.id = "later", .delay = 1h}, "a piano");
  ReplayHarness empty;
  empty.load(read_history(later));
  EXPECT_EQ(
      message_of([&] { empty.resume(sell); }),
      "the history of instance 'later' has no turn yet, so there is nothing to go on from; start() begins "
      "an instance");
  std::istringstream file("no history");
  EXPECT_EQ(message_of([&] { ReplayHarness().load(read_history(file, "x.jsonl")); }).substr(0, 52),
            "x.jsonl, line 1: this is no exported history: its fi");
}

Task<int> counts_rounds(Context& ctx, int round) {
  ctx.set_value("rounds", round);
  co_await ctx.event<int>("go");
  if (round == 3) co_return *ctx.value<int>("rounds");
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}

TEST(LoadingAnExecution, GoesOnWithTheNextOne) {
  Runtime rt(memory(), {.logger = null_logger()});
  rt.orchestration("counts_rounds", counts_rounds);
  rt.start();
  const holdfast::Run run = rt.client().start("counts_rounds", {.id = "c"}, 1);
  run.raise("go", 1);
  EXPECT_TRUE(eventually([&] { return run.info().execution.value == 2 && !run.history().events.empty(); }));
  ReplayHarness former;
  former.load(read_history(run, ExecutionNumber{1}));
  EXPECT_FALSE(former.replay_with(counts_rounds));
  former.resume(counts_rounds);
  EXPECT_EQ(former.state(), State::continued_as_new);

  ReplayHarness harness;
  harness.load(read_history(run));
  harness.resume(counts_rounds);
  EXPECT_EQ(harness.execution(), ExecutionNumber{2});
  harness.raise("go", 1);
  harness.next_execution();
  harness.raise("go", 1);
  EXPECT_EQ(harness.result<int>().value(), 3);
}

}  // namespace
}  // namespace holdfast::testing::loading_test
