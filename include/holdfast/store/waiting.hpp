// Waiting for work: how a store wakes a process that has something to fetch.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>

#include <cstdint>
#include <vector>

namespace holdfast::store {

/// A set of reasons to wake a process.
struct WorkMask {
  std::uint8_t bits = 0;

  [[nodiscard]] constexpr bool has(WorkMask other) const noexcept { return (bits & other.bits) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits == 0; }
  friend constexpr WorkMask operator|(WorkMask a, WorkMask b) noexcept {
    return {static_cast<std::uint8_t>(a.bits | b.bits)};
  }
  friend constexpr WorkMask operator&(WorkMask a, WorkMask b) noexcept {
    return {static_cast<std::uint8_t>(a.bits & b.bits)};
  }
  constexpr WorkMask& operator|=(WorkMask other) noexcept { return *this = *this | other; }
  friend constexpr bool operator==(WorkMask, WorkMask) noexcept = default;
};

/// fetch_turns may find more, or has to be called earlier than its `next_due`. Nobody is woken because a lock
/// was taken that may lapse one day: callers look from time to time without being woken.
inline constexpr WorkMask kTurns{1};
inline constexpr WorkMask kActivities{2};  ///< the same for fetch_activities
inline constexpr WorkMask kCancels{4};     ///< cancel_records or wanted_sessions may find more
inline constexpr WorkMask kWatched{8};     ///< a watched instance ended, was deleted, or shows another status
inline constexpr WorkMask kSweep{16};      ///< sweep has to be called earlier than its `next_due`
inline constexpr WorkMask kAsks{32};       ///< fetch_asks may find more
inline constexpr WorkMask kAnswers{64};    ///< take_answers may find more
inline constexpr WorkMask kAllWork{127};

struct Wake {
  WorkMask work{};                       ///< empty when the deadline passed, or after interrupt()
  std::vector<InstanceKey> instances{};  ///< of kWatched: those that are known
  bool any_instance = false;             ///< of kWatched: others may have changed, look at all of them
};

/// One for each runtime, or client on its own, that waits. It is registered from its construction on, so that
/// no later commit is missed: make it, look for work, then wait. Wake-ups between two calls of wait() are
/// merged, and returned by the second call at once. Unless said otherwise, one thread at a time.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns when there is a reason, when `deadline` (of the store's clock) has passed, or after interrupt().
  /// With a deadline in the past it does not wait. May return early with nothing.
  virtual Wake wait(BootTime deadline) = 0;
  /// Makes a wait() that runs, or the next one, return. Any thread.
  virtual void interrupt() = 0;
  /// Begins or ends watching an instance (kWatched). Any thread.
  virtual void watch(InstanceKey key) = 0;
  virtual void unwatch(InstanceKey key) = 0;
};

}  // namespace holdfast::store
