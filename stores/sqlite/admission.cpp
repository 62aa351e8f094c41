#include "admission.hpp"

#include "queue_reader.hpp"

#include <limits>

namespace holdfast::sqlite_store {

bool serves(const store::Abilities& abilities, const Kind& kind) {
  return kind.readable && abilities.queues.serve(kind.queue) && abilities.handlers.contains(kind.name);
}

Admission admit(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                const Activity& activity) {
  if (!serves(abilities, tx.kind(activity.kind)) || activity.deadline() <= tx.now) return Admission::no;
  if (activity.session == 0) return Admission::yes;
  const Session& session = session_of(tx, activity.session);
  if (!session.begun || !covers(abilities, session.policy.requirements)) return Admission::no;
  const bool held = is_held_by(tx, session, worker);
  if (!held && (!is_claimable(tx, session) || is_kept_from(tx, session, worker))) return Admission::no;
  if (is_full(tx, session)) return Admission::full;
  return held ? Admission::yes : Admission::by_claim;
}

namespace {

/// A ready item of the same session goes first.
bool passes_its_session(Transaction& tx, const Activity& activity) {
  if (activity.session == 0 || !has_queued(tx, session_of(tx, activity.session))) return false;
  Cursor row = tx.rows(tx.sql.ready_in_session, activity.session, tx.now);
  return row.next();
}

std::int64_t top_rank(Transaction& tx) {
  if (!tx.memo.top_rank) {
    Cursor row = tx.rows(tx.sql.top_rank);
    tx.memo.top_rank = row.next() ? row->int64(0) : 0;
  }
  return *tx.memo.top_rank;
}

/// So does a ready item of higher priority that the worker could take.
bool passes_higher_priority(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                            const Activity& activity) {
  // Most often nobody uses priorities: then the queue need not be looked at, however full it is.
  if (-std::int64_t{activity.priority} <= top_rank(tx)) return false;
  QueueReader reader(tx, worker, abilities, -std::int64_t{activity.priority});
  std::optional<bool> at_limit;
  while (const auto item = reader.next()) {
    const std::optional<Activity> other = find_activity(tx, item->id);
    switch (admit(tx, worker, abilities, *other)) {
      case Admission::no:
      case Admission::full:
        break;
      case Admission::yes:
        return true;
      case Admission::by_claim:
        if (!at_limit) at_limit = sessions_held(tx, worker) >= abilities.session_limit;
        if (!*at_limit) return true;
        reader.drop_lane(item->lane);
    }
  }
  return false;
}

}  // namespace

bool may_hand_off(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                  const Activity& activity) {
  return admit(tx, worker, abilities, activity) == Admission::yes && !passes_its_session(tx, activity) &&
         !passes_higher_priority(tx, worker, abilities, activity);
}

}  // namespace holdfast::sqlite_store
