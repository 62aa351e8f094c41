// Waiting for work: how a store tells a process that something is there to fetch.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>

#include <cstdint>
#include <vector>

namespace holdfast::store {

/// Kinds of news, as a set.
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

/// fetch_turns may find more, or must be asked earlier than it said. That a lock was taken, which may lapse
/// one day, is no news: whoever waits asks now and then also without any.
inline constexpr WorkMask kTurns{1};
inline constexpr WorkMask kActivities{2};  ///< the same of fetch_activities
inline constexpr WorkMask kCancels{4};     ///< cancel_records may find more
inline constexpr WorkMask kWatched{8};     ///< a watched instance ended, was deleted, or shows another status
inline constexpr WorkMask kSweep{16};      ///< sweep must be asked earlier than it said
inline constexpr WorkMask kAllWork{31};

struct Wake {
  WorkMask work{};                       ///< empty when the deadline passed or somebody interrupted
  std::vector<InstanceKey> instances{};  ///< of kWatched: those that are known
  bool any_instance = false;             ///< of kWatched: others may be concerned, look at all of them
};

/// One per process that waits: a runtime, or a client on its own. Registered from its construction on, so
/// what is committed later is never missed: make it, look for work, then wait. News that came between two
/// calls of wait() is returned by the second at once, merged. Unless said otherwise, one thread at a time.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns when there is news, when `deadline` (of the store's clock) has passed, or after interrupt(). A
  /// deadline that has passed already makes it a look without waiting. May return early with nothing.
  virtual Wake wait(BootTime deadline) = 0;
  /// Makes a wait() that runs, or the next one, return. Any thread.
  virtual void interrupt() = 0;
  /// News about this instance is wanted, or no longer. Any thread.
  virtual void watch(InstanceKey key) = 0;
  virtual void unwatch(InstanceKey key) = 0;
};

}  // namespace holdfast::store
