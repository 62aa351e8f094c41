// The operations of one execution that have no outcome yet.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/ids.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::engine {

/// Finds operations by id and lists them in the order of the code. Ids only grow, so a new operation goes to
/// the end of a sorted vector; one that is removed leaves a gap, and gaps are closed when they are more than
/// half of it: thousands that complete one by one cost no more each than a few do. It owns nothing.
class OpenOperations {
 public:
  /// The id of `state` is higher than that of any before it.
  void add(detail::OpState& state) {
    assert(places_.empty() || places_.back().id < state.id);
    constexpr std::size_t kUsual = 8;
    if (places_.capacity() == 0) places_.reserve(kUsual);
    places_.push_back({state.id, &state});
    ++count_;
  }
  /// Null when it is not open.
  [[nodiscard]] detail::OpState* find(EventId id) const noexcept {
    const std::size_t index = index_of(id);
    return index == places_.size() ? nullptr : places_[index].state;
  }
  /// No effect when it is not open.
  void remove(EventId id) noexcept {
    const std::size_t index = index_of(id);
    if (index == places_.size() || places_[index].state == nullptr) return;
    places_[index].state = nullptr;
    --count_;
    if (count_ < places_.size() / 2 || count_ == 0) close_gaps();
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  [[nodiscard]] std::vector<detail::OpState*> list() const {
    std::vector<detail::OpState*> states;
    states.reserve(count_);
    for (const Place& place : places_) {
      if (place.state != nullptr) states.push_back(place.state);
    }
    return states;
  }

 private:
  struct Place {
    EventId id{};
    detail::OpState* state = nullptr;  // null: a gap
  };
  /// Of its place or gap; the number of places when it has none.
  [[nodiscard]] std::size_t index_of(EventId id) const noexcept {
    if (places_.empty() || id < places_.front().id) return places_.size();
    // No two ids are equal, so none is further from the first place than from its id. What was started in a
    // row is just there.
    const std::uint64_t distance = id.value - places_.front().id.value;
    const std::size_t last = std::min<std::uint64_t>(distance, places_.size() - 1);
    if (places_[last].id == id) return last;
    const auto end = places_.begin() + static_cast<std::ptrdiff_t>(last);
    const auto place = std::lower_bound(places_.begin(), end, id,
                                        [](const Place& p, EventId wanted) { return p.id < wanted; });
    return place == end || place->id != id ? places_.size()
                                           : static_cast<std::size_t>(place - places_.begin());
  }
  void close_gaps() noexcept {
    std::erase_if(places_, [](const Place& place) { return place.state == nullptr; });
    // An execution may wait for long after thousands of operations.
    if (places_.empty() && places_.capacity() > kKeptCapacity) std::vector<Place>().swap(places_);
  }
  static constexpr std::size_t kKeptCapacity = 64;

  std::vector<Place> places_;
  std::size_t count_ = 0;
};

}  // namespace holdfast::engine
