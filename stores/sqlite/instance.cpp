#include "instance.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {
namespace {

/// Those in somebody's hands, and those that are about to be with what they have to read.
bool is_worth_keeping(const Instance& instance) {
  if (instance.held) return !instance.held->lapsed;
  return instance.ready_at && instance.messages;
}

}  // namespace

void Instance::note_running(const RunningActivity& activity) {
  if (!running) return;
  running->insert(std::ranges::lower_bound(*running, activity.event, {}, &RunningActivity::event), activity);
}

void Instance::note_not_running(EventId event) {
  if (!running) return;
  std::erase_if(*running, [&](const RunningActivity& activity) { return activity.event == event; });
}

Instance* InstanceCache::find(InstanceKey key) {
  const auto found = instances_.find(key.value);
  if (found == instances_.end()) return nullptr;
  used_.push_back(key.value);
  return &found->second;
}

Instance& InstanceCache::put(Instance instance) {
  used_.push_back(instance.key.value);
  const std::uint64_t key = instance.key.value;
  return instances_.insert_or_assign(key, std::move(instance)).first->second;
}

void InstanceCache::tidy() {
  for (const std::uint64_t key : used_) {
    const auto found = instances_.find(key);
    if (found == instances_.end()) continue;
    if (instances_.size() > kMaxKept || !is_worth_keeping(found->second)) instances_.erase(found);
  }
  used_.clear();
}

}  // namespace holdfast::sqlite_store
