// The SQLite store: the embedded default. One file, which several processes of one machine may share.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast {

class Clock;
class FaultPlan;
class Logger;
class Store;

/// What a power cut may take. A crash of the process alone loses nothing under any of them.
enum class Durability : std::uint8_t {
  full,    ///< nothing that was answered is lost: each commit waits for the disk
  normal,  ///< the last commits may be lost, all of them or none from some moment on; the file stays whole
  off,     ///< the file itself may be damaged
};

struct SqliteOptions {
  std::string ns = "default";
  /// False: a file that doesn't exist is an error (StoreOpenError, missing).
  bool create = true;
  /// True: nothing is made or upgraded, and calls that would change something are refused (ClientError,
  /// invalid). For those who only look; the file has to be writable all the same, as all who use it take
  /// part in its locks.
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

/// Opens `path`, or makes it, readable and writable by its owner alone; ":memory:" is a database of its own
/// that lives as long as the store. Throws StoreOpenError when it can't be used, having changed nothing.
std::shared_ptr<Store> sqlite(const std::string& path, SqliteOptions options = {});

}  // namespace holdfast
