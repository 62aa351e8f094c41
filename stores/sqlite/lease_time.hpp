// Lease time as it stands in rows: microseconds of a clock that never steps.
#pragma once

#include "base/moments.hpp"

#include <cstdint>
#include <limits>

namespace holdfast::sqlite_store {

using LeaseTime = std::int64_t;
inline constexpr LeaseTime kNoTime = std::numeric_limits<LeaseTime>::max();

/// after() for rows; kNoTime stands for the last moment.
constexpr LeaseTime later(LeaseTime from, Duration by) noexcept {
  return after(BootTime(Duration(from)), by).time_since_epoch().count();
}

/// left() for rows.
constexpr Duration left_until(LeaseTime then, LeaseTime now) noexcept {
  return left(BootTime(Duration(then)), BootTime(Duration(now)));
}

constexpr std::int64_t to_row(CalendarTime time) noexcept { return time.time_since_epoch().count(); }
constexpr CalendarTime calendar_from_row(std::int64_t value) noexcept {
  return CalendarTime(Duration(value));
}

}  // namespace holdfast::sqlite_store
