// Answers of attempts, and the renewal of their locks.
#include "activities.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::sqlite_store {
namespace {

using store::ActivityResult;

void deliver_outcome(Transaction& tx, const store::ActivityId& id, std::string_view body) {
  deliver(tx, id.instance,
          {.kind = store::MessageKind::outcome, .execution = id.execution, .source = id.event, .body = body});
}

struct Answer {
  Transaction& tx;
  Activity activity;

  void operator()(const store::Finished& finished) {
    erase_activity(tx, activity);
    note_room(tx, activity.session);
    deliver_outcome(tx, activity.id, finished.body);
  }
  void operator()(const store::Retry& retry) {
    ++activity.attempt;
    activity.delivery = 0;
    activity.last_failure = retry.failure;
    queue_again(tx, std::move(activity), retry.delay);
  }
  void operator()(const store::PutBack& put) {
    if (activity.delivery > 0) --activity.delivery;
    queue_again(tx, std::move(activity), put.delay);
  }
  void operator()(const store::SetAside& aside) {
    const store::ActivityId& id = activity.id;
    set_aside(tx, tx.ns, id.instance,
              "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" +
                  to_string(id.event) + " (" + tx.kind(activity.kind).name + ")",
              aside.problem, activity.body);
    activity.token = {};  // its own worker gave it up: nobody has to be told to stop
    take_away(tx, activity, CancelReason::unreadable, {});
  }
};

void extend_lock(Transaction& tx, const Activity& activity, const store::ActivityRenewal& renewal) {
  const auto& [instance, execution, event] = renewal.id;
  if (renewal.progress) {
    tx.run(tx.sql.extend_running_progress, instance, execution, event, activity.until,
           Blob{*renewal.progress});
  } else {
    tx.run(tx.sql.extend_running, instance, execution, event, activity.until);
  }
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = std::min(horizon, activity.until);
}

/// An activity of the current generation keeps its session.
void extend_session_of(Transaction& tx, const Activity& activity) {
  Session& session = session_of(tx, activity.session);
  if (!is_current(session, activity.worker, activity.generation)) return;
  // Whoever let a lease lapse under `reclaim` has to claim again.
  if (!is_held(tx, session) && session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim) return;
  extend(tx, session);
  session.last_activity = tx.now;
  tx.run(tx.sql.extend_session, session.number, session.lease_until, session.last_activity);
}

}  // namespace

StoreResult<void> finish_activity(Transaction& tx, const ActivityResult& result) {
  // The common case: a running activity of no session, answered with its outcome.
  if (const auto* finished = std::get_if<store::Finished>(&result.result);
      finished != nullptr && tx.change(tx.sql.finish_running, result.id.instance, result.id.execution,
                                       result.id.event, result.token, tx.ns) == 1) {
    note_not_running(tx, result.id);
    deliver_outcome(tx, result.id, finished->body);
    return {};
  }
  std::optional<Activity> activity = find_activity(tx, result.id);
  if (!activity || result.token.empty() || activity->token != result.token) {
    return Unexpected(why_not_locked(tx, result.id, result.token, activity.has_value()));
  }
  const SessionResults for_session{.session = activity->session,
                                   .worker = activity->worker,
                                   .generation = activity->generation,
                                   .session_over = activity->session_over.has_value(),
                                   .save = &result.save,
                                   .abort = &result.abort_session};
  if (!for_session.counts(tx)) {
    return Unexpected(
        store_error(StoreError::Kind::lost,
                    "the state of its session can't be saved: its worker no longer holds the session"));
  }
  if (result.progress) activity->progress = *result.progress;
  if (result.still_runs) note_still_running(tx, *activity);
  std::visit(Answer{tx, *std::move(activity)}, result.result);
  for_session.apply(tx);
  return {};
}

StoreResult<void> renew_activity(Transaction& tx, WorkerKey worker, Duration lease,
                                 const store::ActivityRenewal& renewal) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has))
    return Unexpected(*std::move(refused));
  std::optional<Activity> activity = find_activity(tx, renewal.id);
  if (!activity || renewal.token.empty() || activity->token != renewal.token) {
    return Unexpected(why_not_locked(tx, renewal.id, renewal.token, activity.has_value()));
  }
  const bool lapsed = activity->table == ActivityTable::queued || activity->until <= tx.now;
  if (lapsed && activity->session != 0 && is_full(tx, session_of(tx, activity->session))) {
    return Unexpected(
        store_error(StoreError::Kind::lost,
                    "its lease was over, and other activities have taken its place in the session"));
  }
  activity->until = later(tx.now, lease);
  if (renewal.progress) activity->progress = *renewal.progress;
  if (activity->table == ActivityTable::running) {
    extend_lock(tx, *activity, renewal);
  } else {
    erase_activity(tx, *activity);
    insert_running(tx, *activity);
  }
  if (activity->session != 0) extend_session_of(tx, *activity);
  return {};
}

store::CancelRecord read_cancel(Transaction& tx, const Cursor& row) {
  return {.id = {row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)},
          .token = row->token<LockToken>(3),
          .name = std::string(row->text(4)),
          .reason = static_cast<CancelReason>(row->integer(5)),
          .state = static_cast<store::CancelRecord::State>(row->integer(6)),
          .owner = tx.node_of(row->number<WorkerKey>(7)),
          .age = Duration(tx.now - row->int64(8))};
}

StoreError why_not_locked(Transaction& tx, const store::ActivityId& id, LockToken token, bool row_is_there) {
  const std::string name =
      "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" + to_string(id.event);
  if (row_is_there) return store_error(StoreError::Kind::lost, name + " is locked by another token");
  StoreError gone = store_error(StoreError::Kind::gone, name + " was cancelled");
  if (Cursor row = tx.rows(tx.sql.cancel_reason, id.instance, id.execution, id.event, token, tx.ns);
      row.next()) {
    gone.reason = static_cast<CancelReason>(row->integer(0));
  }
  return gone;
}

}  // namespace holdfast::sqlite_store
