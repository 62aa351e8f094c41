#include "admission.hpp"

#include "sessions.hpp"

#include <algorithm>
#include <string>

namespace holdfast::rules {

std::optional<StoreError> refusal(const Transaction& tx, WorkerKey worker, Call call) {
  const Worker* const found = look_at(tx, worker);
  if (found == nullptr) {
    return StoreError{.kind = StoreError::Kind::not_found,
                      .message = "worker " + to_string(worker) + " is not registered: join again"};
  }
  const Worker& row = *found;
  if (!row.superseded || (row.draining && call == Call::keeps_what_it_has)) return std::nullopt;
  return StoreError{.kind = StoreError::Kind::superseded,
                    .message = "a newer incarnation of node '" + row.info.node + "' has joined"};
}

bool is_live(const Worker& worker) { return !worker.superseded && !worker.draining; }

bool is_present(const Transaction& tx, const Worker& worker) {
  return is_live(worker) && tx.now - worker.seen < worker.info.shown_stale_after();
}

bool can_run(const Abilities& abilities, const Activity& activity) {
  return abilities.handlers.contains(activity.name) && abilities.queues.serve(activity.queue);
}

std::uint32_t workers_for(const Transaction& tx, std::string_view queue, std::string_view name) {
  return static_cast<std::uint32_t>(std::ranges::count_if(tx.space.workers, [&](const auto& entry) {
    const Abilities& abilities = entry.second.info.abilities;
    return is_present(tx, entry.second) && abilities.handlers.contains(name) && abilities.queues.serve(queue);
  }));
}

bool covers(const Abilities& abilities, const SessionPolicy& policy) {
  return std::ranges::all_of(policy.requirements, [&](const std::string& requirement) {
    return abilities.capabilities.contains(requirement);
  });
}

Admission admit(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                const Activity& activity) {
  if (!can_run(abilities, activity) || activity.deadline() <= tx.now) return Admission::no;
  if (!activity.session) return Admission::yes;
  const Session* const session = find_session(tx, *activity.session);
  if (session == nullptr || !covers(abilities, session->policy)) return Admission::no;
  const bool held = is_held_by(tx, *session, worker);
  if (!held && (!is_claimable(tx, *session) || is_kept_from(tx, *session, worker))) return Admission::no;
  if (is_full(tx, *session)) return Admission::no;
  return held ? Admission::yes : Admission::by_claim;
}

namespace {

/// A ready activity of the same session goes first.
bool passes_its_session(const Transaction& tx, const Activity& activity) {
  if (!activity.session) return false;
  const Session& session = *find_session(tx, *activity.session);
  return std::ranges::any_of(session.queued, [&](const ActivityId& id) {
    return id != activity.id && tx.space.activities.peek(id)->ready_since <= tx.now;
  });
}

/// So does a ready activity of higher priority that the worker could take.
bool passes_higher_priority(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                            bool owned_only, const Activity& activity) {
  tx.rows.waiting_above(activity.priority, worker, abilities);
  for (const ReadyActivity& ready : tx.space.waiting) {
    if (ready.rank >= -activity.priority) return false;
    const Activity& other = *tx.space.activities.peek(ready.id);
    switch (admit(tx, worker, abilities, other)) {
      case Admission::no:
        break;
      case Admission::yes:
        if (other.session || !owned_only) return true;
        break;
      case Admission::by_claim:
        if (!owned_only && sessions_held(tx, worker) < abilities.session_limit) return true;
    }
  }
  return false;
}

}  // namespace

bool may_hand_off(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                  const Activity& activity) {
  // As with a fetch: who drains gets nothing but what its sessions bring.
  const bool owned_only = look_at(tx, worker)->draining;
  if (owned_only && !activity.session) return false;
  return admit(tx, worker, abilities, activity) == Admission::yes && !passes_its_session(tx, activity) &&
         !passes_higher_priority(tx, worker, abilities, owned_only, activity);
}

}  // namespace holdfast::rules
