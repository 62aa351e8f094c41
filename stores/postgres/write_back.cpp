// What the rules have changed goes back to the tables: one statement for each table and kind of change.
#include "contract/rows.hpp"
#include "statements.hpp"
#include "working_set.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

namespace {

template <class Time>
std::optional<Time> unless_never(Time time, Time nothing) {
  return time == nothing ? std::nullopt : std::optional(time);
}

std::optional<Bytes> unless_empty(std::string_view bytes) {
  return bytes.empty() ? std::nullopt : std::optional(Bytes{bytes});
}

std::optional<std::string> unless_plain(const Address& address) {
  return address.name.empty() ? std::nullopt : std::optional(address.name);
}

std::string bytes_of(const store::MessageBody& body) {
  if (const auto* const bytes = std::get_if<std::string>(&body)) return *bytes;
  return store::encode_body(body);
}

/// When somebody must have taken it; of no meaning while it is locked.
std::optional<BootTime> deadline_of(const Activity& activity) {
  if (activity.lock.live) return std::nullopt;
  return unless_never(activity.deadline(), rules::kNever);
}

bool same(const Activity& a, const Activity& b) {
  return a.queue == b.queue && a.session_over == b.session_over && a.attempt == b.attempt &&
         a.delivery == b.delivery && a.last_failure == b.last_failure && a.progress == b.progress &&
         a.lock.live == b.lock.live && a.lock.worker == b.lock.worker && a.lock.token == b.lock.token &&
         a.lock.until == b.lock.until && a.generation == b.generation && a.ready_since == b.ready_since;
}

auto columns_of(const Session& s) {
  return std::tie(s.ended, s.reason, s.note, s.owner, s.worker, s.generation, s.held_since, s.lease_until,
                  s.lease, s.idle_timeout, s.last_owner, s.last_worker, s.planned, s.restarted, s.ran,
                  s.last_activity, s.changed, s.ttl_until, s.opener, s.opened_by, s.saved_version,
                  s.created_at, s.updated_at, s.policy, s.wanted, s.wanted_for);
}

}  // namespace

void WorkingSet::write_back() {
  write_instances();
  write_messages();
  write_timers();
  write_delayed();
  write_activities();
  write_sessions();
  write_cancels();
  write_workers();
  write_values();
  write_clients();
}

// ---- instances -----------------------------------------------------------------------------------

std::pair<WorkingSet::TurnColumns, WorkingSet::OtherColumns> WorkingSet::columns(const Instance& i) {
  const std::optional<BootTime> due_at = i.lock.live ? std::optional(i.lock.until) : i.ready_since;
  return {
      TurnColumns(i.lock.live, i.woken, i.delivery, due_at, i.lock.until, i.lock.worker, i.seen, i.not_before,
                  i.lock.token, i.stamp, i.waits.empty() ? std::string() : store::to_bytes(i.waits)),
      OtherColumns(i.view.code, i.view.build, i.view.execution, i.view.status, i.view.updated_at,
                   i.view.cancel_requested_at, i.view.parked_because, i.view.output)};
}

