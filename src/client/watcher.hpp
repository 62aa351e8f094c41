// Watcher: threads that wait for instances, and the one thread that asks the store for news of them.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::client {

/// Thread-safe. Its thread begins with the first wait and ends with the watcher.
class Watcher {
 public:
  explicit Watcher(std::shared_ptr<Store> store);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Waits until `enough` is true of the instance and returns it as it was then; nothing when `timeout` has
  /// passed or the instance is gone. News is pushed; a store that is unavailable is asked again.
  std::optional<store::InstanceView> wait(InstanceKey key, Duration timeout,
                                          const std::function<bool(const store::InstanceView&)>& enough);

 private:
  /// One thread that waits. `enough` is used under the watcher's mutex while the waiter is listed; the rest
  /// is its own, so that whoever wakes it doesn't have to hold what it needs next.
  struct Waiter {
    const std::function<bool(const store::InstanceView&)>& enough;
    Mutex mutex{};
    Condition changed{};
    bool done HOLDFAST_GUARDED_BY(mutex) = false;
    std::optional<store::InstanceView> seen HOLDFAST_GUARDED_BY(mutex){};
  };
  using Waiters = std::vector<std::shared_ptr<Waiter>>;

  void add(InstanceKey key, const std::shared_ptr<Waiter>& waiter);
  void remove(InstanceKey key, const std::shared_ptr<Waiter>& waiter);
  void unlist(std::map<InstanceKey, Waiters>::iterator found) HOLDFAST_REQUIRES(mutex_);
  static bool wait(Waiter& waiter, Duration timeout);
  void run();
  bool wait_for_waiters();
  void look_at_new(Waiter& own);
  void look_at(const std::vector<InstanceKey>& keys);
  Waiters take_satisfied(InstanceKey key, const std::optional<store::InstanceView>& view)
      HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] std::vector<InstanceKey> all_keys();

  std::shared_ptr<Store> store_;
  std::unique_ptr<store::Listener> listener_;
  Mutex mutex_;
  std::map<InstanceKey, Waiters> waiters_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<InstanceKey> new_
      HOLDFAST_GUARDED_BY(mutex_);                    // of waiters that came, and nobody has looked since
  bool looking_ HOLDFAST_GUARDED_BY(mutex_) = false;  // a thread looks at new ones
  Condition has_waiters_;
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace holdfast::client
