// Activities are answered and kept.
#include "activities.hpp"
#include "calls.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "session_results.hpp"
#include "sessions.hpp"
#include "setting_aside.hpp"
#include "views.hpp"

#include <algorithm>
#include <map>

namespace holdfast::rules {

namespace {

/// What each kind of result does to the row.
struct Answer {
  Transaction& tx;
  Activity& activity;

  void operator()(const Finished& finished) const {
    const ActivityId id = activity.id;
    remove(tx, activity);
    deliver(tx, *find_instance(tx, id.instance),
            NewMessage{.kind = MessageKind::outcome,
                       .execution = id.execution,
                       .source = id.event,
                       .body = finished.body});
  }
  void operator()(const Retry& retry) const {
    ++activity.attempt;
    activity.delivery = 0;
    activity.last_failure = retry.failure;
    queue_again(tx, activity, retry.delay);
  }
  void operator()(const PutBack& put_back) const {
    if (activity.delivery > 0) --activity.delivery;
    queue_again(tx, activity, put_back.delay);
  }
  void operator()(const SetAside& aside) const {
    rules::set_aside(tx, activity, aside.problem);
    unlock(tx, activity);
    fail(tx, activity, CancelReason::unreadable);
  }
};

/// Of one whose lease was over: its session has let others run since, and has no room for it.
bool has_lost_its_place(const Transaction& tx, const Activity& activity) {
  const Session* const session = activity.session ? find_session(tx, *activity.session) : nullptr;
  return session != nullptr && is_full(tx, *session);
}

void renew(Transaction& tx, Activity& activity, Duration lease, const ActivityRenewal& renewal) {
  unplace(tx, activity);
  activity.lock.until = after(tx.now, lease);
  activity.lock.live = activity.lock.until > tx.now;
  if (renewal.progress) activity.progress = *renewal.progress;
  place(tx, activity);
  if (!activity.session) return;
  Session* const session = find_session(tx, *activity.session);
  if (session == nullptr || !is_current(*session, activity.lock.worker, activity.generation)) return;
  // Whoever let a lease lapse under `reclaim` has to claim again.
  if (!is_held(tx, *session) && session->policy.when_lost == SessionPolicy::WhenLost::reclaim) return;
  extend(tx, *session);
  session->last_activity = tx.now;
}

}  // namespace

StoreResult<void> finish_activity(Transaction& tx, const ActivityResult& item) {
  const auto activity = locked(tx, item.id, item.token);
  if (!activity) return Unexpected(activity.error());
  const SessionResults for_session(**activity, item.save, item.abort_session);
  if (!for_session.counts(tx)) {
    return refuse(StoreError::Kind::lost,
                  "the state of its session can't be saved: its worker no longer holds the session");
  }
  if (item.progress) (*activity)->progress = *item.progress;
  if (item.still_runs) note_still_running(tx, **activity);
  std::visit(Answer{tx, **activity}, item.result);
  for_session.apply(tx);
  return {};
}

StoreResult<void> renew_activity(Transaction& tx, WorkerKey worker, Duration lease,
                                 const ActivityRenewal& item) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  const auto activity = locked(tx, item.id, item.token);
  if (!activity) return Unexpected(activity.error());
  if (!(*activity)->lock.live && has_lost_its_place(tx, **activity)) {
    return refuse(StoreError::Kind::lost,
                  "its lease was over, and other activities have taken its place in the session");
  }
  renew(tx, **activity, lease, item);
  return {};
}

std::vector<CancelRecord> cancel_records(Transaction& tx, WorkerKey worker) {
  std::vector<CancelRecord> records;
  for (const auto& [key, cancel] : tx.space.cancels) {
    if (cancel.worker == worker && cancel.record.state == CancelRecord::State::requested) {
      records.push_back(view(tx, cancel));
    }
  }
  return records;
}

void acknowledge_cancel(Transaction& tx, const CancelAcknowledgement& item) {
  Cancel* const cancel = find_cancel(tx, item.id, item.token);
  // That its code has ended is the last word, in whichever order a worker's threads tell of it.
  if (cancel == nullptr || cancel->record.state == CancelRecord::State::acknowledged) return;
  const bool made_room = cancel->session && item.state == CancelRecord::State::acknowledged;
  if (made_room) tx.news.work |= kActivities;
  cancel->record.state = item.state;
}

std::vector<QueueDepth> queue_depths(Transaction& tx) {
  std::map<std::pair<std::string, std::string>, QueueDepth> depths;
  for (const auto& [id, activity] : tx.space.activities) {
    const auto [entry, is_new] = depths.try_emplace({activity.queue, activity.name});
    QueueDepth& depth = entry->second;
    if (is_new) {
      depth.queue = activity.queue;
      depth.name = activity.name;
      depth.workers = workers_for(tx, activity.queue, activity.name);
    }
    if (activity.lock.live) {
      ++depth.running;
    } else if (activity.ready_since > tx.now) {
      ++depth.delayed;
    } else {
      ++depth.ready;
      depth.oldest_wait = std::max(depth.oldest_wait, tx.now - activity.ready_since);
    }
  }
  std::vector<QueueDepth> list;
  for (auto& [key, depth] : depths) list.push_back(std::move(depth));
  return list;
}

}  // namespace holdfast::rules
