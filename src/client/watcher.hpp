// Watcher: who waits for instances, and looking at the store for them.
#pragma once

#include "base/block_containers.hpp"
#include "base/mutex.hpp"
#include "client/callbacks.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
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
  /// The callback that follows. For what was seen, and for what is gone, it may ask the store.
  using Done = std::function<Callback(Seen)>;

  /// `poke_looks` wakes who looks, `poke_ends` who ends waits; they may be called by any thread, never under
  /// a mutex of the watcher.
  Watcher(std::shared_ptr<Store> store, std::function<void()> poke_looks, std::function<void()> poke_ends);

  /// Waits until `enough` is true of the instance, and returns it as it was then.
  Seen wait(InstanceKey key, Duration timeout, const Enough& enough);
  /// The same without a thread. It is looked at once at least, for which it has a second more.
  std::weak_ptr<Waiter> wait_async(InstanceKey key, Duration timeout, Enough enough, Done done);
  /// Such a wait ends now, unless it has ended. Any thread.
  void give_up(const std::weak_ptr<Waiter>& wait);

  // ---- for the notifier

  /// Hears of watched instances from now on. Called once, before anybody waits.
  void hear(store::Listener& listener);
  [[nodiscard]] bool has_waiters() const;

  /// When there is something to look at.
  [[nodiscard]] BootTime due() const;
  /// Looks at what is new, at what a look could not tell, and at what `wake` names.
  void look(const store::Wake& wake, BootTime now);
  /// Looks at a part of all instances that are waited for, each time at the next: news may get lost.
  void look_around();
  /// What follows from what was seen.
  void tell_seen(Callbacks& callbacks);

  /// When the first wait ends whose time is up.
  [[nodiscard]] BootTime ends() const;
  /// Ends those whose time is up, and what follows from it and from waits that were given up. It asks the
  /// store nothing.
  void tell_ends(BootTime now, Callbacks& callbacks);
  /// Nobody looks any more: all waits end, and none can begin.
  void abandon();

 private:
  using Waiters = BlockMap<std::uint64_t, std::shared_ptr<Waiter>>;  // by number, as they came
  using Deadlines = BlockMultimap<BootTime, std::shared_ptr<Waiter>>;
  struct Told {
    std::shared_ptr<Waiter> waiter{};
    Seen seen;
  };
  /// Threads to be woken, and whether there is something to tell.
  struct Ends {
    std::vector<Told> threads{};
    bool seen = false;
    bool ended = false;
  };

  void add(const std::shared_ptr<Waiter>& waiter);
  void unlist(Waiter& waiter) HOLDFAST_REQUIRES(mutex_);
  void end(const std::shared_ptr<Waiter>& waiter, Seen seen, Ends& ends) HOLDFAST_REQUIRES(mutex_);
  void carry_out(Ends ends);
  bool take_back(const std::shared_ptr<Waiter>& waiter);
  void look_at_new(Waiter& own);
  void look_at(std::span<const InstanceKey> keys);
  /// Of those who waited already when the look began: what it saw may be older than what later ones know.
  void take_satisfied(InstanceKey key, std::optional<store::InstanceView>&& view, std::uint64_t waited,
                      Ends& ends) HOLDFAST_REQUIRES(mutex_);
  void look_again(std::span<const InstanceKey> keys);
  [[nodiscard]] std::vector<InstanceKey> keys_to_look_at(const store::Wake& wake, BootTime now);
  static void tell(std::vector<Told> told, Callbacks& callbacks);

  const std::shared_ptr<Store> store_;
  const std::function<void()> poke_looks_;
  const std::function<void()> poke_ends_;
  mutable Mutex mutex_;
  store::Listener* listener_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t last_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // number of the last one that came
  BlockMap<InstanceKey, Waiters> waiters_ HOLDFAST_GUARDED_BY(mutex_);
  Deadlines deadlines_ HOLDFAST_GUARDED_BY(mutex_);  // of those without a thread
  BlockSet<InstanceKey> new_
      HOLDFAST_GUARDED_BY(mutex_);  // of waiters that came, and nobody has looked since
  BlockSet<InstanceKey> again_ HOLDFAST_GUARDED_BY(mutex_);  // the store did not answer
  BootTime again_at_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::max();
  std::chrono::milliseconds pause_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<Told> seen_ HOLDFAST_GUARDED_BY(mutex_);   // to be told by who looks
  std::vector<Told> ended_ HOLDFAST_GUARDED_BY(mutex_);  // to be told by who ends waits
  InstanceKey looked_at_ HOLDFAST_GUARDED_BY(mutex_){};  // the last one of those that nothing was heard of
  bool looking_ HOLDFAST_GUARDED_BY(mutex_) = false;     // a thread that waits looks at new ones
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::client
