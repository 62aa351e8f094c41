#include "instances.hpp"

#include "activities.hpp"
#include "ends.hpp"
#include "in_sql.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "sessions.hpp"

#include <utility>

namespace holdfast::rules {

Instance& create(Transaction& tx, const Birth& birth) {
  const InstanceKey key = tx.numbers.next_instance();
  Instance& instance = tx.space.instances[key];
  instance.view = {.key = key,
                   .instance = birth.id,
                   .code = birth.code,
                   .execution = ExecutionNumber{1},
                   .parent = birth.parent,
                   .created_at = tx.calendar,
                   .updated_at = tx.calendar,
                   .attributes = birth.attributes};
  tx.count(instance.view.status, 1);
  instance.request = birth.request;
  instance.fingerprint = birth.fingerprint;
  tx.space.keys.emplace(birth.id, key);
  return instance;
}

void deliver_early(Transaction& tx, Instance& instance) {
  tx.rows.early(instance.view.instance);
  const std::vector<Early>* const found = tx.space.early.peek(instance.view.instance);
  if (found == nullptr) return;
  for (const Early& early : *found) {
    if (early.until <= tx.now) continue;
    if (early.visible > tx.now) {
      deliver_at(tx, instance, early.visible, early.message);
    } else {
      deliver(tx, instance, early.message);
    }
  }
  tx.space.early.erase(instance.view.instance);
}

void end_execution(Transaction& tx, Instance& instance, CancelReason reason) {
  tx.rows.activities_of(instance);
  const ActivityId first{.instance = instance.view.key};
  for (auto next = tx.space.activities.lower_bound(first);
       next != tx.space.activities.end() && next->first.instance == instance.view.key;) {
    take_away(tx, tx.space.activities.at((next++)->first), reason);
  }
  cancel_timers(tx, instance);
}

namespace {

CancelReason reason_of(InstanceStatus end) {
  switch (end) {
    case InstanceStatus::failed:
      return CancelReason::execution_failed;
    case InstanceStatus::cancelled:
      return CancelReason::execution_cancelled;
    case InstanceStatus::terminated:
      return CancelReason::execution_terminated;
    case InstanceStatus::running:
    case InstanceStatus::suspended:
    case InstanceStatus::parked:
    case InstanceStatus::completed:
      break;
  }
  return CancelReason::execution_completed;
}

void leave_sessions(Transaction& tx, Instance& instance) {
  tx.rows.sessions_of(instance);
  while (!instance.watched.empty()) unwatch(tx, instance, *instance.watched.begin());
  for (const std::string& id : std::exchange(instance.opened, {})) {
    Session* const session = find_session(tx, id);
    if (session == nullptr || session->ended || session->opener != instance.view.key) continue;
    if (!session->policy.outlives_opener) close(tx, *session, SessionReason::opener_ended);
  }
}

}  // namespace

void end(Transaction& tx, Instance& instance, const InstanceEnd& how) {
  end_execution(tx, instance, reason_of(how.status));
  leave_sessions(tx, instance);
  drop_all_but_starts(tx, instance);
  set_status(tx, instance, how.status);
  instance.view.output = how.output;
  instance.view.parked_because.clear();
  instance.waits.clear();
  answer_end_watchers(tx, instance, EndAnswer::Kind::ended);
  touch(tx, instance);
}

void continue_as_new(Transaction& tx, Instance& instance, const NextExecution& next) {
  end_execution(tx, instance, CancelReason::continued_as_new);
  tx.rows.drops(instance, Source::Dropped::of_execution);
  std::erase_if(instance.messages, [](const auto& entry) { return belongs_to_execution(entry.second.kind); });
  ++instance.view.execution.value;
  instance.view.code.version = next.version;
  instance.waits.clear();
  instance.seen = {};  // the new frame was given nothing
  deliver(tx, instance,
          NewMessage{.kind = MessageKind::start, .execution = instance.view.execution, .body = next.body});
  touch(tx, instance);
}

void remove(Transaction& tx, Instance& instance) {
  end_execution(tx, instance, CancelReason::instance_deleted);
  leave_sessions(tx, instance);
  drop_delayed(tx, instance);
  answer_end_watchers(tx, instance, EndAnswer::Kind::deleted);
  unplace(tx, instance);
  touch(tx, instance);
  remember(tx, instance.request, instance.view.key);
  tx.space.keys.erase(instance.view.instance);
  tx.count(instance.view.status, -1);
  const InstanceKey key = instance.view.key;
  tx.space.instances.erase(key);
}

void remember(Transaction& tx, RequestId request, InstanceKey answer) {
  if (request.empty()) return;
  tx.space.requests.emplace(request, Request{.answer = answer, .at = tx.now});
  tx.sweep_by(after(tx.now, SweepRequest{}.request_retention));
}

std::optional<InstanceKey> answer_of(const Transaction& tx, RequestId request) {
  if (request.empty()) return std::nullopt;
  const Request* const known = find_request(tx, request);
  return known == nullptr ? std::nullopt : std::optional(known->answer);
}

std::optional<StoreError> refusal(const Instance& instance, InstanceKey life) {
  const std::string who = "instance '" + instance.view.instance + "'";
  if (life != InstanceKey{} && instance.view.key != life) {
    return StoreError{.kind = StoreError::Kind::gone, .message = who + " is gone: another one has its id"};
  }
  if (!has_ended(instance.view.status)) return std::nullopt;
  return StoreError{.kind = StoreError::Kind::conflict, .message = who + " has ended"};
}

void set_status(Transaction& tx, Instance& instance, InstanceStatus status) {
  tx.count(instance.view.status, -1);
  tx.count(status, 1);
  instance.view.status = status;
}

void touch(Transaction& tx, Instance& instance) {
  instance.view.updated_at = tx.calendar;
  tx.news.instances.push_back(instance.view.key);
}

}  // namespace holdfast::rules
