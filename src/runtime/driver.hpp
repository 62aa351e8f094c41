// Driver: the threads of a runtime. Each runs one step whenever it is poked or due, and sleeps otherwise.
// Threads that have something for a step to do may run it themselves instead.
#pragma once

#include "runtime/node.hpp"
#include "runtime/steps.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::runtime {

/// Made before its node, which pokes it; started once the node has joined.
class Driver {
 public:
  explicit Driver(const Clock& clock) : clock_(clock) {}
  /// stop()
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void poke(Step step);
  void start(Node& node, std::size_t turn_threads);
  /// A poke for `step`, and a call of it in this thread, unless it runs in as many as it may. True when there
  /// is more to do, and nobody but the caller knows it.
  bool help(Node& node, Step step);
  /// Ends all threads. Steps that run are finished, those that others help with included.
  void stop();

 private:
  struct Signal {
    std::mutex mutex{};
    std::condition_variable changed{};
    bool poked = false;  ///< and nobody has begun since
    BootTime due{};      ///< nobody needs to begin before, unless poked
    std::size_t running = 0;
    std::size_t allowed = 1;  ///< to run at once
  };

  Signal& signal_of(Step step) { return signals_[static_cast<std::size_t>(step)]; }
  void drive(Node& node, Step step);
  bool wait_to_begin(Signal& signal);
  bool begin(Signal& signal);
  [[nodiscard]] bool wanted(const Signal& signal) const {
    return signal.poked || signal.due <= clock_.boot_now();
  }
  void end(Signal& signal, Progress progress);
  void listen_as(Node& node);
  void listen(Node& node);

  const Clock& clock_;
  std::array<Signal, kSteps> signals_;
  std::atomic<bool> stopping_{false};
  std::mutex listener_mutex_;  // against stop(); only the thread that listens uses another
  std::unique_ptr<store::Listener> listener_;
  WorkerKey listening_for_{};
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::runtime
