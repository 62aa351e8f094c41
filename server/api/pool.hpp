// Pool: the threads that call the store, so that the loop never waits for it.
#pragma once

#include "base/mutex.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast::server {

/// Runs what is posted, in the order in which it came, in so many threads. Any thread.
class Pool {
 public:
  Pool(std::size_t threads, std::size_t max_waiting);
  /// stop()
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// False when too many wait already, or it has stopped: then it will not be run. What it throws ends the
  /// program.
  [[nodiscard]] bool post(std::function<void()> work);
  /// Drops what waits, and returns when what runs has ended.
  void stop();

 private:
  void run();

  const std::size_t max_waiting_;
  Mutex mutex_;
  Condition more_;
  std::deque<std::function<void()>> waiting_ HOLDFAST_GUARDED_BY(mutex_);
  bool stopped_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::server
