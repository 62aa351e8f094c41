// LeaseClock: what time it is, by the clock of the server, or by a clock that tests move.
#pragma once

#include "base/mutex.hpp"
#include "connection.hpp"

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace holdfast::postgres_store {

/// Both times of a transaction.
struct Moment {
  BootTime lease{};
  CalendarTime calendar{};
};

/// Lease time is the server's clock plus an offset that is kept in the database, so that it never steps back:
/// when the server's clock does, the offset grows. What has been told is written down from time to time.
/// Any thread.
class LeaseClock {
 public:
  /// `clock`: none for the server's.
  explicit LeaseClock(const Clock* clock) : clock_(clock) {}

  /// The time, from the answer to sql::kTime or sql::kGuards.
  Moment read(const Answer& answer);
  /// What the server would answer about now: a moment before that, at most. None when it has not been asked
  /// for a while, since two clocks drift apart.
  std::optional<Moment> guess();
  /// What is to be written with the transaction of that moment, if anything.
  struct Mark {
    /// The offset has grown, and whoever tells a time before the others know would be ahead of them: the
    /// transaction must not happen without it. The rest may come later: until it does, a server whose clock
    /// steps back may be told an earlier time by a process that has just come.
    std::optional<std::int64_t> offset{};
    BootTime high{};
  };
  std::optional<Mark> mark(BootTime now);

 private:
  [[nodiscard]] Moment tell(std::int64_t server) HOLDFAST_REQUIRES(mutex_);

  const Clock* clock_;
  Mutex mutex_{};
  std::int64_t answered_ HOLDFAST_GUARDED_BY(mutex_) = 0;  ///< by the server, and when:
  std::optional<std::chrono::steady_clock::time_point> answered_at_ HOLDFAST_GUARDED_BY(mutex_){};
  BootTime latest_ HOLDFAST_GUARDED_BY(mutex_){};
  std::int64_t offset_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::int64_t stored_offset_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  BootTime stored_high_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::postgres_store
