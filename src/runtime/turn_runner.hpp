// TurnRunner: runs code of orchestrations, and gives up what does not come back.
#pragma once

#include "base/moments.hpp"
#include "engine/turn.hpp"
#include "runtime/settings.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_watch.hpp"
#include "runtime/waker.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace holdfast::runtime {

/// Code has come back after it was given up. Its batch is another's by then: the thread touches nothing of
/// it.
struct GivenUp {};

/// The only part that calls code of orchestrations: in the thread that calls it, which is one of the batch's
/// executor if that has one. No mutex is held meanwhile. Several threads at once, each with a batch of its
/// own.
class TurnRunner {
 public:
  TurnRunner(const Settings& settings, Waker& waker) : settings_(settings), waker_(waker) {}

  /// Runs code of the batch's current turn: `code` returns what it returns. Throws GivenUp when it has come
  /// back too late.
  template <class Code>
  auto watched(TurnBatch& batch, Code code) {
    const BootTime until = limit();
    TurnWatch::Running running(watch_, batch, until);
    waker_.limit_by(until);
    try {
      auto result = code();
      if (running.came_back()) return result;
    } catch (...) {
      if (running.came_back()) throw;
    }
    throw GivenUp{};
  }
  /// The current turn of the batch, with the messages that were read for it.
  engine::Outcome run(TurnBatch& batch, CalendarTime now);

  /// The batch is about to be posted to its executor, which has as long to begin as a turn has to end.
  void send(TurnBatch& batch);
  /// It begins. False when it was given up, and is another's.
  [[nodiscard]] bool begin(TurnBatch& batch) { return watch_.remove(batch); }

  /// Batches whose code has taken too long: they are the caller's now, see TurnBatch.
  std::vector<std::shared_ptr<TurnBatch>> give_up_overdue();
  /// The same for all that executors have: for the end of a worker.
  std::vector<std::shared_ptr<TurnBatch>> give_up_elsewhere() { return watch_.give_up_elsewhere(); }
  /// When there may be one.
  [[nodiscard]] BootTime next_overdue() const { return watch_.next_due(); }
  /// Threads that were given up, and are still in their turns.
  [[nodiscard]] int stuck() const noexcept { return stuck_; }
  /// One of them has come back.
  void came_back() noexcept { --stuck_; }

 private:
  [[nodiscard]] BootTime limit() const { return after(settings_.now(), settings_.options.turn_time_limit); }

  const Settings& settings_;
  Waker& waker_;
  TurnWatch watch_;
  std::atomic<int> stuck_{0};
};

}  // namespace holdfast::runtime
