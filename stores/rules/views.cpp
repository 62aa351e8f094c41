#include "views.hpp"

#include "admission.hpp"
#include "calls.hpp"
#include "in_sql.hpp"
#include "readiness.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rules {

namespace {

std::vector<NewTimer> timers_of(const Instance& instance) {
  std::vector<NewTimer> timers;
  for (const auto& [event, due] : instance.timers) timers.push_back({event, due});
  return timers;
}

template <class Predicate>
std::uint32_t count_workers(const Transaction& tx, Predicate predicate) {
  return static_cast<std::uint32_t>(std::ranges::count_if(tx.space.workers, [&](const auto& entry) {
    return is_present(tx, entry.second) && predicate(entry.second.info);
  }));
}

/// The lease of the session is over, and its owner is gone.
bool is_orphaned(const Transaction& tx, SessionStatus state, WorkerKey owner) {
  return state == SessionStatus::lapsed && is_gone(tx, owner);
}

}  // namespace

bool is_gone(const Transaction& tx, WorkerKey owner) {
  const Worker* const worker = look_at(tx, owner);
  return worker == nullptr || stale_at(*worker, SweepRequest{}) <= tx.now;
}

WorkerView view(const Transaction& tx, const Worker& worker) {
  return {.key = worker.key,
          .info = worker.info,
          .draining = worker.draining,
          .superseded = worker.superseded,
          .sessions_owned = sessions_held(tx, worker.key),
          .joined_at = worker.joined_at,
          .last_seen = tx.now - worker.seen};
}

ActivityView view(const Transaction& tx, const Activity& activity) {
  const bool running = activity.lock.live;
  return {.id = activity.id,
          .name = activity.name,
          .queue = activity.queue,
          .session = activity.session.value_or(""),
          .priority = activity.priority,
          .running = running,
          .owner = running ? node_of(tx, activity.lock.worker) : "",
          .attempt = activity.attempt,
          .delivery = activity.delivery,
          .due_in = running ? Duration{} : left(activity.ready_since, tx.now),
          .last_failure = activity.last_failure,
          .progress = activity.progress};
}

CancelRecord view(const Transaction& tx, const Cancel& cancel) {
  CancelRecord record = cancel.record;
  record.owner = node_of(tx, cancel.worker);
  record.age = tx.now - cancel.at;
  return record;
}

SessionView view(const Transaction& tx, const Session& session, Saved saved) {
  SessionView view{.id = session.id,
                   .state = state_of(tx, session),
                   .orphaned = is_orphaned(tx, state_of(tx, session), session.worker),
                   .reason = session.reason,
                   .note = session.note,
                   .owner = session.owner,
                   .worker = session.worker,
                   .generation = session.generation,
                   .held_since = session.held_since,
                   .wanted = session.ended ? std::nullopt : session.wanted,
                   .kept_for = is_kept(tx, session) ? left(session.lease_until, tx.now) : Duration{},
                   .policy = session.policy,
                   .lease_left = is_held(tx, session) ? left(session.lease_until, tx.now) : Duration{},
                   .quiet_for = tx.now - session.last_activity,
                   .opened_by = session.opened_by,
                   .queued = session.queued.size(),
                   .in_flight = session.in_flight.size(),
                   .saved_version = session.saved_version,
                   .created_at = session.created_at,
                   .updated_at = session.updated_at};
  if (session.ttl_until != kNever) view.ttl_left = left(session.ttl_until, tx.now);
  if (session.saved) view.saved_size = session.saved->size;
  if (saved == Saved::bytes) view.saved = saved_in(tx, session);
  return view;
}

namespace {

std::optional<Duration> starts_in(const Transaction& tx, const Instance& instance) {
  for (const DelayedKey& key : instance.delayed) {
    if (tx.space.delayed.at(key).message.kind == MessageKind::start) return left(key.first, tx.now);
  }
  return std::nullopt;
}

std::uint64_t count_unread(const Instance& instance) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      instance.messages, [](const auto& entry) { return ends_with_instance(entry.second.kind); }));
}

}  // namespace

