// May this worker take this activity now? The same rule for fetches and hand-offs.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>

namespace holdfast::testing::oracle {

using WhenLost = store::SessionPolicy::WhenLost;

bool Oracle::is_running(const Activity& activity) const {
  return !activity.token.empty() && activity.lease_until > now();
}

// Once the lease is over, any worker may take the row.
bool Oracle::is_ready(const Activity& activity) const {
  return !is_running(activity) && waits_since(activity) <= now();
}

BootTime Oracle::waits_since(const Activity& activity) const {
  return activity.token.empty() ? activity.due : activity.lease_until;
}

// When somebody must have taken it: within `start_within` each time that it is queued, and before `total` is
// over; not at all once its session has ended.
BootTime Oracle::deadline(const Activity& activity) const {
  const BootTime since = waits_since(activity);
  if (activity.session_over) return since;
  const bool no_limit = activity.start_within > BootTime::max() - since;
  return std::min(no_limit ? BootTime::max() : since + activity.start_within, activity.total_until);
}

bool Oracle::has_code(const store::Abilities& abilities, const Activity& activity) {
  return abilities.handlers.contains(activity.name) && abilities.queues.serve(activity.queue);
}

// Exact strings, all covered by the worker's capabilities.
bool Oracle::covers(const store::Abilities& abilities, const store::SessionPolicy& policy) {
  return std::all_of(
      policy.requirements.begin(), policy.requirements.end(),
      [&](const std::string& requirement) { return abilities.capabilities.contains(requirement); });
}

// The concurrency limit counts unexpired locks of all generations, and what was taken away until its code has
// ended or its lease is over.
bool Oracle::has_room(const Session& session, const Activity* apart_from) const {
  if (session.policy.max_concurrent == 0) return true;
  std::uint32_t running = 0;
  for (const Activity& activity : rows().activities) {
    if (&activity != apart_from && activity.session == session.id && is_running(activity)) ++running;
  }
  for (const Cancel& cancel : rows().cancels) {
    if (cancel.session == session.id && cancel.state != CancelState::acknowledged &&
        cancel.lease_until > now()) {
      ++running;
    }
  }
  return running < session.policy.max_concurrent;
}

// Sessions that are unclaimed, or lapsed under `reclaim`.
bool Oracle::is_claimable(const Session& session) const {
  if (session.ended || session.ttl_until <= now() || is_held(session)) return false;
  return session.worker == WorkerKey{} || session.policy.when_lost == WhenLost::reclaim;
}

bool Oracle::is_kept(const Session& session) const {
  return session.kept && session.kept->until > now() && is_claimable(session);
}

bool Oracle::is_kept_from(const Session& session, WorkerKey worker) const {
  return is_kept(session) && session.kept->node != node_of(worker);
}

// Sessions owned with an unexpired lease.
bool Oracle::has_capacity(const Asker& asker) const {
  return sessions_owned(asker.key) < asker.abilities->session_limit;
}

// By queue, then requirements, then session, then the session's concurrency limit.
Oracle::Admission Oracle::admission(const Asker& asker, const Activity& activity) const {
  if (!is_ready(activity) || deadline(activity) <= now()) return Admission::refused;
  if (!has_code(*asker.abilities, activity)) return Admission::refused;
  if (activity.session.empty()) return asker.owned_only ? Admission::refused : Admission::allowed;
  // It waits for a session that is missing.
  const Session* const session = find_session(activity.session);
  if (session == nullptr || !covers(*asker.abilities, session->policy)) return Admission::refused;
  const bool owns = session->worker == asker.key && is_held(*session);
  const bool may_claim = !asker.owned_only && is_claimable(*session) && !is_kept_from(*session, asker.key);
  if ((!owns && !may_claim) || !has_room(*session)) return Admission::refused;
  return owns ? Admission::allowed : Admission::claims;
}

// Those of higher priority first, then those that waited longest.
std::vector<Activity*> Oracle::ready_activities() const {
  std::vector<Activity*> ready;
  for (Activity& activity : rows().activities) {
    if (is_ready(activity)) ready.push_back(&activity);
  }
  std::sort(ready.begin(), ready.end(), [&](const Activity* a, const Activity* b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    if (waits_since(*a) != waits_since(*b)) return waits_since(*a) < waits_since(*b);
    return a->id < b->id;
  });
  return ready;
}

store::LockedActivity Oracle::lock(Activity& activity, WorkerKey worker, LockToken token,
                                   Duration lease) const {
  activity.worker = worker;
  activity.token = token;
  activity.lease_until = later(lease);
  ++activity.delivery;
  store::LockedActivity locked{.id = activity.id,
                               .name = activity.name,
                               .queue = activity.queue,
                               .priority = activity.priority,
                               .attempt = activity.attempt,
                               .delivery = activity.delivery,
                               .body = activity.body,
                               .last_failure = activity.last_failure,
                               .progress = activity.progress};
  if (const Instance* const instance = find_instance(activity.id.instance)) locked.instance = instance->id;
  locked.total_left = left(activity.total_until);
  if (activity.session.empty()) return locked;
  Session& session = *find_session(activity.session);
  session.ran = true;
  activity.generation = session.generation;
  locked.session = store::SessionGrant{.hold = {session.id, session.generation},
                                       .held_since = session.held_since,
                                       .lease = left(session.lease_until),
                                       .idle_timeout = session.idle_timeout,
                                       .when_lost = session.policy.when_lost,
                                       .connection = session.policy.connection};
  return locked;
}

}  // namespace holdfast::testing::oracle