void WorkingSet::write_instances() {
  using OptionalBytes = std::optional<Bytes>;
  using OptionalTime = std::optional<BootTime>;
  using OptionalDate = std::optional<CalendarTime>;
  Rows<InstanceKey, bool, bool, std::uint32_t, OptionalTime, BootTime, WorkerKey, MessageId, BootTime,
       LockToken, TurnStamp, OptionalBytes>
      turns;
  Rows<InstanceKey, bool, bool, std::uint32_t, OptionalTime, BootTime, WorkerKey, MessageId, BootTime,
       LockToken, TurnStamp, OptionalBytes, std::int32_t, ExecutionNumber, store::InstanceStatus,
       CalendarTime, OptionalDate, OptionalBytes, OptionalBytes>
      others;
  Rows<InstanceKey, std::string, std::int32_t, ExecutionNumber, store::InstanceStatus, bool, bool,
       std::uint32_t, OptionalTime, BootTime, WorkerKey, MessageId, BootTime, CalendarTime, CalendarTime,
       LockToken, TurnStamp, RequestId, Fingerprint, std::optional<InstanceKey>, OptionalDate, OptionalBytes,
       OptionalBytes, OptionalBytes>
      added;
  Rows<InstanceKey, ExecutionNumber, EventId, Bytes> history;
  std::vector<InstanceKey> removed;
  for (const auto& [key, about] : known_) {
    if (about.read && !space_.instances.contains(key)) removed.push_back(key);
  }
  if (!removed.empty()) write_removed(removed);

  for (const auto& [key, i] : space_.instances) {
    for (const auto& [execution, segments] : i.history) {
      for (const auto& [event, bytes] : segments) history.add(key, execution, event, Bytes{bytes});
    }
    const auto now = columns(i);
    const auto& waits = std::get<std::string>(now.first);
    const OptionalTime due_at = std::get<OptionalTime>(now.first);
    const Known& about = known(key);
    if (about.read && about.read->second == now.second) {
      if (about.read->first == now.first) continue;
      turns.add(key, i.lock.live, i.woken, i.delivery, due_at, i.lock.until, i.lock.worker, i.seen,
                i.not_before, i.lock.token, i.stamp, unless_empty(waits));
      continue;
    }
    const std::int32_t route = route_number({i.view.code, i.view.build});
    if (about.read) {
      others.add(key, i.lock.live, i.woken, i.delivery, due_at, i.lock.until, i.lock.worker, i.seen,
                 i.not_before, i.lock.token, i.stamp, unless_empty(waits), route, i.view.execution,
                 i.view.status, i.view.updated_at, i.view.cancel_requested_at,
                 unless_empty(i.view.parked_because), unless_empty(i.view.output));
    } else {
      added.add(key, i.view.instance, route, i.view.execution, i.view.status, i.lock.live, i.woken,
                i.delivery, due_at, i.lock.until, i.lock.worker, i.seen, i.not_before, i.view.created_at,
                i.view.updated_at, i.lock.token, i.stamp, i.request, i.fingerprint,
                unless_never(i.view.parent, InstanceKey{}), i.view.cancel_requested_at, unless_empty(waits),
                unless_empty(i.view.parked_because), unless_empty(i.view.output));
    }
  }
  if (!history.empty()) ask(sql::kInsertHistory, history.parameters());
  if (!turns.empty()) ask(sql::kUpdateTurns, turns.parameters());
  if (!others.empty()) ask(sql::kUpdateInstances, others.parameters());
  if (!added.empty()) ask(sql::kInsertInstances, added.parameters(ns()));
}

// Before new ones are inserted: one of them may have the same id.
void WorkingSet::write_removed(const std::vector<InstanceKey>& removed) {
  for (const Statement* const statement :
       {&sql::kDeleteInstances, &sql::kDeleteMessagesOf, &sql::kDeleteDelayedOf, &sql::kDeleteValuesOf,
        &sql::kDeleteStatusOf, &sql::kRemains, &sql::kDeleteHistoryOf}) {
    ask(*statement, Parameters().add_all(removed));
  }
}

// ---- what belongs to instances -------------------------------------------------------------------

void WorkingSet::write_messages() {
  Rows<std::optional<InstanceKey>, std::optional<MessageId>, store::MessageKind, std::int32_t,
       ExecutionNumber, EventId, Address::Kind, std::optional<std::string>, Bytes>
      added;
  Rows<InstanceKey, MessageId> removed;
  std::vector<InstanceKey> all_but_starts;
  std::vector<InstanceKey> of_execution;
  // By id over all instances: the table numbers them in the order in which they were made.
  std::map<MessageId, std::pair<InstanceKey, const store::Message*>> made;
  for (const auto& [key, about] : known_) {
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    for (const MessageId id : about.messages) {
      if (!instance->second.messages.contains(id) && !about.consumed.contains(id)) removed.add(key, id);
    }
    for (const MessageId id : about.consumed) removed.add(key, id);
    if (about.drops_all_but_starts) all_but_starts.push_back(key);
    if (about.drops_of_execution) of_execution.push_back(key);
    for (const auto& [id, message] : instance->second.messages) {
      if (!about.messages.contains(id)) made.emplace(id, std::pair(key, &message));
    }
  }
  if (!all_but_starts.empty()) {
    ask(sql::kDropAllButStarts, Parameters().add_all(all_but_starts));
    ask(sql::kDropDelayedButStarts, Parameters().add_all(all_but_starts));
  }
  if (!of_execution.empty()) ask(sql::kDropOfExecution, Parameters().add_all(of_execution));
  if (!removed.empty()) ask(sql::kDeleteMessages, removed.parameters());
  static const store::Message kDropped{};
  for (; numbered_messages_ < made_messages_; ++numbered_messages_) {
    made.emplace(MessageId{kProvisional + numbered_messages_ + 1}, std::pair(InstanceKey{}, &kDropped));
  }
  for (const auto& [id, entry] : made) {
    const store::Message& m = *entry.second;
    const std::string body = bytes_of(m.body);
    added.add(unless_never(entry.first, InstanceKey{}),
              id.value > kProvisional ? std::nullopt : std::optional(id), m.kind,
              store::waits_for_code(m.kind) ? 1 : 0, m.execution, m.source, m.address.kind,
              unless_plain(m.address), Bytes{body});
  }
  if (!added.empty()) ask(sql::kInsertMessages, added.parameters());
}

