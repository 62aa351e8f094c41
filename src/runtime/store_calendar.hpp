// StoreCalendar: what time it is by the store's calendar, without asking it.
#pragma once

#include <holdfast/clock.hpp>

#include <atomic>

namespace holdfast::runtime {

/// The store tells its calendar with each fetch; turns that come without one go on from there. Any thread.
class StoreCalendar {
 public:
  /// The store has said `calendar`, and it was `now` here.
  void read(CalendarTime calendar, BootTime now) {
    calendar_ = calendar;
    read_at_ = now;
  }
  [[nodiscard]] CalendarTime at(BootTime now) const { return calendar_.load() + (now - read_at_.load()); }

 private:
  std::atomic<CalendarTime> calendar_{CalendarTime{}};
  std::atomic<BootTime> read_at_{BootTime{}};
};

}  // namespace holdfast::runtime
