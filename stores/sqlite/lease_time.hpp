// Lease time as it stands in rows: microseconds of a clock that never steps.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace holdfast::sqlite_store {

using LeaseTime = std::int64_t;
inline constexpr LeaseTime kNoTime = std::numeric_limits<LeaseTime>::max();

/// `from` plus a duration that isn't negative; kNoTime stays what it is.
constexpr LeaseTime later(LeaseTime from, Duration by) noexcept {
  return by.count() >= kNoTime - from ? kNoTime : from + by.count();
}

/// How long until then: 0 when it is over, `never` for kNoTime.
constexpr Duration left_until(LeaseTime then, LeaseTime now) noexcept {
  return then == kNoTime ? never : Duration(std::max<LeaseTime>(then - now, 0));
}

constexpr std::int64_t to_row(CalendarTime time) noexcept { return time.time_since_epoch().count(); }
constexpr CalendarTime calendar_from_row(std::int64_t value) noexcept {
  return CalendarTime(Duration(value));
}

}  // namespace holdfast::sqlite_store
