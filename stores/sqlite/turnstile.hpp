// Fair turns at the write lock between processes. SQLite's own lock goes to whoever asks at the right moment,
// and a process that commits in a loop always does.
#pragma once

#include "side_file.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace holdfast::sqlite_store {

/// A queue in the side file: each who comes draws a ticket, locks the byte of that number for as long as it
/// waits and works, and goes ahead when the byte of the number before is free. The kernel frees the bytes of
/// a process that ends in whatever way. It only gives order: what protects the database is SQLite's lock, so
/// nothing depends on everybody queueing.
///
/// One for each side file, which outlives it: through one file handle the kernel sees no conflict. One thread
/// at a time.
class Turnstile {
 public:
  /// Nobody waits longer behind somebody who makes no progress, such as a process that was stopped.
  static constexpr std::chrono::milliseconds kPatience{100};

  explicit Turnstile(SideFile& side_file, std::chrono::milliseconds patience = kPatience) noexcept
      : side_file_(side_file), patience_(patience) {}
  ~Turnstile() { leave(); }
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  /// Returns when it is this process's turn; when nothing moved for its patience or after `at_most` it
  /// returns as well. Then ask SQLite for its lock.
  void enter(std::chrono::milliseconds at_most);
  /// When SQLite's lock is free again. Does nothing when there was no enter().
  void leave() noexcept;

 private:
  void wait_for(std::uint32_t ticket, std::chrono::milliseconds at_most);

  SideFile& side_file_;
  const std::chrono::milliseconds patience_;
  std::shared_ptr<SharedPage> page_{};  // where the ticket was drawn; empty: not inside
  std::uint32_t ticket_ = 0;
};

}  // namespace holdfast::sqlite_store
