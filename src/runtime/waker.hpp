// Waker: how the parts of a worker tell its steps that there is something to do.
#pragma once

#include "runtime/steps.hpp"

#include <utility>

namespace holdfast::runtime {

/// Any thread. What it tells is heard also by a step that is just running: then it runs once more.
class Waker {
 public:
  /// What `poke` refers to outlives this.
  explicit Waker(Poke poke) : poke_(std::move(poke)) {}
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  /// The step has something to do. No mutex may be held: see Poke.
  void poke(Step step) const { poke_(step); }
  /// The keep step must run by then. Cheap when it will anyway.
  void keep_by(BootTime time) {
    if (keep_due_.bring_forward(time)) poke(Step::keep);
  }
  /// The same for the limits step.
  void limit_by(BootTime time) {
    if (limits_due_.bring_forward(time)) poke(Step::limits);
  }

  /// For those two steps themselves.
  [[nodiscard]] DueTime& keep_due() noexcept { return keep_due_; }
  [[nodiscard]] DueTime& limits_due() noexcept { return limits_due_; }

 private:
  const Poke poke_;
  DueTime keep_due_;
  DueTime limits_due_;
};

}  // namespace holdfast::runtime
