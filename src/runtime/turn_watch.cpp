#include "runtime/turn_watch.hpp"

#include <algorithm>

namespace holdfast::runtime {

TurnWatch::Running::Running(TurnWatch& watch, std::string_view instance, std::string_view orchestration,
                            BootTime until)
    : watch_(watch), instance_(instance), orchestration_(orchestration), until_(until) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.running_.push_back(this);
}

TurnWatch::Running::~Running() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.running_, this);
}

std::vector<TurnWatch::Overdue> TurnWatch::take_overdue(BootTime now) {
  const std::lock_guard lock(mutex_);
  std::vector<Overdue> overdue;
  for (Running* turn : running_) {
    if (turn->until_ > now) continue;
    overdue.push_back({std::string(turn->instance_), std::string(turn->orchestration_)});
    turn->until_ = BootTime::max();
  }
  return overdue;
}

BootTime TurnWatch::next_due() const {
  const std::lock_guard lock(mutex_);
  BootTime due = BootTime::max();
  for (const Running* turn : running_) due = std::min(due, turn->until_);
  return due;
}

}  // namespace holdfast::runtime
