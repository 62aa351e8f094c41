#include "transaction.hpp"

#include "placing.hpp"

#include <utility>

namespace holdfast::memory_store {

void Transaction::sweep_by(BootTime moment) {
  if (moment >= space.next_sweep) return;
  space.next_sweep = moment;
  news.work |= kSweep;
}

namespace {

void let_instance_locks_lapse(Transaction& tx) {
  while (!tx.space.instance_locks.empty() && tx.space.instance_locks.begin()->first <= tx.now) {
    Instance& instance = tx.space.instances.at(tx.space.instance_locks.begin()->second);
    unplace(tx, instance);
    instance.lock.live = false;
    instance.seen = {};  // the frame that was given these messages is gone, or may be
    instance.ready_since = instance.lock.until;
    place(tx, instance);
  }
}

void let_activity_locks_lapse(Transaction& tx) {
  while (!tx.space.activity_locks.empty() && tx.space.activity_locks.begin()->first <= tx.now) {
    Activity& activity = tx.space.activities.at(tx.space.activity_locks.begin()->second);
    unplace(tx, activity);
    activity.lock.live = false;
    activity.ready_since = activity.lock.until;
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

Instance* find_instance(Space& space, InstanceKey key) { return find_in(space.instances, key); }
Instance* find_instance(Space& space, std::string_view id) {
  const InstanceKey* key = find_in(space.keys, id);
  return key == nullptr ? nullptr : &space.instances.at(*key);
}
Activity* find_activity(Space& space, const ActivityId& id) { return find_in(space.activities, id); }
Session* find_session(Space& space, std::string_view id) { return find_in(space.sessions, id); }

std::string node_of(const Space& space, WorkerKey worker) {
  const Worker* found = find_in(space.workers, worker);
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

}  // namespace holdfast::memory_store
