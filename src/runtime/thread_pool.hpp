// ThreadPool: threads for blocking code, made when they are needed and reused.
#pragma once

#include "runtime/executor.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::runtime {

/// Makes a new thread only when no idle one is there. The caller bounds how much runs at once. What was
/// posted before the destructor is run; the destructor waits for it.
class ThreadPool final : public Executor {
 public:
  ThreadPool() = default;
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void post(std::function<void()> work) override;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::runtime
