// Rows of activities, in and out of their two tables.
#include "activities.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

std::optional<Blob> blob_or_null(const std::string& bytes) {
  if (bytes.empty()) return std::nullopt;
  return Blob{bytes};
}

template <class T>
std::optional<T> or_null(T value, T none) {
  return value == none ? std::nullopt : std::optional<T>(value);
}

std::string describe(Transaction& tx, const Activity& activity) { return tx.kind(activity.kind).name; }

}  // namespace

Activity read_activity(const Cursor& row, bool queued) {
  Activity activity;
  activity.id = {row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)};
  activity.kind = row->int64(3);
  activity.worker = row->number<WorkerKey>(4);
  activity.token = row->token<LockToken>(5);
  activity.until = row->int64(6);
  activity.body = row->blob(7);
  activity.priority = row->integer(8);
  activity.attempt = static_cast<std::uint32_t>(row->int64(9));
  activity.delivery = static_cast<std::uint32_t>(row->int64(10));
  activity.session = row->int64(11);
  activity.generation = row->number<Generation>(12);
  if (!row->is_null(13)) activity.start_within = Duration(row->int64(13));
  if (!row->is_null(14)) activity.total_until = row->int64(14);
  activity.last_failure = row->blob(15);
  activity.progress = row->blob(16);
  activity.lane = row->int64(17);
  activity.at = row->int64(18);
  activity.queued = queued;
  return activity;
}

std::optional<Activity> find_activity(Transaction& tx, const store::ActivityId& id) {
  if (Cursor row = tx.rows(tx.sql.running, id.instance, id.execution, id.event); row.next()) {
    return read_activity(row, false);
  }
  if (Cursor row = tx.rows(tx.sql.queued, id.instance, id.execution, id.event); row.next()) {
    return read_activity(row, true);
  }
  return std::nullopt;
}

void insert_running(Transaction& tx, const Activity& a) {
  tx.run(tx.sql.insert_running, a.id.instance, a.id.execution, a.id.event, a.kind, a.worker, a.token, a.until,
         Blob{a.body}, a.priority, a.attempt, a.delivery, or_null<std::int64_t>(a.session, 0),
         or_null(a.generation, Generation{}), or_null(a.start_within.count(), never.count()),
         or_null(a.total_until, kNoTime), blob_or_null(a.last_failure), blob_or_null(a.progress));
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = std::min(horizon, a.until);
}

void insert_queued(Transaction& tx, const Activity& a) {
  const LeaseTime deadline = std::min(later(a.at, a.start_within), a.total_until);
  const bool locked = !a.token.empty();
  tx.run(tx.sql.insert_queued, a.id.instance, a.id.execution, a.id.event, a.kind,
         or_null(a.worker, WorkerKey{}), or_null(a.token, LockToken{}),
         locked ? std::optional(a.until) : std::nullopt, Blob{a.body}, -std::int64_t{a.priority}, a.attempt,
         a.delivery, or_null<std::int64_t>(a.session, 0), or_null(a.generation, Generation{}),
         or_null(a.start_within.count(), never.count()), or_null(a.total_until, kNoTime),
         blob_or_null(a.last_failure), blob_or_null(a.progress), a.lane, a.at, or_null(deadline, kNoTime));
  tx.memo.nothing_queued = false;
  tx.wake(store::kActivities);
  if (deadline != kNoTime) tx.wake(store::kSweep);
}

void erase_activity(Transaction& tx, const Activity& activity) {
  const auto& [instance, execution, event] = activity.id;
  tx.run(activity.queued ? tx.sql.delete_queued : tx.sql.delete_running, instance, execution, event);
}

std::int64_t lane_of(Transaction&, const Activity& activity) { return activity.kind; }

store::LockedActivity lock_activity(Transaction& tx, Activity activity, WorkerKey worker, LockToken token,
                                    Duration lease) {
  erase_activity(tx, activity);
  activity.worker = worker;
  activity.token = token;
  activity.until = later(tx.now, lease);
  ++activity.delivery;
  insert_running(tx, activity);
  store::LockedActivity locked;
  locked.id = activity.id;
  if (Cursor row = tx.rows(tx.sql.instance_name, activity.id.instance); row.next()) {
    locked.instance = row->text(0);
  }
  const Kind& kind = tx.kind(activity.kind);
  locked.name = kind.name;
  locked.queue = kind.queue;
  locked.priority = activity.priority;
  locked.attempt = activity.attempt;
  locked.delivery = activity.delivery;
  locked.body = std::move(activity.body);
  locked.last_failure = std::move(activity.last_failure);
  locked.progress = std::move(activity.progress);
  locked.total_left = left_until(activity.total_until, tx.now);
  return locked;
}

void cancel_activity(Transaction& tx, const Activity& activity, CancelReason reason) {
  erase_activity(tx, activity);
  if (activity.token.empty()) return;
  tx.run(tx.sql.insert_cancel, activity.id.instance, activity.id.execution, activity.id.event, activity.token,
         tx.ns, activity.worker, describe(tx, activity), to_row(reason), activity.until);
  tx.news.cancelled.push_back(activity.worker);
}

void cancel_all_activities(Transaction& tx, InstanceKey key, CancelReason reason) {
  std::vector<Activity> all;
  for (Cursor row = tx.rows(tx.sql.running_of, key); row.next();) all.push_back(read_activity(row, false));
  for (Cursor row = tx.rows(tx.sql.queued_of, key); row.next();) all.push_back(read_activity(row, true));
  std::sort(all.begin(), all.end(), [](const Activity& a, const Activity& b) { return a.id < b.id; });
  for (const Activity& activity : all) cancel_activity(tx, activity, reason);
}

void take_away(Transaction& tx, const Activity& activity, CancelReason reason, std::string_view session) {
  cancel_activity(tx, activity, reason);
  const std::string body = store::encode_body(
      store::ActivityTaken{.reason = reason,
                           .session = std::string(session),
                           .last_failure = activity.last_failure,
                           .attempt = activity.delivery > 0 ? activity.attempt : activity.attempt - 1});
  deliver(tx, activity.id.instance,
          {.kind = store::MessageKind::taken,
           .execution = activity.id.execution,
           .source = activity.id.event,
           .body = body});
}

Duration let_activities_lapse(Transaction& tx) {
  if (tx.now < tx.counters().activity_horizon) return left_until(tx.counters().activity_horizon, tx.now);
  LeaseTime horizon = kNoTime;
  std::vector<store::ActivityId> over;
  for (Cursor row = tx.rows(tx.sql.running_locks); row.next();) {
    if (const LeaseTime until = row->int64(3); until > tx.now) {
      horizon = std::min(horizon, until);
    } else {
      over.push_back({row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
    }
  }
  for (const store::ActivityId& id : over) {
    std::optional<Activity> activity = find_activity(tx, id);
    erase_activity(tx, *activity);
    activity->lane = lane_of(tx, *activity);
    activity->at = activity->until;
    insert_queued(tx, *activity);
  }
  tx.counters().activity_horizon = horizon;
  return left_until(horizon, tx.now);
}

bool serves(const store::Abilities& abilities, const Kind& kind) {
  return abilities.queues.serve(kind.queue) && abilities.handlers.contains(kind.name);
}

}  // namespace holdfast::sqlite_store
