#include "runtime/thread_pool.hpp"

#include "base/mutex.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <utility>

namespace holdfast::runtime {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// The rest waits for work that others want to begin, but no longer than half of what it takes itself, within
// these bounds.
constexpr Duration kRestWaitsAtLeast = 300us;
constexpr Duration kRestWaitsAtMost = 5ms;
// Brief work waits no longer than about twice this for a thread that is busy with other brief work.
constexpr Duration kLooksEvery = 400us;
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

  enum class Kind : std::uint8_t { brief, ordinary, apart };
  void post(std::function<void()> work, Kind kind) {
    const MutexLock lock(mutex_);
    work_.push_back({std::move(work), SteadyClock::now(), kind == Kind::brief});
    const bool comes_back = is_here() && kind != Kind::apart;
    if (comes_back && work_.size() == 1) return;
    if (kind == Kind::brief && (comes_back || brief_ > 0)) {
      look_now_and_then();
    } else {
      call_one();
    }
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
    return rest_wanted_ && (work_.empty() || SteadyClock::now() - rest_asked_ > rest_waits());
  }
  [[nodiscard]] Duration rest_waits() const HOLDFAST_REQUIRES(mutex_) {
    return std::clamp(rest_takes_ / 2, kRestWaitsAtLeast, kRestWaitsAtMost);
  }
  void want_rest() HOLDFAST_REQUIRES(mutex_) {
    if (stopping_ || std::exchange(rest_wanted_, true)) return;
    rest_asked_ = SteadyClock::now();
  }
  /// Whether something has waited for so long that whoever was to begin it has not come.
  [[nodiscard]] bool anything_late() const HOLDFAST_REQUIRES(mutex_) {
    const auto late = SteadyClock::now() - kLooksEvery;
    return (!work_.empty() && work_.front().posted < late) || (rest_wanted_ && rest_asked_ < late);
  }
  void call_one() HOLDFAST_REQUIRES(mutex_);
  void look_now_and_then() HOLDFAST_REQUIRES(mutex_);
  void run();
  bool run_one() HOLDFAST_REQUIRES(mutex_);
  void leave_rest_to_others(bool is_brief) HOLDFAST_REQUIRES(mutex_);
  void wait_to_be_called(MutexLock& lock) HOLDFAST_REQUIRES(mutex_);
  bool run_rest() HOLDFAST_EXCLUDES(mutex_);

  const std::function<bool()> rest_;
  mutable Mutex mutex_;
  Condition changed_;
  Condition ended_;
  struct Work {
    std::function<void()> run{};
    SteadyClock::time_point posted{};
    bool is_brief = false;
  };
  std::deque<Work> work_ HOLDFAST_GUARDED_BY(mutex_);
  bool rest_wanted_ HOLDFAST_GUARDED_BY(mutex_) = false;
  SteadyClock::time_point rest_asked_ HOLDFAST_GUARDED_BY(mutex_){};
  Duration rest_takes_ HOLDFAST_GUARDED_BY(mutex_){};  // lately
  std::size_t threads_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::size_t brief_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // of the busy ones, with brief work
  bool coming_ HOLDFAST_GUARDED_BY(mutex_) = false;    // a thread was woken or made, and has not looked yet
  int looks_left_ HOLDFAST_GUARDED_BY(mutex_) = 0;     // one of the waiting threads looks now and then
  bool looking_ HOLDFAST_GUARDED_BY(mutex_) = false;   // and does
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

ThreadPool::ThreadPool(std::function<bool()> rest) : state_(std::make_shared<State>(std::move(rest))) {}
ThreadPool::~ThreadPool() { stop(Duration::zero()); }

bool ThreadPool::is_here() const noexcept { return state_->is_here(); }
bool ThreadPool::has_work() const { return state_->has_work(); }
// A thread of the pool will look itself in a moment: what it posts comes at the end of the rest, what it asks
// for at the end of work.
void ThreadPool::post(std::function<void()> work) { state_->post(std::move(work), State::Kind::ordinary); }
void ThreadPool::post_brief(std::function<void()> work) { state_->post(std::move(work), State::Kind::brief); }
void ThreadPool::post_apart(std::function<void()> work) { state_->post(std::move(work), State::Kind::apart); }
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

void ThreadPool::State::look_now_and_then() {
  looks_left_ = kLooksAfterwards;
  if (!looking_) call_one();  // it begins what is there, or looks
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
      changed_.wait_for(lock, kLooksEvery);
      looking_ = false;
    } else {
      changed_.wait(lock);
    }
    --waiting_;
    if (!looks) continue;
    if (anything_late()) {
      coming_ = false;  // whoever is called comes as well, or it is this thread that was
      return;
    }
    if (!anything()) --looks_left_;
  }
}

// False when there is nothing to do.
bool ThreadPool::State::run_one() {
  if (!anything()) return false;
  Work work;
  if (rest_is_next()) {
    rest_wanted_ = false;
  } else {
    work = std::move(work_.front());
    work_.pop_front();
  }
  const bool is_brief = work.is_brief;
  leave_rest_to_others(is_brief);
  ++busy_;
  if (is_brief) ++brief_;
  bool again = false;
  {
    const MutexUnlock unlocked(mutex_);
    if (work.run) {
      work.run();
      work.run = nullptr;  // what it holds may be the last to know somebody
    } else {
      again = run_rest();
    }
  }
  --busy_;
  if (is_brief) --brief_;
  if (again) want_rest();
  if (stopping_) ended_.notify_all();
  return true;
}

// This thread is about to run one piece; what is still there is begun by others, unless that and all of this
// is brief.
void ThreadPool::State::leave_rest_to_others(bool is_brief) {
  if (!anything()) return;
  const bool all_brief = is_brief && (work_.empty() || work_.front().is_brief);
  if (all_brief && !anything_late()) {
    look_now_and_then();
  } else {
    call_one();
  }
}

bool ThreadPool::State::run_rest() {
  const auto begun = SteadyClock::now();
  here.in_rest = true;
  const bool again = rest_();
  here.in_rest = false;
  const auto took = std::chrono::duration_cast<Duration>(SteadyClock::now() - begun);
  const MutexLock lock(mutex_);
  rest_takes_ += (took - rest_takes_) / 8;
  return again;
}

}  // namespace holdfast::runtime
