// The interface for clocks. Holdfast reads time only through it, so that tests and the simulator control
// time.
#pragma once

#include <atomic>
#include <chrono>

namespace holdfast {

/// Wall-clock time in UTC, for timers and logs. It may step, forwards and backwards.
using CalendarTime = std::chrono::sys_time<std::chrono::microseconds>;

/// Names the clock that BootTime belongs to. It has no `now()`: ask a Clock.
struct BootClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

/// Time since this machine booted, for leases and deadlines: it never steps, and goes on while the machine is
/// suspended. It means nothing on another machine or after a reboot: who stores it stores which boot it is
/// of.
using BootTime = BootClock::time_point;

/// Tells both times. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual CalendarTime calendar_now() const noexcept = 0;
  [[nodiscard]] virtual BootTime boot_now() const noexcept = 0;
};

/// The clocks of this machine. Valid for the life of the process, also in destructors of statics.
const Clock& real_clock() noexcept;

/// A clock that stands still until it is told to move. Thread-safe; moving it wakes nobody.
class ManualClock final : public Clock {
 public:
  /// Where both times begin by default. Neither is zero, which often stands for "no time".
  static constexpr CalendarTime kCalendarStart =
      std::chrono::sys_days{std::chrono::year{2030} / std::chrono::January / 1};
  static constexpr BootTime kBootStart{std::chrono::hours{1}};

  explicit ManualClock(CalendarTime calendar = kCalendarStart, BootTime boot = kBootStart) noexcept;

  [[nodiscard]] CalendarTime calendar_now() const noexcept override;
  [[nodiscard]] BootTime boot_now() const noexcept override;

  /// Time passes: both move by `by`. Throws std::invalid_argument when `by` is negative.
  void advance(std::chrono::microseconds by);
  /// Only boot time passes. Throws std::invalid_argument when `by` is negative: boot time never steps.
  void advance_boot(std::chrono::microseconds by);
  /// Steps the wall clock by `by`, backwards when negative.
  void step_calendar(std::chrono::microseconds by) noexcept;
  /// Sets the wall clock.
  void set_calendar(CalendarTime to) noexcept;

 private:
  std::atomic<std::chrono::microseconds::rep> calendar_;
  std::atomic<std::chrono::microseconds::rep> boot_;
};

}  // namespace holdfast
