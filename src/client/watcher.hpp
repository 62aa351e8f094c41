// Watcher: threads that wait for instances, and the one thread that asks the store for news of them.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
  struct Waiter {
    const std::function<bool(const store::InstanceView&)>& enough;
    std::optional<store::InstanceView> seen{};
    bool done = false;
    std::condition_variable changed{};
  };

  void add(InstanceKey key, Waiter& waiter);
  void remove(InstanceKey key, Waiter& waiter);
  void run();
  void look_at(std::vector<InstanceKey> keys);
  [[nodiscard]] std::vector<InstanceKey> all_keys();

  std::shared_ptr<Store> store_;
  std::unique_ptr<store::Listener> listener_;
  std::mutex mutex_;
  std::map<InstanceKey, std::vector<Waiter*>> waiters_;
  std::condition_variable has_waiters_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace holdfast::client
