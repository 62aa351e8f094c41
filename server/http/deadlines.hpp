// Deadlines: what becomes overdue next, of many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace holdfast::server::http {

/// One deadline for each owner. Setting, dropping and finding the next one take logarithmic time, so that
/// thousands of connections need one timer. One thread at a time.
template <class Owner, class Time>
class Deadlines {
 public:
  /// Instead of the one that it had.
  void set(Owner owner, Time time) {
    const auto [place, is_new] = places_.try_emplace(owner);
    if (!is_new) due_.erase(place->second);
    place->second = due_.emplace(time, owner);
  }
  void drop(Owner owner) {
    const auto place = places_.find(owner);
    if (place == places_.end()) return;
    due_.erase(place->second);
    places_.erase(place);
  }
  [[nodiscard]] std::optional<Time> next() const {
    return due_.empty() ? std::nullopt : std::optional<Time>(due_.begin()->first);
  }
  /// Takes out one that is due; nothing when none is.
  std::optional<Owner> take_due(Time now) {
    if (due_.empty() || due_.begin()->first > now) return std::nullopt;
    const Owner owner = due_.begin()->second;
    drop(owner);
    return owner;
  }
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

 private:
  std::multimap<Time, Owner> due_;
  std::unordered_map<Owner, typename std::multimap<Time, Owner>::iterator> places_;
};

}  // namespace holdfast::server::http
