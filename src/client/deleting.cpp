#include "client/deleting.hpp"

#include <holdfast/client.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast {

namespace client {

namespace {

bool is_gone(const StoreError& error) { return error.kind == StoreError::Kind::not_found; }

}  // namespace

std::vector<std::optional<std::string>> Deleting::awaited(std::span<const store::InstanceView> views) {
  std::vector<InstanceKey> parents;
  for (const store::InstanceView& view : views) {
    if (view.parent != InstanceKey{} && !has_ended(view.status)) parents.push_back(view.parent);
  }
  std::vector<std::optional<std::string>> reasons(views.size());
  if (parents.empty()) return reasons;
  const auto found = core_.call([&] { return core_.store().look(parents); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].parent == InstanceKey{} || has_ended(views[i].status)) continue;
    const std::optional<store::InstanceView>& parent = found[next++];
    if (!parent || has_ended(parent->status)) continue;
    reasons[i] = "instance '" + views[i].instance + "' is a child that '" + parent->instance +
                 "' waits for: terminate it, then delete it";
  }
  return reasons;
}

Slices::Answers Deleting::remove(std::span<const store::InstanceView> views) {
  const auto ask = [&](std::size_t first, std::size_t count) {
    std::vector<store::Deletion> deletions;
    for (const store::InstanceView& view : views.subspan(first, count))
      deletions.push_back({.instance = view.instance, .life = view.key, .force = options_.force});
    return core_.store().delete_instances(deletions);
  };
  return slices_.ask(views.size(), ask, is_gone);
}

// From the top down nobody may begin more children, from the bottom up nobody is left without a parent that
// leads to it: whatever interrupts this, the next call finds the rest.
void Deleting::remove_tree(const store::InstanceView& root) {
  std::vector<store::InstanceView> all;
  for (std::vector<store::InstanceView> level{root}; !level.empty();) {
    if (options_.force) {
      suspend(level);
    } else if (const auto open =
                   std::ranges::find_if(level, [](const auto& view) { return !has_ended(view.status); });
               open != level.end()) {
      throw ClientError(ClientError::Kind::conflict, "nothing was deleted: instance '" + open->instance +
                                                         "', which descends from '" + root.instance +
                                                         "', has not ended: end it first, or set force");
    }
    std::vector<store::InstanceView> children = children_of(level);
    std::ranges::move(level, std::back_inserter(all));
    level = std::move(children);
  }
  std::ranges::reverse(all);
  for (const StoreResult<void>& answer : remove(all)) {
    if (!answer && !is_gone(answer.error())) detail::refuse(answer.error());
  }
}

// Who has ended meanwhile, or is suspended already, begins no more children either.
void Deleting::suspend(std::span<const store::InstanceView> views) {
  std::vector<store::Suspension> wishes;
  for (const store::InstanceView& view : views) {
    if (!has_ended(view.status)) wishes.push_back(core_.suspension_of(view.instance, view.key, false));
  }
  const auto ask = [&](std::size_t first, std::size_t count) {
    Slices::Answers answers;
    for (const auto& answer : core_.store().set_suspended(std::span(wishes).subspan(first, count)))
      answers.push_back(answer ? StoreResult<void>() : Unexpected(answer.error()));
    return answers;
  };
  for (const StoreResult<void>& answer : slices_.ask(wishes.size(), ask, is_gone)) {
    const bool stands = !answer && answer.error().kind != StoreError::Kind::conflict &&
                        answer.error().kind != StoreError::Kind::gone && !is_gone(answer.error());
    if (stands) detail::refuse(answer.error());
  }
}

std::vector<store::InstanceView> Deleting::children_of(std::span<const store::InstanceView> parents) {
  std::vector<store::InstanceView> children;
  for (const store::InstanceView& parent : parents) {
    store::InstanceFilter filter{.parent = parent.key, .limit = 500};
    for (bool more = true; more;) {
      store::InstancePage page = core_.call([&] { return core_.store().list(filter); });
      more = page.next.has_value();
      filter.after = page.next.value_or(InstanceKey{});
      std::ranges::move(page.instances, std::back_inserter(children));
    }
  }
  return children;
}

}  // namespace client

void Client::delete_instance(std::string_view id, DeleteOptions options) const {
  const store::InstanceView view = core_->find(id);
  client::Deleting deleting(*core_, options);
  if (options.force) {
    if (const auto reason = deleting.awaited({&view, 1}).front())
      throw ClientError(ClientError::Kind::conflict, *reason);
  }
  if (options.cascade) return deleting.remove_tree(view);
  const StoreResult<void> answer = deleting.remove({&view, 1}).front();
  if (!answer) detail::refuse(answer.error());
}

}  // namespace holdfast
