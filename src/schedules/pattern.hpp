// Which local times a cron text or a calendar names.
#pragma once

#include "schedules/zone.hpp"

#include <holdfast/schedule_spec.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::schedules {

/// A range of years, both included.
struct Years {
  int first = 1970;
  int last = kLast;
  static constexpr int kLast = 9999;
};

/// Sets of values, a bit for each. A value.
struct Pattern {
  std::uint64_t seconds = 0;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;  ///< of the month: bits 1 to 31
  bool last_day = false;   ///< and the last one, whichever it is
  std::uint16_t months = 0;
  std::uint8_t weekdays = 0;  ///< bit 0 is Sunday
  std::vector<Years> years{};
  bool either_day = false;       ///< one of both days is enough, as cron has it when both are given
  bool follows_elapsed = false;  ///< its hour is `*` or a step

  [[nodiscard]] bool takes(LocalTime time) const;
  [[nodiscard]] bool takes_day(std::chrono::year_month_day day) const;
  /// Whether it takes each second of the days that it takes.
  [[nodiscard]] bool takes_whole_days() const;
};

/// How much of a pattern may be left out: of a schedule, or of what is excluded from one.
enum class Use : std::uint8_t { times, exclusion };

// Both throw Error (invalid_schedule), which names the text and the place in it.
Pattern parse_cron(const std::string& text, Use use);
Pattern parse_calendar(const CalendarSpec& calendar, Use use);

/// The first time at or after `from` that the pattern takes; none within a cycle of the calendar: never.
std::optional<LocalTime> next_match(const Pattern& pattern, LocalTime from);

}  // namespace holdfast::schedules
