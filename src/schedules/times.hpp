// The times of a schedule, one after the other.
#pragma once

#include "schedules/pattern.hpp"
#include "schedules/zone.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/schedule_spec.hpp>

#include <optional>
#include <vector>

namespace holdfast::schedules {

/// A schedule that was read. Immutable.
class Times {
 public:
  /// Throws Error (invalid_schedule), also for a schedule that names no time at all.
  explicit Times(const ScheduleSpec& spec);

  /// The first time after a moment; none when it ends before.
  [[nodiscard]] std::optional<CalendarTime> next(CalendarTime after) const;

 private:
  [[nodiscard]] std::optional<CalendarTime> next_named(CalendarTime after) const;
  [[nodiscard]] std::optional<Instant> next_of(const Pattern& pattern, Instant after) const;
  [[nodiscard]] const Pattern* exclusion_of(CalendarTime time) const;
  [[nodiscard]] CalendarTime end_of_exclusion(const Pattern& by, CalendarTime time) const;

  Zone zone_;
  std::vector<Pattern> patterns_{};
  std::vector<IntervalSpec> intervals_{};
  std::vector<Pattern> exclusions_{};
  std::optional<CalendarTime> from_{};
  std::optional<CalendarTime> until_{};
};

}  // namespace holdfast::schedules
