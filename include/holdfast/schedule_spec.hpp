// What a schedule is made from: its times, and what happens when runs overlap or are missed.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Every so often, counted from 1970-01-01T00:00:00Z: `{.every = 6h, .offset = 1h}` is 01:00, 07:00, 13:00
/// and 19:00 UTC, whatever the time zone.
struct IntervalSpec {
  Duration every{};
  Duration offset{};  ///< below `every`
};

/// Local times by their parts, all of which must fit. Each is written as in a cron text: `9-17`, `0,30`,
/// `*/15`, `mon-fri`; `last` is the last day of the month. Empty: second, minute and hour are 0, everything
/// else is any. In an exclusion, empty is any everywhere: `{.month = "dec", .day_of_month = "25"}` excludes
/// the whole day.
struct CalendarSpec {
  std::string year{};
  std::string month{};
  std::string day_of_month{};
  std::string day_of_week{};
  std::string hour{};
  std::string minute{};
  std::string second{};
};

/// The times of a schedule: all that any of `cron`, `calendars` and `intervals` names, without those that are
/// excluded.
///
/// Where clocks are put forward or back, a fixed hour (`30 2 * * *`) runs once: at the first instant after
/// the hour that was left out, or the first time that the clock shows it. `*` or a step in the hour (`*/20 *
/// * * *`) follows the time that passes, and so do intervals.
struct ScheduleSpec {
  /// Minute, hour, day of month, month, day of week; with six fields the first one is the second. Or @yearly,
  /// @monthly, @weekly, @daily, @hourly. When both days are given, either of them is enough, as in cron; one
  /// that begins with `*` counts as not given.
  std::vector<std::string> cron{};
  std::vector<CalendarSpec> calendars{};
  std::vector<IntervalSpec> intervals{};
  std::vector<std::string> excluded_cron{};
  std::vector<CalendarSpec> excluded_calendars{};
  std::string time_zone = "UTC";        ///< a name of the IANA database, such as Europe/Berlin
  std::optional<CalendarTime> from{};   ///< nothing before it
  std::optional<CalendarTime> until{};  ///< nothing at or after it
};

/// What happens when a time comes while the run before still goes on.
enum class Overlap : std::uint8_t {
  skip,       ///< the new one is left out
  one_after,  ///< one more follows when it has ended; further ones are left out
  all_after,  ///< all follow, one after the other; further ones are left out while 100 wait
  cancel,     ///< it is asked to cancel, and the newest one follows when it has ended
  terminate,  ///< the same, but it is terminated
  allow,      ///< they run beside each other
};
std::string_view to_string(Overlap overlap) noexcept;

/// A schedule, but for what it starts.
struct ScheduleOptions {
  ScheduleSpec spec{};
  Overlap overlap = Overlap::skip;
  /// Times that were missed, since no worker was there, are made up for when they are not older than this. At
  /// least 10 s: what a worker takes a little late is not missed.
  Duration catch_up = std::chrono::hours(24);
  /// Each run begins up to this much after its time: a different part of it for each time and each schedule,
  /// the same whenever it is asked for. No run overtakes the one before.
  Duration jitter{};
  std::uint64_t max_runs = 0;           ///< the schedule ends after it has started so many; 0: no limit
  std::string version{};                ///< of what it starts; empty: newest_version
  bool paused = false;                  ///< nothing is started by its times, and nothing made up for later
  std::string note{};                   ///< a text for people, such as why it is paused
  std::vector<Attribute> attributes{};  ///< of what it starts
};

/// The first `count` times of a schedule after a moment; fewer if it ends before. Throws Error
/// (invalid_schedule) for what is no schedule, with the part and what is wrong with it.
std::vector<CalendarTime> next_times(const ScheduleSpec& spec, CalendarTime after, std::size_t count);

}  // namespace holdfast
