#include "runtime/thread_pool.hpp"

#include "base/mutex.hpp"

#include <chrono>
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

/// Shared with the threads, which may outlive the pool.
class ThreadPool::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(std::function<bool()> rest) : rest_(std::move(rest)) {}

  void post(std::function<void()> work, bool apart) {
    const MutexLock lock(mutex_);
    work_.push_back(std::move(work));
    if (apart || !is_here() || work_.size() > 1) call_one();
  }
  void ask_for_rest() {
    const MutexLock lock(mutex_);
    want_rest();
    if (!is_here() || here.in_rest) call_one();
  }
  [[nodiscard]] bool has_work() const {
    const MutexLock lock(mutex_);
    return !work_.empty();
  }
  [[nodiscard]] bool is_here() const noexcept { return here.pool == this; }
  std::size_t stop(Duration patience);

 private:
  [[nodiscard]] bool anything() const HOLDFAST_REQUIRES(mutex_) { return rest_wanted_ || !work_.empty(); }
  [[nodiscard]] bool rest_is_next() const HOLDFAST_REQUIRES(mutex_) {
    return rest_wanted_ && (work_.empty() || SteadyClock::now() - rest_asked_ > kRestWaits);
  }
  void want_rest() HOLDFAST_REQUIRES(mutex_) {
    if (stopping_ || std::exchange(rest_wanted_, true)) return;
    rest_asked_ = SteadyClock::now();
  }
  void call_one() HOLDFAST_REQUIRES(mutex_);
  void run();
  bool run_one() HOLDFAST_REQUIRES(mutex_);
  bool run_rest() const HOLDFAST_EXCLUDES(mutex_);

  const std::function<bool()> rest_;
  mutable Mutex mutex_;
  Condition changed_;
  Condition ended_;
  std::deque<std::function<void()>> work_ HOLDFAST_GUARDED_BY(mutex_);
  bool rest_wanted_ HOLDFAST_GUARDED_BY(mutex_) = false;
  SteadyClock::time_point rest_asked_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t threads_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  bool coming_ HOLDFAST_GUARDED_BY(mutex_) = false;  // a thread was woken or made, and has not looked yet
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

ThreadPool::ThreadPool(std::function<bool()> rest) : state_(std::make_shared<State>(std::move(rest))) {}
ThreadPool::~ThreadPool() { stop(Duration::zero()); }

bool ThreadPool::is_here() const noexcept { return state_->is_here(); }
bool ThreadPool::has_work() const { return state_->has_work(); }
// A thread of the pool will look itself in a moment: what it posts comes at the end of the rest, what it asks
// for at the end of work.
void ThreadPool::post(std::function<void()> work) { state_->post(std::move(work), false); }
void ThreadPool::post_apart(std::function<void()> work) { state_->post(std::move(work), true); }
void ThreadPool::ask_for_rest() { state_->ask_for_rest(); }
std::size_t ThreadPool::stop(Duration patience) { return state_->stop(patience); }

std::size_t ThreadPool::State::stop(Duration patience) {
  MutexLock lock(mutex_);
  stopping_ = true;
  rest_wanted_ = false;
  changed_.notify_all();
  ended_.wait_for(lock, patience, [this]() HOLDFAST_REQUIRES(mutex_) { return busy_ == 0 && work_.empty(); });
  // Idle ones end at once.
  ended_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return threads_ == busy_; });
  return busy_;
}

void ThreadPool::State::call_one() {
  if (std::exchange(coming_, true)) return;
  if (waiting_ > 0) {
    changed_.notify_one();
  } else {
    ++threads_;
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  }
}

void ThreadPool::State::run() {
  here.pool = this;
  MutexLock lock(mutex_);
  coming_ = false;
  while (run_one() || !stopping_) {
    if (stopping_ || anything()) continue;
    ++waiting_;
    changed_.wait(lock);
    --waiting_;
    coming_ = false;
  }
  --threads_;
  ended_.notify_all();
}

// False when there is nothing to do.
bool ThreadPool::State::run_one() {
  if (!anything()) return false;
  std::function<void()> work;
  if (rest_is_next()) {
    rest_wanted_ = false;
  } else {
    work = std::move(work_.front());
    work_.pop_front();
  }
  if (anything()) call_one();
  ++busy_;
  bool again = false;
  {
    const MutexUnlock unlocked(mutex_);
    if (work) {
      work();
      work = nullptr;  // what it holds may be the last to know somebody
    } else {
      again = run_rest();
    }
  }
  --busy_;
  if (again) want_rest();
  if (stopping_) ended_.notify_all();
  return true;
}

bool ThreadPool::State::run_rest() const {
  here.in_rest = true;
  const bool again = rest_();
  here.in_rest = false;
  return again;
}

}  // namespace holdfast::runtime
