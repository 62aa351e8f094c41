// Mutex, MutexLock and Condition: those of the standard library in a form that clang checks. What a mutex
// guards says so, what needs it held says so, and -Wthread-safety refuses whatever does not keep to that.
// Other compilers see nothing of it.
#pragma once

#include <holdfast/options.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#if defined(__clang__)
#define HOLDFAST_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define HOLDFAST_THREAD_SAFETY(attribute)
#endif

/// On a member: it is read and written with that mutex held.
#define HOLDFAST_GUARDED_BY(...) HOLDFAST_THREAD_SAFETY(guarded_by(__VA_ARGS__))
/// On a function or a lambda: whoever calls it holds the mutex. The second: must not hold it.
#define HOLDFAST_REQUIRES(...) HOLDFAST_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define HOLDFAST_EXCLUDES(...) HOLDFAST_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// For the classes below.
#define HOLDFAST_ACQUIRE(...) HOLDFAST_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE(...) HOLDFAST_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define HOLDFAST_TRY_ACQUIRE(...) HOLDFAST_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define HOLDFAST_CAPABILITY(name) HOLDFAST_THREAD_SAFETY(capability(name))
#define HOLDFAST_SCOPED_CAPABILITY HOLDFAST_THREAD_SAFETY(scoped_lockable)
/// The body is not checked: it does what no annotation can say. Says why beside it.
#define HOLDFAST_UNCHECKED HOLDFAST_THREAD_SAFETY(no_thread_safety_analysis)

namespace holdfast {

/// A std::mutex whose holders are known to the compiler.
class HOLDFAST_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// What most of our mutexes guard takes well below a microsecond, and putting a thread to sleep and waking
  /// it takes many: so a thread that finds one locked tries again for about as long before it sleeps.
  void lock() HOLDFAST_ACQUIRE() {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      if (native_.try_lock()) return;
      pause();
    }
    native_.lock();
  }
  void unlock() HOLDFAST_RELEASE() { native_.unlock(); }
  [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) { return native_.try_lock(); }

 private:
  friend class Condition;
  friend class StoppableCondition;

  /// Tells the processor that this is a loop that waits for another thread.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::mutex native_;
};

/// Holds a mutex to the end of its scope. It may be unlocked and locked again in between.
class HOLDFAST_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HOLDFAST_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// Of a mutex that the caller holds already.
  MutexLock(Mutex& mutex, std::adopt_lock_t /*adopt*/) HOLDFAST_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() HOLDFAST_RELEASE() {
    if (holds_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() HOLDFAST_RELEASE() {
    holds_ = false;
    mutex_.unlock();
  }
  void lock() HOLDFAST_ACQUIRE() {
    mutex_.lock();
    holds_ = true;
  }

 private:
  friend class Condition;
  friend class StoppableCondition;
  Mutex& mutex_;
  bool holds_ = true;
};

/// The opposite: a mutex that is held is unlocked to the end of this scope, for code that must run without
/// it.
class HOLDFAST_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) HOLDFAST_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() HOLDFAST_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// Waits of the standard library add a duration to a clock that counts nanoseconds in 64 bits: what is longer
/// than 292 years overflows, and they return at once, again and again. Nobody is there to see the end of this
/// one.
inline constexpr Duration kLongestWait = std::chrono::hours(24 * 365 * 100);

[[nodiscard]] constexpr Duration that_can_be_waited(Duration time) noexcept {
  return std::clamp(time, Duration::zero(), kLongestWait);
}

/// A std::condition_variable. `done` is a lambda that says which mutex it needs:
/// `[this]() HOLDFAST_REQUIRES(mutex_) { return ready_; }`. Times are any, `never` included.
class Condition {
 public:
  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

  /// Until it is notified, or for no reason.
  void wait(MutexLock& lock) {
    Borrowed borrowed(lock);
    native_.wait(borrowed.native);
  }
  template <class Done>
  void wait(MutexLock& lock, Done done) {
    Borrowed borrowed(lock);
    native_.wait(borrowed.native, done);
  }
  void wait_for(MutexLock& lock, Duration time) {
    Borrowed borrowed(lock);
    native_.wait_for(borrowed.native, that_can_be_waited(time));
  }
  /// False when the time is over and it is not done.
  template <class Done>
  bool wait_for(MutexLock& lock, Duration time, Done done) {
    Borrowed borrowed(lock);
    return native_.wait_for(borrowed.native, that_can_be_waited(time), done);
  }

 private:
  friend class StoppableCondition;
  /// The lock in the form that the standard library takes; it goes back when the wait is over.
  struct Borrowed {
    explicit Borrowed(MutexLock& lock) : native(lock.mutex_.native_, std::adopt_lock) {}
    ~Borrowed() { native.release(); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    std::unique_lock<std::mutex> native;
  };

  std::condition_variable native_;
};

/// The same for whoever may also be asked to stop while it waits.
class StoppableCondition {
 public:
  void notify_all() noexcept { native_.notify_all(); }
  template <class Done>
  void wait(MutexLock& lock, Done done) {
    Condition::Borrowed borrowed(lock);
    native_.wait(borrowed.native, done);
  }
  /// False when it was asked to stop and is not done.
  template <class Done>
  bool wait(MutexLock& lock, const std::stop_token& stop, Done done) {
    Condition::Borrowed borrowed(lock);
    return native_.wait(borrowed.native, stop, done);
  }

 private:
  std::condition_variable_any native_;
};

}  // namespace holdfast
