// LaterLogger: keeps what is said inside a call of a store until the call is over.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/log.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace holdfast::store {

/// A logger is code of the user, and may ask the store that it is told of. Whoever leads a group of calls
/// would wait for itself there, so what leaders have to say goes in here, and is said by say() in a thread
/// that leads nothing. Thread-safe.
class LaterLogger final : public Logger {
 public:
  /// `to` outlives it, or is null: then nothing is kept.
  explicit LaterLogger(Logger* to) noexcept : Logger(to != nullptr ? to->clock() : real_clock()), to_(to) {}
  ~LaterLogger() override { say(); }

  /// Asks nobody: what is not wanted is left out by say().
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return to_ != nullptr && level != LogLevel::off;
  }
  void write(const LogRecord& record) noexcept override;

  /// Passes on what was kept. Costs nothing where there is nothing.
  void say() noexcept {
    if (any_.load(std::memory_order_acquire)) say_kept();
  }

 private:
  struct Kept {
    LogLevel level{};
    CalendarTime time{};
    std::vector<std::string> texts{};  ///< the message, and what `fields` refer to
    std::vector<LogField> fields{};
  };
  void say_kept() noexcept;

  Logger* const to_;
  std::atomic<bool> any_{false};
  Mutex mutex_;
  std::vector<Kept> kept_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::store
