// Rows of activities, in and out of their two tables.
#include "activities.hpp"

#include "contract/rows.hpp"
#include "pack.hpp"
#include "sessions.hpp"

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

std::optional<int> over_of(const Activity& activity) {
  return activity.session_over ? std::optional(to_row(*activity.session_over)) : std::nullopt;
}

void tell_instance(Transaction& tx, const Activity& activity, CancelReason reason, std::string_view session) {
  store::ActivityTaken taken{.reason = reason,
                             .session = std::string(session),
                             .last_failure = activity.last_failure,
                             .attempt = activity.delivery > 0 ? activity.attempt : activity.attempt - 1};
  const Session* const row = session.empty() ? nullptr : find_session(tx, session);
  if (row != nullptr && row->ended) {
    taken.owner = row->owner;
    taken.session_reason = row->reason;
    taken.note = row->note;
  }
  const std::string body = store::encode_body(taken);
  deliver(tx, activity.id.instance,
          {.kind = store::MessageKind::taken,
           .execution = activity.id.execution,
           .source = activity.id.event,
           .body = body});
}

}  // namespace

void note_not_running(Transaction& tx, const store::ActivityId& id) {
  if (Instance* known = tx.memo.instances.find(id.instance)) known->note_not_running(id.event);
}

std::vector<RunningActivity> read_running(Transaction& tx, const Instance& instance) {
  std::vector<RunningActivity> running;
  for (Cursor row = tx.rows(tx.sql.running_tokens, instance.key, instance.execution); row.next();) {
    running.push_back(
        {.event = row->number<EventId>(0), .token = row->token<LockToken>(1), .session = row->int64(2)});
  }
  for (const Activity& activity : packed_of(tx, instance.key)) {
    running.push_back(
        {.event = activity.id.event, .token = activity.token, .session = activity.session, .packed = true});
  }
  std::ranges::sort(running, {}, &RunningActivity::event);
  return running;
}

bool is_plain(const Activity& a) noexcept {
  return a.priority == 0 && a.attempt == 1 && a.delivery <= 1 && a.start_within == never &&
         a.total_until == kNoTime && a.last_failure.empty() && a.progress.empty();
}

Activity read_activity(const Cursor& row, ActivityTable table) {
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
  if (!row->is_null(17)) activity.session_over = static_cast<CancelReason>(row->integer(17));
  activity.lane = row->int64(18);
  activity.at = row->int64(19);
  activity.adopts = row->truth(20);
  activity.table = table;
  return activity;
}

std::optional<Activity> find_activity(Transaction& tx, const store::ActivityId& id) {
  const auto& [instance, execution, event] = id;
  if (Cursor row = tx.rows(tx.sql.running, instance, execution, event, tx.ns); row.next()) {
    return read_activity(row, ActivityTable::running);
  }
  if (Cursor row = tx.rows(tx.sql.queued, instance, execution, event, tx.ns); row.next()) {
    return read_activity(row, ActivityTable::queued);
  }
  for (Activity& activity : packed_of(tx, instance)) {
    if (activity.id == id) return std::move(activity);
  }
  return std::nullopt;
}

void insert_running(Transaction& tx, const Activity& a) {
  if (Instance* known = tx.memo.instances.find(a.id.instance)) {
    known->note_running({.event = a.id.event, .token = a.token, .session = a.session});
  }
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = std::min(horizon, a.until);
  if (is_plain(a) && a.delivery == 1 && a.session == 0) {  // columns at their defaults need not be bound
    tx.run(tx.sql.insert_running_plain, a.id.instance, a.id.execution, a.id.event, a.kind, a.worker, a.token,
           a.until, Blob{a.body});
    return;
  }
  tx.run(tx.sql.insert_running, a.id.instance, a.id.execution, a.id.event, a.kind, a.worker, a.token, a.until,
         Blob{a.body}, a.priority, a.attempt, a.delivery, or_null<std::int64_t>(a.session, 0),
         or_null(a.generation, Generation{}), or_null(a.start_within.count(), never.count()),
         or_null(a.total_until, kNoTime), blob_or_null(a.last_failure), blob_or_null(a.progress), over_of(a));
}

