// Hearing in a test: what was committed is heard, or the test says after some seconds that it was not.
#pragma once

#include "base/mutex.hpp"
#include "testkit/conformance/story.hpp"

#include <thread>

namespace holdfast::testing::conformance {

/// Interrupts a wait that should have ended long ago.
class Watchdog {
 public:
  explicit Watchdog(Listener& ears) : thread_([this, &ears] { watch(ears); }) {}
  ~Watchdog() {
    const MutexLock lock(mutex_);
    called_off_ = true;
    changed_.notify_all();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  [[nodiscard]] bool expired() {
    const MutexLock lock(mutex_);
    return expired_;
  }

 private:
  void watch(Listener& ears) {
    MutexLock lock(mutex_);
    while (!changed_.wait_for(lock, 10s, [this]() HOLDFAST_REQUIRES(mutex_) { return called_off_; })) {
      expired_ = true;
      ears.interrupt();
    }
  }

  Mutex mutex_;
  Condition changed_;
  bool called_off_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool expired_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // the last: it is over before the others go
};

/// Waits until something of `work` is heard, and tells all that was; gives up after some seconds. The world's
/// clock stands still, so a wait may return at once with nothing, or go on for as long as it is let.
inline Wake hear(const World& world, Listener& ears, WorkMask work) {
  Watchdog watchdog(ears);
  Wake heard;
  while (!heard.work.has(work) && !watchdog.expired()) {
    Wake wake = ears.wait(world.clock().boot_now() + 1h);
    heard.work |= wake.work;
    heard.any_instance |= wake.any_instance;
    heard.instances.insert(heard.instances.end(), wake.instances.begin(), wake.instances.end());
  }
  return heard;
}
inline bool hears(const World& world, Listener& ears, WorkMask work) {
  return hear(world, ears, work).work.has(work);
}

}  // namespace holdfast::testing::conformance
