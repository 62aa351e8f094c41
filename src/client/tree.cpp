// A tree of instances in pages: depth first, with the way to where a page ended as the place to go on from.
#include "client/tree.hpp"

#include <holdfast/client.hpp>

#include <iterator>
#include <utility>

namespace holdfast {

namespace client {

namespace {

// Enough for most, and a page for the others.
constexpr std::size_t kChildrenAtOnce = 100;

}  // namespace

std::optional<TreeWalk::Found> TreeWalk::next() {
  while (!way_.empty()) {
    if (auto child = next_child()) {
      way_.push_back({.key = child->key});
      return Found{*std::move(child), way_.size() - 1};
    }
    way_.pop_back();
  }
  return std::nullopt;
}

std::optional<store::InstanceView> TreeWalk::next_child() {
  Level& level = way_.back();
  if (level.children.empty() && !level.is_done) {
    store::InstanceFilter children{.parent = level.key, .after = level.after, .limit = kChildrenAtOnce};
    store::InstancePage page = core_.call([&] { return core_.store().list(children); });
    level.is_done = !page.next;
    level.children.assign(std::make_move_iterator(page.instances.begin()),
                          std::make_move_iterator(page.instances.end()));
  }
  if (level.children.empty()) return std::nullopt;
  store::InstanceView child = std::move(level.children.front());
  level.children.pop_front();
  level.after = child.key;
  return child;
}

TreePosition TreeWalk::position() const {
  TreePosition position;
  for (const Level& level : way_) position.push_back(level.key);
  return position;
}

// Each on the way is the last child that was shown of the one before.
TreeWalk::TreeWalk(detail::ClientCore& core, const TreePosition& position) : core_(core) {
  for (std::size_t i = 0; i < position.size(); ++i) {
    Level level{.key = position[i]};
    if (i + 1 < position.size()) level.after = position[i + 1];
    way_.push_back(std::move(level));
  }
}

}  // namespace client

TreePage Client::tree(std::string_view id, const TreeOptions& options) const {
  detail::ClientCore::check_limit(options.limit);
  const store::InstanceView root = core_->find(id);
  std::vector<store::InstanceView> views;
  std::vector<std::size_t> depths;
  const bool begins = options.after.empty();
  if (!begins && options.after.front() != root.key) detail::refuse_as_gone(core_->store(), root.instance);
  if (begins) {
    views.push_back(root);
    depths.push_back(0);
  }
  client::TreeWalk walk(*core_, begins ? TreePosition{root.key} : options.after);
  TreePage page;
  TreePosition last = walk.position();
  while (auto found = walk.next()) {
    if (views.size() == options.limit) {
      page.next = std::move(last);
      break;
    }
    views.push_back(std::move(found->view));
    depths.push_back(found->depth);
    last = walk.position();
  }
  std::vector<RunInfo> infos = core_->to_infos(views);
  for (std::size_t i = 0; i < infos.size(); ++i) page.nodes.push_back({std::move(infos[i]), depths[i]});
  return page;
}

}  // namespace holdfast