void WorkingSet::write_timers() {
  Rows<InstanceKey, EventId, CalendarTime> added;
  Rows<InstanceKey, EventId> removed;
  for (const auto& [key, about] : known_) {
    const auto instance = space_.instances.find(key);
    for (const auto& [event, due] : about.timers) {
      if (instance == space_.instances.end() || !instance->second.timers.contains(event)) {
        removed.add(key, event);
      }
    }
    if (instance == space_.instances.end()) continue;
    for (const auto& [event, due] : instance->second.timers) {
      const auto read = about.timers.find(event);
      if (read == about.timers.end() || read->second != due) added.add(key, event, due);
    }
  }
  if (!removed.empty()) ask(sql::kDeleteTimers, removed.parameters());
  if (!added.empty()) ask(sql::kInsertTimers, added.parameters(ns()));
}

void WorkingSet::write_delayed() {
  Rows<InstanceKey, BootTime, store::MessageKind, ExecutionNumber, EventId, Address::Kind,
       std::optional<std::string>, Bytes>
      added;
  std::vector<std::uint64_t> removed;
  std::map<std::uint64_t, BootTime> made;  // in the order in which they were made
  for (const auto& [key, about] : known_) {
    for (const rules::DelayedKey& place : about.delayed) {
      if (!space_.delayed.contains(place)) removed.push_back(place.second);
    }
  }
  for (const auto& [place, delayed] : space_.delayed) {
    if (place.second > kProvisional) made.emplace(place.second, place.first);
  }
  for (const auto& [number, at] : made) {
    const rules::DelayedMessage& d = space_.delayed.at({at, number});
    added.add(d.key, at, d.message.kind, d.message.execution, d.message.source, d.message.address.kind,
              unless_plain(d.message.address), Bytes{d.message.body});
  }
  if (!removed.empty()) ask(sql::kDeleteDelayed, Parameters().add_all(removed));
  if (!added.empty()) ask(sql::kInsertDelayed, added.parameters(ns()));
}

void WorkingSet::write_values() {
  Rows<InstanceKey, Bytes, Bytes> changed;
  Rows<InstanceKey, Bytes> removed;
  Rows<InstanceKey, Bytes, std::uint64_t> shown;
  for (const auto& [key, about] : known_) {
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    for (const auto& [name, value] : about.values) {
      if (value) {
        changed.add(key, Bytes{name}, Bytes{*value});
      } else {
        removed.add(key, Bytes{name});
      }
    }
    if (about.shown > 0) shown.add(key, Bytes{*instance->second.view.custom_status}, about.shown);
  }
  if (!changed.empty()) ask(sql::kUpsertValues, changed.parameters());
  if (!removed.empty()) ask(sql::kDeleteValues, removed.parameters());
  if (!shown.empty()) ask(sql::kShow, shown.parameters());
}

// ---- activities and sessions ---------------------------------------------------------------------

