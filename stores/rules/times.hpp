// Lease time in sums: a duration of `never` leads to a moment that never comes.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <algorithm>

namespace holdfast::rules {

inline constexpr BootTime kNever = BootTime::max();

[[nodiscard]] constexpr BootTime after(BootTime from, Duration time) noexcept {
  return time > kNever - from ? kNever : from + time;
}

/// How long it is until `moment`: nothing when it has come.
[[nodiscard]] constexpr Duration left(BootTime moment, BootTime now) noexcept {
  if (moment == kNever) return never;
  return std::max(moment - now, Duration{});
}
[[nodiscard]] constexpr Duration left(CalendarTime moment, CalendarTime now) noexcept {
  return std::max(moment - now, Duration{});
}

}  // namespace holdfast::rules
