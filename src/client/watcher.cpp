#include "client/watcher.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::client {
namespace {

// One look takes so many at most.
constexpr std::size_t kLookedAtAtOnce = 1'000;
// For the first look, beyond the time of the wait.
constexpr Duration kFirstLook = std::chrono::seconds(1);
// Before the store is asked again.
constexpr std::chrono::milliseconds kShortestLookPause{10};
constexpr std::chrono::milliseconds kLongestLookPause{500};

}  // namespace

/// One who waits. All but `mutex` and what it guards is used under the watcher's mutex, or by whoever took it
/// off the list.
struct Watcher::Waiter {
  Waiter(InstanceKey of, Enough what) : key(of), enough(std::move(what)) {}

  const InstanceKey key;
  const Enough enough;
  Done done{};  // empty for a thread, which is woken instead
  std::uint64_t number = 0;
  bool listed = false;
  BootTime until = BootTime::max();
  bool looked_at = false;
  std::optional<Deadlines::iterator> deadline{};

  // Of its own, so that whoever wakes a thread doesn't hold what that needs next.
  Mutex mutex{};
  Condition changed{};
  std::optional<Seen> seen HOLDFAST_GUARDED_BY(mutex){};
};

Watcher::Watcher(std::shared_ptr<Store> store, std::function<void()> poke_looks,
                 std::function<void()> poke_ends)
    : store_(std::move(store)),
      poke_looks_(std::move(poke_looks)),
      poke_ends_(std::move(poke_ends)),
      pause_(kShortestLookPause) {}

Seen Watcher::wait(InstanceKey key, Duration timeout, const Enough& enough) {
  const auto waiter = std::allocate_shared<Waiter>(detail::BlockAllocator<Waiter>(), key, enough);
  add(waiter);
  look_at_new(*waiter);  // it may have happened before anybody listened
  const auto is_done = [&]() HOLDFAST_REQUIRES(waiter->mutex) { return waiter->seen.has_value(); };
  {
    MutexLock lock(waiter->mutex);
    if (waiter->changed.wait_for(lock, timeout, is_done)) return *std::move(waiter->seen);
  }
  look_at({&key, 1});  // who looks at new ones may not have come to this one yet
  if (take_back(waiter)) return Unexpected(NotSeen::time_is_up);
  MutexLock lock(waiter->mutex);
  waiter->changed.wait(lock, is_done);
  return *std::move(waiter->seen);
}

std::weak_ptr<Watcher::Waiter> Watcher::wait_async(InstanceKey key, Duration timeout, Enough enough,
                                                   Done done) {
  const auto waiter = std::allocate_shared<Waiter>(detail::BlockAllocator<Waiter>(), key, std::move(enough));
  waiter->done = std::move(done);
  waiter->until = after(store_->clock().boot_now(), timeout);
  add(waiter);
  poke_looks_();
  if (timeout != never) poke_ends_();
  return waiter;
}

void Watcher::give_up(const std::weak_ptr<Waiter>& wait) {
  const auto waiter = wait.lock();
  if (!waiter) return;
  Ends ends;
  {
    const MutexLock lock(mutex_);
    if (!waiter->listed) return;
    unlist(*waiter);
    end(waiter, Unexpected(NotSeen::given_up), ends);
  }
  carry_out(std::move(ends));
}

void Watcher::hear(store::Listener& listener) {
  const MutexLock lock(mutex_);
  listener_ = &listener;
}

bool Watcher::has_waiters() const {
  const MutexLock lock(mutex_);
  return !waiters_.empty();
}

BootTime Watcher::due() const {
  const MutexLock lock(mutex_);
  if (!seen_.empty() || (!new_.empty() && !looking_)) return kLongAgo;
  return again_at_;
}

BootTime Watcher::ends() const {
  const MutexLock lock(mutex_);
  if (!ended_.empty()) return kLongAgo;
  return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
}

void Watcher::add(const std::shared_ptr<Waiter>& waiter) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) refuse_as_closed();
    first = waiters_.empty();
    Waiters& list = waiters_[waiter->key];
    if (list.empty()) listener_->watch(waiter->key);
    waiter->number = ++last_;
    list.emplace_hint(list.end(), waiter->number, waiter);
    waiter->listed = true;
    if (const BootTime until = after(waiter->until, kFirstLook); until != BootTime::max())
      waiter->deadline = deadlines_.emplace(until, waiter);
    new_.insert(waiter->key);
  }
  if (first) poke_looks_();
}

void Watcher::unlist(Waiter& waiter) {
  waiter.listed = false;
  if (waiter.deadline) deadlines_.erase(*std::exchange(waiter.deadline, std::nullopt));
  const auto found = waiters_.find(waiter.key);
  found->second.erase(waiter.number);
  if (!found->second.empty()) return;
  listener_->unwatch(waiter.key);
  waiters_.erase(found);
}

// What is to be told is noted while the mutex is held: whoever closes the list finds it there.
void Watcher::end(const std::shared_ptr<Waiter>& waiter, Seen seen, Ends& ends) {
  if (!waiter->done) {
    ends.threads.push_back({waiter, std::move(seen)});
  } else if (seen || seen.error() == NotSeen::gone) {
    seen_.push_back({waiter, std::move(seen)});
    ends.seen = true;
  } else {
    ended_.push_back({waiter, std::move(seen)});
    ends.ended = true;
  }
}

void Watcher::carry_out(Ends ends) {
  for (Told& one : ends.threads) {
    {
      const MutexLock lock(one.waiter->mutex);
      one.waiter->seen = std::move(one.seen);
    }
    one.waiter->changed.notify_one();
  }
  if (ends.seen) poke_looks_();
  if (ends.ended) poke_ends_();
}

