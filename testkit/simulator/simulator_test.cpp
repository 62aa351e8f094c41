#include <holdfast/context.hpp>
#include <holdfast/testing/simulator.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::testing::simulator_test {
namespace {

using namespace std::chrono_literals;

Task<std::string> greeting(Context& ctx, std::string who) {
  const std::string text = co_await ctx.activity<std::string>("greet", who);
  co_await ctx.sleep(2s);
  co_return text + " Bye.";
}

void hello(Simulation& sim) {
  sim.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
  sim.orchestration("greeting", greeting);
  sim.at(1s, "greet Ada",
         [](Client& client) { client.start("greeting", {.id = "g-1"}, std::string("Ada")); });
  sim.at_end([&sim] {
    if (sim.result<std::string>("g-1").value() != "Hello, Ada! Bye.") sim.fail("a strange greeting");
  });
}

TEST(Simulator, RunsCodeOfUsersThroughAllFaults) {
  const auto failure = simulate_seeds(hello, {.first = 1, .count = 50});
  EXPECT_FALSE(failure) << failure->text();
}

TEST(Simulator, DoesTheSameForTheSameSeed) {
  const SimulationReport first = simulate(hello, 7);
  const SimulationReport second = simulate(hello, 7);
  const SimulationReport other = simulate(hello, 8);
  EXPECT_EQ(first.fingerprint, second.fingerprint);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_NE(first.fingerprint, other.fingerprint);
}

TEST(Simulator, TellsWhatLedToAFailureAndHowToRunItAgain) {
  const auto scenario = [](Simulation& sim) {
    hello(sim);
    sim.at_end([&sim] { sim.fail("not what was expected"); });
  };
  const SimulationReport report =
      simulate(scenario, 3, {.faults = SimulatedFaults::none(), .replay_hint = "run seed {} again"});
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->seed, 3U);
  EXPECT_EQ(report.failure->what, "not what was expected");
  EXPECT_EQ(report.failure->replay, "run seed 3 again");
  EXPECT_FALSE(report.failure->trace.empty());
  EXPECT_NE(report.failure->text().find("greet Ada"), std::string::npos);
}

TEST(Simulator, FindsWhatNeverEnds) {
  const auto scenario = [](Simulation& sim) {
    sim.orchestration("waiting",
                      [](Context& ctx) -> Task<int> { co_return co_await ctx.event<int>("never"); });
    sim.at(0s, "start", [](Client& client) { client.start("waiting", {.id = "w-1"}); });
  };
  const SimulationReport report = simulate(scenario, 1, {.trouble = 1s, .patience = 10s});
  ASSERT_TRUE(report.failure);
  EXPECT_NE(report.failure->what.find("'w-1'"), std::string::npos);
  EXPECT_NE(report.failure->what.find("waits for 'never'"), std::string::npos);
}

TEST(Simulator, FindsAnActivityThatIsNotSafeToRepeat) {
  const auto scenario = [](Simulation& sim) {
    const auto charged = std::make_shared<int>(0);
    sim.activity("charge", [charged](ActivityContext&) { ++*charged; });  // no look at the idempotency key
    sim.orchestration("order", [](Context& ctx) -> Task<> { co_await ctx.activity<void>("charge"); });
    sim.at(0s, "order", [](Client& client) { client.start("order", {.id = "o-1"}); });
    sim.at_end([&sim, charged] {
      if (*charged != 1) sim.fail("charged " + std::to_string(*charged) + " times");
    });
  };
  const auto failure = simulate_seeds(scenario, {.first = 1, .count = 300});
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->what.find("charged"), std::string::npos);
  const auto without_faults =
      simulate_seeds(scenario, {.first = 1, .count = 50}, {.faults = SimulatedFaults::none()});
  EXPECT_FALSE(without_faults) << without_faults->text();
}

TEST(Simulator, ReportsCodeThatDecidesByChance) {
  static int runs = 0;
  runs = 0;
  const auto scenario = [](Simulation& sim) {
    sim.orchestration("fickle", [](Context& ctx) -> Task<> { co_await ctx.sleep(1s); });
    for (int i = 0; i <= runs; ++i) {
      const std::string id = "f-" + std::to_string(i);
      sim.at(0s, "start", [id](Client& client) { client.start("fickle", {.id = id}); });
    }
    ++runs;
    sim.at_end([&sim] { sim.fail("always"); });
  };
  const SimulationReport report = simulate(scenario, 1, {.faults = SimulatedFaults::none()});
  ASSERT_TRUE(report.failure);
  EXPECT_NE(report.failure->what.find("decides by chance"), std::string::npos);
}

/// What registers like a coroutine of asio.hpp.
class Coroutine final : public detail::ActivityCode {
 public:
  void invoke(detail::ActivityTask, detail::Completion) const override {}
  [[nodiscard]] bool is_coroutine() const noexcept override { return true; }
};
struct MakesCoroutine {
  std::shared_ptr<const detail::ActivityCode> activity_code() && { return std::make_shared<Coroutine>(); }
};

TEST(Simulator, RefusesActivitiesThatRunInRealTime) {
  const auto scenario = [](Simulation& sim) { sim.activity("wait", MakesCoroutine{}); };
  EXPECT_THROW(simulate(scenario, 1), std::logic_error);
}

TEST(Simulator, RunsOrchestrationsOnExecutorsThatComeLate) {
  SimulationOptions options;
  options.faults.executors = true;
  const auto failure = simulate_seeds(hello, {.first = 1, .count = 100}, options);
  EXPECT_FALSE(failure) << failure->text();
  int others = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    others += simulate(hello, seed, options).fingerprint != simulate(hello, seed).fingerprint ? 1 : 0;
  EXPECT_GT(others, 0) << "no seed has an executor";
  EXPECT_LT(others, 10) << "all seeds have one";
}

TEST(Simulator, StopsBeforeAStep) {
  const SimulationReport report = simulate(hello, 1, {.until_step = 10});
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->step, 10U);
}

TEST(Simulator, GivesCodeOnlyToTheBuildsThatHaveIt) {
  const auto scenario = [](Simulation& sim) {
    sim.orchestration("versioned", [](Context&) -> Task<int> { co_return 1; });
    sim.orchestration("versioned", {.version = "2", .from_build = 1'000'000},
                      [](Context&) -> Task<int> { co_return 2; });
    sim.at(1s, "start", [](Client& client) { client.start("versioned", {.id = "v-1"}); });
    sim.at_end([&sim] {
      if (sim.result<int>("v-1").value() != 1) sim.fail("no build has version 2");
    });
  };
  const auto failure = simulate_seeds(scenario, {.first = 1, .count = 20});
  EXPECT_FALSE(failure) << failure->text();
}

}  // namespace
}  // namespace holdfast::testing::simulator_test