void WorkingSet::write_activities() {
  using OptionalBytes = std::optional<Bytes>;
  using OptionalTime = std::optional<BootTime>;
  Rows<InstanceKey, ExecutionNumber, EventId, std::int32_t, std::int32_t, bool, std::optional<Duration>,
       OptionalTime, std::optional<std::string>, std::optional<CancelReason>, Bytes, std::uint32_t,
       std::uint32_t, OptionalBytes, OptionalBytes, bool, WorkerKey, LockToken, BootTime, Generation,
       BootTime, OptionalTime>
      added;
  Rows<InstanceKey, ExecutionNumber, EventId, std::int32_t, std::optional<CancelReason>, std::uint32_t,
       std::uint32_t, OptionalBytes, OptionalBytes, bool, WorkerKey, LockToken, BootTime, Generation,
       BootTime, OptionalTime>
      changed;
  Rows<InstanceKey, ExecutionNumber, EventId> removed;
  for (const auto& [id, read] : read_activities_) {
    if (looked_at_.contains(id)) continue;
    const auto now = space_.activities.find(id);
    // One that was scheduled anew under the same id in this transaction differs in what never changes.
    if (now == space_.activities.end() || now->second.body != read.body || now->second.name != read.name ||
        now->second.session != read.session || now->second.priority != read.priority) {
      removed.add(id.instance, id.execution, id.event);
    }
  }
  for (const auto& [id, a] : space_.activities) {
    if (looked_at_.contains(id)) continue;
    const auto read = read_activities_.find(id);
    const bool stays = read != read_activities_.end() && read->second.body == a.body &&
                       read->second.name == a.name && read->second.session == a.session &&
                       read->second.priority == a.priority;
    if (stays && same(read->second, a)) continue;
    const std::int32_t kind = kind_number({a.queue, a.name});
    if (stays) {
      changed.add(id.instance, id.execution, id.event, kind, a.session_over, a.attempt, a.delivery,
                  unless_empty(a.last_failure), unless_empty(a.progress), a.lock.live, a.lock.worker,
                  a.lock.token, a.lock.until, a.generation, a.ready_since, deadline_of(a));
    } else {
      added.add(id.instance, id.execution, id.event, kind, -a.priority, !a.own_queue.empty(),
                unless_never(a.start_within, never), unless_never(a.total_until, rules::kNever), a.session,
                a.session_over, Bytes{a.body}, a.attempt, a.delivery, unless_empty(a.last_failure),
                unless_empty(a.progress), a.lock.live, a.lock.worker, a.lock.token, a.lock.until,
                a.generation, a.ready_since, deadline_of(a));
    }
  }
  if (!removed.empty()) ask(sql::kDeleteActivities, removed.parameters());
  if (!changed.empty()) ask(sql::kUpdateActivities, changed.parameters());
  if (!added.empty()) ask(sql::kInsertActivities, added.parameters(ns()));
}

void WorkingSet::write_session(const Session& s, bool keeps_saved) {
  const std::string policy = store::to_bytes(s.policy);
  const auto saved = s.saved && !keeps_saved ? std::optional(Bytes{*s.saved->bytes}) : std::nullopt;
  const bool reclaim = s.policy.when_lost == store::SessionPolicy::WhenLost::reclaim;
  const auto small = [](auto value) { return Small{static_cast<std::int16_t>(value)}; };
  Parameters all(ns(), s.id, Bytes{policy}, s.ended ? std::optional(small(*s.ended)) : std::nullopt,
                 small(s.reason), Bytes{s.note}, s.owner, s.worker, s.generation, s.lease_until, s.lease,
                 s.idle_timeout, s.last_owner, s.last_worker, s.planned, s.restarted, s.ran, s.last_activity,
                 s.changed, s.ttl_until, s.opener, s.opened_by, saved, s.saved_version, s.created_at,
                 s.updated_at, reclaim, s.policy.on_record, std::int64_t{s.policy.max_concurrent},
                 s.held_since);
  all.add_all(s.policy.requirements).add(keeps_saved).add(s.wanted).add(s.wanted_for);
  ask(sql::kUpsertSessions, all);
}

void WorkingSet::write_sessions() {
  std::vector<std::string> removed;
  for (const auto& [id, read] : read_sessions_) {
    if (!space_.sessions.contains(id)) removed.push_back(id);
  }
  if (!removed.empty()) ask(sql::kDeleteSessions, Parameters(ns()).add_all(removed));
  for (const auto& [id, session] : space_.sessions) {
    const auto read = read_sessions_.find(id);
    const bool keeps_saved = read != read_sessions_.end() && read->second.saved == session.saved;
    if (!keeps_saved || unreadable_sessions_.contains(id) ||
        columns_of(read->second) != columns_of(session)) {
      write_session(session, keeps_saved);
    }
  }
  Rows<std::string, store::SessionLogEntry::Kind, store::SessionReason, std::string, std::string, Generation,
       CalendarTime, Duration>
      log;
  for (const store::SessionLogEntry& e : space_.session_log) {
    log.add(e.session, e.kind, e.reason, e.owner, e.previous_owner, e.generation, e.at, e.quiet_for);
  }
  if (!log.empty()) ask(sql::kInsertLog, log.parameters(ns()));

  Rows<std::string, InstanceKey> watches;
  Rows<std::string, InstanceKey> unwatched;
  for (const auto& [key, about] : known_) {
    const auto instance = space_.instances.find(key);
    for (const std::string& session : about.watched) {
      if (instance == space_.instances.end() || !instance->second.watched.contains(session)) {
        unwatched.add(session, key);
      }
    }
  }
  for (const auto& [key, instance] : space_.instances) {
    for (const std::string& session : instance.watched) {
      if (!known(key).watched.contains(session)) watches.add(session, key);
    }
  }
  if (!unwatched.empty()) ask(sql::kDeleteWatches, unwatched.parameters(ns()));
  if (!watches.empty()) ask(sql::kInsertWatches, watches.parameters(ns()));
}

