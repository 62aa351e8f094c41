#include "schedules/pattern.hpp"

#include <algorithm>
#include <bit>

namespace holdfast::schedules {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::year_month_day;

// After 28 years a day of the month falls on the same weekday again, but for a century that has no leap day:
// then 29 February may be away for 40 years.
constexpr int kYearsOfACycle = 41;

constexpr std::uint64_t kWholeMinute = (std::uint64_t{1} << 60U) - 1;
constexpr std::uint32_t kWholeDay = (std::uint32_t{1} << 24U) - 1;

template <class Set>
bool has(Set set, unsigned value) {
  return ((std::uint64_t{set} >> value) & 1U) != 0;
}

// The first value of the set from `value` on.
template <class Set>
std::optional<unsigned> first_from(Set set, unsigned value) {
  const std::uint64_t rest = value < 64 ? std::uint64_t{set} >> value << value : 0;
  if (rest == 0) return std::nullopt;
  return static_cast<unsigned>(std::countr_zero(rest));
}

// The first year in the pattern from `year` on.
std::optional<int> first_year(const Pattern& pattern, int year) {
  std::optional<int> first;
  for (const Years& range : pattern.years) {
    if (range.last >= year) first = std::min(first.value_or(Years::kLast), std::max(range.first, year));
  }
  return first;
}

// The first time of day in the pattern from `from` on.
std::optional<seconds> time_of_day(const Pattern& pattern, seconds from) {
  const std::chrono::hh_mm_ss parts(from);
  const auto hour_now = static_cast<unsigned>(parts.hours().count());
  const auto minute_now = static_cast<unsigned>(parts.minutes().count());
  std::optional<unsigned> hour = first_from(pattern.hours, hour_now);
  if (!hour) return std::nullopt;
  const auto at = [](unsigned h, unsigned m, unsigned s) { return hours(h) + minutes(m) + seconds(s); };
  if (hour == hour_now) {
    if (has(pattern.minutes, minute_now)) {
      if (const auto second = first_from(pattern.seconds, static_cast<unsigned>(parts.seconds().count())))
        return at(hour_now, minute_now, *second);
    }
    if (const auto minute = first_from(pattern.minutes, minute_now + 1))
      return at(hour_now, *minute, *first_from(pattern.seconds, 0));
    hour = first_from(pattern.hours, hour_now + 1);
    if (!hour) return std::nullopt;
  }
  return at(*hour, *first_from(pattern.minutes, 0), *first_from(pattern.seconds, 0));
}

// The first day in the pattern from `day` on.
std::optional<local_days> next_day(const Pattern& pattern, local_days day) {
  year_month_day date(day);
  for (int years_tried = 0; years_tried < kYearsOfACycle;) {
    const auto year = static_cast<int>(date.year());
    const std::optional<int> taken = first_year(pattern, year);
    if (!taken) return std::nullopt;
    if (*taken != year) {
      date = std::chrono::year(*taken) / std::chrono::January / 1;
    } else if (!has(pattern.months, static_cast<unsigned>(date.month()))) {
      date = (date.year() / date.month() + std::chrono::months(1)) / 1;
    } else if (pattern.takes_day(date)) {
      return local_days(date);
    } else {
      date = year_month_day(local_days(date) + days(1));
    }
    if (static_cast<int>(date.year()) != year) ++years_tried;
  }
  return std::nullopt;
}

}  // namespace

bool Pattern::takes_day(year_month_day day) const {
  const auto year = static_cast<int>(day.year());
  if (first_year(*this, year) != year || !has(months, static_cast<unsigned>(day.month()))) return false;
  const bool is_last = last_day && day.day() == (day.year() / day.month() / std::chrono::last).day();
  const bool by_month = is_last || has(days, static_cast<unsigned>(day.day()));
  const bool by_week = has(weekdays, std::chrono::weekday(local_days(day)).c_encoding());
  return either_day ? by_month || by_week : by_month && by_week;
}

bool Pattern::takes(LocalTime time) const {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::hh_mm_ss parts(time - day);
  return has(hours, static_cast<unsigned>(parts.hours().count())) &&
         has(minutes, static_cast<unsigned>(parts.minutes().count())) &&
         has(seconds, static_cast<unsigned>(parts.seconds().count())) && takes_day(year_month_day(day));
}

bool Pattern::takes_whole_days() const {
  return seconds == kWholeMinute && minutes == kWholeMinute && hours == kWholeDay;
}

std::optional<LocalTime> next_match(const Pattern& pattern, LocalTime from) {
  const auto today = std::chrono::floor<days>(from);
  if (pattern.takes_day(year_month_day(today))) {
    if (const auto time = time_of_day(pattern, from - today)) return today + *time;
  }
  const auto day = next_day(pattern, today + days(1));
  if (!day) return std::nullopt;
  return *day + *time_of_day(pattern, seconds(0));
}

}  // namespace holdfast::schedules
