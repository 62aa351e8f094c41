// WakeBus: the half of waiting that happens inside one process. A store tells it what its commits have made
// possible, and those who listen in this process are woken.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/waiting.hpp>

#include <memory>
#include <vector>

namespace holdfast::store {

/// What a commit has made possible. kCancels and kWatched follow from the lists: they need not stand in
/// `work`, and mean nothing there.
struct News {
  WorkMask work{};
  std::vector<WorkerKey> cancelled{};    ///< workers whose running activities were taken away
  std::vector<InstanceKey> instances{};  ///< that have ended or changed their status
  bool any_worker = false;               ///< such workers may be others too, nobody knows which
  bool any_instance = false;             ///< likewise such instances

  [[nodiscard]] bool empty() const noexcept {
    return work.empty() && cancelled.empty() && instances.empty() && !any_worker && !any_instance;
  }
};

/// Any thread may call at any time. Listeners may outlive the bus, and hear nothing more then; the clock must
/// outlive them all.
class WakeBus {
 public:
  explicit WakeBus(const Clock& clock);
  ~WakeBus();
  WakeBus(const WakeBus&) = delete;
  WakeBus& operator=(const WakeBus&) = delete;

  /// Under a clock other than real_clock(), wait() never blocks: who moves that clock decides who waits, so
  /// it returns what is there.
  [[nodiscard]] std::unique_ptr<Listener> listen(WorkMask mask, WorkerKey worker);

  /// Call it after the commit: whoever is woken must find what woke it.
  void publish(const News& news);

 private:
  class Shared;
  class Ear;
  std::shared_ptr<Shared> shared_;
};

}  // namespace holdfast::store
