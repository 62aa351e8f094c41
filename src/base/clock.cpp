#include <holdfast/clock.hpp>

#include <time.h>

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>

namespace holdfast {

namespace {

class RealClock final : public Clock {
 public:
  [[nodiscard]] CalendarTime calendar_now() const noexcept override {
    return CalendarTime{read(CLOCK_REALTIME)};
  }
  [[nodiscard]] BootTime boot_now() const noexcept override { return BootTime{read(CLOCK_BOOTTIME)}; }

 private:
  static std::chrono::microseconds read(clockid_t id) noexcept {
    timespec now{};
    clock_gettime(id, &now);  // can't fail: both clocks are there on every Linux that this is built for
    return std::chrono::seconds{now.tv_sec} +
           std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds{now.tv_nsec});
  }
};

}  // namespace

const Clock& real_clock() noexcept {
  // Never destroyed: destructors of statics may ask for the time.
  alignas(RealClock) static std::array<std::byte, sizeof(RealClock)> memory;
  static const RealClock& clock = *::new (memory.data()) RealClock;
  return clock;
}

ManualClock::ManualClock(CalendarTime calendar, BootTime boot) noexcept
    : calendar_(calendar.time_since_epoch().count()), boot_(boot.time_since_epoch().count()) {}

CalendarTime ManualClock::calendar_now() const noexcept {
  return CalendarTime{std::chrono::microseconds{calendar_.load()}};
}

BootTime ManualClock::boot_now() const noexcept { return BootTime{std::chrono::microseconds{boot_.load()}}; }

void ManualClock::advance(std::chrono::microseconds by) {
  advance_boot(by);
  step_calendar(by);
}

void ManualClock::advance_boot(std::chrono::microseconds by) {
  if (by < by.zero()) throw std::invalid_argument("boot time never goes back: advance it by zero or more");
  boot_.fetch_add(by.count());
}

void ManualClock::step_calendar(std::chrono::microseconds by) noexcept { calendar_.fetch_add(by.count()); }

void ManualClock::set_calendar(CalendarTime to) noexcept { calendar_.store(to.time_since_epoch().count()); }

}  // namespace holdfast
