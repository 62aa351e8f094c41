#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// A flag that one thread sets and another waits for.
class Flag {
 public:
  void set() {
    const MutexLock lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool wait(Duration time) {
    MutexLock lock(mutex_);
    const std::jthread other([this] { set(); });  // not before the wait has begun
    return changed_.wait_for(lock, time, [this]() HOLDFAST_REQUIRES(mutex_) { return set_; });
  }
  bool is_never_set(Duration time) {
    MutexLock lock(mutex_);
    return !changed_.wait_for(lock, time, [this]() HOLDFAST_REQUIRES(mutex_) { return set_; });
  }
  bool is_free() {
    if (!mutex_.try_lock()) return false;
    const MutexLock lock(mutex_, std::adopt_lock);
    return true;
  }
  bool others_may_set_it_while_it_is_unlocked() {
    const MutexLock lock(mutex_);
    {
      const MutexUnlock unlocked(mutex_);
      set();
    }
    return set_;
  }
  bool is_free_once_it_was_unlocked() {
    MutexLock lock(mutex_);
    lock.unlock();
    const bool free = is_free();
    lock.lock();
    return free && !set_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool set_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

TEST(Mutex, CenturiesAreNotOverAtOnce) {
  for (const Duration time : {Duration(24h * 365 * 400), never}) EXPECT_TRUE(Flag().wait(time));
}

TEST(Mutex, ATimeThatIsOverIsNotWaitedFor) {
  EXPECT_TRUE(Flag().is_never_set(0s));
  EXPECT_TRUE(Flag().is_never_set(Duration::min()));
}

TEST(Mutex, ALockEndsWithItsScope) {
  Flag flag;
  flag.set();
  EXPECT_TRUE(flag.is_free());
  EXPECT_TRUE(flag.is_free());
}

TEST(Mutex, AnUnlockEndsWithItsScopeToo) {
  Flag flag;
  EXPECT_TRUE(flag.others_may_set_it_while_it_is_unlocked());
  EXPECT_TRUE(flag.is_free());
  EXPECT_TRUE(Flag().is_free_once_it_was_unlocked());
}

/// Waits until it is told to stop, or is done.
class Stoppable {
 public:
  bool wait(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    return changed_.wait(lock, stop, [this]() HOLDFAST_REQUIRES(mutex_) { return done_; });
  }
  void end() {
    const MutexLock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  StoppableCondition changed_;
  bool done_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

TEST(Mutex, WhoeverIsAskedToStopNoLongerWaits) {
  Stoppable stoppable;
  std::stop_source stop;
  const std::jthread other([&] { stop.request_stop(); });
  EXPECT_FALSE(stoppable.wait(stop.get_token()));
  stoppable.end();
  EXPECT_TRUE(stoppable.wait(stop.get_token()));
}

}  // namespace
}  // namespace holdfast