void insert_queued(Transaction& tx, const Activity& a) {
  const LeaseTime deadline = a.deadline();
  const bool locked = !a.token.empty();
  tx.run(tx.sql.insert_queued, a.id.instance, a.id.execution, a.id.event, a.kind,
         or_null(a.worker, WorkerKey{}), or_null(a.token, LockToken{}),
         locked ? std::optional(a.until) : std::nullopt, Blob{a.body}, -std::int64_t{a.priority}, a.attempt,
         a.delivery, or_null<std::int64_t>(a.session, 0), or_null(a.generation, Generation{}),
         or_null(a.start_within.count(), never.count()), or_null(a.total_until, kNoTime),
         blob_or_null(a.last_failure), blob_or_null(a.progress), over_of(a), a.lane, a.at, a.adopts,
         or_null(deadline, kNoTime));
  tx.memo.nothing_queued = false;
  if (Session* known = a.session == 0 ? nullptr : tx.memo.sessions.find(a.session)) {
    if (known->queued) ++*known->queued;
  }
  if (tx.memo.top_rank) tx.memo.top_rank = std::min(*tx.memo.top_rank, -std::int64_t{a.priority});
  if (Instance* known = tx.memo.instances.find(a.id.instance)) known->bare = false;
  tx.wake(store::kActivities);
  tx.sweep_by(deadline);
}

void erase_activity(Transaction& tx, const Activity& activity) {
  const auto& [instance, execution, event] = activity.id;
  if (activity.is_queued()) {
    tx.run(tx.sql.delete_queued, instance, execution, event);
    tx.memo.nothing_queued.reset();
    if (Session* known = activity.session == 0 ? nullptr : tx.memo.sessions.find(activity.session)) {
      if (known->queued) --*known->queued;
    }
    return;
  }
  note_not_running(tx, activity.id);
  if (activity.table == ActivityTable::packs) {
    take_from_pack(tx, instance, {&event, 1});
  } else {
    tx.run(tx.sql.delete_running, instance, execution, event);
  }
}

std::int64_t lane_of(Transaction& tx, const Activity& activity) {
  if (activity.session == 0) return activity.kind;
  return session_of(tx, activity.session).open ? activity.kind : -activity.session;
}

std::optional<Activity> new_activity(Transaction& tx, const Instance& instance,
                                     const store::NewActivity& wanted) {
  Activity activity;
  activity.id = {instance.key, instance.execution, wanted.event};
  activity.priority = wanted.priority;
  activity.start_within = wanted.start_within;
  activity.total_until = later(tx.now, wanted.total);
  activity.body = wanted.body;
  activity.at = tx.now;
  if (!wanted.session) {
    activity.kind = activity.lane = tx.kind_number(wanted.queue, wanted.name, {});
    return activity;
  }
  const store::SessionUse& use = *wanted.session;
  const Session* session = session_now(tx, use.id);
  if ((session == nullptr || begins_anew(*session)) && use.policy.create_if_missing) {
    session = &begin_session(tx, use.id, use.policy, nullptr);
  }
  if (session != nullptr && session->ended) {
    tell_instance(tx, activity, reason_of(*session), use.id);
    return std::nullopt;
  }
  const store::SessionPolicy& policy = session != nullptr ? session->policy : use.policy;
  activity.kind = tx.kind_number(wanted.queue.empty() ? policy.queue : wanted.queue, wanted.name,
                                 store::to_bytes(policy.requirements));
  activity.session = session != nullptr ? session->number : session_number(tx, use.id);
  activity.adopts = session == nullptr && wanted.queue.empty();
  activity.lane = session != nullptr && session->open ? activity.kind : -activity.session;
  return activity;
}

store::LockedActivity lock_activity(Transaction& tx, Activity activity, WorkerKey worker, LockToken token,
                                    Duration lease, std::string instance) {
  if (activity.is_queued()) erase_activity(tx, activity);
  activity.worker = worker;
  activity.token = token;
  activity.until = later(tx.now, lease);
  ++activity.delivery;
  if (activity.session != 0) enter_session(tx, activity);
  insert_running(tx, activity);
  return tell_locked(tx, std::move(activity), std::move(instance));
}

void enter_session(Transaction& tx, Activity& activity) {
  Session& session = session_of(tx, activity.session);
  activity.generation = session.generation;
  if (!std::exchange(session.ran, true)) save_session(tx, session);
}

store::LockedActivity tell_locked(Transaction& tx, Activity activity, std::string instance) {
  store::LockedActivity locked;
  locked.id = activity.id;
  locked.instance = std::move(instance);
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
  if (activity.session == 0) return locked;
  const Session& session = session_of(tx, activity.session);
  locked.session = store::SessionGrant{.hold = {session.id, session.generation},
                                       .held_since = session.held_since,
                                       .lease = left_until(session.lease_until, tx.now),
                                       .idle_timeout = session.idle_timeout,
                                       .when_lost = session.policy.when_lost,
                                       .connection = session.policy.connection};
  return locked;
}

