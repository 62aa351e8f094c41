#include "activities.hpp"

#include "messages.hpp"
#include "placing.hpp"
#include "sessions.hpp"

#include <string>
#include <utility>

namespace holdfast::rules {

namespace {

/// Only a session that is to blame is named.
bool blames_session(CancelReason reason) {
  return reason == CancelReason::session_lost || reason == CancelReason::session_closed ||
         reason == CancelReason::session_expired || reason == CancelReason::session_aborted ||
         reason == CancelReason::requirements_not_met || reason == CancelReason::no_session_capacity;
}

ActivityTaken taken_for(const Transaction& tx, const Activity& activity, CancelReason reason) {
  ActivityTaken taken{
      .reason = reason, .last_failure = activity.last_failure, .attempt = attempts_begun(activity)};
  if (!blames_session(reason) || !activity.session) return taken;
  taken.session = *activity.session;
  if (const Session* const session = find_session(tx, taken.session); session != nullptr && session->ended) {
    taken.owner = session->owner;
    taken.session_reason = session->reason;
    taken.note = session->note;
  }
  return taken;
}

void tell(Transaction& tx, const Activity& activity, CancelReason reason) {
  Instance* const instance = find_instance(tx, activity.id.instance);
  if (instance == nullptr) return;
  deliver(tx, *instance,
          Message{.kind = MessageKind::taken,
                  .execution = activity.id.execution,
                  .source = activity.id.event,
                  .body = taken_for(tx, activity, reason)});
}

/// The session that a new activity belongs to, begun now if need be; null when it has to wait for one.
Session* session_for(Transaction& tx, const SessionUse& use) {
  Session* const session = session_now(tx, use.id);
  const bool is_there = session != nullptr && !begins_anew(*session);
  if (is_there || !use.policy.create_if_missing) return session;
  return &begin(tx, use.id, use.policy, nullptr);
}

}  // namespace

std::uint32_t attempts_begun(const Activity& activity) {
  return activity.delivery > 0 ? activity.attempt : activity.attempt - 1;
}

Activity* schedule(Transaction& tx, Instance& instance, const NewActivity& wanted) {
  Activity activity{
      .id = {instance.view.key, instance.view.execution, wanted.event},
      .name = wanted.name,
      .own_queue = wanted.queue,
      .queue = wanted.queue,
      .priority = wanted.priority,
      .start_within = wanted.start_within,
      .total_until = after(tx.now, wanted.total),
      .body = wanted.body,
      .ready_since = tx.now,
  };
  if (wanted.session) {
    activity.session = wanted.session->id;
    const Session* const session = session_for(tx, *wanted.session);
    if (session != nullptr && session->ended) {
      tell(tx, activity, reason_of(*session));
      return nullptr;
    }
    const SessionPolicy& policy = session != nullptr ? session->policy : wanted.session->policy;
    if (activity.queue.empty()) activity.queue = policy.queue;
  }
  const ActivityId id = activity.id;
  return &tx.space.activities.insert_or_assign(id, std::move(activity));
}

LockedActivity lock(Transaction& tx, Activity& activity, WorkerKey worker, LockToken token, Duration lease) {
  unplace(tx, activity);
  LockedActivity locked = take(tx, activity, worker, token, lease);
  locked.instance = tx.rows.name_of(activity.id.instance);
  locked.name = activity.name;
  locked.body = activity.body;
  return locked;
}

LockedActivity take(Transaction& tx, Activity& activity, WorkerKey worker, LockToken token, Duration lease) {
  const BootTime until = after(tx.now, lease);
  activity.lock = {.worker = worker, .token = token, .until = until, .live = until > tx.now};
  ++activity.delivery;
  LockedActivity locked{.id = activity.id,
                        .queue = activity.queue,
                        .priority = activity.priority,
                        .attempt = activity.attempt,
                        .delivery = activity.delivery,
                        .last_failure = activity.last_failure,
                        .progress = activity.progress,
                        .total_left = left(activity.total_until, tx.now)};
  if (activity.session) {
    Session& session = *find_session(tx, *activity.session);
    session.ran = true;
    activity.generation = session.generation;
    locked.session = SessionGrant{.hold = {session.id, session.generation},
                                  .held_since = session.held_since,
                                  .lease = left(session.lease_until, tx.now),
                                  .idle_timeout = session.idle_timeout,
                                  .when_lost = session.policy.when_lost,
                                  .connection = session.policy.connection};
  }
  place(tx, activity);
  return locked;
}

StoreResult<Activity*> locked(Transaction& tx, const ActivityId& id, LockToken token) {
  if (Activity* const activity = find_activity(tx, id); activity != nullptr) {
    if (activity->lock.is(token)) return activity;
    return refuse(StoreError::Kind::lost, "activity '" + activity->name + "' (event " + to_string(id.event) +
                                              ") is no longer locked by this token");
  }
  const Cancel* const cancel = find_cancel(tx, id, token);
  const CancelReason reason = cancel == nullptr ? CancelReason::dropped : cancel->record.reason;
  return gone(reason, "the activity of event " + to_string(id.event) +
                          " was cancelled: " + std::string(to_string(reason)));
}

void remove(Transaction& tx, Activity& activity) {
  unplace(tx, activity);
  if (activity.session) {
    const Session* const session = find_session(tx, *activity.session);
    // There is room for another one.
    if (session != nullptr && session->policy.max_concurrent != 0 && !session->queued.empty()) {
      tx.news.work |= kActivities;
    }
  }
  const ActivityId id = activity.id;
  tx.space.activities.erase(id);
}

void unlock(Transaction& tx, Activity& activity) {
  unplace(tx, activity);
  activity.lock = {};
  place(tx, activity);
}

void queue_again(Transaction& tx, Activity& activity, Duration delay) {
  unplace(tx, activity);
  activity.lock = {};
  activity.ready_since = after(tx.now, delay);
  place(tx, activity);
  tx.news.work |= kActivities;
  if (activity.session_over) {
    fail(tx, activity, *activity.session_over);
  } else if (activity.session) {
    session_now(tx, *activity.session);  // its end is the end of the activity
  }
}

namespace {

/// What is told to whoever runs it, and counted in its session if that has a limit.
void leave_record(Transaction& tx, const Activity& activity, CancelReason reason, CancelRecord::State state,
                  const std::optional<std::string>& limited) {
  const Lock& lock = activity.lock;
  const std::pair place(activity.id, lock.token);
  tx.space.cancels.insert_or_assign(place, Cancel{.record = {.id = activity.id,
                                                             .token = lock.token,
                                                             .name = activity.name,
                                                             .reason = reason,
                                                             .state = state},
                                                  .worker = lock.worker,
                                                  .at = tx.now,
                                                  .until = lock.until,
                                                  .session = limited});
  if (limited) tx.space.stopping[*limited].insert(place);
  tx.sweep_by(lock.until);
}

/// Its session, if that has a limit.
std::optional<std::string> limited_session(const Transaction& tx, const Activity& activity) {
  const Session* const session = activity.session ? find_session(tx, *activity.session) : nullptr;
  return session != nullptr && session->policy.max_concurrent != 0 ? activity.session : std::nullopt;
}

}  // namespace

void note_still_running(Transaction& tx, const Activity& activity) {
  if (const auto limited = limited_session(tx, activity))
    leave_record(tx, activity, CancelReason::attempt_timeout, CancelRecord::State::abandoned, limited);
}

void take_away(Transaction& tx, Activity& activity, CancelReason reason) {
  if (!activity.lock.token.empty()) {
    leave_record(tx, activity, reason, CancelRecord::State::requested, limited_session(tx, activity));
    tx.news.cancelled.push_back(activity.lock.worker);
  }
  remove(tx, activity);
}

void fail(Transaction& tx, Activity& activity, CancelReason reason) {
  tell(tx, activity, reason);
  take_away(tx, activity, reason);
}

}  // namespace holdfast::rules
