// What the rules have changed goes back to the tables: one statement for each table and kind of change.
#include "contract/rows.hpp"
#include "rows.hpp"
#include "statements.hpp"
#include "stores/rules/listing.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

namespace {

/// When somebody must have taken it; of no meaning while it is locked.
std::optional<BootTime> deadline_of(const Activity& activity) {
  if (activity.lock.live) return std::nullopt;
  const BootTime deadline = activity.deadline();
  return deadline == rules::kNever ? std::nullopt : std::optional(deadline);
}

ActivityCodes activity_codes(const Activity& activity) {
  return {.rank = -activity.priority,
          .own_queue = !activity.own_queue.empty(),
          .deadline = deadline_of(activity)};
}

/// What never changes of an activity. One that was scheduled anew under the same id differs in it.
bool same_task(const Activity& a, const Activity& b) {
  return a.body == b.body && a.name == b.name && a.session == b.session && a.priority == b.priority;
}

bool same_progress(const Activity& a, const Activity& b) {
  const auto progress_of = [](const Activity& activity) {
    rules::Image image;
    const ActivityCodes codes;  // its kind is compared by name
    progress_columns(activity, codes, image);
    return image;
  };
  return a.queue == b.queue && progress_of(a) == progress_of(b);
}

rules::Image image_of(const rules::Worker& worker) {
  rules::Image image;
  rules::worker_columns(worker, image);
  return image;
}

bool same_columns(const Session& a, const Session& b) {
  const auto columns_of = [](const Session& session) {
    rules::Image image;
    rules::session_columns(session, image);
    return image;
  };
  return a.policy == b.policy && columns_of(a) == columns_of(b);
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
  write_entries();
  write_clients();
  write_status_counts();
}

// ---- instances -----------------------------------------------------------------------------------

InstanceCodes WorkingSet::codes_of(const Instance& instance) {
  const auto due_at = instance.lock.live ? std::optional(instance.lock.until) : instance.ready_since;
  return {.due_at = due_at,
          .waits = instance.waits.empty() ? "" : store::to_bytes(instance.waits),
          .end_watchers = instance.end_watchers.empty() ? "" : store::to_bytes(instance.end_watchers),
          .attributes = instance.view.attributes.empty() ? "" : store::to_bytes(instance.view.attributes)};
}

// Its code is compared by name: the number of one that is new is only asked for when it is written.
WorkingSet::ReadInstance WorkingSet::read_row(const Instance& instance, const InstanceCodes& codes) {
  ReadInstance row{.route = instance.route()};
  turn_columns(instance, codes, row.turn);
  const InstanceCodes nameless{.end_watchers = codes.end_watchers, .attributes = codes.attributes};
  state_columns(instance, nameless, row.state);
  return row;
}

// Whoever keeps it learns of them by that.
bool WorkingSet::has_new_messages(const Instance& instance, const Known& about) {
  return !std::ranges::all_of(instance.messages,
                              [&](const auto& entry) { return about.messages.contains(entry.first); });
}

void WorkingSet::write_instances() {
  ColumnArrays kept;
  ColumnArrays turns;
  ColumnArrays others;
  ColumnArrays added;
  Rows<InstanceKey, ExecutionNumber, EventId, Bytes> history;
  std::vector<InstanceKey> removed;
  Rows<InstanceKey, RowVersion> kept_and_removed;
  for (const auto& [key, about] : known_) {
    if (!about.read || space_.instances.contains(key)) continue;
    removed.push_back(key);
    if (about.guarded) kept_and_removed.add(key, *about.version);
  }
  if (!kept_and_removed.empty()) {
    ask(sql::kLockKept, kept_and_removed.parameters(std::int64_t{kept_and_removed.size()}));
  }
  if (!removed.empty()) write_removed(removed);

  for (const auto& [key, i] : std::as_const(space_.instances)) {
    for (const auto& [execution, segments] : i.history) {
      for (const auto& [event, bytes] : segments) history.add(key, execution, event, Bytes{bytes});
    }
    InstanceCodes codes = codes_of(i);
    Known& about = known(key);
    if (about.guarded) {
      about.written = true;
      codes.route = route_number(i.route());
      kept.add([&](auto&& field) {
        field("key", key);
        field("version", *about.version);
        turn_columns(i, codes, field);
        state_columns(i, codes, field);
      });
      continue;
    }
    const ReadInstance now = read_row(i, codes);
    if (about.read && about.read->state == now.state && about.read->route == now.route) {
      if (about.read->turn == now.turn && !(i.lock.live && has_new_messages(i, about))) continue;
      about.written = true;
      turns.add([&](auto&& field) {
        field("key", key);
        turn_columns(i, codes, field);
      });
      continue;
    }
    about.written = true;
    codes.route = route_number(now.route);
    if (about.read) {
      others.add([&](auto&& field) {
        field("key", key);
        turn_columns(i, codes, field);
        state_columns(i, codes, field);
      });
    } else {
      added.add([&](auto&& field) {
        birth_columns(i, field);
        turn_columns(i, codes, field);
        state_columns(i, codes, field);
      });
    }
  }
  if (!kept.empty()) ask_rows(sql::kUpdateKept, kept, 2, kept.rows());
  if (!history.empty()) {
    ask(history_may_be_there_ ? sql::kUpsertHistory : sql::kInsertHistory, history.parameters());
  }
  if (!turns.empty()) ask_rows(sql::kUpdateTurns, turns, 1);
  if (!others.empty()) ask_rows(sql::kUpdateInstances, others, 1);
  if (!added.empty()) ask_rows(sql::kInsertInstances, added, 2, ns());
}

// Before new ones are inserted: one of them may have the same id.
void WorkingSet::write_removed(const std::vector<InstanceKey>& removed) {
  for (const Statement* const statement :
       {&sql::kDeleteInstances, &sql::kDeleteMessagesOf, &sql::kDeleteDelayedOf, &sql::kDeleteValuesOf,
        &sql::kDeleteStatusOf, &sql::kDeleteEntriesOf, &sql::kRemains, &sql::kDeleteHistoryOf}) {
    ask(*statement, Parameters().add_all(removed));
  }
}

// ---- what belongs to instances -------------------------------------------------------------------

void WorkingSet::write_messages() {
  ColumnArrays added;
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
    const std::string body = store::encode_body(m.body);
    added.add([&](auto&& field) {
      field("key", OrNull(entry.first));
      field("id", id.value > kProvisional ? std::nullopt : std::optional(id));
      field("waits", store::waits_for_code(m.kind) ? 1 : 0);
      message_columns(m, body, field);
    });
  }
  if (!added.empty()) ask(sql::kInsertMessages, added.parameters());
}

