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
  /// Code of the batch's current turn runs, or its executor has yet to begin with it. It has taken too long
  /// at `until`.
  void add(TurnBatch& batch, BootTime until);
  /// It has come back, or begins. False when it was given up: then the batch is another's.
  [[nodiscard]] bool remove(TurnBatch& batch);

  /// add() and remove().
  class Running {
   public:
    Running(TurnWatch& watch, TurnBatch& batch, BootTime until) : watch_(watch), batch_(batch) {
      watch_.add(batch_, until);
    }
    ~Running() { static_cast<void>(came_back()); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// False when it was given up: then the batch is another's.
    [[nodiscard]] bool came_back() { return watch_.remove(batch_); }

   private:
    TurnWatch& watch_;
    TurnBatch& batch_;
  };

  /// Those that have taken too long: the caller owns them now, see TurnBatch.
  std::vector<std::shared_ptr<TurnBatch>> give_up_overdue(BootTime now);
  /// All that executors have, whatever their time.
  std::vector<std::shared_ptr<TurnBatch>> give_up_elsewhere();
  /// When the next one will have taken too long.
  [[nodiscard]] BootTime next_due() const;

 private:
  struct Watched {
    TurnBatch* batch = nullptr;
    BootTime until{};
  };

  template <class Meant>
  std::vector<std::shared_ptr<TurnBatch>> give_up(Meant meant);

  mutable Mutex mutex_;
  // One for each thread that runs turns, and for each executor, until it comes back or is given up.
  std::vector<Watched> watched_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
