// Rows as they stand in the tables: their columns, each named once, and what they are in the rules. Those
// that SQLite has as well are in stores/rules/columns.hpp.
#pragma once

#include "columns.hpp"
#include "stores/rules/rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::postgres_store {

// ---- instances -----------------------------------------------------------------------------------

/// What of an instance is written another way than the rules have it.
struct InstanceCodes {
  std::int32_t route = 0;
  /// While its lock is live the end of that, else since when it is ready.
  std::optional<BootTime> due_at{};
  std::string waits{};         ///< encoded
  std::string end_watchers{};  ///< likewise
  std::string attributes{};    ///< likewise
};
/// What never changes.
void birth_columns(auto& instance, auto&& field) {
  field("key", instance.view.key);
  field("name", instance.view.instance);
  field("created_at", instance.view.created_at);
  field("request", instance.request);
  field("fingerprint", instance.fingerprint);
  field("parent", OrNull(instance.view.parent));
}
/// What most turns change.
void turn_columns(auto& instance, auto& codes, auto&& field) {
  field("locked", instance.lock.live);
  field("woken", instance.woken);
  field("delivery", instance.delivery);
  field("due_at", codes.due_at);
  field("until", instance.lock.until);
  field("worker", instance.lock.worker);
  field("seen", instance.seen);
  field("not_before", instance.not_before);
  field("token", instance.lock.token);
  field("stamp", instance.stamp);
  field("waits", rules::Bytes(codes.waits));
}
/// The rest.
void state_columns(auto& instance, auto& codes, auto&& field) {
  field("route", codes.route);
  field("execution", instance.view.execution);
  field("status", instance.view.status);
  field("updated_at", instance.view.updated_at);
  field("cancel_requested_at", instance.view.cancel_requested_at);
  field("parked_because", rules::Bytes(instance.view.parked_because));
  field("output", rules::Bytes(instance.view.output));
  field("end_watchers", rules::Bytes(codes.end_watchers));
  field("attributes", rules::Bytes(codes.attributes));
}

// ---- messages ------------------------------------------------------------------------------------

/// The same in `messages`, `delayed` and `early`.
void message_columns(auto& message, auto& body, auto&& field) {
  rules::message_columns(message, OrNull(message.address.name), rules::AnyBytes(body), field);
}
/// Without its number, which the table gives.
void delayed_columns(auto& delayed, auto& at, auto&& field) {
  field("key", delayed.key);
  field("at", at);
  message_columns(delayed.message, delayed.message.body, field);
}
/// Likewise.
void early_columns(auto& instance, auto& early, auto&& field) {
  field("instance", instance);
  field("at", early.visible);
  field("until", early.until);
  message_columns(early.message, early.message.body, field);
}

// ---- activities ----------------------------------------------------------------------------------

/// What of an activity is written another way than the rules have it.
struct ActivityCodes {
  std::int32_t kind = 0;
  std::int32_t rank = 0;  ///< minus the priority
  bool own_queue = false;
  std::optional<BootTime> deadline{};  ///< of no meaning while it is locked
};
void id_columns(auto& id, auto&& field) {
  field("key", id.instance);
  field("execution", id.execution);
  field("event", id.event);
}
/// What never changes.
void task_columns(auto& activity, auto& codes, auto&& field) {
  field("rank", codes.rank);
  field("own_queue", codes.own_queue);
  field("start_within", OrNull(activity.start_within, never));
  field("total_until", OrNull(activity.total_until, rules::kNever));
  field("session", activity.session);
  field("body", rules::AnyBytes(activity.body));
}
void progress_columns(auto& activity, auto& codes, auto&& field) {
  field("kind", codes.kind);
  field("locked", activity.lock.live);
  field("ready_since", activity.ready_since);
  rules::attempt_columns(activity, field);
}
/// What only statements look at.
void deadline_columns(auto& codes, auto&& field) { field("deadline", codes.deadline); }

/// Of a cancel: of which activity.
void cancelled_columns(auto& record, auto&& field) {
  id_columns(record.id, field);
  field("token", record.token);
}

// ---- sessions and what was set aside -------------------------------------------------------------

/// Its policy, encoded, and what statements look at of it.
struct PolicyCodes {
  std::string bytes{};
  bool reclaim = false;
  bool on_record = false;
  std::int64_t max_concurrent = 0;
  std::vector<std::string> requirements{};
};
void policy_columns(auto& codes, auto&& field) { field("policy", rules::AnyBytes(codes.bytes)); }
void policy_part_columns(auto& codes, auto&& field) {
  field("reclaim", codes.reclaim);
  field("on_record", codes.on_record);
  field("max_concurrent", codes.max_concurrent);
  field("requirements", codes.requirements);
}

void aside_columns(auto& row, auto&& field) {
  rules::set_aside_columns(row, field);
  field("bytes", rules::AnyBytes(row.bytes));
}

}  // namespace holdfast::postgres_store
