#include "runtime/retry.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::retry_test {
namespace {

using namespace std::chrono_literals;

const RetryPolicy kDefaults{.max_attempts = 3,
                            .backoff = Backoff::exponential,
                            .first_delay = 100ms,
                            .factor = 2.0,
                            .max_delay = 30s,
                            .jitter = 0.0};

std::optional<Duration> delay(const detail::RetrySettings& policy, std::uint32_t attempt,
                              Failure failure = {}, Duration total_left = never) {
  SeededRandom random(7);
  return retry_delay(policy, kDefaults, failure, attempt, total_left, random);
}

TEST(Retry, TakesWhatThePolicyLeavesOpenFromTheDefaults) {
  EXPECT_EQ(delay({}, 1), Duration(100ms));
  EXPECT_EQ(delay({}, 2), Duration(200ms));
  EXPECT_EQ(delay({}, 3), std::nullopt);
  EXPECT_EQ(delay({.max_attempts = 4}, 3), Duration(400ms));
}

TEST(Retry, GrowsAsThePolicySays) {
  EXPECT_EQ(delay({.max_attempts = 9, .backoff = Backoff::fixed}, 5), Duration(100ms));
  EXPECT_EQ(delay({.max_attempts = 9, .backoff = Backoff::linear}, 5), Duration(500ms));
  EXPECT_EQ(delay({.max_attempts = 9, .factor = 3.0}, 3), Duration(900ms));
  EXPECT_EQ(delay({.max_attempts = 1000}, 900), Duration(30s));
}

TEST(Retry, JitterOnlyShortens) {
  SeededRandom random(1);
  const detail::RetrySettings policy{.max_attempts = 2, .jitter = 0.5};
  for (int i = 0; i < 100; ++i) {
    const auto chosen = retry_delay(policy, kDefaults, {}, 1, never, random);
    ASSERT_TRUE(chosen);
    EXPECT_GE(*chosen, 50ms);
    EXPECT_LE(*chosen, 100ms);
  }
}

TEST(Retry, EndsWithFailuresThatAreFinal) {
  EXPECT_EQ(delay({}, 1, {.type = "card_declined", .retryable = false}), std::nullopt);
  EXPECT_EQ(delay({.non_retryable = {"card_declined"}}, 1, {.type = "card_declined"}), std::nullopt);
  EXPECT_TRUE(delay({.non_retryable = {"card_declined"}}, 1, {.type = "timeout"}));
}

TEST(Retry, EndsWithTheTotalDeadline) {
  EXPECT_EQ(delay({}, 1, {}, 99ms), std::nullopt);
  EXPECT_EQ(delay({}, 1, {}, 101ms), Duration(100ms));
}

TEST(Retry, WithoutADelayStaysWithoutOne) {
  for (const Backoff backoff : {Backoff::fixed, Backoff::linear, Backoff::exponential}) {
    for (const std::uint32_t attempt : {1U, 2U, 1'000U, 1'024U, 1'025U, 1'100U, 2'000'000'000U}) {
      const detail::RetrySettings policy{
          .max_attempts = 2'147'483'647, .backoff = backoff, .first_delay = 0s, .jitter = 0.5};
      EXPECT_EQ(delay(policy, attempt), Duration::zero()) << attempt;
    }
  }
}

// A delay that never ends is no retry.
TEST(Retry, StaysWithinWhatADurationCanBe) {
  for (const Backoff backoff : {Backoff::linear, Backoff::exponential}) {
    Duration last{};
    for (std::uint32_t attempt = 1; attempt < 2'000; ++attempt) {
      const auto chosen = delay(
          {.max_attempts = 1'000'000, .backoff = backoff, .first_delay = 24h, .max_delay = never}, attempt);
      ASSERT_GE(chosen.value_or(never), last) << attempt;
      last = chosen.value_or(never);
    }
  }
  EXPECT_EQ(delay({.max_attempts = 9, .first_delay = never, .max_delay = never}, 1), std::nullopt);
  EXPECT_EQ(delay({.max_attempts = 9, .first_delay = never}, 1), Duration(30s));
}

}  // namespace
}  // namespace holdfast::runtime::retry_test
