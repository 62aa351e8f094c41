// Watcher: who waits for instances, and looking at the store for them.
#pragma once

#include "base/mutex.hpp"
#include "client/callbacks.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace holdfast::client {

/// Why an instance was not seen as somebody wants it.
enum class NotSeen : std::uint8_t {
  time_is_up,
  gone,       ///< there is no instance of that key any more
  given_up,   ///< by the one who waited
  abandoned,  ///< nobody looks any more
};
using Seen = Result<store::InstanceView, NotSeen>;

/// Keeps a list of those who wait, and looks at instances for all of them at once. It has no thread: one that
/// blocks looks at what is new by itself; everything else is done by the Notifier, which is poked when there
/// is something for it. Thread-safe.
class Watcher {
 public:
  struct Waiter;
  using Enough = std::function<bool(const store::InstanceView&)>;
  using Done = std::function<void(Seen)>;

  /// `poke` wakes the notifier; it may be called by any thread, never under a mutex of the watcher.
  Watcher(std::shared_ptr<Store> store, std::function<void()> poke);

  /// Waits until `enough` is true of the instance, and returns it as it was then.
  Seen wait(InstanceKey key, Duration timeout, const Enough& enough);
  /// The same without a thread: the notifier calls `done`.
  std::weak_ptr<Waiter> wait_async(InstanceKey key, Duration timeout, Enough enough, Done done);
  /// Such a wait ends now, unless it has ended. Any thread.
  void give_up(const std::weak_ptr<Waiter>& wait);

  // ---- for the notifier

  /// Hears of watched instances from now on. Called once, before anybody waits.
  void hear(store::Listener& listener);
  [[nodiscard]] bool has_waiters() const;
  /// When it has to look again: the first wait whose time is up, or at once.
  [[nodiscard]] BootTime due() const;
  /// Looks at what is new, at what `wake` names, and at those whose time is up.
  void look(const store::Wake& wake, BootTime now);
  /// Looks at a part of all instances that are waited for, each time at the next: news may get lost.
  void look_around();
  /// Calls `done` of those whose wait has ended.
  void tell(const Callbacks& callbacks);
  /// Nobody looks any more: all waits end, and none can begin.
  void abandon();

 private:
  using Waiters = std::vector<std::shared_ptr<Waiter>>;
  struct Told {
    std::shared_ptr<Waiter> waiter{};
    Seen seen;
  };

  void add(const std::shared_ptr<Waiter>& waiter, BootTime deadline);
  /// False when it was taken off the list already.
  bool remove(const std::shared_ptr<Waiter>& waiter);
  void unlist(std::map<InstanceKey, Waiters>::iterator found) HOLDFAST_REQUIRES(mutex_);
  void look_at_new(Waiter& own);
  void look_at(std::span<const InstanceKey> keys);
  /// Of those who waited already when the look began: what it saw may be older than what later ones know.
  void take_satisfied(InstanceKey key, const std::optional<store::InstanceView>& view, std::uint64_t waited,
                      std::vector<Told>& satisfied) HOLDFAST_REQUIRES(mutex_);
  /// Wakes the threads among them; the notifier tells the others.
  void end(std::vector<Told> waits);
  void expire(BootTime now);
  [[nodiscard]] std::vector<InstanceKey> keys_to_look_at(const store::Wake& wake, BootTime now);

  const std::shared_ptr<Store> store_;
  const std::function<void()> poke_;
  mutable Mutex mutex_;
  store::Listener* listener_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
  std::map<InstanceKey, Waiters> waiters_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t last_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // number of the last one that came
  std::multimap<BootTime, std::shared_ptr<Waiter>> deadlines_
      HOLDFAST_GUARDED_BY(mutex_);  // of those without a thread
  std::vector<InstanceKey> new_
      HOLDFAST_GUARDED_BY(mutex_);                       // of waiters that came, and nobody has looked since
  std::vector<Told> told_ HOLDFAST_GUARDED_BY(mutex_);   // by the notifier, next
  InstanceKey looked_at_ HOLDFAST_GUARDED_BY(mutex_){};  // the last one of those that nothing was heard of
  bool looking_ HOLDFAST_GUARDED_BY(mutex_) = false;     // a thread that waits looks at new ones
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::client
