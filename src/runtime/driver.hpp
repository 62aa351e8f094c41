// Driver: the threads of a runtime. Each runs one step whenever it is poked or due, and sleeps otherwise.
// Threads that have something for a step to do may run it themselves instead.
#pragma once

#include "base/mutex.hpp"
#include "runtime/schedule.hpp"
#include "runtime/steps.hpp"
#include "runtime/thread_pool.hpp"
#include "runtime/worker.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::runtime {

/// Carries out what the schedules of the steps decide. Made before its worker, which pokes it; started once
/// the worker has joined. Its threads keep both alive: one that is stuck in code of the user may outlive the
/// runtime.
class Driver : public std::enable_shared_from_this<Driver> {
 public:
  /// Turns run in `turn_threads` at once; up to `max_stuck` threads that are stuck in them are replaced.
  Driver(const Clock& clock, std::size_t turn_threads, std::size_t max_stuck);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() = default;

  /// Before anything is poked that its worker has to do.
  void drives(const std::shared_ptr<Worker>& worker) { worker_ = worker; }
  void start();
  /// The step has something to do. The calling thread may be one of `pool`, and then do it itself.
  void poke(Step step, ThreadPool& pool);
  /// A poke for turns, and a call of that step in this thread: see runtime::help().
  bool help_with_turns();
  /// Ends all threads; to be called once, after start(). Steps that run are finished, those that others help
  /// with included. Only turns that were given up are not waited for: their threads end when their code does.
  /// Returns how many.
  std::size_t stop();

 private:
  struct Signal {
    Mutex mutex{};
    Condition changed{};
    StepSchedule schedule HOLDFAST_GUARDED_BY(mutex){};
  };
  struct Thread {
    Step step{};
    std::shared_ptr<std::atomic<std::uint64_t>> run{};  ///< in which it is, if any
    std::thread thread{};
  };

  class Hands;

  Signal& signal_of(Step step) { return signals_[static_cast<std::size_t>(step)]; }
  void make_thread(Step step);
  void drive(Worker& worker, Step step, std::atomic<std::uint64_t>& in_run);
  void end_step(Step step);
  std::optional<RunId> wait_to_begin(Signal& signal);
  StepSchedule schedule_of(Step step);
  void listen_as(Worker& worker);
  void listen(Worker& worker);

  const Clock& clock_;
  const std::size_t turn_threads_;
  std::weak_ptr<Worker> worker_;
  std::array<Signal, kSteps> signals_;
  std::atomic<bool> stopping_{false};  // the listener
  // Against stop(): the thread that listens is the only one that makes it another.
  Mutex listener_mutex_;
  std::unique_ptr<store::Listener> listener_;
  WorkerKey listening_for_{};
  std::thread listening_;
  Mutex threads_mutex_;
  std::vector<Thread> threads_ HOLDFAST_GUARDED_BY(threads_mutex_);
};

}  // namespace holdfast::runtime
