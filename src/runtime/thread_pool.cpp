#include "runtime/thread_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace holdfast::runtime {

/// Shared with the threads, which may outlive the pool.
struct ThreadPool::State {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::condition_variable ended{};
  std::deque<std::function<void()>> work{};
  std::size_t idle = 0;
  std::size_t threads = 0;
  bool stopping = false;
};

ThreadPool::ThreadPool() : state_(std::make_shared<State>()) {}
ThreadPool::~ThreadPool() { stop(Duration::zero()); }

void ThreadPool::post(std::function<void()> work) {
  const std::lock_guard lock(state_->mutex);
  state_->work.push_back(std::move(work));
  if (state_->idle >= state_->work.size()) {
    state_->changed.notify_one();
  } else {
    ++state_->threads;
    std::thread([state = state_] { run(state); }).detach();
  }
}

std::size_t ThreadPool::stop(Duration patience) {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->ended.wait_for(lock, patience,
                         [this] { return state_->threads == state_->idle && state_->work.empty(); });
  if (state_->threads == state_->idle) {
    state_->ended.wait(lock, [this] { return state_->threads == 0; });  // idle ones end at once
  }
  return state_->threads;
}

void ThreadPool::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    if (state->stopping) state->ended.notify_all();
    state->changed.wait(lock, [&] { return state->stopping || !state->work.empty(); });
    --state->idle;
    if (state->work.empty()) {
      ++state->idle;  // until it is gone
      break;
    }
    std::function<void()> work = std::move(state->work.front());
    state->work.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds may be the last to know somebody: not under the lock
    lock.lock();
  }
  --state->idle;
  --state->threads;
  state->ended.notify_all();
}

}  // namespace holdfast::runtime
