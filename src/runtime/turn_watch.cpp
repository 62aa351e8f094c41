#include "runtime/turn_watch.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

TurnWatch::Running::Running(TurnWatch& watch, Turn turn) : watch_(watch) {
  const std::lock_guard lock(watch_.mutex_);
  place_ = watch_.running_.insert(watch_.running_.end(), std::move(turn));
}

TurnWatch::Running::~Running() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.running_.erase(place_);
}

std::vector<TurnWatch::Turn> TurnWatch::take_overdue(BootTime now) {
  const std::lock_guard lock(mutex_);
  std::vector<Turn> overdue;
  for (Turn& turn : running_) {
    if (turn.until > now) continue;
    overdue.push_back(turn);
    turn.until = BootTime::max();
  }
  return overdue;
}

BootTime TurnWatch::next_due() const {
  const std::lock_guard lock(mutex_);
  BootTime due = BootTime::max();
  for (const Turn& turn : running_) due = std::min(due, turn.until);
  return due;
}

}  // namespace holdfast::runtime