void WorkingSet::write_timers() {
  Rows<InstanceKey, EventId, CalendarTime> added;
  Rows<InstanceKey, EventId> removed;
  for (const auto& [key, about] : known_) {
    rules::write_timers(
        about, space_.instances.peek(key), [&](EventId event) { removed.add(key, event); },
        [&](EventId event, CalendarTime due) { added.add(key, event, due); });
  }
  if (!removed.empty()) ask(sql::kDeleteTimers, removed.parameters());
  if (!added.empty()) ask(sql::kInsertTimers, added.parameters(ns()));
}

void WorkingSet::write_delayed() {
  ColumnArrays added;
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
    const rules::DelayedMessage& delayed = space_.delayed.at({at, number});
    added.add([&](auto&& field) { delayed_columns(delayed, at, field); });
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

// What instances are found by.
void WorkingSet::write_entries() {
  Rows<InstanceKey, Bytes> added;
  Rows<InstanceKey, Bytes> removed;
  std::vector<InstanceKey> lost;
  for (const auto& [key, about] : known_) {
    const Instance* const instance = space_.instances.peek(key);
    const bool is_new = !about.read && !about.version;
    if (instance == nullptr || !(is_new || about.attributes)) continue;
    const std::vector<std::string> before =
        about.attributes ? rules::entries_of(*about.attributes) : std::vector<std::string>();
    const std::vector<std::string> now = rules::entries_of(instance->view.attributes);
    if (about.attributes_lost) lost.push_back(key);
    for (const std::string& entry : before) {
      if (!std::ranges::binary_search(now, entry)) removed.add(key, Bytes{entry});
    }
    for (const std::string& entry : now) {
      if (!std::ranges::binary_search(before, entry)) added.add(key, Bytes{entry});
    }
  }
  if (!lost.empty()) ask(sql::kDeleteEntriesOf, Parameters().add_all(lost));
  if (!removed.empty()) ask(sql::kDeleteEntries, removed.parameters());
  if (!added.empty()) ask(sql::kInsertEntries, added.parameters(ns()));
}

void WorkingSet::write_status_counts() {
  const rules::StatusChanges changes = std::exchange(tx().status_changes, {});
  if (changes == rules::StatusChanges{}) return;
  Parameters added(ns());
  for (const std::int64_t change : changes) added.add(change);
  ask(sql::kAddStatusCounts, added);
}

// ---- activities and sessions ---------------------------------------------------------------------

void WorkingSet::write_activities() {
  ColumnArrays added;
  ColumnArrays changed;
  ColumnArrays kept_changed;
  Rows<InstanceKey, ExecutionNumber, EventId> removed;
  Rows<InstanceKey, ExecutionNumber, EventId, RowVersion> kept_removed;
  for (const auto& [id, read] : read_activities_) {
    if (looked_at_.contains(id)) continue;
    const Activity* const now = space_.activities.peek(id);
    if (now != nullptr && same_task(*now, read)) continue;
    written_activities_.insert(id);
    if (const auto guarded = guarded_activities_.find(id); guarded != guarded_activities_.end()) {
      kept_removed.add(id.instance, id.execution, id.event, guarded->second);
    } else {
      removed.add(id.instance, id.execution, id.event);
    }
  }
  for (const auto& [id, a] : std::as_const(space_.activities)) {
    if (looked_at_.contains(id)) continue;
    const auto read = read_activities_.find(id);
    const bool stays = read != read_activities_.end() && same_task(read->second, a);
    if (stays && same_progress(read->second, a)) continue;
    written_activities_.insert(id);
    ActivityCodes codes = activity_codes(a);
    codes.kind = kind_number({a.queue, a.name});
    const auto guarded = guarded_activities_.find(id);
    if (stays && guarded != guarded_activities_.end()) {
      kept_changed.add([&](auto&& field) {
        id_columns(id, field);
        field("version", guarded->second);
        progress_columns(a, codes, field);
        deadline_columns(codes, field);
      });
      continue;
    }
    (stays ? changed : added).add([&](auto&& field) {
      id_columns(id, field);
      if (!stays) task_columns(a, codes, field);
      progress_columns(a, codes, field);
      deadline_columns(codes, field);
    });
  }
  if (!kept_removed.empty()) {
    ask(sql::kDeleteKeptActivities, kept_removed.parameters(std::int64_t{kept_removed.size()}));
  }
  if (!kept_changed.empty()) ask(sql::kUpdateKeptActivities, kept_changed.parameters(kept_changed.rows()));
  if (!removed.empty()) ask(sql::kDeleteActivities, removed.parameters());
  if (!changed.empty()) ask(sql::kUpdateActivities, changed.parameters());
  if (!added.empty()) ask_rows(sql::kInsertActivities, added, 3, ns());
}

void WorkingSet::write_session(const Session& s, bool keeps_saved) {
  const PolicyCodes codes{.bytes = store::to_bytes(s.policy),
                          .reclaim = s.policy.when_lost == store::SessionPolicy::WhenLost::reclaim,
                          .on_record = s.policy.on_record,
                          .max_concurrent = s.policy.max_concurrent,
                          .requirements = s.policy.requirements};
  const auto saved = s.saved && !keeps_saved ? std::optional(Bytes{*s.saved->bytes}) : std::nullopt;
  Parameters all(ns(), s.id, keeps_saved, saved);
  ColumnAdder columns(all);
  policy_columns(codes, columns);
  rules::session_columns(s, columns);
  policy_part_columns(codes, columns);
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
    if (!keeps_saved || damaged_sessions_.contains(id) || !same_columns(read->second, session)) {
      write_session(session, keeps_saved);
    }
  }
  ColumnArrays log;
  for (const store::SessionLogEntry& entry : space_.session_log) {
    log.add([&](auto&& field) { rules::log_columns(entry, field); });
  }
  if (!log.empty()) ask(sql::kInsertLog, log.parameters(ns()));

  Rows<std::string, InstanceKey> watches;
  Rows<std::string, InstanceKey> unwatched;
  for (const auto& [key, about] : known_) {
    rules::write_watches(
        about, space_.instances.peek(key), [&](const std::string& session) { unwatched.add(session, key); },
        [&](const std::string& session) { watches.add(session, key); });
  }
  if (!unwatched.empty()) ask(sql::kDeleteWatches, unwatched.parameters(ns()));
  if (!watches.empty()) ask(sql::kInsertWatches, watches.parameters(ns()));
}

