// The operations of one execution that have no outcome yet.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/ids.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
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
    places_.push_back({state.id, &state});
    ++count_;
  }
  /// Null when it is not open.
  [[nodiscard]] detail::OpState* find(EventId id) const noexcept {
    const auto place = std::lower_bound(places_.begin(), places_.end(), id, before);
    return place == places_.end() || place->id != id ? nullptr : place->state;
  }
  /// No effect when it is not open.
  void remove(EventId id) noexcept {
    const auto place = std::lower_bound(places_.begin(), places_.end(), id, before);
    if (place == places_.end() || place->id != id || place->state == nullptr) return;
    place->state = nullptr;
    if (--count_ < places_.size() / 2 || count_ == 0) close_gaps();
  }

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
  static bool before(const Place& place, EventId id) noexcept { return place.id < id; }
  void close_gaps() noexcept {
    std::erase_if(places_, [](const Place& place) { return place.state == nullptr; });
  }

  std::vector<Place> places_;
  std::size_t count_ = 0;
};

}  // namespace holdfast::engine
