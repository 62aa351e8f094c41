#include "runtime/retry.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace holdfast::runtime {
namespace {

// Infinite when it is beyond all numbers.
double back_off(Backoff backoff, double first, double factor, std::uint32_t attempt) {
  if (first == 0) return 0;
  switch (backoff) {
    case Backoff::fixed:
      return first;
    case Backoff::linear:
      return first * attempt;
    case Backoff::exponential:
      break;
  }
  return first * std::pow(factor, attempt - 1);
}

// `never` when it is longer than any Duration.
Duration to_duration(double microseconds) {
  if (microseconds >= static_cast<double>(never.count())) return never;
  return Duration(static_cast<Duration::rep>(microseconds));
}

}  // namespace

std::optional<Duration> retry_delay(const detail::RetrySettings& policy, const RetryPolicy& defaults,
                                    const Failure& failure, std::uint32_t attempt, Duration total_left,
                                    Random& random) {
  const int max_attempts = policy.max_attempts.value_or(defaults.max_attempts.value_or(3));
  if (!failure.retryable || attempt >= static_cast<std::uint32_t>(max_attempts)) return std::nullopt;
  if (std::find(policy.non_retryable.begin(), policy.non_retryable.end(), failure.type) !=
      policy.non_retryable.end()) {
    return std::nullopt;
  }
  const auto or_default = [](const auto& own, const auto& common, auto otherwise) {
    return own.value_or(common.value_or(otherwise));
  };
  const Duration first = or_default(policy.first_delay, defaults.first_delay, Duration(100'000));
  const Duration longest = or_default(policy.max_delay, defaults.max_delay, Duration(30'000'000));
  const double factor = or_default(policy.factor, defaults.factor, 2.0);
  const double jitter = or_default(policy.jitter, defaults.jitter, 0.0);
  const Backoff backoff = or_default(policy.backoff, defaults.backoff, Backoff::exponential);

  double delay = back_off(backoff, static_cast<double>(first.count()), factor, attempt);
  delay = std::min(delay, static_cast<double>(longest.count()));
  const double part = static_cast<double>(below(random, 1'000'001)) / 1'000'000.0;
  delay *= 1.0 - jitter * part;
  const Duration chosen = to_duration(delay);
  if (chosen >= total_left) return std::nullopt;
  return chosen;
}

}  // namespace holdfast::runtime
