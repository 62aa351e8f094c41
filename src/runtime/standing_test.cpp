// A worker and its registration with the store: what it does when the store has not heard of it for long.
#include "runtime/worker.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::runtime::standing_test {
namespace {

using namespace std::chrono_literals;

struct Idle final : Executor {
  void post(Work /*work*/) override {}
};

/// Writes down what reaches the store, and keeps from it what `fails` says.
struct Notes final : FaultPlan {
  Fault at(std::string_view point) override {
    if (fails(point)) return Fault::fail_before;
    if (point == "memory.refresh" || point == "memory.sweep") reached.emplace_back(point);
    return Fault::none;
  }
  std::function<bool(std::string_view)> fails = [](std::string_view) { return false; };
  std::vector<std::string> reached{};
};

class StandingTest : public ::testing::Test {
 protected:
  /// The keep step as its thread would run it, for so long.
  void keep_for(Duration time) {
    const BootTime until = clock.boot_now() + time;
    while (clock.boot_now() < until) {
      worker.run(Step::keep);
      clock.advance(100ms);
    }
  }

  ManualClock clock;
  Notes notes;
  std::shared_ptr<Store> store = memory({.clock = &clock, .faults = &notes});
  SeededRandom random{1};
  Idle executor;
  Worker worker{store, {.node_id = "n", .logger = null_logger()}, Registry(), executor, random, [](Step) {}};
};

TEST_F(StandingTest, AWorkerIsHeardOfBeforeItSweepsAgain) {
  ASSERT_TRUE(worker.join());
  keep_for(1s);
  notes.fails = [](std::string_view) { return true; };
  keep_for(70s);
  // The store answers again, but not the next refresh.
  notes.reached.clear();
  notes.fails = [](std::string_view point) { return point == "memory.refresh"; };
  keep_for(3s);
  EXPECT_EQ(notes.reached, std::vector<std::string>());

  notes.fails = [](std::string_view) { return false; };
  keep_for(3s);
  ASSERT_GE(notes.reached.size(), 2U);
  EXPECT_EQ(notes.reached.front(), "memory.refresh");
}

TEST_F(StandingTest, AnOutageLosesNoSessionThatOnlyThisWorkerMayHave) {
  ASSERT_TRUE(worker.join());
  detail::SessionSettings settings;
  settings.id = "s";
  settings.lease = 10s;
  settings.ttl = never;
  settings.allow_reacquire_after_failure = false;
  ASSERT_EQ(worker.acquire_session(settings).outcome, SessionOutcome::created);
  keep_for(1s);
  notes.fails = [](std::string_view) { return true; };
  keep_for(200s);
  notes.fails = [](std::string_view) { return false; };
  keep_for(30s);
  EXPECT_EQ(store->session("s")->state, store::SessionStatus::active);
  EXPECT_EQ(store->session("s")->worker.value, worker.standing().key().value);
}

}  // namespace
}  // namespace holdfast::runtime::standing_test
