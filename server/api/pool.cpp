#include "server/api/pool.hpp"

#include <utility>

namespace holdfast::server {

Pool::Pool(std::size_t threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Pool::~Pool() { stop(); }

bool Pool::post(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (stopped_ || waiting_.size() >= max_waiting_) return false;
  waiting_.push_back(std::move(work));
  more_.notify_one();
  return true;
}

void Pool::run() {
  for (;;) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      more_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

void Pool::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    more_.notify_all();
  }
  dropped.clear();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace holdfast::server
