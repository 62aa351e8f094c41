#include "schedules/times.hpp"

#include "schedules/invalid.hpp"

#include <algorithm>

namespace holdfast::schedules {

namespace {

// How many excluded times in a row are passed over. A schedule of which everything is excluded would be
// looked through for ever; this many are reached by one that runs each second and leaves out all of a day but
// a moment.
constexpr int kMaxExcluded = 200'000;

// Where the calendar of the library ends, for practical purposes.
constexpr CalendarTime kEnd = std::chrono::sys_days(std::chrono::year(Years::kLast) / 12 / 31);
// Calendars name no year before 1970, and intervals are counted from there.
constexpr CalendarTime kBeginning{};

template <class Time>
void earliest(std::optional<Time>& so_far, std::optional<Time> other) {
  if (other && (!so_far || *other < *so_far)) so_far = other;
}

void check(const IntervalSpec& interval) {
  if (interval.every < std::chrono::seconds(1)) refuse("an interval of a schedule is below a second");
  if (interval.every > std::chrono::days(36'500))
    refuse("an interval of a schedule is above a hundred years");
  if (interval.offset < Duration(0) || interval.offset >= interval.every)
    refuse("the offset of an interval is from 0 up to the interval, which it does not reach");
}

CalendarTime next_of_interval(const IntervalSpec& interval, CalendarTime after) {
  const Duration since = after.time_since_epoch() - interval.offset;
  if (since < Duration(0)) return CalendarTime(interval.offset);
  return CalendarTime(interval.offset + (since / interval.every + 1) * interval.every);
}

}  // namespace

Times::Times(const ScheduleSpec& spec)
    : zone_(spec.time_zone), intervals_(spec.intervals), from_(spec.from), until_(spec.until) {
  for (const std::string& text : spec.cron) patterns_.push_back(parse_cron(text, Use::times));
  for (const CalendarSpec& it : spec.calendars) patterns_.push_back(parse_calendar(it, Use::times));
  for (const std::string& text : spec.excluded_cron) exclusions_.push_back(parse_cron(text, Use::exclusion));
  for (const CalendarSpec& it : spec.excluded_calendars)
    exclusions_.push_back(parse_calendar(it, Use::exclusion));
  std::ranges::for_each(intervals_, check);
  if (patterns_.empty() && intervals_.empty())
    refuse("a schedule needs a cron text, a calendar or an interval; this one has none");
  if (from_ && until_ && *from_ >= *until_)
    refuse("a schedule ends before it begins: `until` is not after `from`");
  if (!next(CalendarTime::min()))
    refuse("a schedule names no time at all: everything is excluded, or lies outside of `from` and `until`");
}

// No time lies before the beginning, and so neither does any moment that is computed with.
std::optional<CalendarTime> Times::next(CalendarTime after) const {
  after = std::max(
      {after, kBeginning - Duration(1), std::max(from_.value_or(kBeginning), kBeginning) - Duration(1)});
  for (int excluded = 0; excluded < kMaxExcluded; ++excluded) {
    const std::optional<CalendarTime> time = next_named(after);
    if (!time || *time >= until_.value_or(kEnd)) return std::nullopt;
    const Pattern* by = exclusion_of(*time);
    if (by == nullptr) return time;
    after = end_of_exclusion(*by, *time);
  }
  return std::nullopt;
}

std::optional<CalendarTime> Times::next_named(CalendarTime after) const {
  if (after >= kEnd) return std::nullopt;
  std::optional<CalendarTime> first;
  for (const IntervalSpec& interval : intervals_)
    earliest<CalendarTime>(first, next_of_interval(interval, after));
  const Instant second = std::chrono::floor<std::chrono::seconds>(after);
  for (const Pattern& pattern : patterns_) earliest<CalendarTime>(first, next_of(pattern, second));
  return first;
}

// A fixed hour follows the clock on the wall, which shows each local time for the first time once. Everything
// else follows the time that passes: a local time counts whenever a clock shows it, and never when none does.
std::optional<Instant> Times::next_of(const Pattern& pattern, Instant after) const {
  std::optional<LocalTime> local = next_match(pattern, zone_.local(after) + std::chrono::seconds(1));
  if (!pattern.follows_elapsed) {
    while (local && zone_.first_showing(*local) <= after)
      local = next_match(pattern, *local + std::chrono::seconds(1));
    if (!local) return std::nullopt;
    return zone_.first_showing(*local);
  }
  while (true) {
    const std::optional<Instant> change = zone_.next_change(after);
    // Up to the change, local time and time that passes differ by the same offset.
    if (local) {
      const Instant instant = after + (*local - zone_.local(after));
      if (!change || instant < *change) return instant;
    }
    if (!change || *change >= std::chrono::floor<std::chrono::seconds>(kEnd)) return std::nullopt;
    after = *change;
    local = next_match(pattern, zone_.local(after));
  }
}

const Pattern* Times::exclusion_of(CalendarTime time) const {
  const LocalTime local = zone_.local(std::chrono::floor<std::chrono::seconds>(time));
  const auto found = std::ranges::find_if(exclusions_, [&](const Pattern& it) { return it.takes(local); });
  return found == exclusions_.end() ? nullptr : &*found;
}

// The last moment of which it is known that it is excluded, too.
CalendarTime Times::end_of_exclusion(const Pattern& by, CalendarTime time) const {
  if (!by.takes_whole_days()) return time;
  const auto today =
      std::chrono::floor<std::chrono::days>(zone_.local(std::chrono::floor<std::chrono::seconds>(time)));
  return std::max(time, CalendarTime(zone_.first_showing(today + std::chrono::days(1))) - Duration(1));
}

}  // namespace holdfast::schedules

namespace holdfast {

std::vector<CalendarTime> next_times(const ScheduleSpec& spec, CalendarTime after, std::size_t count) {
  const schedules::Times times(spec);
  std::vector<CalendarTime> all;
  while (all.size() < count) {
    const std::optional<CalendarTime> next = times.next(after);
    if (!next) break;
    all.push_back(*next);
    after = *next;
  }
  return all;
}

}  // namespace holdfast
