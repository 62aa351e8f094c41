#include "client/watcher.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::client {
namespace {

// One look takes so many at most.
constexpr std::size_t kLookedAtAtOnce = 1'000;

}  // namespace

/// One who waits. All but `mutex` and what it guards is used under the watcher's mutex, or by whoever took it
/// off the list.
struct Watcher::Waiter {
  Waiter(InstanceKey of, Enough what) : key(of), enough(std::move(what)) {}

  const InstanceKey key;
  const Enough enough;
  Done done{};               // empty for a thread, which is woken instead
  std::uint64_t number = 0;  // of all that came
  bool listed = false;
  std::optional<std::multimap<BootTime, std::shared_ptr<Waiter>>::iterator> deadline{};

  // Of its own, so that whoever wakes a thread doesn't hold what that needs next.
  Mutex mutex{};
  Condition changed{};
  std::optional<Seen> seen HOLDFAST_GUARDED_BY(mutex){};
};

Watcher::Watcher(std::shared_ptr<Store> store, std::function<void()> poke)
    : store_(std::move(store)), poke_(std::move(poke)) {}

Seen Watcher::wait(InstanceKey key, Duration timeout, const Enough& enough) {
  const auto waiter = std::make_shared<Waiter>(key, enough);
  add(waiter, BootTime::max());
  look_at_new(*waiter);  // it may have happened before anybody listened
  const auto is_done = [&]() HOLDFAST_REQUIRES(waiter->mutex) { return waiter->seen.has_value(); };
  {
    MutexLock lock(waiter->mutex);
    if (waiter->changed.wait_for(lock, timeout, is_done)) return *std::move(waiter->seen);
  }
  look_at({&key, 1});  // who looks at new ones may not have come to this one yet
  if (remove(waiter)) return Unexpected(NotSeen::time_is_up);
  MutexLock lock(waiter->mutex);
  waiter->changed.wait(lock, is_done);
  return *std::move(waiter->seen);
}

std::weak_ptr<Watcher::Waiter> Watcher::wait_async(InstanceKey key, Duration timeout, Enough enough,
                                                   Done done) {
  const auto waiter = std::make_shared<Waiter>(key, std::move(enough));
  waiter->done = std::move(done);
  add(waiter, after(store_->clock().boot_now(), timeout));
  poke_();
  return waiter;
}

void Watcher::give_up(const std::weak_ptr<Waiter>& wait) {
  const auto waiter = wait.lock();
  if (!waiter || !remove(waiter)) return;
  std::vector<Told> ends;
  ends.push_back({waiter, Unexpected(NotSeen::given_up)});
  end(std::move(ends));
}

void Watcher::hear(store::Listener& listener) {
  const MutexLock lock(mutex_);
  listener_ = &listener;
}

bool Watcher::has_waiters() const {
  const MutexLock lock(mutex_);
  return !waiters_.empty() || !told_.empty();
}

BootTime Watcher::due() const {
  const MutexLock lock(mutex_);
  if (!told_.empty() || (!new_.empty() && !looking_)) return kLongAgo;
  return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
}

void Watcher::add(const std::shared_ptr<Waiter>& waiter, BootTime deadline) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) refuse_as_closed();
    first = waiters_.empty();
    Waiters& list = waiters_[waiter->key];
    if (list.empty()) listener_->watch(waiter->key);
    list.push_back(waiter);
    waiter->number = ++last_;
    waiter->listed = true;
    if (deadline != BootTime::max()) waiter->deadline = deadlines_.emplace(deadline, waiter);
    new_.push_back(waiter->key);
  }
  if (first) poke_();
}

bool Watcher::remove(const std::shared_ptr<Waiter>& waiter) {
  const MutexLock lock(mutex_);
  if (!std::exchange(waiter->listed, false)) return false;
  if (waiter->deadline) deadlines_.erase(*std::exchange(waiter->deadline, std::nullopt));
  const auto found = waiters_.find(waiter->key);
  std::erase(found->second, waiter);
  unlist(found);
  return true;
}

