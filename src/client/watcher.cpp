#include "client/watcher.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace holdfast::client {
namespace {

// News may get lost between processes; then it is this late.
constexpr Duration kFloor = std::chrono::seconds(1);

}  // namespace

Watcher::Watcher(std::shared_ptr<Store> store) : store_(std::move(store)) {}

Watcher::~Watcher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    if (listener_) listener_->interrupt();
  }
  has_waiters_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<store::InstanceView> Watcher::wait(
    InstanceKey key, Duration timeout, const std::function<bool(const store::InstanceView&)>& enough) {
  const auto waiter = std::make_shared<Waiter>(enough);
  add(key, waiter);
  look_at_new(*waiter);  // it may have happened before anybody listened
  if (!wait(*waiter, timeout)) remove(key, waiter);
  const MutexLock lock(waiter->mutex);
  return std::move(waiter->seen);
}

// False when the time is up.
bool Watcher::wait(Waiter& waiter, Duration timeout) {
  MutexLock lock(waiter.mutex);
  return waiter.changed.wait_for(lock, timeout,
                                 [&]() HOLDFAST_REQUIRES(waiter.mutex) { return waiter.done; });
}

void Watcher::add(InstanceKey key, const std::shared_ptr<Waiter>& waiter) {
  const MutexLock lock(mutex_);
  if (!listener_) {
    listener_ = store_->listen(store::kWatched, {});
    thread_ = std::thread([this] { run(); });
  }
  if (waiters_.empty()) has_waiters_.notify_all();
  Waiters& list = waiters_[key];
  if (list.empty()) listener_->watch(key);
  list.push_back(waiter);
  new_.push_back(key);
}

void Watcher::remove(InstanceKey key, const std::shared_ptr<Waiter>& waiter) {
  const MutexLock lock(mutex_);
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  std::erase(found->second, waiter);
  unlist(found);
}

void Watcher::unlist(std::map<InstanceKey, Waiters>::iterator found) {
  if (!found->second.empty()) return;
  listener_->unwatch(found->first);
  waiters_.erase(found);
}

// Between waiters it goes on listening for a while: the next one comes soon, as a rule.
void Watcher::run() {
  while (wait_for_waiters()) {
    store::Wake wake;
    do {
      wake = listener_->wait(store_->clock().boot_now() + kFloor);
      const bool all = wake.any_instance || wake.work.empty();
      look_at(all ? all_keys() : wake.instances);
    } while (!wake.work.empty());
  }
}

// False when it is over.
bool Watcher::wait_for_waiters() {
  MutexLock lock(mutex_);
  has_waiters_.wait(lock, [this]() HOLDFAST_REQUIRES(mutex_) { return stopping_ || !waiters_.empty(); });
  return !stopping_;
}

std::vector<InstanceKey> Watcher::all_keys() {
  const MutexLock lock(mutex_);
  std::vector<InstanceKey> keys;
  for (const auto& [key, list] : waiters_) keys.push_back(key);
  return keys;
}

// Whoever comes first looks for all who come in the meantime: a look at many costs little more than one at
// one. It stops when it has what it wants itself; then the watcher's thread goes on.
void Watcher::look_at_new(Waiter& own) {
  const auto satisfied = [&own] {
    const MutexLock lock(own.mutex);
    return own.done;
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
  if (!std::exchange(new_, {}).empty()) listener_->interrupt();  // and it looks at all
}

void Watcher::look_at(const std::vector<InstanceKey>& keys) {
  if (keys.empty()) return;
  const auto views = store_->look(keys);
  if (!views) return;  // asked again after the floor
  std::vector<std::pair<std::shared_ptr<Waiter>, std::size_t>> satisfied;
  {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (auto& waiter : take_satisfied(keys[i], (*views)[i])) satisfied.emplace_back(std::move(waiter), i);
    }
  }
  for (const auto& [waiter, i] : satisfied) {
    {
      const MutexLock lock(waiter->mutex);
      waiter->seen = (*views)[i];
      waiter->done = true;
    }
    waiter->changed.notify_one();
  }
}

// They are no longer listed.
Watcher::Waiters Watcher::take_satisfied(InstanceKey key, const std::optional<store::InstanceView>& view) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return {};
  const auto rest = std::ranges::partition(
      found->second, [&](const auto& waiter) { return view && !waiter->enough(*view); });
  Waiters satisfied(std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  found->second.erase(rest.begin(), rest.end());
  unlist(found);
  return satisfied;
}

}  // namespace holdfast::client
