#include "kept.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace holdfast::postgres_store {

namespace {

constexpr std::size_t kMostMessages = 16;
constexpr std::size_t kMostBytes = 4096;

}  // namespace

bool Kept::is_small(const rules::Instance& instance) {
  if (instance.messages.size() > kMostMessages || instance.timers.size() > kMostMessages) return false;
  return std::ranges::all_of(instance.messages, [](const auto& entry) {
    const auto* const bytes = std::get_if<std::string>(&entry.second.body);
    return bytes == nullptr || bytes->size() <= kMostBytes;
  });
}

bool Kept::is_small(const rules::Activity& activity) {
  return activity.body.size() + activity.last_failure.size() + activity.progress.size() <= kMostBytes;
}

KeptInstance* Kept::find(InstanceKey key) {
  const auto found = instances_.find(key);
  return found == instances_.end() ? nullptr : &found->second;
}

KeptInstance Kept::take(InstanceKey key) {
  auto taken = instances_.extract(key);
  return std::move(taken.mapped());
}

void Kept::keep(InstanceKey key, KeptInstance instance) {
  if (instances_.size() >= kMost) instances_.clear();  // some may be nobody's any more
  instances_.insert_or_assign(key, std::move(instance));
}

}  // namespace holdfast::postgres_store
