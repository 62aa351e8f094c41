// Hearing in a test: what was committed is heard, or the test says after some seconds that it was not.
#pragma once

#include "testkit/conformance/story.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace holdfast::testing::conformance {

/// Interrupts a wait that should have ended long ago.
class Watchdog {
 public:
  explicit Watchdog(Listener& ears)
      : thread_([this, &ears](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!done_.wait_for(lock, stop, 10s, [] { return false; }) && !stop.stop_requested()) {
            expired_ = true;
            ears.interrupt();
          }
        }) {}
  [[nodiscard]] bool expired() {
    const std::lock_guard lock(mutex_);
    return expired_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any done_;
  bool expired_ = false;
  std::jthread thread_;
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
