// TreeWalk: an instance's children, their children, and so on, depth first.
#pragma once

#include "client/core.hpp"

#include <holdfast/run_tree.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace holdfast::client {

/// It goes on from a position: from a root alone, or from where another walk was. It holds no more than a few
/// children of each on the way.
class TreeWalk {
 public:
  TreeWalk(detail::ClientCore& core, const TreePosition& position);

  struct Found {
    store::InstanceView view{};
    std::size_t depth = 0;
  };
  std::optional<Found> next();
  /// Of what next() gave last.
  [[nodiscard]] TreePosition position() const;

 private:
  struct Level {
    InstanceKey key{};
    InstanceKey after{};  ///< its last child that was given
    std::deque<store::InstanceView> children{};
    bool is_done = false;  ///< there are no more than these
  };
  std::optional<store::InstanceView> next_child();

  detail::ClientCore& core_;
  std::vector<Level> way_;
};

}  // namespace holdfast::client