// False when it was taken off the list already, and will be woken.
bool Watcher::take_back(const std::shared_ptr<Waiter>& waiter) {
  const MutexLock lock(mutex_);
  if (!waiter->listed) return false;
  unlist(*waiter);
  return true;
}

// Whichever thread comes first looks for all who come in the meantime: a look at many costs little more than
// one at one. It stops when it has what it wants itself; then the notifier goes on.
void Watcher::look_at_new(Waiter& own) {
  const auto satisfied = [&own] {
    const MutexLock lock(own.mutex);
    return own.seen.has_value();
  };
  MutexLock lock(mutex_);
  if (std::exchange(looking_, true)) return;
  while (!new_.empty() && !satisfied()) {
    const std::vector<InstanceKey> keys(new_.begin(), new_.end());
    new_.clear();
    lock.unlock();
    look_at(keys);
    lock.lock();
  }
  looking_ = false;
  const bool left = !new_.empty();
  lock.unlock();
  if (left) poke_looks_();
}

void Watcher::look(const store::Wake& wake, BootTime now) { look_at(keys_to_look_at(wake, now)); }

std::vector<InstanceKey> Watcher::keys_to_look_at(const store::Wake& wake, BootTime now) {
  const MutexLock lock(mutex_);
  BlockSet<InstanceKey> keys;
  if (wake.any_instance) {
    for (const auto& [key, list] : waiters_) keys.insert(keys.end(), key);
  }
  keys.insert(wake.instances.begin(), wake.instances.end());
  if (!looking_) keys.merge(new_);
  if (!looking_) new_.clear();
  if (again_at_ <= now) {
    keys.merge(again_);
    again_.clear();
    again_at_ = BootTime::max();
  }
  return {keys.begin(), keys.end()};
}

void Watcher::look_around() {
  std::vector<InstanceKey> keys;
  {
    const MutexLock lock(mutex_);
    const auto first = waiters_.upper_bound(looked_at_);
    const std::size_t count = std::min(waiters_.size(), kLookedAtAtOnce);
    for (auto next = first; keys.size() < count; ++next) {
      if (next == waiters_.end()) next = waiters_.begin();
      keys.push_back(next->first);
    }
    if (!keys.empty()) looked_at_ = keys.back();
  }
  look_at(keys);
}

void Watcher::look_at(std::span<const InstanceKey> keys) {
  while (!keys.empty()) {
    const auto part = keys.first(std::min(kLookedAtAtOnce, keys.size()));
    std::uint64_t waited = 0;
    {
      const MutexLock lock(mutex_);
      waited = last_;
    }
    auto views = store_->look(part);
    if (!views) return look_again(keys);
    keys = keys.subspan(part.size());
    Ends ends;
    {
      const MutexLock lock(mutex_);
      pause_ = kShortestLookPause;
      for (std::size_t i = 0; i < part.size(); ++i)
        take_satisfied(part[i], std::move((*views)[i]), waited, ends);
    }
    carry_out(std::move(ends));
  }
}

// Those of which nothing is known are looked at again after a pause.
void Watcher::look_again(std::span<const InstanceKey> keys) {
  {
    const MutexLock lock(mutex_);
    again_.insert(keys.begin(), keys.end());
    if (again_at_ == BootTime::max()) again_at_ = after(store_->clock().boot_now(), pause_);
    pause_ = std::min(pause_ * 2, kLongestLookPause);
  }
  poke_looks_();
}

// They are no longer listed.
void Watcher::take_satisfied(InstanceKey key, std::optional<store::InstanceView>&& view, std::uint64_t waited,
                             Ends& ends) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  std::vector<std::shared_ptr<Waiter>> satisfied;
  for (const auto& [number, waiter] : found->second) {
    if (number > waited) break;
    if (!std::exchange(waiter->looked_at, true) && waiter->deadline) {
      // From now on its own time counts.
      deadlines_.erase(*waiter->deadline);
      waiter->deadline = deadlines_.emplace(waiter->until, waiter);
      ends.ended = true;
    }
    if (!view || waiter->enough(*view)) satisfied.push_back(waiter);
  }
  for (const auto& waiter : satisfied) {
    unlist(*waiter);
    const bool is_last = &waiter == &satisfied.back();
    Seen seen = Unexpected(NotSeen::gone);
    if (view) seen = is_last ? Seen(*std::move(view)) : Seen(*view);
    end(waiter, std::move(seen), ends);
  }
}

void Watcher::tell(std::vector<Told> told, Callbacks& callbacks) {
  for (Told& one : told) {
    const Done done = std::exchange(one.waiter->done, nullptr);
    callbacks.add(done(std::move(one.seen)));
  }
}

void Watcher::tell_seen(Callbacks& callbacks) {
  std::vector<Told> told;
  {
    const MutexLock lock(mutex_);
    told = std::exchange(seen_, {});
  }
  tell(std::move(told), callbacks);
}

void Watcher::tell_ends(BootTime now, Callbacks& callbacks) {
  std::vector<Told> told;
  {
    Ends ends;
    const MutexLock lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const std::shared_ptr<Waiter> waiter = deadlines_.begin()->second;
      unlist(*waiter);
      end(waiter, Unexpected(NotSeen::time_is_up), ends);
    }
    told = std::exchange(ended_, {});
  }
  tell(std::move(told), callbacks);
}

void Watcher::abandon() {
  Ends ends;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    while (!waiters_.empty()) {
      const std::shared_ptr<Waiter> waiter = waiters_.begin()->second.begin()->second;
      unlist(*waiter);
      end(waiter, Unexpected(NotSeen::abandoned), ends);
    }
    new_.clear();
    again_.clear();
    again_at_ = BootTime::max();
  }
  carry_out(std::move(ends));
}

}  // namespace holdfast::client
