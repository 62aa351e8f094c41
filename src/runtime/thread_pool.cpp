#include "runtime/thread_pool.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>
#include <utility>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// The rest waits no longer than this for work that others want to begin.
constexpr auto kRestWaits = 300us;

// What the calling thread is.
struct Here {
  const void* pool = nullptr;
  bool in_rest = false;
};
thread_local Here here;

}  // namespace

/// Shared with the threads, which may outlive the pool. All but `rest` is for those who hold the mutex.
struct ThreadPool::State {
  const std::function<bool()> rest;
  std::mutex mutex{};
  std::condition_variable changed{};
  std::condition_variable ended{};
  std::deque<std::function<void()>> work{};
  bool rest_wanted = false;
  SteadyClock::time_point rest_asked{};
  std::size_t threads = 0;
  std::size_t waiting = 0;
  std::size_t busy = 0;
  bool coming = false;  ///< a thread was woken or made, and has not looked yet
  bool stopping = false;

  [[nodiscard]] bool anything() const { return rest_wanted || !work.empty(); }
  [[nodiscard]] bool rest_is_next() const {
    return rest_wanted && (work.empty() || SteadyClock::now() - rest_asked > kRestWaits);
  }
  void want_rest() {
    if (stopping || std::exchange(rest_wanted, true)) return;
    rest_asked = SteadyClock::now();
  }
};

ThreadPool::ThreadPool(std::function<bool()> rest) : state_(new State{.rest = std::move(rest)}) {}
ThreadPool::~ThreadPool() { stop(Duration::zero()); }

bool ThreadPool::is_here() const noexcept { return here.pool == state_.get(); }

bool ThreadPool::has_work() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->work.empty();
}

// A thread of the pool will look itself in a moment: what it posts comes at the end of the rest, what it asks
// for at the end of work.
void ThreadPool::post(std::function<void()> work) {
  const std::lock_guard lock(state_->mutex);
  state_->work.push_back(std::move(work));
  if (!is_here() || state_->work.size() > 1) call_one(state_);
}

void ThreadPool::post_apart(std::function<void()> work) {
  const std::lock_guard lock(state_->mutex);
  state_->work.push_back(std::move(work));
  call_one(state_);
}

void ThreadPool::ask_for_rest() {
  const std::lock_guard lock(state_->mutex);
  state_->want_rest();
  if (!is_here() || here.in_rest) call_one(state_);
}

std::size_t ThreadPool::stop(Duration patience) {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->rest_wanted = false;
  state_->changed.notify_all();
  state_->ended.wait_for(lock, patience, [this] { return state_->busy == 0 && state_->work.empty(); });
  state_->ended.wait(lock, [this] { return state_->threads == state_->busy; });  // idle ones end at once
  return state_->busy;
}

// With the mutex held.
void ThreadPool::call_one(const std::shared_ptr<State>& state) {
  if (std::exchange(state->coming, true)) return;
  if (state->waiting > 0) {
    state->changed.notify_one();
  } else {
    ++state->threads;
    std::thread([state] { run(state); }).detach();
  }
}

void ThreadPool::run(const std::shared_ptr<State>& state) {
  here.pool = state.get();
  std::unique_lock lock(state->mutex);
  state->coming = false;
  while (run_one(state, lock) || !state->stopping) {
    if (state->stopping || state->anything()) continue;
    ++state->waiting;
    state->changed.wait(lock);
    --state->waiting;
    state->coming = false;
  }
  --state->threads;
  state->ended.notify_all();
}

// False when there is nothing to do.
bool ThreadPool::run_one(const std::shared_ptr<State>& state, std::unique_lock<std::mutex>& lock) {
  if (!state->anything()) return false;
  std::function<void()> work;
  const bool rest = state->rest_is_next();
  if (rest) {
    state->rest_wanted = false;
  } else {
    work = std::move(state->work.front());
    state->work.pop_front();
  }
  if (state->anything()) call_one(state);
  ++state->busy;
  lock.unlock();
  bool again = false;
  if (rest) {
    here.in_rest = true;
    again = state->rest();
    here.in_rest = false;
  } else {
    work();
    work = nullptr;  // what it holds may be the last to know somebody: not under the lock
  }
  lock.lock();
  --state->busy;
  if (again) state->want_rest();
  if (state->stopping) state->ended.notify_all();
  return true;
}

}  // namespace holdfast::runtime
