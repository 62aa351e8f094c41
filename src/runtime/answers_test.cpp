// How a worker tells the store of activities that ended, step by step, in virtual time.
#include "runtime/worker.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime::answers_test {
namespace {

using namespace std::chrono_literals;

Task<int> fan_out(Context& ctx, int width) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < width; ++i) parts.push_back(ctx.activity<int>("work", i));
  co_return static_cast<int>((co_await when_all(std::move(parts))).size());
}

/// Activities end when the test says so.
class ByHand final : public Executor {
 public:
  void post(Work work) override { work_.push_back(std::move(work)); }
  void run(std::size_t count) {
    for (; count > 0; --count) {
      work_.front()();
      work_.pop_front();
    }
  }

 private:
  std::deque<Work> work_;
};

/// One worker has the turns, the other one the activities: each answer goes through the store.
class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() {
    EXPECT_TRUE(turns_.join());
    EXPECT_TRUE(activities_.join());
  }

  void start(int width) {
    Client(memory({.database = database_, .clock = &clock_})).start("fan_out", {.id = "f"}, width);
    turns_.run(Step::turns);
    activities_.run(Step::activities);
  }
  Progress answer() { return activities_.run(Step::answers); }
  /// How many activities the store waits for.
  std::size_t open() { return memory({.database = database_, .clock = &clock_})->state()->activities.size(); }

  static Registry only_turns() {
    Registry registry;
    registry.add_orchestration("fan_out", "1", detail::make_orchestration(fan_out));
    return registry;
  }
  static Registry only_activities() {
    Registry registry;
    registry.add_activity("work", detail::make_activity([](ActivityContext&, int n) { return n; }));
    return registry;
  }

  ManualClock clock_;
  SeededRandom random_{1};
  ByHand by_hand_;
  FaultScript faults_;
  std::shared_ptr<MemoryDatabase> database_ = memory_database();
  const RuntimeOptions options_{.activity_slots = 32, .logger = null_logger()};
  Worker turns_{memory({.database = database_, .clock = &clock_}),
                options_,
                only_turns(),
                by_hand_,
                random_,
                [](Step) {}};
  Worker activities_{memory({.database = database_, .clock = &clock_, .faults = &faults_}),
                     options_,
                     only_activities(),
                     by_hand_,
                     random_,
                     [](Step) {}};
};

TEST_F(AnswersTest, ThoseOfOneCallThatFailsArePausedOnce) {
  start(16);
  by_hand_.run(16);
  faults_.inject("memory.finish_activities", 1, Fault::fail_before);
  const BootTime first_try = clock_.boot_now();
  EXPECT_EQ(answer().next_due, first_try + 5ms);
  EXPECT_EQ(open(), 16U);
  clock_.advance(5ms);
  answer();
  EXPECT_EQ(open(), 0U);
}

TEST_F(AnswersTest, PausesGrowWhileOneIsRefused) {
  start(1);
  by_hand_.run(1);
  for (const Duration pause : {5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms}) {
    faults_.inject("memory.finish_activities", 1, Fault::fail_before);
    EXPECT_EQ(answer().next_due, clock_.boot_now() + pause);
    clock_.advance(pause);
  }
  answer();
  EXPECT_EQ(open(), 0U);
}

TEST_F(AnswersTest, OneThatIsRefusedHoldsNoOtherUp) {
  start(2);
  by_hand_.run(1);
  faults_.inject("memory.finish_activities", 1, Fault::fail_before);
  const BootTime due = answer().next_due;
  by_hand_.run(1);
  EXPECT_EQ(answer().next_due, due);  // no time has passed
  EXPECT_EQ(open(), 1U);
  clock_.advance(due - clock_.boot_now());
  answer();
  EXPECT_EQ(open(), 0U);
}

}  // namespace
}  // namespace holdfast::runtime::answers_test
