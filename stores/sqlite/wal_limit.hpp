// Keeps the write-ahead log short.
#pragma once

#include "connection.hpp"

#include <holdfast/log.hpp>

#include <chrono>
#include <cstdint>

namespace holdfast::sqlite_store {

/// Moves the log into the database file, a few megabytes at a time: then the log is written again from its
/// beginning, unless somebody reads from it all the while. When that has let it grow over its limit, waits a
/// moment for the readers and empties it; if one of them stays, tries again some megabytes later. Used where
/// the writer's connection is.
class WalLimit {
 public:
  /// Few enough that nobody waits long for a checkpoint, enough that a page written often is copied once.
  static constexpr int kFramesBetween = 4000;
  static constexpr std::chrono::milliseconds kWaitForReaders{20};

  /// `writer` outlives it, `logger` may be null. Sets the connection's commit hook for logs.
  WalLimit(Connection& writer, std::uint64_t limit_bytes, std::chrono::milliseconds busy_timeout,
           Logger* logger);
  ~WalLimit();
  WalLimit(const WalLimit&) = delete;
  WalLimit& operator=(const WalLimit&) = delete;

  /// After commits, with no transaction open and when nobody waits for an answer. Never fails: what could not
  /// be done now is done later.
  void after_batch() noexcept;

 private:
  void move() noexcept;
  void empty() noexcept;

  Connection& writer_;
  const std::uint64_t frame_bytes_;
  const std::uint64_t limit_bytes_;
  const std::chrono::milliseconds busy_timeout_;
  Logger* const logger_;
  int frames_ = 0;    // in the log after the last commit
  int tried_at_ = 0;  // how many there were at the last attempt
  bool complained_ = false;
};

}  // namespace holdfast::sqlite_store
