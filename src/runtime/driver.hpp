// Driver: the threads of a runtime. Each runs one step whenever it is poked or due, and sleeps otherwise.
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
  /// Ends all threads. A step that runs is finished.
  void stop();

 private:
  struct Signal {
    std::mutex mutex{};
    std::condition_variable changed{};
    unsigned pokes = 0;  // that no thread has taken yet
  };

  void drive(Node& node, Step step);
  void listen_as(Node& node);
  void listen(Node& node);
  void sleep(Signal& signal, BootTime due);

  const Clock& clock_;
  std::array<Signal, kSteps> signals_;
  std::atomic<bool> stopping_{false};
  std::mutex listener_mutex_;  // against stop(); only the thread that listens uses another
  std::unique_ptr<store::Listener> listener_;
  WorkerKey listening_for_{};
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::runtime
