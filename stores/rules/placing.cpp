#include "placing.hpp"

#include "readiness.hpp"

#include <algorithm>

namespace holdfast::rules {

void place(Transaction& tx, Instance& instance) {
  if (instance.lock.live) {
    instance.ready_since.reset();
    tx.space.instance_locks.emplace(instance.lock.until, instance.view.key);
  } else if (needs_turn(tx, instance)) {
    // It keeps its place among those that wait, if it had one.
    if (!instance.ready_since) instance.ready_since = std::max(tx.now, instance.not_before);
    tx.space.ready.emplace(*instance.ready_since, instance.view.key);
  } else {
    instance.ready_since.reset();
  }
}

void unplace(Transaction& tx, Instance& instance) {
  if (instance.lock.live) tx.space.instance_locks.erase({instance.lock.until, instance.view.key});
  if (instance.ready_since) tx.space.ready.erase({*instance.ready_since, instance.view.key});
}

namespace {

ReadyActivity ready_place(const Activity& activity) {
  return {.rank = -activity.priority, .since = activity.ready_since, .id = activity.id};
}

}  // namespace

void place(Transaction& tx, const Activity& activity) {
  Session* const session = activity.session ? find_session(tx, *activity.session) : nullptr;
  if (activity.lock.live) {
    tx.space.activity_locks.emplace(activity.lock.until, activity.id);
    if (session != nullptr) session->in_flight.insert(activity.id);
    return;
  }
  if (const BootTime deadline = activity.deadline(); deadline != kNever) {
    tx.space.deadlines.emplace(deadline, activity.id);
    tx.sweep_by(deadline);
  }
  if (activity.session && session == nullptr) {
    tx.space.without_session[*activity.session].insert(activity.id);
    return;
  }
  if (session != nullptr) session->queued.insert(activity.id);
  if (activity.ready_since <= tx.now) {
    tx.space.waiting.emplace(ready_place(activity));
  } else {
    tx.space.backing_off.emplace(activity.ready_since, activity.id);
  }
}

void unplace(Transaction& tx, const Activity& activity) {
  Session* const session = activity.session ? find_session(tx, *activity.session) : nullptr;
  if (activity.lock.live) {
    tx.space.activity_locks.erase({activity.lock.until, activity.id});
    if (session != nullptr) session->in_flight.erase(activity.id);
    return;
  }
  if (const BootTime deadline = activity.deadline(); deadline != kNever) {
    tx.space.deadlines.erase({deadline, activity.id});
  }
  if (session != nullptr) session->queued.erase(activity.id);
  if (tx.space.waiting.erase(ready_place(activity))) return;
  if (tx.space.backing_off.erase({activity.ready_since, activity.id}) || !activity.session) return;
  if (const auto waiting = tx.space.without_session.find(*activity.session);
      waiting != tx.space.without_session.end()) {
    waiting->second.erase(activity.id);
    if (waiting->second.empty()) tx.space.without_session.erase(waiting);
  }
}

}  // namespace holdfast::rules
