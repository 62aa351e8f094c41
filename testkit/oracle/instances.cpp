// How instances begin, how their executions end, and how they are removed.
#include "testkit/oracle/oracle.hpp"

#include <utility>
#include <vector>

namespace holdfast::testing::oracle {

Instance& Oracle::new_instance(const std::string& id, const store::CodeVersion& code,
                               const std::vector<Attribute>& attributes) const {
  Instance& instance = rows().instances.emplace_back();
  instance.key = InstanceKey{++database_->last_instance};
  instance.id = id;
  instance.code = code;
  instance.created_at = instance.updated_at = today();
  instance.free_since = now();
  for (const Attribute& one : attributes) instance.attributes[{one.name, type_of(one.value)}] = one.value;
  return instance;
}

// Early deliveries for the id become its messages; not those whose time is over.
void Oracle::give_early_deliveries(Instance& instance) const {
  for (const Early& early : rows().early) {
    if (early.instance != instance.id || early.until <= now()) continue;
    store::Message message{
        .kind = early.message.kind, .address = early.message.address, .body = early.message.body};
    if (early.due > now()) {
      deliver_later(instance, early.due, std::move(message));
    } else {
      deliver(instance, std::move(message));
    }
  }
  std::erase_if(rows().early, [&](const Early& early) { return early.instance == instance.id; });
}

void Oracle::keep_early(const std::string& id, const store::NewMessage& message, Duration keep,
                        Duration delay) const {
  rows().early.push_back({.instance = id, .message = message, .due = later(delay), .until = later(keep)});
}

// All remaining activities and timers of the execution are cancelled.
void Oracle::end_execution(Instance& instance, CancelReason reason) const {
  const std::vector<store::ActivityId> remaining =
      ids_of([&](const Activity& activity) { return activity.id.instance == instance.key; });
  for (const store::ActivityId& id : remaining) cancel(id, reason);
  instance.timers.clear();
}

// When the instance in `opened_by` ends or is deleted, the same commit closes the session, unless it outlives
// its opener.
void Oracle::close_sessions_of(const Instance& instance) const {
  for (auto& [id, session] : rows().sessions) {
    if (session.opener != instance.key || session.ended || session.policy.outlives_opener) continue;
    end_session(session, store::SessionStatus::closed, store::SessionReason::opener_ended);
  }
}

// With everything that belongs to it; its running activities get a cancel record. The requests that it
// answered are remembered.
void Oracle::remove_instance(Instance& instance) const {
  end_execution(instance, CancelReason::instance_deleted);
  instance.messages.clear();
  instance.delayed.clear();
  instance.watches.clear();
  const bool had_ended = has_ended(instance.status);
  instance.status = Status::terminated;  // it hears of nothing any more
  close_sessions_of(instance);
  if (!had_ended) {
    for (const store::EndWatcher& watcher : instance.end_watchers)
      tell_of_end(instance, watcher, store::EndAnswer::Kind::deleted);
  }
  if (!instance.request.empty()) {
    rows().requests.push_back({.id = instance.request, .key = instance.key, .at = now()});
  }
  const InstanceKey key = instance.key;
  std::erase_if(rows().instances, [&](const Instance& row) { return row.key == key; });
}

// How an instance ended, or that it was deleted before.
void Oracle::tell_of_end(const Instance& instance, const store::EndWatcher& watcher,
                         store::EndAnswer::Kind kind) const {
  Instance* const asker = find_instance(watcher.key);
  if (asker == nullptr) return;
  store::EndAnswer answer{.kind = kind};
  if (kind == store::EndAnswer::Kind::ended) {
    answer.status = instance.status;
    answer.output = instance.output;
  }
  deliver(*asker, {.kind = store::MessageKind::ended,
                   .execution = watcher.execution,
                   .source = watcher.source,
                   .body = std::move(answer)});
}

}  // namespace holdfast::testing::oracle
