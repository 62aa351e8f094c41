// StoreTrouble: what to do about a store that does not answer: when to try again, and what to say of it.
#pragma once

#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "runtime/settings.hpp"

#include <chrono>
#include <string_view>

namespace holdfast::runtime {

/// Pauses between tries of what fails: each is longer than the one before, up to a second.
class BackOff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(5);
  Duration next(Duration first = kFirst) noexcept;
  [[nodiscard]] bool began() const noexcept { return pause_ > Duration::zero(); }

 private:
  Duration pause_{};
};

/// Until something is tried again that somebody else has locked. What that holds up has waited already, and
/// whoever locks a row for longer than a call takes may do so for seconds.
inline constexpr Duration kLockedPause = std::chrono::milliseconds(100);

/// Says in the log that the store refused something, at most once per second for each worker step.
class StoreTrouble {
 public:
  explicit StoreTrouble(const Settings& settings) : settings_(settings) {}
  /// Notes the error and returns when to try again: with growing pauses while it lasts. All that fails before
  /// that moment is one failure, however many items a call has. What is locked is no failure of the store:
  /// it is tried again after kLockedPause, and nothing else has to wait for that.
  BootTime failed(std::string_view what, const StoreError& error);
  void worked();

 private:
  /// When to try again, and whether to say so.
  struct Verdict {
    BootTime due{};
    bool say = false;
  };
  [[nodiscard]] Verdict locked_out(BootTime now);
  [[nodiscard]] Verdict unanswered(BootTime now, bool may_say);

  const Settings& settings_;
  Mutex mutex_;
  BackOff back_off_ HOLDFAST_GUARDED_BY(mutex_);
  BootTime due_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::min();  // when to try again
  BootTime last_said_ HOLDFAST_GUARDED_BY(mutex_){};
  BootTime say_locked_from_ HOLDFAST_GUARDED_BY(mutex_) = kLongAgo;
  bool said_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
