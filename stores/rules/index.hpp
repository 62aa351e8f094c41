// Index: keys of rows in a Space, in an order that the rules go by: by time, by priority.
#pragma once

#include "spares.hpp"

#include <cstddef>
#include <set>
#include <utility>

namespace holdfast::rules {

/// An ordered set. Rows change their places with every call, so the memory of a key that leaves is kept for
/// the next one.
template <class Key>
class Index {
 public:
  using Set = std::set<Key>;
  using const_iterator = typename Set::const_iterator;

  [[nodiscard]] const_iterator begin() const { return keys_.begin(); }
  [[nodiscard]] const_iterator end() const { return keys_.end(); }
  [[nodiscard]] const_iterator lower_bound(const Key& key) const { return keys_.lower_bound(key); }
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

  /// Where it stands, and whether it is new.
  template <class... Parts>
  std::pair<const_iterator, bool> emplace(Parts&&... parts) {
    auto spare = spares_.take();
    if (spare.empty()) return keys_.emplace(std::forward<Parts>(parts)...);
    spare.value() = Key(std::forward<Parts>(parts)...);
    auto inserted = keys_.insert(std::move(spare));
    if (!inserted.inserted) spares_.keep(std::move(inserted.node));
    return {inserted.position, inserted.inserted};
  }
  /// False when it is not there.
  bool erase(const Key& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return false;
    spares_.keep(keys_.extract(found));
    return true;
  }

 private:
  Set keys_{};
  Spares<typename Set::node_type> spares_{};
};

}  // namespace holdfast::rules
