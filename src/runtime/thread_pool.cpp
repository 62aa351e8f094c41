#include "runtime/thread_pool.hpp"

#include "base/mutex.hpp"
#include "runtime/pool_schedule.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::runtime {

namespace {

using SteadyClock = std::chrono::steady_clock;
using Kind = PoolSchedule::Kind;
using From = PoolSchedule::From;

// Brief work comes in bursts: the thread that looks goes on for so many looks after the last of it.
constexpr int kLooksAfterwards = 25;

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

  void post(Work work, Kind kind) {
    const MutexLock lock(mutex_);
    carry_out(schedule_.post(std::move(work), kind, from(), SteadyClock::now()));
  }
  void ask_for_rest() {
    const MutexLock lock(mutex_);
    carry_out(schedule_.ask_for_rest(from(), SteadyClock::now()));
  }
  [[nodiscard]] bool has_work() const {
    const MutexLock lock(mutex_);
    return schedule_.has_work();
  }
  [[nodiscard]] bool is_here() const noexcept { return here.pool == this; }
  std::size_t stop(Duration patience);

 private:
  [[nodiscard]] From from() const noexcept {
    if (!is_here()) return From::outside;
    return here.in_rest ? From::rest : From::work;
  }
  void carry_out(PoolSchedule::Order order) HOLDFAST_REQUIRES(mutex_);
  void call_one() HOLDFAST_REQUIRES(mutex_);
  void run();
  bool run_one() HOLDFAST_REQUIRES(mutex_);
  void wait_to_be_called(MutexLock& lock) HOLDFAST_REQUIRES(mutex_);
  void run_rest() HOLDFAST_EXCLUDES(mutex_);

  const std::function<bool()> rest_;
  mutable Mutex mutex_;
  Condition changed_;
  Condition ended_;
  PoolSchedule schedule_ HOLDFAST_GUARDED_BY(mutex_){};
  std::size_t threads_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  bool coming_ HOLDFAST_GUARDED_BY(mutex_) = false;   // a thread was woken or made, and has not looked yet
  int looks_left_ HOLDFAST_GUARDED_BY(mutex_) = 0;    // one of the waiting threads looks now and then
  bool looking_ HOLDFAST_GUARDED_BY(mutex_) = false;  // and does
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

ThreadPool::ThreadPool(std::function<bool()> rest) : state_(std::make_shared<State>(std::move(rest))) {}
ThreadPool::~ThreadPool() { stop(Duration::zero()); }

bool ThreadPool::is_here() const noexcept { return state_->is_here(); }
bool ThreadPool::has_work() const { return state_->has_work(); }
// A thread of the pool will look itself in a moment: what it posts comes at the end of the rest, what it asks
// for at the end of work.
void ThreadPool::post(Work work) { state_->post(std::move(work), Kind::ordinary); }
void ThreadPool::post_brief(Work work) { state_->post(std::move(work), Kind::brief); }
void ThreadPool::post_apart(Work work) { state_->post(std::move(work), Kind::apart); }
void ThreadPool::ask_for_rest() { state_->ask_for_rest(); }
std::size_t ThreadPool::stop(Duration patience) { return state_->stop(patience); }

std::size_t ThreadPool::State::stop(Duration patience) {
  MutexLock lock(mutex_);
  stopping_ = true;
  schedule_.stop();
  changed_.notify_all();
  ended_.wait_for(lock, patience,
                  [this]() HOLDFAST_REQUIRES(mutex_) { return busy_ == 0 && !schedule_.has_work(); });
  // Idle ones end at once.
  ended_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return threads_ == busy_; });
  return busy_;
}

void ThreadPool::State::carry_out(PoolSchedule::Order order) {
  switch (order) {
    case PoolSchedule::Order::none:
      return;
    case PoolSchedule::Order::look:
      looks_left_ = kLooksAfterwards;
      if (looking_) return;
      break;  // whoever comes begins what is there, or looks
    case PoolSchedule::Order::call:
      break;
  }
  call_one();
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
  for (;;) {
    while (run_one()) {
    }
    if (stopping_) break;
    wait_to_be_called(lock);
  }
  --threads_;
  ended_.notify_all();
}

// Or until something is late, for the thread that looks.
void ThreadPool::State::wait_to_be_called(MutexLock& lock) {
  while (!std::exchange(coming_, false) && !stopping_) {
    ++waiting_;
    const bool looks = looks_left_ > 0 && !std::exchange(looking_, true);
    if (looks) {
      changed_.wait_for(lock, PoolSchedule::kLateAfter);
      looking_ = false;
    } else {
      changed_.wait(lock);
    }
    --waiting_;
    if (!looks) continue;
    if (schedule_.anything_late(SteadyClock::now())) {
      coming_ = false;  // whoever is called comes as well, or it is this thread that was
      return;
    }
    if (!schedule_.anything()) --looks_left_;
  }
}

// False when there is nothing to do.
bool ThreadPool::State::run_one() {
  if (!schedule_.anything()) return false;
  PoolSchedule::Piece piece = schedule_.begin(SteadyClock::now());
  carry_out(piece.others);
  ++busy_;
  {
    const MutexUnlock unlocked(mutex_);
    if (piece.work) {
      piece.work();
      piece.work.reset();  // what it holds may be the last to know somebody
    } else {
      run_rest();
    }
  }
  --busy_;
  schedule_.end_work(piece.is_brief);
  if (stopping_) ended_.notify_all();
  return true;
}

void ThreadPool::State::run_rest() {
  const auto begun = SteadyClock::now();
  here.in_rest = true;
  const bool again = rest_();
  here.in_rest = false;
  const auto ended = SteadyClock::now();
  const MutexLock lock(mutex_);
  schedule_.end_rest(std::chrono::duration_cast<Duration>(ended - begun), again, ended);
}

}  // namespace holdfast::runtime
