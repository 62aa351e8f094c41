// When a worker has no more time, a store that does not answer is asked nothing more.
#include "runtime/store_gate.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace holdfast::runtime::store_gate_test {
namespace {

using namespace std::chrono_literals;

/// Counts the calls that reach the store, and decides what becomes of each.
class Script final : public FaultPlan {
 public:
  Fault at(std::string_view) override {
    ++calls;
    return decide ? decide() : Fault::none;
  }
  std::function<Fault()> decide{};
  std::atomic<int> calls{0};
};

Fault away() { return Fault::fail_before; }

class StoreGateTest : public ::testing::Test {
 protected:
  /// One call; whether the store has answered it.
  bool ask() {
    const auto answer = gate.workers();
    return answer || answer.error().kind != StoreError::Kind::unavailable;
  }

  ManualClock clock;
  Script script;
  StoreGate gate{memory({.clock = &clock, .faults = &script})};
};

TEST_F(StoreGateTest, AnOpenOneLetsCallsPassWhateverTheStoreAnswers) {
  script.decide = away;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask());
  EXPECT_EQ(script.calls, 3);
  EXPECT_FALSE(gate.is_shut());
}

TEST_F(StoreGateTest, AClosedOneLetsCallsPassWhileTheStoreAnswers) {
  gate.close_at(clock.boot_now());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask());
  EXPECT_EQ(script.calls, 3);
  EXPECT_FALSE(gate.is_shut());
}

TEST_F(StoreGateTest, NothingPassesAfterTheFirstCallThatIsNotAnswered) {
  gate.close_at(clock.boot_now() + 1s);
  script.decide = away;
  EXPECT_FALSE(ask());
  EXPECT_FALSE(ask());
  EXPECT_EQ(script.calls, 2);
  clock.advance(1s);
  EXPECT_TRUE(gate.is_shut());
  EXPECT_FALSE(ask());
  const std::vector<store::TurnRelease> releases(2);
  const auto released = gate.release_turns(releases);
  ASSERT_EQ(released.size(), 2U);
  EXPECT_EQ(released[1].error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(released[1].error().message.find("has no more time"), std::string::npos)
      << released[1].error().message;
  EXPECT_EQ(script.calls, 2);
}

TEST_F(StoreGateTest, OfSeveralCallsAtOnceOnlyTheOneThatWasUnderWayReachesTheStore) {
  std::atomic<bool> go_on{false};
  script.decide = [&] {
    while (!go_on) std::this_thread::sleep_for(1ms);
    return Fault::fail_before;
  };
  std::thread under_way([&] { EXPECT_FALSE(ask()); });
  while (script.calls == 0) std::this_thread::sleep_for(1ms);
  gate.close_at(clock.boot_now());
  std::atomic<int> refused{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) others.emplace_back([&] { refused += ask() ? 0 : 1; });
  std::this_thread::sleep_for(20ms);  // they could begin by now
  go_on = true;
  under_way.join();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(script.calls, 1);
}

}  // namespace
}  // namespace holdfast::runtime::store_gate_test