InstanceDetail detail_of(const Transaction& tx, const Instance& instance) {
  InstanceDetail detail{.view = instance.view,
                        .locked_by = instance.lock.live ? node_of(tx, instance.lock.worker) : "",
                        .delivery = instance.delivery,
                        .waits = instance.waits,
                        .timers = timers_of(instance),
                        .unread = count_unread(instance),
                        .starts_in = starts_in(tx, instance),
                        .fingerprint = instance.fingerprint};
  for (auto next = tx.space.activities.lower_bound({.instance = instance.view.key});
       next != tx.space.activities.end() && next->first.instance == instance.view.key; ++next) {
    const Activity& activity = next->second;
    ActivityView& shown = detail.activities.emplace_back(view(tx, activity));
    shown.workers =
        count_workers(tx, [&](const NewWorker& worker) { return can_run(worker.abilities, activity); });
    if (!shown.running && activity.deadline() != kNever)
      shown.gives_up_in = left(activity.deadline(), tx.now);
  }
  for (auto next = tx.space.cancels.lower_bound({{.instance = instance.view.key}, {}});
       next != tx.space.cancels.end() && next->first.first.instance == instance.view.key; ++next) {
    detail.cancels.push_back(view(tx, next->second));
  }
  detail.workers =
      count_workers(tx, [&](const NewWorker& worker) { return suits(worker.code, instance.route()); });
  for (const auto& [key, other] : tx.space.instances) {
    if (other.view.parent != instance.view.key || has_ended(other.view.status)) continue;
    if (detail.children.size() < InstanceDetail::kMaxChildren) {
      detail.children.push_back(other.view);
    } else {
      ++detail.more_children;
    }
  }
  for (const auto& [key, value] : instance.values) detail.value_keys.push_back(key);
  return detail;
}

// ---- lists ---------------------------------------------------------------------------------------

bool takes(const Transaction& tx, const SessionFilter& filter, const Session& session) {
  return filter.takes(state_of(tx, session), session.owner, session.policy.queue);
}

void count(const Transaction& tx, SessionCounts& counts, SessionStatus state, WorkerKey owner,
           std::uint64_t how_many) {
  counts.add(state, is_orphaned(tx, state, owner), how_many);
}

StatusCounts count_by_status(const Transaction& tx) {
  StatusCounts counts;
  for (const auto& [key, instance] : tx.space.instances) ++counts[instance.view.status];
  return counts;
}

std::vector<ExecutionView> with_current(std::vector<ExecutionView> recorded, const Instance& instance) {
  const ExecutionNumber current = instance.view.execution;
  if (recorded.empty() || recorded.back().execution != current) recorded.push_back({.execution = current});
  return recorded;
}

void add_counts(InstanceDetail& detail, std::uint64_t unread, std::uint64_t open_children,
                std::vector<std::string> value_keys) {
  detail.unread = unread;
  detail.more_children = open_children - detail.children.size();
  detail.value_keys = std::move(value_keys);
}

// ---- the whole -----------------------------------------------------------------------------------

namespace {

InstanceRow row(const Transaction& tx, const Instance& instance) {
  InstanceRow row{.view = instance.view,
                  .request = instance.request,
                  .fingerprint = instance.fingerprint,
                  .stamp = instance.stamp,
                  .delivery = instance.delivery,
                  .token = instance.lock.token,
                  .lease_left = left(instance.lock.until, tx.now),
                  .ready = instance.not_before <= tx.now && needs_turn_once_unlocked(instance),
                  .waits = instance.waits,
                  .timers = timers_of(instance),
                  .values = instance.values,
                  .watched_sessions = {instance.watched.begin(), instance.watched.end()},
                  .end_watchers = instance.end_watchers};
  if (!instance.lock.token.empty()) row.locked_by = instance.lock.worker;
  for (const auto& [id, message] : instance.messages) row.messages.push_back(message);
  for (const DelayedKey& key : instance.delayed) {
    const NewMessage& message = tx.space.delayed.at(key).message;
    row.delayed_messages.push_back({.kind = message.kind,
                                    .execution = message.execution,
                                    .source = message.source,
                                    .address = message.address,
                                    .body = message.body});
  }
  for (const auto& [execution, segments] : instance.history) {
    for (const auto& [event, bytes] : segments) row.history[execution.value].push_back({event, bytes});
  }
  return row;
}

ActivityRow row(const Transaction& tx, const Activity& activity) {
  return {.view = view(tx, activity),
          .token = activity.lock.token,
          .lease_left = left(activity.lock.until, tx.now),
          .start_within = activity.start_within,
          .total_left = left(activity.total_until, tx.now),
          .body = activity.body,
          .generation = activity.generation};
}

}  // namespace

StoreState state(Transaction& tx) {
  StoreState state{
      .session_log = tx.space.session_log, .set_aside = tx.space.set_aside, .counts = count_by_status(tx)};
  for (const auto& [key, instance] : tx.space.instances) state.instances.push_back(row(tx, instance));
  for (const auto& [id, activity] : tx.space.activities) state.activities.push_back(row(tx, activity));
  for (const auto& [id, session] : tx.space.sessions) {
    state.sessions.push_back(view(tx, session, Saved::bytes));
  }
  for (const auto& [key, worker] : tx.space.workers) state.workers.push_back(view(tx, worker));
  for (const auto& [key, cancel] : tx.space.cancels) state.cancels.push_back(view(tx, cancel));
  for (const auto& [instance, messages] : tx.space.early) {
    for (const Early& early : messages) {
      state.early.push_back({instance, early.message, left(early.until, tx.now)});
    }
  }
  return state;
}

}  // namespace holdfast::rules
