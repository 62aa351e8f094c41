#include "lease_clock.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::postgres_store {

namespace {

/// So long an answer may be under way. A clock that has stepped back has done so by more.
constexpr std::chrono::microseconds kUnderWay(100'000);

/// So long the clock of this machine is relied on. It may be fast by a thousandth.
constexpr std::chrono::microseconds kGuessedFor(100'000);
constexpr int kDrift = 1000;

}  // namespace

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
  // An answer may be older than what was told since it was asked for: until it has caught up, time stands
  // still.
  const std::int64_t floor = std::max(latest_, high).time_since_epoch().count();
  if (server + offset_ < floor - kUnderWay.count()) offset_ = floor - server;
  answered_ = server;
  answered_at_ = std::chrono::steady_clock::now();
  return tell(server);
}

Moment LeaseClock::tell(std::int64_t server) {
  latest_ = std::max({latest_, stored_high_, BootTime(std::chrono::microseconds(server + offset_))});
  return {.lease = latest_, .calendar = CalendarTime(std::chrono::microseconds(server))};
}

std::optional<Moment> LeaseClock::guess() {
  const MutexLock lock(mutex_);
  if (clock_ != nullptr) {
    latest_ = std::max(latest_, clock_->boot_now());
    return Moment{.lease = latest_, .calendar = clock_->calendar_now()};
  }
  if (!answered_at_) return std::nullopt;
  const auto since =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - *answered_at_);
  if (since > kGuessedFor) return std::nullopt;
  return tell(answered_ + (since - since / kDrift).count());
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
