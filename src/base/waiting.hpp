// Waits for any duration, `never` included. Those of the standard library add it to a clock that counts
// nanoseconds in 64 bits: what is longer than 292 years overflows, and they return at once, again and again.
#pragma once

#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace holdfast {

/// Nobody is there to see the end of it.
inline constexpr Duration kLongestWait = std::chrono::hours(24 * 365 * 100);

[[nodiscard]] constexpr Duration that_can_be_waited(Duration time) noexcept {
  return std::clamp(time, Duration::zero(), kLongestWait);
}

/// condition.wait_for(lock, time, done).
template <class Done>
bool wait_for(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Duration time,
              Done done) {
  return condition.wait_for(lock, that_can_be_waited(time), done);
}

/// condition.wait_for(lock, time).
inline void wait_for(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Duration time) {
  condition.wait_for(lock, that_can_be_waited(time));
}

}  // namespace holdfast