void WorkingSet::write_cancels() {
  Rows<InstanceKey, ExecutionNumber, EventId, LockToken, std::string, CancelReason,
       store::CancelRecord::State, WorkerKey, BootTime, BootTime, std::optional<std::string>>
      rows;
  for (const auto& [place, c] : space_.cancels) {
    const auto read = read_cancels_.find(place);
    if (read != read_cancels_.end() && read->second == c.record.state) continue;
    rows.add(place.first.instance, place.first.execution, place.first.event, place.second, c.record.name,
             c.record.reason, c.record.state, c.worker, c.at, c.until, c.session);
  }
  if (!rows.empty()) ask(sql::kUpsertCancels, rows.parameters(ns()));
}

// ---- workers and clients -------------------------------------------------------------------------

void WorkingSet::write_workers() {
  std::vector<WorkerKey> removed;
  for (const auto& [key, read] : read_workers_) {
    if (!locked_workers_.contains(key)) continue;  // only looked at
    const auto now = space_.workers.find(key);
    if (now == space_.workers.end()) {
      removed.push_back(key);
    } else if (const rules::Worker& w = now->second; std::tie(w.draining, w.superseded, w.seen) !=
                                                     std::tie(read.draining, read.superseded, read.seen)) {
      ask(sql::kUpdateWorker, Parameters(key, w.draining, w.superseded, w.seen));
    }
  }
  for (const auto& [key, w] : space_.workers) {
    if (read_workers_.contains(key)) continue;
    const std::string info = store::to_bytes(w.info);
    ask(sql::kInsertWorker,
        Parameters(ns(), key, w.info.node, Bytes{info}, w.draining, w.superseded, w.joined_at, w.seen));
  }
  removed.insert(removed.end(), unreadable_workers_.begin(), unreadable_workers_.end());
  if (!removed.empty()) ask(sql::kDeleteWorkers, Parameters().add_all(removed));
}

void WorkingSet::write_clients() {
  std::vector<std::string> given;
  for (const auto& [instance, count] : read_early_) {
    if (!space_.early.contains(instance)) given.push_back(instance);
  }
  if (!given.empty()) ask(sql::kDeleteEarly, Parameters(ns()).add_all(given));
  Rows<std::string, BootTime, BootTime, store::MessageKind, ExecutionNumber, EventId, Address::Kind,
       std::optional<std::string>, Bytes>
      early;
  for (const auto& [instance, messages] : space_.early) {
    const auto read = read_early_.find(instance);
    for (std::size_t i = read == read_early_.end() ? 0 : read->second; i < messages.size(); ++i) {
      const rules::Early& e = messages[i];
      early.add(instance, e.visible, e.until, e.message.kind, e.message.execution, e.message.source,
                e.message.address.kind, unless_plain(e.message.address), Bytes{e.message.body});
    }
  }
  if (!early.empty()) ask(sql::kInsertEarly, early.parameters(ns()));

  Rows<RequestId, BootTime, InstanceKey> requests;
  for (const auto& [id, request] : space_.requests) {
    if (read_requests_.contains(id)) continue;
    requests.add(id, request.at, request.answer);
  }
  if (!requests.empty()) ask(sql::kInsertRequests, requests.parameters(ns()));

  Rows<InstanceKey, std::string, Bytes, Bytes, CalendarTime> aside;
  for (const store::SetAsideRow& row : space_.set_aside) {
    aside.add(row.key, row.what, Bytes{row.problem}, Bytes{row.bytes}, row.at);
  }
  if (!aside.empty()) ask(sql::kInsertSetAside, aside.parameters(ns()));
}

}  // namespace holdfast::postgres_store
