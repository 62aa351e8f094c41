#include "transaction.hpp"

#include "placing.hpp"

#include <utility>

namespace holdfast::rules {

void Transaction::sweep_by(BootTime moment) {
  if (moment >= space.next_sweep) return;
  space.next_sweep = moment;
  news.work |= kSweep;
}

namespace {

void let_lapse(Instance& instance) {
  instance.lock.live = false;
  instance.seen = {};  // the frame that was given these messages is gone, or may be
  instance.ready_since = instance.lock.until;
}

void let_lapse(Activity& activity) {
  activity.lock.live = false;
  activity.ready_since = activity.lock.until;
}

void let_instance_locks_lapse(Transaction& tx) {
  while (!tx.space.instance_locks.empty() && tx.space.instance_locks.begin()->first <= tx.now) {
    Instance& instance = tx.space.instances.at(tx.space.instance_locks.begin()->second);
    unplace(tx, instance);
    let_lapse(instance);
    place(tx, instance);
  }
}

void let_activity_locks_lapse(Transaction& tx) {
  while (!tx.space.activity_locks.empty() && tx.space.activity_locks.begin()->first <= tx.now) {
    Activity& activity = tx.space.activities.at(tx.space.activity_locks.begin()->second);
    unplace(tx, activity);
    let_lapse(activity);
    place(tx, activity);
  }
}

void let_delays_end(Transaction& tx) {
  while (!tx.space.backing_off.empty() && tx.space.backing_off.begin()->first <= tx.now) {
    Activity& activity = tx.space.activities.at(tx.space.backing_off.begin()->second);
    unplace(tx, activity);
    place(tx, activity);
  }
}

template <class Map, class Key>
auto* find_in(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

void settle(Transaction& tx) {
  let_instance_locks_lapse(tx);
  let_activity_locks_lapse(tx);
  let_delays_end(tx);
}

void settle_and_place(Transaction& tx, Instance& instance) {
  if (!instance.lock.live) {
    if (instance.ready_since) tx.space.ready.emplace(*instance.ready_since, instance.view.key);
  } else if (instance.lock.until > tx.now) {
    tx.space.instance_locks.emplace(instance.lock.until, instance.view.key);
  } else {
    let_lapse(instance);
    place(tx, instance);
  }
}
void settle_and_place(Transaction& tx, Activity& activity) {
  if (activity.lock.live && activity.lock.until <= tx.now) let_lapse(activity);
  place(tx, activity);
}

Instance* find_instance(const Transaction& tx, InstanceKey key) {
  tx.rows.instance(key);
  return find_in(tx.space.instances, key);
}
Instance* find_instance(const Transaction& tx, std::string_view id) {
  tx.rows.instance(id);
  const InstanceKey* const key = find_in(tx.space.keys, id);
  return key == nullptr ? nullptr : &tx.space.instances.at(*key);
}
Activity* find_activity(const Transaction& tx, const ActivityId& id) {
  tx.rows.activity(id);
  return find_in(tx.space.activities, id);
}
Session* find_session(const Transaction& tx, std::string_view id) {
  tx.rows.session(id);
  return find_in(tx.space.sessions, id);
}
Worker* find_worker(const Transaction& tx, WorkerKey key) {
  tx.rows.worker(key);
  return find_in(tx.space.workers, key);
}
Cancel* find_cancel(const Transaction& tx, const ActivityId& id, LockToken token) {
  tx.rows.cancel(id, token);
  return find_in(tx.space.cancels, std::pair(id, token));
}
Request* find_request(const Transaction& tx, RequestId id) {
  tx.rows.request(id);
  return find_in(tx.space.requests, id);
}
const Instance* look_at(const Transaction& tx, InstanceKey key) {
  tx.rows.instance(key);
  return tx.space.instances.peek(key);
}
const Activity* look_at(const Transaction& tx, const ActivityId& id) {
  tx.rows.activity(id);
  return tx.space.activities.peek(id);
}
const Worker* look_at(const Transaction& tx, WorkerKey key) {
  tx.rows.worker(key);
  return tx.space.workers.peek(key);
}
std::optional<std::string> find_value(const Transaction& tx, Instance& instance, const std::string& key) {
  tx.rows.value(instance, key);
  const std::string* const value = find_in(instance.values, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string node_of(const Transaction& tx, WorkerKey worker) {
  const Worker* const found = look_at(tx, worker);
  return found == nullptr ? std::string() : found->info.node;
}

Unexpected<StoreError> refuse(StoreError::Kind kind, std::string message) {
  return Unexpected(StoreError{.kind = kind, .message = std::move(message)});
}
Unexpected<StoreError> gone(CancelReason reason, std::string message) {
  return Unexpected(
      StoreError{.kind = StoreError::Kind::gone, .message = std::move(message), .reason = reason});
}
Unexpected<StoreError> no_instance(std::string_view id) {
  return refuse(StoreError::Kind::not_found, "there is no instance '" + std::string(id) + "'");
}
Unexpected<StoreError> no_instance(InstanceKey key) {
  return refuse(StoreError::Kind::not_found, "there is no instance with the key " + to_string(key));
}

}  // namespace holdfast::rules
