// Chance: the random numbers of a worker: tokens, and pauses that are not the same for everybody.
#pragma once

#include "base/mutex.hpp"
#include "runtime/retry.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/random.hpp>

#include <cstdint>
#include <optional>

namespace holdfast::runtime {

/// Any thread. One source of random numbers for all, so that a seed decides everything under the simulator.
class Chance {
 public:
  /// `random` outlives this.
  explicit Chance(Random& random) : random_(random) {}
  Chance(const Chance&) = delete;
  Chance& operator=(const Chance&) = delete;

  /// A new token.
  template <class TokenType>
  TokenType token() {
    const MutexLock lock(mutex_);
    return random_token<TokenType>(random_);
  }
  /// See runtime::retry_delay().
  std::optional<Duration> retry_delay(const detail::RetrySettings& policy, const RetryPolicy& defaults,
                                      const Failure& failure, std::uint32_t attempt, Duration total_left) {
    const MutexLock lock(mutex_);
    return runtime::retry_delay(policy, defaults, failure, attempt, total_left, random_);
  }

 private:
  Mutex mutex_;
  Random& random_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
