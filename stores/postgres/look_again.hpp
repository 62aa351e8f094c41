// LookAgain: when a fetch that left rows to others is to be repeated.
#pragma once

#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::postgres_store {

/// Fetches leave alone what others have locked. Those may give it back, and nobody is told: whoever wanted it
/// looks again soon, and not quite so soon while that goes on. One thread at a time.
class LookAgain {
 public:
  /// When to come again at the latest, after a fetch that others were or were not in the way of.
  Duration after(bool in_the_way) {
    if (in_the_way) return std::exchange(next_, std::min(next_ * 2, kLatest));
    next_ = kSoon;
    return never;
  }

 private:
  static constexpr Duration kSoon = std::chrono::milliseconds(1);
  static constexpr Duration kLatest = std::chrono::milliseconds(64);
  Duration next_ = kSoon;
};

}  // namespace holdfast::postgres_store
