// RunTree: an instance with its children, their children, ..., in pages.
//
//   TreeOptions options;
//   for (bool more = true; more;) {
//     const TreePage page = client.tree("order-7", options);
//     for (const TreeNode& node : page.nodes) show(node.depth, node.info);
//     more = page.next.has_value();
//     if (more) options.after = *page.next;
//   }
#pragma once

#include <holdfast/ids.hpp>
#include <holdfast/run.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast {

/// A place in a tree of instances: the way from its root to the last one that was shown.
using TreePosition = std::vector<InstanceKey>;

struct TreeOptions {
  TreePosition after{};     ///< TreePage::next of the page before
  std::size_t limit = 100;  ///< of a page, above zero
};

struct TreeNode {
  RunInfo info{};
  std::size_t depth = 0;  ///< of the root: 0
};

/// Each parent stands before its children, which are in the order in which they were started, the newest
/// first.
struct TreePage {
  std::vector<TreeNode> nodes{};
  std::optional<TreePosition> next{};  ///< set if there is more
};

}  // namespace holdfast
