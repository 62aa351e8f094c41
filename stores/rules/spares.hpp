// Spares: nodes of a map or set whose content has left, kept for what comes next. Rows come and go with every
// call: without them, most of the time of a call would go to the allocator.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast::rules {

/// Holds a bounded number of nodes. What is in them is of no meaning, and must be small.
template <class Node>
class Spares {
 public:
  /// Empty when there is none.
  Node take() {
    if (nodes_.empty()) return {};
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    return node;
  }
  void keep(Node&& node) {
    if (nodes_.size() < kMost) nodes_.push_back(std::move(node));
  }
  [[nodiscard]] bool has_room() const { return nodes_.size() < kMost; }

 private:
  static constexpr std::size_t kMost = 1024;
  std::vector<Node> nodes_{};
};

}  // namespace holdfast::rules
