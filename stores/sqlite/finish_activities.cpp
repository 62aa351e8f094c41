// Answers of attempts, and the renewal of their locks.
#include "activities.hpp"

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

/// Back to the queue, without a lock.
void put_back(Transaction& tx, Activity activity, Duration delay) {
  erase_activity(tx, activity);
  activity.worker = {};
  activity.token = {};
  activity.lane = lane_of(tx, activity);
  activity.at = later(tx.now, delay);
  insert_queued(tx, activity);
}

struct Answer {
  Transaction& tx;
  Activity activity;

  void operator()(const store::Finished& finished) {
    erase_activity(tx, activity);
    deliver_outcome(tx, activity.id, finished.body);
  }
  void operator()(const store::Retry& retry) {
    ++activity.attempt;
    activity.delivery = 0;
    activity.last_failure = retry.failure;
    put_back(tx, std::move(activity), retry.delay);
  }
  void operator()(const store::PutBack& put) {
    if (activity.delivery > 0) --activity.delivery;
    put_back(tx, std::move(activity), put.delay);
  }
  void operator()(const store::SetAside& aside) {
    const store::ActivityId& id = activity.id;
    set_aside(tx, id.instance,
              "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" +
                  to_string(id.event) + " (" + tx.kind(activity.kind).name + ")",
              aside.problem, activity.body);
    activity.token = {};  // its own worker gave it up: nobody has to be told to stop
    take_away(tx, activity, CancelReason::unreadable, {});
  }
};

}  // namespace

StoreResult<void> finish_activity(Transaction& tx, const ActivityResult& result) {
  // The common case: a running activity of no session, answered with its outcome.
  if (const auto* finished = std::get_if<store::Finished>(&result.result);
      finished != nullptr && tx.change(tx.sql.finish_running, result.id.instance, result.id.execution,
                                       result.id.event, result.token) == 1) {
    deliver_outcome(tx, result.id, finished->body);
    return {};
  }
  std::optional<Activity> activity = find_activity(tx, result.id);
  if (!activity || result.token.empty() || activity->token != result.token) {
    return Unexpected(why_not_locked(tx, result.id, result.token, activity.has_value()));
  }
  std::visit(Answer{tx, *std::move(activity)}, result.result);
  return {};
}

StoreResult<void> renew_activity(Transaction& tx, WorkerKey worker, Duration lease,
                                 const store::ActivityRenewal& renewal) {
  if (auto refused = tx.refuse_worker(worker)) return Unexpected(*std::move(refused));
  std::optional<Activity> activity = find_activity(tx, renewal.id);
  if (!activity || renewal.token.empty() || activity->token != renewal.token) {
    return Unexpected(why_not_locked(tx, renewal.id, renewal.token, activity.has_value()));
  }
  activity->until = later(tx.now, lease);
  if (renewal.progress) activity->progress = *renewal.progress;
  if (activity->queued) {
    erase_activity(tx, *activity);
    insert_running(tx, *activity);
    return {};
  }
  const auto& [instance, execution, event] = renewal.id;
  if (renewal.progress) {
    tx.run(tx.sql.extend_running_progress, instance, execution, event, activity->until,
           Blob{*renewal.progress});
  } else {
    tx.run(tx.sql.extend_running, instance, execution, event, activity->until);
  }
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = std::min(horizon, activity->until);
  return {};
}

StoreError why_not_locked(Transaction& tx, const store::ActivityId& id, LockToken token, bool row_is_there) {
  const std::string name =
      "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" + to_string(id.event);
  if (row_is_there) return store_error(StoreError::Kind::lost, name + " is locked by another");
  StoreError gone = store_error(StoreError::Kind::gone, name + " was taken away");
  if (Cursor row = tx.rows(tx.sql.cancel_reason, id.instance, id.execution, id.event, token); row.next()) {
    gone.reason = static_cast<CancelReason>(row->integer(0));
  }
  return gone;
}

}  // namespace holdfast::sqlite_store
