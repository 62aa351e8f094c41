// LimitStep: ends what has taken too long, by the clock of this process alone. It asks the store nothing, so
// limits hold also while a call to the store hangs.
#pragma once

#include "runtime/desk.hpp"
#include "runtime/questions.hpp"
#include "runtime/turns.hpp"
#include "runtime/waker.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// One thread at a time.
class LimitStep {
 public:
  LimitStep(Waker& waker, ActivityDesk& desk, TurnStep& turns, Questions& questions)
      : waker_(waker), desk_(desk), turns_(turns), questions_(questions) {}

  Progress step() {
    waker_.limits_due().begin();
    desk_.enforce_limits();
    std::vector<RunId> stuck = turns_.give_up_overdue();
    std::vector<RunId> stuck_questions = questions_.give_up_overdue();
    const BootTime due = std::min({desk_.next_limit(), turns_.next_overdue(), questions_.next_overdue()});
    return {false, waker_.limits_due().end(due), std::move(stuck), std::move(stuck_questions)};
  }

 private:
  Waker& waker_;
  ActivityDesk& desk_;
  TurnStep& turns_;
  Questions& questions_;
};

}  // namespace holdfast::runtime
