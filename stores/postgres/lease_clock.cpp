#include "lease_clock.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::postgres_store {

Moment LeaseClock::read(const Answer& answer) {
  Row row(answer, 0);
  const auto server = row.next<std::int64_t>();
  const auto offset = row.next<std::int64_t>();
  const auto high = row.next<BootTime>();
  const MutexLock lock(mutex_);
  stored_offset_ = offset;
  stored_high_ = high;
  if (clock_ != nullptr) {
    latest_ = std::max({latest_, high, clock_->boot_now()});
    return {.lease = latest_, .calendar = clock_->calendar_now()};
  }
  offset_ = std::max(offset_, offset);
  const std::int64_t floor = std::max(latest_, high).time_since_epoch().count();
  if (server + offset_ < floor) offset_ = floor - server;
  latest_ = std::max(latest_, BootTime(std::chrono::microseconds(server + offset_)));
  return {.lease = latest_, .calendar = CalendarTime(std::chrono::microseconds(server))};
}

std::optional<LeaseClock::Mark> LeaseClock::mark(BootTime now) {
  const MutexLock lock(mutex_);
  const auto precision = clock_ != nullptr ? std::chrono::seconds(0) : std::chrono::seconds(1);
  if (now - stored_high_ <= precision && offset_ <= stored_offset_) return std::nullopt;
  Mark mark{.high = now};
  if (offset_ > stored_offset_) mark.offset = offset_;
  return mark;
}

}  // namespace holdfast::postgres_store
