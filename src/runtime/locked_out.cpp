#include "runtime/locked_out.hpp"

#include <chrono>

namespace holdfast::runtime {

namespace {

// One that has not come back for so long has been committed by another worker.
constexpr Duration kForgotten = std::chrono::minutes(1);

}  // namespace

Duration LockedOut::pause(InstanceKey key, BootTime now) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const auto& item) { return now - item.second.last > kForgotten; });
  Entry& entry = entries_[key];
  entry.last = now;
  return entry.back_off.next(kLockedPause);
}

void LockedOut::committed(InstanceKey key) {
  const MutexLock lock(mutex_);
  if (!entries_.empty()) entries_.erase(key);
}

}  // namespace holdfast::runtime
