#include "runtime/cache.hpp"

#include "runtime/steps.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::runtime {

void InstanceCache::add(store::LockedTurn&& turn) {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  add_locked(std::move(turn), let_go);
  evict_over_capacity(let_go);
}

bool InstanceCache::add_done(LocalDone&& done) {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  const auto found = held_.find(done.id.instance);
  if (found == held_.end() || found->second->execution != done.id.execution) {
    let_go.done.push_back(std::move(done));
    return false;
  }
  CachedInstance& instance = *found->second;
  if (instance.done.empty())
    instance.done.reserve(static_cast<std::size_t>(std::max(instance.running_here, 1)));
  instance.done.push_back(std::move(done));
  list(instance);
  return true;
}

std::vector<InstanceCache::Taken> InstanceCache::take_ready(std::size_t max) {
  const MutexLock lock(mutex_);
  std::vector<Taken> taken;
  taken.reserve(std::min(max, ready_.size()));
  while (taken.size() < max && !ready_.empty()) {
    const auto found = instances_.find(ready_.front());
    ready_.pop_front();
    if (found == instances_.end() || !found->second.listed) continue;
    CachedInstance& instance = found->second;
    instance.listed = false;
    instance.busy = true;
    instance.given = instance.fetched;
    taken.push_back({&instance, std::exchange(instance.inbox, {}), std::exchange(instance.done, {}),
                     instance.fetched, instance.running_here});
  }
  return taken;
}

bool InstanceCache::has_ready() const {
  const MutexLock lock(mutex_);
  return !ready_.empty();
}

void InstanceCache::begin_execution(CachedInstance& instance, std::string version) {
  instance.frame.reset();  // the caller's, and without the lock: see LetGo
  const MutexLock lock(mutex_);
  instance.waits.reset();
  instance.given = {};
  instance.code.version = std::move(version);
  ++instance.execution.value;
}

void InstanceCache::put_back(Taken& taken, bool still_held) {
  LetGo let_go(outbox_);
  let_go.take_done(taken.done);
  CachedInstance& instance = *taken.instance;
  const MutexLock lock(mutex_);
  instance.busy = false;
  instance.idle_since = clock_.boot_now();
  touch(instance);
  const std::unique_ptr<store::LockedTurn> next = std::move(instance.next);
  if (instance.done.capacity() == 0) instance.done.swap(taken.done);  // empty, with memory for the next
  if (instance.held && still_held && !next) {
    if (!instance.inbox.empty() || !instance.done.empty()) list(instance);
    return;
  }
  instance.held = false;
  held_.erase(instance.key);
  instance.inbox.clear();
  let_go.take_done(instance.done);
  if (next) add_locked(std::move(*next), let_go);
}

void InstanceCache::drop(Taken& taken) {
  Abandoned dropped;
  abandon(taken, dropped);
}

void InstanceCache::abandon(Taken& taken, Abandoned& abandoned) {
  LetGo let_go(outbox_);
  let_go.take_done(taken.done);
  CachedInstance& instance = *taken.instance;
  const MutexLock lock(mutex_);
  const std::unique_ptr<store::LockedTurn> next = std::move(instance.next);
  let_go.take_done(instance.done);
  abandoned = extract(instances_.find(instance.key));
  if (next) add_locked(std::move(*next), let_go);
}

bool InstanceCache::holds(InstanceKey key) const {
  const MutexLock lock(mutex_);
  return held_.contains(key);
}

std::vector<store::HeldInstance> InstanceCache::held() const {
  const MutexLock lock(mutex_);
  std::vector<store::HeldInstance> list;
  list.reserve(held_.size());
  for (const auto& [key, instance] : held_) list.push_back({key, instance->token, instance->fetched});
  return list;
}

std::vector<store::TurnRenewal> InstanceCache::locks() const {
  const MutexLock lock(mutex_);
  std::vector<store::TurnRenewal> list;
  list.reserve(held_.size());
  for (const auto& [key, instance] : held_) list.push_back({key, instance->token});
  return list;
}

std::vector<store::TurnRelease> InstanceCache::release_idle(Duration hold) {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  const BootTime now = clock_.boot_now();
  std::vector<store::TurnRelease> releases;
  for (auto it = held_.begin(); it != held_.end();) {
    CachedInstance& instance = *it->second;
    if (instance.busy || instance.listed || after(instance.idle_since, hold) > now) {
      ++it;
      continue;
    }
    releases.push_back({.key = instance.key, .token = instance.token});
    instance.held = false;
    let_go.take_done(instance.done);
    it = held_.erase(it);
  }
  return releases;
}

