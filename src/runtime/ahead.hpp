// Activities that a worker has locked ahead: they begin at once when a slot becomes free, without a wait for
// the store.
#pragma once

#include "client/bodies.hpp"
#include "runtime/steps.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/activities.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// Worth its while only when activities are so short that the way to the store counts beside them; others
/// would take them from workers that are idle. Not thread-safe.
class AheadList {
 public:
  /// What usually runs longer is not locked ahead.
  static constexpr Duration kShort = std::chrono::milliseconds(20);
  /// How long one waits here for a slot.
  static constexpr Duration kPatience = std::chrono::milliseconds(100);

  struct Item {
    store::LockedActivity locked{};
    LockToken token{};
    BootTime asked{};  ///< before the lock was asked for
    BootTime since{};
    std::optional<bodies::Activity> body{};  ///< where it is known: else it stands in the row
  };

  /// How long the code of one ran.
  void note(Duration ran) { usual_ = usual_ ? (*usual_ * 7 + ran) / 8 : ran; }
  /// How many to have beyond those that run in `slots`.
  [[nodiscard]] std::size_t room(std::size_t slots) const { return usual_ && *usual_ < kShort ? slots : 0; }

  void add(Item item) { items_.push_back(std::move(item)); }
  std::optional<Item> take() {
    if (items_.empty()) return std::nullopt;
    Item first = std::move(items_.front());
    items_.pop_front();
    return first;
  }
  /// False when it is not here.
  bool remove(const store::ActivityId& id, LockToken token) {
    return std::erase_if(items_,
                         [&](const Item& item) { return item.locked.id == id && item.token == token; }) > 0;
  }
  /// Those that have waited for too long: another worker may have a slot. What runs now is not short.
  std::vector<Item> take_late(BootTime now) {
    std::vector<Item> late;
    while (!items_.empty() && after(items_.front().since, kPatience) <= now) late.push_back(*take());
    if (!late.empty()) usual_ = kPatience;
    return late;
  }
  std::vector<Item> take_all() {
    std::vector<Item> all;
    while (!items_.empty()) all.push_back(*take());
    return all;
  }
  [[nodiscard]] BootTime next_due() const {
    return items_.empty() ? BootTime::max() : after(items_.front().since, kPatience);
  }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  std::deque<Item> items_;
  std::optional<Duration> usual_;
};

}  // namespace holdfast::runtime
