#include "client/watcher.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::client {
namespace {

// News may get lost between processes; then it is this late.
constexpr Duration kFloor = std::chrono::seconds(1);

}  // namespace

Watcher::Watcher(std::shared_ptr<Store> store) : store_(std::move(store)) {}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (listener_) listener_->interrupt();
  }
  has_waiters_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<store::InstanceView> Watcher::wait(
    InstanceKey key, Duration timeout, const std::function<bool(const store::InstanceView&)>& enough) {
  Waiter waiter{enough};
  add(key, waiter);
  look_at({key});  // it may have happened before anybody listened
  std::unique_lock lock(mutex_);
  if (timeout == never) {
    waiter.changed.wait(lock, [&] { return waiter.done; });
  } else {
    waiter.changed.wait_for(lock, timeout, [&] { return waiter.done; });
  }
  lock.unlock();
  remove(key, waiter);
  return std::move(waiter.seen);
}

void Watcher::add(InstanceKey key, Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (!listener_) {
    listener_ = store_->listen(store::kWatched, {});
    thread_ = std::thread([this] { run(); });
  }
  std::vector<Waiter*>& list = waiters_[key];
  if (list.empty()) listener_->watch(key);
  list.push_back(&waiter);
  has_waiters_.notify_all();
}

void Watcher::remove(InstanceKey key, Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(key);
  std::erase(found->second, &waiter);
  if (!found->second.empty()) return;
  waiters_.erase(found);
  listener_->unwatch(key);
}

void Watcher::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      has_waiters_.wait(lock, [&] { return stopping_ || !waiters_.empty(); });
      if (stopping_) return;
    }
    store::Wake wake = listener_->wait(store_->clock().boot_now() + kFloor);
    if (wake.any_instance || wake.work.empty()) {
      look_at(all_keys());
    } else {
      look_at(std::move(wake.instances));
    }
  }
}

std::vector<InstanceKey> Watcher::all_keys() {
  const std::lock_guard lock(mutex_);
  std::vector<InstanceKey> keys;
  for (const auto& [key, list] : waiters_) keys.push_back(key);
  return keys;
}

void Watcher::look_at(std::vector<InstanceKey> keys) {
  if (keys.empty()) return;
  const auto views = store_->look(keys);
  if (!views) return;  // asked again after the floor
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = waiters_.find(keys[i]);
    if (found == waiters_.end()) continue;
    const std::optional<store::InstanceView>& view = (*views)[i];
    for (Waiter* waiter : found->second) {
      if (waiter->done || (view && !waiter->enough(*view))) continue;
      waiter->seen = view;
      waiter->done = true;
      waiter->changed.notify_all();
    }
  }
}

}  // namespace holdfast::client