void InstanceCache::lost(InstanceKey key, LockToken token) {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end() || found->second->token != token) return;
  CachedInstance& instance = *found->second;
  let_go.take_done(instance.done);
  if (instance.busy) {  // its commit will find out, too
    instance.held = false;
    held_.erase(found);
  } else {
    let_go.instances.push_back(extract(instances_.find(key)));
  }
}

void InstanceCache::evict_idle(Duration idle) {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  const BootTime now = clock_.boot_now();
  while (!recent_.empty()) {
    const auto it = instances_.find(recent_.front());
    if (it->second.busy || it->second.held || after(it->second.idle_since, idle) > now) return;
    let_go.instances.push_back(extract(it));
  }
}

void InstanceCache::evict_elsewhere() {
  LetGo let_go(outbox_);
  const MutexLock lock(mutex_);
  for (auto& [key, instance] : instances_) {
    if (!instance.busy && instance.frame && instance.frame.get_deleter().home)
      let_go.frames.push_back(std::move(instance.frame));
  }
}

BootTime InstanceCache::next_due(Duration hold, Duration idle) const {
  const MutexLock lock(mutex_);
  BootTime due = BootTime::max();
  for (const auto& [key, instance] : held_) {
    if (!instance->busy && !instance->listed) due = std::min(due, after(instance->idle_since, hold));
  }
  if (!recent_.empty()) {
    const CachedInstance& oldest = instances_.at(recent_.front());
    if (!oldest.busy && !oldest.held) due = std::min(due, after(oldest.idle_since, idle));
  }
  return due;
}

void InstanceCache::activity_started(InstanceKey key) {
  const MutexLock lock(mutex_);
  if (const auto found = instances_.find(key); found != instances_.end()) ++found->second.running_here;
}

void InstanceCache::activity_over(InstanceKey key) {
  const MutexLock lock(mutex_);
  const auto found = instances_.find(key);
  if (found != instances_.end() && found->second.running_here > 0) --found->second.running_here;
}

std::size_t InstanceCache::size() const {
  const MutexLock lock(mutex_);
  return instances_.size();
}

std::size_t InstanceCache::held_count() const {
  const MutexLock lock(mutex_);
  return held_.size();
}

void InstanceCache::add_locked(store::LockedTurn&& turn, LetGo& let_go) {
  auto [it, is_new] = instances_.try_emplace(turn.key);
  CachedInstance& instance = it->second;
  if (is_new) {
    instance.key = turn.key;
    instance.recent = recent_.insert(recent_.end(), turn.key);
  }
  touch(instance);
  if (turn.held) {
    // The lock may have gone while the store answered.
    if (!instance.held || instance.token != turn.token) return;
  } else if (instance.busy) {
    instance.next = std::make_unique<store::LockedTurn>(std::move(turn));
    return;
  } else {
    begin_lock(instance, turn, let_go);
  }
  for (store::Message& message : turn.messages) {
    if (message.id <= instance.fetched) continue;
    instance.fetched = message.id;
    instance.inbox.push_back(std::move(message));
  }
  list(instance);
}

// A frame that is valid for the store's stamp has been given what came before.
void InstanceCache::begin_lock(CachedInstance& instance, store::LockedTurn& turn, LetGo& let_go) {
  instance.id = std::move(turn.instance);
  instance.held = true;
  instance.token = turn.token;
  held_.insert_or_assign(turn.key, &instance);
  instance.inbox.clear();
  const bool valid = instance.frame && instance.stamp == turn.stamp && instance.execution == turn.execution;
  if (!valid) {
    if (instance.frame) let_go.frames.push_back(std::move(instance.frame));
    instance.waits.reset();
    instance.given = {};
  }
  instance.fetched = instance.given;
  instance.stamp = turn.stamp;
  instance.code = std::move(turn.code);
  instance.build = turn.build;
  instance.execution = turn.execution;
  instance.status = turn.status;
  instance.delivery = turn.delivery;
}

void InstanceCache::list(CachedInstance& instance) {
  if (instance.busy || instance.listed) return;
  instance.listed = true;
  ready_.push_back(instance.key);
}

void InstanceCache::touch(CachedInstance& instance) {
  recent_.splice(recent_.end(), recent_, instance.recent);
}

InstanceCache::Abandoned InstanceCache::extract(Map::iterator it) {
  held_.erase(it->first);
  recent_.erase(it->second.recent);
  return instances_.extract(it);
}

// Those that are locked stay, whatever their number: their locks are bounded by what was fetched.
void InstanceCache::evict_over_capacity(LetGo& let_go) {
  auto it = recent_.begin();
  while (instances_.size() > capacity_ && it != recent_.end()) {
    const auto found = instances_.find(*it++);
    if (!found->second.busy && !found->second.held) let_go.instances.push_back(extract(found));
  }
}

}  // namespace holdfast::runtime
