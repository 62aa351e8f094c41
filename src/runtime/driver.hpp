// Driver: the threads of a runtime. Each runs one step whenever it is poked or due, and sleeps otherwise.
// Threads that have something for a step to do may run it themselves instead.
#pragma once

#include "base/mutex.hpp"
#include "runtime/node.hpp"
#include "runtime/steps.hpp"
#include "runtime/stuck_threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::runtime {

/// Made before its node, which pokes it; started once the node has joined. Its threads keep both alive: one
/// that is stuck in code of the user may outlive the runtime.
class Driver : public std::enable_shared_from_this<Driver> {
 public:
  /// Up to `max_stuck` threads that are stuck in turns are replaced.
  Driver(const Clock& clock, std::size_t max_stuck) : clock_(clock), max_stuck_(max_stuck) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver() = default;

  void poke(Step step);
  void start(const std::shared_ptr<Node>& node, std::size_t turn_threads);
  /// A poke for `step`, and a call of it in this thread, unless it runs in as many as it may. True when there
  /// is more to do, and nobody but the caller knows it.
  bool help(Node& node, Step step);
  /// Ends all threads; to be called once, after start(). Steps that run are finished, those that others help
  /// with included. Only turns that were given up are not waited for: their threads end when their code does.
  /// Returns how many.
  std::size_t stop();

 private:
  struct Signal {
    Mutex mutex{};
    Condition changed{};
    bool poked HOLDFAST_GUARDED_BY(mutex) = false;       ///< and nobody has begun since
    BootTime due HOLDFAST_GUARDED_BY(mutex) = kLongAgo;  ///< nobody needs to begin before, unless poked
    std::size_t running HOLDFAST_GUARDED_BY(mutex) = 0;
    std::size_t allowed HOLDFAST_GUARDED_BY(mutex) = 1;  ///< to run at once, besides those that are stuck
    StuckThreads stuck HOLDFAST_GUARDED_BY(mutex){};     ///< of those that run
    bool ended HOLDFAST_GUARDED_BY(mutex) = false;       ///< nobody begins any more
  };

  Signal& signal_of(Step step) { return signals_[static_cast<std::size_t>(step)]; }
  void make_thread(const std::shared_ptr<Node>& node, Step step);
  void drive(const std::shared_ptr<Node>& node, Step step);
  void replace(const std::shared_ptr<Node>& node, const std::vector<std::thread::id>& stuck);
  bool is_own(std::thread::id id);
  void end_step(Step step);
  bool wait_to_begin(Signal& signal);
  bool begin(Signal& signal) HOLDFAST_REQUIRES(signal.mutex);
  [[nodiscard]] bool full(const Signal& signal) const HOLDFAST_REQUIRES(signal.mutex) {
    return signal.running - std::min(signal.stuck.size(), max_stuck_) >= signal.allowed;
  }
  [[nodiscard]] bool wanted(const Signal& signal) const HOLDFAST_REQUIRES(signal.mutex) {
    return signal.poked || signal.due <= clock_.boot_now();
  }
  void end(Signal& signal, const Progress& progress);
  void listen_as(Node& node);
  void listen(Node& node);

  const Clock& clock_;
  const std::size_t max_stuck_;
  std::array<Signal, kSteps> signals_;
  std::atomic<bool> stopping_{false};  // the listener
  Mutex listener_mutex_;               // against stop(); only the thread that listens uses another
  std::unique_ptr<store::Listener> listener_;
  WorkerKey listening_for_{};
  Mutex threads_mutex_;
  std::vector<std::thread> threads_ HOLDFAST_GUARDED_BY(threads_mutex_);
};

}  // namespace holdfast::runtime
