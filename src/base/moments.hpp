// Sums and differences of times that are right for all values, also of clocks at and below zero. The last
// moment stands for "never", as the longest duration does.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>

namespace holdfast {

/// Before any moment that a clock tells: what is due then is due at once. Zero is not: a clock may stand
/// below it.
inline constexpr BootTime kLongAgo = BootTime::min();

/// The moment that is `by` after `from`. `never` leads to the last moment, whatever `from` is, and nothing
/// leads away from it; what would lie beyond an end of the range is that end.
template <class C>
[[nodiscard]] constexpr std::chrono::time_point<C, Duration> after(std::chrono::time_point<C, Duration> from,
                                                                   Duration by) noexcept {
  using Moment = std::chrono::time_point<C, Duration>;
  if (by == never || from == Moment::max()) return Moment::max();
  Duration::rep sum = 0;
  if (__builtin_add_overflow(from.time_since_epoch().count(), by.count(), &sum)) {
    return by < Duration::zero() ? Moment::min() : Moment::max();
  }
  return Moment(Duration(sum));
}

/// How long it is from `now` until `moment`: nothing when it has come, `never` when it is the last one.
template <class C>
[[nodiscard]] constexpr Duration left(std::chrono::time_point<C, Duration> moment,
                                      std::chrono::time_point<C, Duration> now) noexcept {
  using Moment = std::chrono::time_point<C, Duration>;
  if (moment == Moment::max()) return never;
  Duration::rep difference = 0;
  if (__builtin_sub_overflow(moment.time_since_epoch().count(), now.time_since_epoch().count(),
                             &difference)) {
    return moment < now ? Duration::zero() : never;
  }
  return std::max(Duration(difference), Duration::zero());
}

}  // namespace holdfast