void Watcher::unlist(std::map<InstanceKey, Waiters>::iterator found) {
  if (!found->second.empty()) return;
  listener_->unwatch(found->first);
  waiters_.erase(found);
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
    const std::vector<InstanceKey> keys = std::exchange(new_, {});
    lock.unlock();
    look_at(keys);
    lock.lock();
  }
  looking_ = false;
  const bool left = !new_.empty();
  lock.unlock();
  if (left) poke_();
}

void Watcher::look(const store::Wake& wake, BootTime now) {
  look_at(keys_to_look_at(wake, now));
  expire(now);
}

// Those whose time is up are looked at once more.
std::vector<InstanceKey> Watcher::keys_to_look_at(const store::Wake& wake, BootTime now) {
  const MutexLock lock(mutex_);
  std::vector<InstanceKey> keys = wake.instances;
  if (!looking_) {
    keys.insert(keys.end(), new_.begin(), new_.end());
    new_.clear();
  }
  for (auto due = deadlines_.begin(); due != deadlines_.end() && due->first <= now; ++due) {
    keys.push_back(due->second->key);
  }
  if (wake.any_instance) {
    keys.clear();
    for (const auto& [key, list] : waiters_) keys.push_back(key);
  }
  return keys;
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
    keys = keys.subspan(part.size());
    std::uint64_t waited = 0;
    {
      const MutexLock lock(mutex_);
      waited = last_;
    }
    const auto views = store_->look(part);
    if (!views) return;  // asked again by look_around()
    std::vector<Told> satisfied;
    {
      const MutexLock lock(mutex_);
      for (std::size_t i = 0; i < part.size(); ++i) take_satisfied(part[i], (*views)[i], waited, satisfied);
    }
    end(std::move(satisfied));
  }
}

void Watcher::end(std::vector<Told> waits) {
  const auto threads = std::ranges::partition(waits, [](const Told& one) { return bool(one.waiter->done); });
  for (Told& one : threads) {
    {
      const MutexLock lock(one.waiter->mutex);
      one.waiter->seen = std::move(one.seen);
    }
    one.waiter->changed.notify_one();
  }
  waits.erase(threads.begin(), threads.end());
  if (waits.empty()) return;
  {
    const MutexLock lock(mutex_);
    std::ranges::move(waits, std::back_inserter(told_));
  }
  poke_();
}

// They are no longer listed.
void Watcher::take_satisfied(InstanceKey key, const std::optional<store::InstanceView>& view,
                             std::uint64_t waited, std::vector<Told>& satisfied) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  const auto rest = std::ranges::partition(found->second, [&](const auto& waiter) {
    return waiter->number > waited || (view && !waiter->enough(*view));
  });
  for (auto& waiter : rest) {
    waiter->listed = false;
    if (waiter->deadline) deadlines_.erase(*std::exchange(waiter->deadline, std::nullopt));
    satisfied.push_back({std::move(waiter), view ? Seen(*view) : Seen(Unexpected(NotSeen::gone))});
  }
  found->second.erase(rest.begin(), rest.end());
  unlist(found);
}

void Watcher::expire(BootTime now) {
  std::vector<Told> late;
  {
    const MutexLock lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const std::shared_ptr<Waiter> waiter = deadlines_.extract(deadlines_.begin()).mapped();
      waiter->deadline.reset();
      waiter->listed = false;
      const auto found = waiters_.find(waiter->key);
      std::erase(found->second, waiter);
      unlist(found);
      late.push_back({waiter, Unexpected(NotSeen::time_is_up)});
    }
  }
  end(std::move(late));
}

void Watcher::tell(const Callbacks& callbacks) {
  std::vector<Told> told;
  {
    const MutexLock lock(mutex_);
    told = std::exchange(told_, {});
  }
  for (Told& one : told) {
    // What it holds is the user's as well, and goes with it.
    callbacks.run([done = std::exchange(one.waiter->done, nullptr), &one] { done(std::move(one.seen)); });
  }
}

void Watcher::abandon() {
  std::vector<Told> waits;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    for (auto& [key, list] : waiters_) {
      listener_->unwatch(key);
      for (auto& waiter : list) {
        waiter->listed = false;
        waiter->deadline.reset();
        waits.push_back({std::move(waiter), Unexpected(NotSeen::abandoned)});
      }
    }
    waiters_.clear();
    deadlines_.clear();
    new_.clear();
  }
  end(std::move(waits));
}

}  // namespace holdfast::client
