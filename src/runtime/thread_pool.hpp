// ThreadPool: threads for blocking code, made when they are needed and reused.
#pragma once

#include "runtime/executor.hpp"

#include <holdfast/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace holdfast::runtime {

/// Makes a new thread only when no idle one is there. The caller bounds how much runs at once.
class ThreadPool final : public Executor {
 public:
  ThreadPool();
  /// stop() without patience.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void post(std::function<void()> work) override;

  /// Runs what was posted before, takes nothing more, and waits for it, but not for longer than `patience`:
  /// code can't be killed in C++. Threads that still run then are left to themselves, and end when their work
  /// does. Returns how many.
  std::size_t stop(Duration patience);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace holdfast::runtime
