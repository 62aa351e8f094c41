// Keeps the write-ahead log short.
#pragma once

#include "connection.hpp"
#include "log_trust.hpp"

#include <holdfast/log.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

namespace holdfast::sqlite_store {

/// Moves the log into the database file, a few megabytes at a time: then the log is written again from its
/// beginning, unless somebody reads from it all the while. When that has let it grow over its limit, waits a
/// moment for the readers and empties it; if one of them stays, tries again some megabytes later.
///
/// The same, much earlier, when the disk has little room left: what is in the log can be moved only while
/// there is room for it in the database file as well, so a log that took the last of it could never be moved.
/// Used where the writer's connection is.
class WalLimit {
 public:
  /// Few enough that nobody waits long for a checkpoint, enough that a page written often is copied once.
  static constexpr int kFramesBetween = 4000;
  static constexpr std::chrono::milliseconds kWaitForReaders{20};
  /// The log is emptied when it is longer than this part of what is left on the disk...
  static constexpr std::uint64_t kPartOfRoom = 4;
  /// ...which is asked for so often.
  static constexpr int kFramesBetweenLooks = 64;

  struct Options {
    std::uint64_t limit_bytes = 0;
    std::chrono::milliseconds busy_timeout{};  ///< of the connection
    std::function<std::uint64_t()> room{};     ///< how many bytes are left on the disk; empty: enough
    Logger* logger = nullptr;                  ///< must not ask the store: whoever leads tells it
  };
  /// `writer` and `trust` outlive it. Sets the connection's commit hook for logs.
  WalLimit(Connection& writer, LogTrust& trust, Options options);
  ~WalLimit();
  WalLimit(const WalLimit&) = delete;
  WalLimit& operator=(const WalLimit&) = delete;

  /// Asked after commits: whether it is time for after_batch().
  [[nodiscard]] bool is_due() const noexcept;
  /// With no transaction open, and when nobody waits for an answer. Never fails: what could not be done now
  /// is done later.
  void after_batch() noexcept;
  /// With no transaction open, when one has failed for want of room: whether the log has given some back.
  bool make_room() noexcept;

 private:
  void note(int frames) noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(frames_) * frame_bytes_;
  }
  [[nodiscard]] bool is_over() const noexcept { return bytes() > options_.limit_bytes; }
  void move() noexcept;
  bool empty_log() noexcept;
  void complain(int code) noexcept;

  int checkpoint(int mode) noexcept;

  Connection& writer_;
  LogTrust& trust_;
  const std::uint64_t frame_bytes_;
  const Options options_;
  int frames_ = 0;     // in the log after the last commit
  int tried_at_ = 0;   // how many there were at the last attempt
  int looked_at_ = 0;  // how many there were when the room was last asked for
  bool short_of_room_ = false;
  bool complained_ = false;
};

}  // namespace holdfast::sqlite_store
