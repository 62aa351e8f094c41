#include "setting_aside.hpp"

#include "instances.hpp"
#include "placing.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::rules {

namespace {

void keep(Transaction& tx, InstanceKey key, std::string what, std::string problem, std::string bytes) {
  tx.space.set_aside.push_back({.number = tx.numbers.next_set_aside(),
                                .key = key,
                                .what = std::move(what),
                                .problem = std::move(problem),
                                .bytes = std::move(bytes),
                                .at = tx.calendar});
}

std::string part_of(const Instance& instance, const std::string& part) {
  return "instance " + to_string(instance.view.key) + " (" + part + ")";
}

bool has_typed_body(MessageKind kind) {
  return kind == MessageKind::taken || kind == MessageKind::value || kind == MessageKind::session ||
         kind == MessageKind::news || kind == MessageKind::ended;
}

bool is_at_rest(const Instance& instance) {
  return has_ended(instance.view.status) || instance.view.status == InstanceStatus::parked;
}

/// Whoever holds it now.
void park_unplaced(Transaction& tx, Instance& instance, const std::string& problem) {
  instance.lock = {};
  instance.seen = {};
  instance.woken = false;
  instance.ready_since.reset();
  set_status(tx, instance, InstanceStatus::parked);
  instance.view.parked_because = problem;
  touch(tx, instance);
}

}  // namespace

// ---- what a worker can't read --------------------------------------------------------------------

void set_aside(Transaction& tx, const Instance& instance, const Message& message) {
  keep(tx, instance.view.key,
       "message " + to_string(message.id) + " (" + std::string(detail::enum_name(message.kind)) + ")",
       "can't be decoded", encode_body(message.body));
}

void set_aside(Transaction& tx, const Activity& activity, const std::string& problem) {
  const ActivityId& id = activity.id;
  keep(tx, id.instance,
       "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" + to_string(id.event) +
           " (" + activity.name + ")",
       problem, activity.body);
}

// ---- what a store can't read of a row ------------------------------------------------------------

MessageBody body_in_row(MessageKind kind, std::string bytes) {
  if (!has_typed_body(kind)) return bytes;
  auto body = decode_body(kind, bytes);
  return body ? *std::move(body) : MessageBody(std::move(bytes));
}

// Under another stamp, or a frame in memory would take it for told.
void waits_are_damaged(Transaction& tx, Instance& instance, std::string bytes) {
  instance.waits.clear();
  keep(tx, instance.view.key, part_of(instance, "what it waits for"),
       "can't be decoded; its next turn says it anew", std::move(bytes));
  if (is_at_rest(instance)) return;
  instance.lock = {};
  ++instance.stamp.low;
  instance.seen = {};
  instance.woken = true;
  instance.ready_since = tx.now;
}

void end_watchers_are_damaged(Transaction& tx, Instance& instance, std::string bytes) {
  instance.end_watchers.clear();
  keep(tx, instance.view.key, part_of(instance, "who waits for its end"),
       "can't be decoded; they are not told of it", std::move(bytes));
}

void attributes_are_damaged(Transaction& tx, Instance& instance, std::string bytes) {
  instance.view.attributes.clear();
  keep(tx, instance.view.key, part_of(instance, "its attributes"),
       "can't be decoded; it is found by those that its code sets from now on", std::move(bytes));
}

void code_is_missing(Transaction& tx, Instance& instance, const std::string& row) {
  if (is_at_rest(instance)) return;
  const std::string problem =
      "its orchestration is not known: " + row + " is missing; delete the instance, or restore a backup";
  keep(tx, instance.view.key, part_of(instance, "its code"), problem, "");
  park_unplaced(tx, instance, problem);
}

void kind_is_missing(Transaction& tx, Activity& activity, const std::string& row) {
  if (activity.session_over) return;
  set_aside(tx, activity, "nobody knows what it is: " + row + " is missing");
  activity.session_over = CancelReason::unreadable;
  tx.sweep_by(tx.now);
}

void activities_are_damaged(Transaction& tx, Instance& instance, std::string bytes) {
  keep(tx, instance.view.key, part_of(instance, "its running activities"), "can't be decoded",
       std::move(bytes));
  if (has_ended(instance.view.status)) return;
  unplace(tx, instance);
  park_unplaced(
      tx, instance,
      "the row of its running activities can't be decoded, and was set aside: their results will never come; "
      "terminate the instance, or restore a backup");
  place(tx, instance);
}

void policy_is_damaged(Transaction& tx, Session& session, std::string bytes) {
  session.policy = {};
  keep(tx, session.opener, "session " + session.id + " (its policy)", "can't be decoded", std::move(bytes));
  if (session.ended) return;
  session.note = "the row of the session is damaged: its policy can't be decoded";
  session.ttl_until = tx.now;
  session.lease_until = std::min(session.lease_until, tx.now);
  tx.sweep_by(tx.now);
}

void worker_is_damaged(Transaction& tx, WorkerKey worker, std::string bytes) {
  keep(tx, {}, "worker " + to_string(worker) + " (what it can do)", "can't be decoded; it has to join again",
       std::move(bytes));
}

}  // namespace holdfast::rules