namespace {

/// What is told to whoever runs it, and counted in its session if that has a limit.
void leave_record(Transaction& tx, const Activity& activity, CancelReason reason, CancelState state,
                  const std::optional<std::string>& limited) {
  tx.run(tx.sql.insert_cancel, activity.id.instance, activity.id.execution, activity.id.event, activity.token,
         tx.ns, activity.worker, tx.kind(activity.kind).name, to_row(reason), activity.until, tx.now, limited,
         to_row(state));
  tx.sweep_by(activity.until);
}

/// Its session, if that has a limit.
std::optional<std::string> limited_session(Transaction& tx, const Activity& activity) {
  if (activity.session == 0) return std::nullopt;
  const Session& session = session_of(tx, activity.session);
  return session.policy.max_concurrent != 0 ? std::optional(session.id) : std::nullopt;
}

}  // namespace

void note_still_running(Transaction& tx, const Activity& activity) {
  if (const auto limited = limited_session(tx, activity))
    leave_record(tx, activity, CancelReason::attempt_timeout, CancelState::abandoned, limited);
}

void cancel_activity(Transaction& tx, const Activity& activity, CancelReason reason) {
  erase_activity(tx, activity);
  if (activity.token.empty()) return;
  leave_record(tx, activity, reason, CancelState::requested, limited_session(tx, activity));
  tx.news.cancelled.push_back(activity.worker);
}

void cancel_all_activities(Transaction& tx, InstanceKey key, CancelReason reason) {
  std::vector<Activity> all;
  for (Cursor row = tx.rows(tx.sql.running_of, key); row.next();) {
    all.push_back(read_activity(row, ActivityTable::running));
  }
  for (Cursor row = tx.rows(tx.sql.queued_of, key); row.next();) {
    all.push_back(read_activity(row, ActivityTable::queued));
  }
  std::ranges::move(packed_of(tx, key), std::back_inserter(all));
  std::sort(all.begin(), all.end(), [](const Activity& a, const Activity& b) { return a.id < b.id; });
  for (const Activity& activity : all) cancel_activity(tx, activity, reason);
}

void take_away(Transaction& tx, const Activity& activity, CancelReason reason, std::string_view session) {
  tell_instance(tx, activity, reason, session);
  cancel_activity(tx, activity, reason);
}

void queue_again(Transaction& tx, Activity activity, Duration delay) {
  erase_activity(tx, activity);
  activity.worker = {};
  activity.token = {};
  activity.until = 0;
  activity.at = later(tx.now, delay);
  activity.lane = lane_of(tx, activity);
  insert_queued(tx, activity);
  activity.table = ActivityTable::queued;
  if (activity.session == 0) return;
  Session& session = session_of(tx, activity.session);
  if (activity.session_over) {
    take_away(tx, activity, *activity.session_over, session.id);
  } else if (session.begun && !session.ended && session.ttl_until <= tx.now) {
    expire(tx, session);  // its end is the end of the activity
  }
}

bool SessionResults::counts(Transaction& tx) const {
  if (session == 0 || !*save || !(*save)->required || session_over) return true;
  const Session& row = session_of(tx, session);
  return !row.begun || row.ended || is_current(row, worker, generation);
}

void SessionResults::apply(Transaction& tx) const {
  if (session == 0 || (!*save && !*abort)) return;
  Session& row = session_of(tx, session);
  if (!row.ended && row.ttl_until <= tx.now) expire(tx, row);
  if (!is_current(row, worker, generation)) return;
  if (*save) {
    keep_state(tx, row, **save);
    save_session(tx, row);
  }
  if (*abort) abort_session(tx, row, **abort);
}

Duration let_activities_lapse(Transaction& tx) {
  if (tx.now < tx.counters().activity_horizon) return left_until(tx.counters().activity_horizon, tx.now);
  std::vector<Activity> over;
  for (Cursor row = tx.rows(tx.sql.running_until, tx.now); row.next();) {
    over.push_back(read_activity(row, ActivityTable::running));
  }
  for (const Activity& activity : over) erase_activity(tx, activity);
  std::ranges::move(take_lapsed_packs(tx), std::back_inserter(over));
  for (Activity& activity : over) {
    activity.lane = lane_of(tx, activity);
    activity.at = activity.until;
    insert_queued(tx, activity);
  }
  LeaseTime& horizon = tx.counters().activity_horizon;
  horizon = kNoTime;
  if (Cursor row = tx.rows(tx.sql.first_end_of_lock); row.next() && !row->is_null(0)) horizon = row->int64(0);
  return left_until(horizon, tx.now);
}

}  // namespace holdfast::sqlite_store
