#include "runtime/turn_watch.hpp"

#include <algorithm>

namespace holdfast::runtime {

void TurnWatch::add(TurnBatch& batch, BootTime until) {
  const MutexLock lock(mutex_);
  watched_.push_back({&batch, until});
}

bool TurnWatch::remove(TurnBatch& batch) {
  const MutexLock lock(mutex_);
  return std::erase_if(watched_, [&](const Watched& one) { return one.batch == &batch; }) > 0;
}

template <class Meant>
std::vector<std::shared_ptr<TurnBatch>> TurnWatch::give_up(Meant meant) {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<TurnBatch>> given_up;
  std::erase_if(watched_, [&](const Watched& one) {
    if (!meant(one)) return false;
    given_up.push_back(one.batch->shared_from_this());
    return true;
  });
  return given_up;
}

std::vector<std::shared_ptr<TurnBatch>> TurnWatch::give_up_overdue(BootTime now) {
  return give_up([now](const Watched& one) { return one.until <= now; });
}

std::vector<std::shared_ptr<TurnBatch>> TurnWatch::give_up_elsewhere() {
  return give_up([](const Watched& one) { return one.batch->home != nullptr; });
}

BootTime TurnWatch::next_due() const {
  const MutexLock lock(mutex_);
  BootTime due = BootTime::max();
  for (const Watched& one : watched_) due = std::min(due, one.until);
  return due;
}

}  // namespace holdfast::runtime
