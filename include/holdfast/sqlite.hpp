// The SQLite store: the embedded default. One file, which several processes of one machine may share.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

class Clock;
class FaultPlan;
class Logger;
class Store;

/// What a power cut may lose. A crash of the process alone loses nothing with any of them.
enum class Durability : std::uint8_t {
  full,    ///< nothing that was answered is lost: each commit waits for the disk
  normal,  ///< the last commits may be lost, all from some moment on; the file stays whole
  off,     ///< the file itself may be damaged
};
std::string_view to_string(Durability durability) noexcept;

struct SqliteOptions {
  std::string ns = "default";  ///< 1 to 255 bytes of UTF-8 without control characters
  /// False: a file or namespace that doesn't exist is an error (StoreOpenError, missing).
  bool create = true;
  /// True: nothing is created, upgraded or written, and calls that would change something are refused
  /// (ClientError, invalid). For tools that only look: no write lock is needed, and no right to write where
  /// SQLite can do without (docs/operations.md).
  bool read_only = false;
  Durability durability = Durability::full;
  /// How long a call waits for another process that writes, before it answers `unavailable`.
  std::chrono::milliseconds busy_timeout{10'000};
  /// The write-ahead log is emptied when it has grown over this.
  std::uint64_t wal_limit_bytes = 64U << 20U;
  const Clock* clock = nullptr;  ///< real_clock() when empty
  FaultPlan* faults = nullptr;
  Logger* logger = nullptr;
};

/// Opens the file `path`, or creates it with mode 0600; ":memory:" is a new database that lives as long as
/// the store. Throws StoreOpenError when it can't be used, having changed nothing.
std::shared_ptr<Store> sqlite(const std::string& path, SqliteOptions options = {});

}  // namespace holdfast
