#include "runtime/turn_watch.hpp"

#include <algorithm>

namespace holdfast::runtime {

TurnWatch::Running::Running(TurnWatch& watch, TurnBatch& batch, BootTime until)
    : watch_(watch), batch_(batch), until_(until) {
  const MutexLock lock(watch_.mutex_);
  watch_.running_.push_back(this);
}

TurnWatch::Running::~Running() { static_cast<void>(came_back()); }

bool TurnWatch::Running::came_back() {
  const MutexLock lock(watch_.mutex_);
  return std::erase(watch_.running_, this) > 0;
}

std::vector<std::shared_ptr<TurnBatch>> TurnWatch::give_up_overdue(BootTime now) {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<TurnBatch>> overdue;
  std::erase_if(running_, [&](Running* turn) {
    if (turn->until_ > now) return false;
    overdue.push_back(turn->batch_.shared_from_this());
    return true;
  });
  return overdue;
}

BootTime TurnWatch::next_due() const {
  const MutexLock lock(mutex_);
  BootTime due = BootTime::max();
  for (const Running* turn : running_) due = std::min(due, turn->until_);
  return due;
}

}  // namespace holdfast::runtime
