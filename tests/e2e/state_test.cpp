// What instances show and keep: status, values, side effects, and what continue-as-new takes along.
#include "stores_test.hpp"

#include <atomic>

namespace holdfast::e2e::state_test {
namespace {

class StateTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(StateTest);

Task<int> shows_steps(Context& ctx, int steps) {
  for (int i = 1; i <= steps; ++i) {
    ctx.set_status("step " + std::to_string(i));
    co_await ctx.event<int>("next");
  }
  co_return steps;
}

TEST_P(StateTest, NoChangeOfTheStatusIsMissed) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("shows_steps", shows_steps); });
  const Run run = rt->client().start("shows_steps", {.id = "s"}, 3);
  RunInfo seen;
  for (int i = 1; i <= 3; ++i) {
    const std::optional<RunInfo> now = run.wait_for_change(seen, kSoon);
    ASSERT_TRUE(now.has_value());
    EXPECT_EQ(decode<std::string>(*now->custom_status).value(), "step " + std::to_string(i));
    seen = *now;
    run.raise("next", 1);
  }
  const std::optional<RunInfo> end = run.wait_for_change(seen, kSoon);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->status, Status::completed);
  const Run other = rt->client().start("shows_steps", {.id = "o"}, 1);
  EXPECT_TRUE(eventually([&] { return other.custom_status<std::string>().has_value(); }));
  EXPECT_FALSE(other.wait_for_change(1ms).has_value());
}

Task<int> keeps_values(Context& ctx, int round) {
  ctx.set_value("round", round);
  if (round == 1) ctx.set_value("first", "one");
  if (round == 3) ctx.clear_value("first");
  if (round == 4) co_return ctx.value<int>("round").value_or(-1);
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}
Task<std::string> looks_at(Context& ctx, std::string whom) {
  const std::optional<int> round = co_await ctx.value_of<int>(whom, "round");
  const std::optional<std::string> first = co_await ctx.value_of<std::string>(whom, "first");
  const std::optional<int> nobody = co_await ctx.value_of<int>("nobody", "round");
  co_return std::to_string(round.value_or(-1)) + (first ? " first" : " none") + (nobody ? " ?" : " none");
}

TEST_P(StateTest, ValuesAreReadByClientsAndOthersAndSurviveContinueAsNew) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("keeps_values", keeps_values);
    r.orchestration("looks_at", looks_at);
  });
  const Run run = rt->client().start("keeps_values", {.id = "k"}, 1);
  EXPECT_EQ(run.wait<int>(kSoon), 4);
  EXPECT_EQ(run.value<int>("round"), 4);
  EXPECT_FALSE(run.value<std::string>("first").has_value());
  EXPECT_FALSE(run.value<int>("never set").has_value());
  EXPECT_EQ(rt->client().start("looks_at", {.id = "l"}, "k").wait<std::string>(kSoon), "4 none none");
}

std::atomic<int> effects{0};

Task<int> has_effects(Context& ctx) {
  const int number = co_await ctx.side_effect([] { return ++effects; });
  co_await ctx.event<int>("go");
  co_return number;
}

TEST_P(StateTest, ASideEffectHappensOnceAlsoWhenItsCodeIsReplayed) {
  const auto add = [](Runtime& r) { r.orchestration("has_effects", has_effects); };
  effects = 0;
  auto rt = runtime(add);
  Client client(store());
  const Run run = client.start("has_effects", {.id = "e"});
  EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "go"); }));
  rt.reset();
  rt = runtime(add);
  run.raise("go", 1);
  EXPECT_EQ(run.wait<int>(kSoon), 1);
  EXPECT_EQ(effects, 1);
}

Task<int> goes_on_when_told(Context& ctx, int executions) {
  const Receiver<int> ticks = ctx.mailbox<int>("ticks");
  while (!ctx.should_continue_as_new()) co_await ticks.receive();
  if (executions == 3) co_return 3;
  const int next = executions + 1;
  co_await ctx.continue_as_new(next);
}

TEST_P(StateTest, TheHistoryBudgetTellsWhenToContinueAsNew) {
  const auto rt = runtime({.history_budget = 20},
                          [](Runtime& r) { r.orchestration("goes_on_when_told", goes_on_when_told); });
  const Run run = rt->client().start("goes_on_when_told", {.id = "g"}, 1);
  rt->client().send_all("g", "ticks", std::vector<int>(60, 1));
  EXPECT_EQ(run.wait<int>(kSoon), 3);
  EXPECT_EQ(run.info().execution, ExecutionNumber{3});
}

}  // namespace
}  // namespace holdfast::e2e::state_test
