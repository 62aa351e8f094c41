// TurnWatch: which turns run now, for how long they have, and which of them are given up.
#pragma once

#include "base/mutex.hpp"
#include "runtime/turn_batch.hpp"

#include <holdfast/clock.hpp>

#include <memory>
#include <vector>

namespace holdfast::runtime {

/// Code of orchestrations can't be interrupted. What doesn't come back is given up: its thread is left to it,
/// and everything else that the thread had in hand goes to others. Any thread.
class TurnWatch {
 public:
  /// Code of the batch's current turn runs, until came_back(). It has taken too long at `until`.
  class Running {
   public:
    Running(TurnWatch& watch, TurnBatch& batch, BootTime until);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// False when it was given up: then the batch is another's.
    [[nodiscard]] bool came_back();

   private:
    friend class TurnWatch;

    TurnWatch& watch_;
    TurnBatch& batch_;
    const BootTime until_;
  };

  /// Those that have taken too long: the caller owns them now, see TurnBatch.
  std::vector<std::shared_ptr<TurnBatch>> give_up_overdue(BootTime now);
  /// When the next one will have.
  [[nodiscard]] BootTime next_due() const;

 private:
  mutable Mutex mutex_;
  // One for each thread that runs turns, until it comes back or is given up.
  std::vector<Running*> running_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