void WorkingSet::write_cancels() {
  ColumnArrays rows;
  for (const auto& [place, c] : space_.cancels) {
    const auto read = read_cancels_.find(place);
    if (read != read_cancels_.end() && read->second == c.record.state) continue;
    rows.add([&](auto&& field) {
      cancelled_columns(c.record, field);
      rules::cancel_columns(c, field);
    });
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
    } else if (image_of(now->second) != image_of(read)) {
      Parameters changed(key);
      rules::worker_columns(std::as_const(now->second), ColumnAdder(changed));
      ask(sql::kUpdateWorker, changed);
    }
  }
  for (const auto& [key, w] : space_.workers) {
    if (read_workers_.contains(key)) continue;
    const std::string info = store::to_bytes(w.info);
    Parameters added(ns(), key, w.info.node, Bytes{info});
    rules::worker_columns(w, ColumnAdder(added));
    ask(sql::kInsertWorker, added);
  }
  removed.insert(removed.end(), damaged_workers_.begin(), damaged_workers_.end());
  if (!removed.empty()) ask(sql::kDeleteWorkers, Parameters().add_all(removed));
}

void WorkingSet::write_clients() {
  std::vector<std::string> given;
  for (const auto& [instance, count] : read_early_) {
    if (!space_.early.contains(instance)) given.push_back(instance);
  }
  if (!given.empty()) ask(sql::kDeleteEarly, Parameters(ns()).add_all(given));
  ColumnArrays early;
  for (const auto& [instance, messages] : space_.early) {
    const auto read = read_early_.find(instance);
    for (std::size_t i = read == read_early_.end() ? 0 : read->second; i < messages.size(); ++i) {
      early.add([&](auto&& field) { early_columns(instance, messages[i], field); });
    }
  }
  if (!early.empty()) ask(sql::kInsertEarly, early.parameters(ns()));

  Rows<RequestId, BootTime, InstanceKey> requests;
  for (const auto& [id, request] : space_.requests) {
    if (read_requests_.contains(id)) continue;
    requests.add(id, request.at, request.answer);
  }
  if (!requests.empty()) ask(sql::kInsertRequests, requests.parameters(ns()));

  ColumnArrays aside;
  for (const store::SetAsideRow& row : space_.set_aside) {
    aside.add([&](auto&& field) { aside_columns(row, field); });
  }
  if (!aside.empty()) ask(sql::kInsertSetAside, aside.parameters(ns()));
}

}  // namespace holdfast::postgres_store
