// Rows as they stand in the tables: their columns, each named once, and what they are in the rules.
#pragma once

#include "columns.hpp"
#include "stores/rules/rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

// ---- instances -----------------------------------------------------------------------------------

/// What may change in a row of `instances`.
struct InstanceRow {
  std::int64_t route = 0;
  ExecutionNumber execution{};
  store::InstanceStatus status{};
  std::uint32_t delivery = 0;          ///< of no meaning while it is held
  std::optional<BootTime> ready_at{};  ///< of no meaning while its lock is live
  TurnStamp stamp{};                   ///< empty when the last segment has it
  std::string waits{};                 ///< encoded
  MessageId seen{};                    ///< of no meaning while its lock is live
  bool woken = false;
  BootTime not_before{};
  CalendarTime updated_at{};
  std::optional<CalendarTime> cancel_requested_at{};
  std::string parked_because{};
  std::string output{};
  std::string end_watchers{};  ///< encoded
  std::string attributes{};    ///< likewise
  friend bool operator==(const InstanceRow&, const InstanceRow&) = default;
};
void instance_columns(auto& row, auto&& field) {
  field("route", row.route);
  field("execution", row.execution);
  field("status", row.status);
  field("delivery", row.delivery);
  field("ready_at", row.ready_at);
  field("stamp", row.stamp);
  field("waits", Bytes(row.waits));
  field("seen", row.seen);
  field("woken", row.woken);
  field("not_before", row.not_before);
  field("updated_at", row.updated_at);
  field("cancel_requested_at", row.cancel_requested_at);
  field("parked_because", Bytes(row.parked_because));
  field("output", Bytes(row.output));
  field("end_watchers", Bytes(row.end_watchers));
  field("attributes", Bytes(row.attributes));
}

/// What never changes in it.
void birth_columns(auto& instance, auto& parent, auto&& field) {
  field("name", instance.view.instance);
  field("created_at", instance.view.created_at);
  field("request", instance.request);
  field("fingerprint", instance.fingerprint);
  field("parent", parent);
}

/// A row of `held`: the lock of an instance.
struct HeldRow {
  WorkerKey worker{};
  LockToken token{};
  BootTime until{};
  std::uint32_t delivery = 0;  ///< counts only while `stamp` is the instance's
  TurnStamp stamp{};
  bool lapsed = false;
  friend bool operator==(const HeldRow&, const HeldRow&) = default;
};
void held_columns(auto& row, auto&& field) {
  field("worker", row.worker);
  field("token", row.token);
  field("until", row.until);
  field("delivery", row.delivery);
  field("stamp", row.stamp);
  field("lapsed", row.lapsed);
}

// ---- messages ------------------------------------------------------------------------------------

/// The same in `messages`, `delayed` and `early`.
void message_columns(auto& message, auto&& body, auto&& field) {
  rules::message_columns(message, message.address.name, body, field);
}

// ---- activities ----------------------------------------------------------------------------------

/// What of an activity is written another way than the rules have it.
struct ActivityCodes {
  std::int64_t kind = 0;
  bool own_queue = false;
};
/// The same in `running` and `queued`; without the body.
void activity_columns(auto& activity, auto& codes, auto&& field) {
  field("kind", codes.kind);
  field("own_queue", codes.own_queue);
  field("priority", activity.priority);
  field("start_within", activity.start_within);
  field("total_until", activity.total_until);
  field("session", activity.session);
  field("since", activity.ready_since);
  rules::attempt_columns(activity, field);
}

// ---- sessions and workers ------------------------------------------------------------------------

/// What of a session is written another way than the rules have it.
struct SessionCodes {
  bool open = true;
  std::string policy{};
  bool reclaim = true;
  bool on_record = false;
  std::optional<std::uint64_t> saved_size{};
};
void session_columns(auto& session, auto& codes, auto&& field) {
  field("open", codes.open);
  field("policy", Bytes(codes.policy));
  field("reclaim", codes.reclaim);
  field("on_record", codes.on_record);
  field("saved_size", codes.saved_size);
  rules::session_columns(session, field);
}

void numbered_log_columns(auto& entry, auto&& field) {
  field("number", entry.number);
  rules::log_columns(entry, field);
}

void numbered_set_aside_columns(auto& row, auto&& field) {
  field("number", row.number);
  field("bytes", Bytes(row.bytes));
  rules::set_aside_columns(row, field);
}

// ---- names of rows -------------------------------------------------------------------------------

inline std::vector<std::string> texts_of(Cursor row) {
  std::vector<std::string> texts;
  while (row.next()) texts.emplace_back(row->text(0));
  return texts;
}
inline std::vector<InstanceKey> keys_of(Cursor row) {
  std::vector<InstanceKey> keys;
  while (row.next()) keys.push_back(row->number<InstanceKey>(0));
  return keys;
}
inline std::vector<store::ActivityId> ids_of(Cursor row) {
  std::vector<store::ActivityId> ids;
  while (row.next()) {
    ids.push_back({row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
  }
  return ids;
}
/// The first column of the first row, a count.
inline std::uint64_t number_of(Cursor row) { return row.next() ? row->uint64(0) : 0; }
/// The same of a time; never when there is none.
inline BootTime time_of(Cursor row) {
  return row.next() && !row->is_null(0) ? BootTime(Duration(row->int64(0))) : rules::kNever;
}

// ---- numbers -------------------------------------------------------------------------------------

/// The row of `counters`.
struct Counters {
  std::uint64_t instances = 0;
  std::uint64_t messages = 0;
  std::uint64_t workers = 0;
  std::uint64_t generations = 0;
  std::uint64_t delayed = 0;
  std::uint64_t session_log = 0;
  std::uint64_t set_aside = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};
void counter_columns(auto& counters, auto&& field) {
  field("instances", counters.instances);
  field("messages", counters.messages);
  field("workers", counters.workers);
  field("generations", counters.generations);
  field("delayed", counters.delayed);
  field("session_log", counters.session_log);
  field("set_aside", counters.set_aside);
}

/// In the row of the namespace: no lock of that kind ends before then.
struct Horizons {
  BootTime turns = rules::kNever;
  BootTime activities = rules::kNever;
  BootTime sessions = rules::kNever;  ///< leases of those that are not open
  friend bool operator==(const Horizons&, const Horizons&) = default;
};
void horizon_columns(auto& horizons, auto&& field) {
  field("turn_horizon", horizons.turns);
  field("activity_horizon", horizons.activities);
  field("session_horizon", horizons.sessions);
}

/// In the same row: how many instances have each status.
void status_columns(auto& counts, auto&& field) {
  field("running", counts[0]);
  field("suspended", counts[1]);
  field("parked", counts[2]);
  field("completed", counts[3]);
  field("failed", counts[4]);
  field("cancelled", counts[5]);
  field("terminated", counts[6]);
}

}  // namespace holdfast::sqlite_store
