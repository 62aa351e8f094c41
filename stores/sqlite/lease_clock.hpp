// Lease time of a database file: never steps and never goes back, over reboots and between processes.
#pragma once

#include "connection.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

/// One row: the boot whose offset this is, and a lease time that was never told so far.
inline constexpr std::string_view kLeaseClockSchema =
    "CREATE TABLE lease_clock (id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL, "
    "offset INTEGER NOT NULL, bound INTEGER NOT NULL) STRICT";

/// What LeaseClock::follow() has to be given.
inline constexpr std::string_view kReadLeaseClock =
    "SELECT boot, offset, bound FROM lease_clock WHERE id = 1";

/// Names the time between two boots of this machine. Empty when the system doesn't say.
std::string current_boot_id();

/// How far CLOCK_BOOTTIME of this process is ahead of that of the machine: the offset of its time namespace,
/// which containers have that were moved or restored. Zero when the system doesn't say.
std::chrono::microseconds time_namespace_offset();

/// Lease time is boot time of the machine plus an offset that the file keeps for this boot. The file also
/// keeps a bound that lease time has not reached yet, and that is moved ahead before it does. After a reboot
/// lease time goes on from the bound: that is ahead of all that was ever told, by at most kAhead. So leases
/// of the former boot, whose owners are gone with it, may end that much early.
///
/// Counts in microseconds from kStart, the making of the file.
class LeaseClock {
 public:
  static constexpr std::chrono::microseconds kAhead = std::chrono::seconds{10};
  /// Not zero, the usual word for "no time"; and a day may be subtracted from any time.
  static constexpr std::chrono::microseconds kStart = std::chrono::hours{24};

  /// `database` and `clock` outlive it. Processes that share a file share the machine, hence the boot id, but
  /// perhaps not its time namespace: `ahead` is how far the clock is ahead of the machine's boot time.
  LeaseClock(Connection& database, const Clock& clock, std::string boot_id, std::chrono::microseconds ahead);
  /// On this machine, in this process. Only the real clock shows the time of a namespace.
  LeaseClock(Connection& database, const Clock& clock);

  /// Inside a write transaction, where the connection is used, and once in each: reads the row, and writes it
  /// now and then. After a rollback there is nothing to repair.
  std::int64_t now();

  /// For those who never write: as now() would find it, with kReadLeaseClock of any connection. Any thread.
  void follow(Statement& statement);

  /// The time by the offset that now() or follow() found last, for those outside of write transactions; one
  /// of them was called before. Any thread.
  [[nodiscard]] std::int64_t look() const noexcept;

 private:
  struct Reading {
    std::int64_t now = 0;
    std::int64_t offset = 0;
    std::int64_t bound = 0;  ///< as the row has it
  };
  [[nodiscard]] Reading read(Statement& statement) const;
  [[nodiscard]] std::int64_t machine_now() const noexcept;

  const Clock& clock_;
  const std::string boot_id_;
  const std::int64_t ahead_;
  Statement read_;
  Statement write_;
  std::atomic<std::int64_t> offset_{0};
};

}  // namespace holdfast::sqlite_store
