// Slots: room for activities in a worker: what is in use, what is reserved, and who gets what becomes free.
#pragma once

#include "runtime/ahead.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/activities.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// Counts, and decides nothing else. Each slot is reserved before an activity is locked for it, then occupied
/// by that activity, then freed; or it is reserved for nothing, and given back. Not thread-safe.
class Slots {
 public:
  explicit Slots(std::size_t slots) : slots_(slots) {}

  /// Slots for activities that a turn would like to run here, at most so many. While ready work was left
  /// behind in the store, every second one that becomes free is not for them.
  std::size_t reserve_for_hand_off(std::size_t wanted) {
    const std::size_t free = slots_ - std::min(taken_ + for_fetch_, slots_);
    const std::size_t reserved = std::min(wanted, free);
    taken_ += reserved;
    return reserved;
  }
  /// All that are free, for a fetch, and what may be locked ahead. `may_begin`: this worker begins any.
  std::size_t reserve_for_fetch(bool may_begin) {
    const std::size_t room = may_begin ? slots_ + ahead_.room(slots_) : 0;
    const std::size_t free = room - std::min(taken_, room);
    if (free == 0) left_behind_ = true;  // nobody knows: the next one that becomes free will tell
    taken_ += free;
    for_fetch_ = 0;
    return free;
  }
  void unreserve(std::size_t slots) { taken_ -= slots; }

  /// Whether the last fetch left work behind that this worker could take.
  void set_left_behind(bool left_behind) {
    left_behind_ = left_behind;
    if (!left_behind) for_fetch_ = 0;
  }
  [[nodiscard]] bool left_behind() const noexcept { return left_behind_; }

  /// Whether code runs in all of them: what room was reserved for waits until one is free.
  [[nodiscard]] bool are_full() const noexcept { return running_ >= slots_; }
  /// The code of an activity begins in one that was reserved.
  void occupy() { ++running_; }
  /// An activity waits for one to become free.
  void wait(AheadList::Item item) { ahead_.add(std::move(item)); }
  /// The code that was in one has ended after so long, or goes on without it.
  void note(Duration ran) { ahead_.note(ran); }
  /// One is free. What is returned has waited for it, and is in it now. `may_begin`: this worker begins any.
  std::optional<AheadList::Item> free(bool may_begin) {
    --running_;
    --taken_;
    if (!may_begin) return std::nullopt;
    if (auto next = ahead_.take()) {
      ++running_;
      return next;
    }
    if (left_behind_) {
      next_for_fetch_ = !next_for_fetch_;
      if (next_for_fetch_) ++for_fetch_;
    }
    return std::nullopt;
  }

  // ---- those that wait for one ------------------------------------------------------------------

  /// It waits no more. False when it did not.
  bool remove(const store::ActivityId& id, LockToken token) {
    if (!ahead_.remove(id, token)) return false;
    --taken_;
    return true;
  }
  /// Those that have waited for too long.
  std::vector<AheadList::Item> take_late(BootTime now) { return counted(ahead_.take_late(now)); }
  std::vector<AheadList::Item> take_all_waiting() { return counted(ahead_.take_all()); }
  [[nodiscard]] BootTime next_due() const { return ahead_.next_due(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return ahead_.size(); }

  /// Those that are reserved, or in which code runs.
  [[nodiscard]] std::size_t in_use() const noexcept { return taken_ - ahead_.size(); }

 private:
  std::vector<AheadList::Item> counted(std::vector<AheadList::Item> gone) {
    taken_ -= gone.size();
    return gone;
  }

  const std::size_t slots_;
  AheadList ahead_;
  std::size_t taken_ = 0;      // in use or reserved, and what waits for one
  std::size_t running_ = 0;    // in use
  std::size_t for_fetch_ = 0;  // free ones that a hand-off must leave
  bool left_behind_ = false;
  bool next_for_fetch_ = false;
};

}  // namespace holdfast::runtime
