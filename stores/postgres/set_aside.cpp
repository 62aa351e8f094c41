// Rows that can't be read. What is the matter with one must not stop those beside it: its bytes are set
// aside, for people to look at, and the row becomes one that everybody can read.
#include "working_set.hpp"

#include <utility>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using rules::Session;

void WorkingSet::set_aside(InstanceKey key, std::string what, std::string problem, std::string bytes) {
  if (!writes()) return;
  space_.set_aside.push_back({.key = key,
                              .what = std::move(what),
                              .problem = std::move(problem),
                              .bytes = std::move(bytes),
                              .at = tx().calendar});
}

// What an instance waits for follows from its history. So its next turn says it anew: the instance is handed
// out now, and under another stamp, or a frame in memory would take it for told.
void WorkingSet::set_aside_waits(Instance& instance, std::string bytes) {
  if (!writes()) return;
  const InstanceKey key = instance.view.key;
  set_aside(key, "instance " + to_string(key) + " (what it waits for)",
            "can't be decoded; its next turn says it anew", std::move(bytes));
  if (has_ended(instance.view.status) || instance.view.status == store::InstanceStatus::parked) return;
  instance.lock = {.until = instance.lock.until};
  ++instance.stamp.low;
  instance.seen = {};
  instance.woken = true;
  instance.ready_since = tx().now;
}

// Nobody can run it without knowing its code.
void WorkingSet::set_aside_code(Instance& instance, std::int32_t route) {
  const InstanceKey key = instance.view.key;
  const std::string problem = "its orchestration is not known: row " + std::to_string(route) +
                              " of `routes` is missing; delete the instance, or restore a backup";
  if (has_ended(instance.view.status) || instance.view.status == store::InstanceStatus::parked) return;
  set_aside(key, "instance " + to_string(key) + " (its code)", problem, "");
  instance.lock = {.until = instance.lock.until};
  instance.ready_since.reset();
  instance.view.status = store::InstanceStatus::parked;
  instance.view.parked_because = problem;
}

// Nobody knows what was agreed for it, so nobody may go on with it. Its activities fail at the next sweep.
void WorkingSet::set_aside_policy(Session& session, std::string bytes) {
  constexpr const char* kProblem = "its policy can't be decoded";
  session.policy = {};
  if (!session.ended) {
    session.ended = store::SessionStatus::failed;
    session.reason = store::SessionReason::aborted;
    session.note = std::string("the row of the session is damaged: ") + kProblem;
    session.changed = tx().now;
    session.updated_at = tx().calendar;
  }
  unreadable_sessions_.insert(session.id);
  set_aside({}, "session " + session.id, kProblem, std::move(bytes));
}

// It fails at the next sweep, unless it runs already and is answered.
void WorkingSet::give_up(Activity& activity) {
  if (!activity.session_over) activity.session_over = CancelReason::unreadable;
  tx().sweep_by(tx().now);
}

// It joins again when it is told that it is not there.
void WorkingSet::set_aside_worker(WorkerKey key, std::string bytes) {
  unreadable_workers_.insert(key);
  set_aside({}, "worker " + to_string(key), "what it can do can't be decoded", std::move(bytes));
}

}  // namespace holdfast::postgres_store
