// Fetching activities, and claiming sessions with them.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <set>

namespace holdfast::testing::oracle {

using store::SessionReason;

StoreResult<store::FetchedActivities> Oracle::fetch_activities(const store::ActivityRequest& request) {
  if (const auto refused = refusal(request.worker)) return Unexpected(*refused);
  if (request.repeated) put_back_locked_by(request.token);
  // A worker that is registered as draining gets activities of sessions that it owns only.
  const Asker asker{request.worker, request.abilities,
                    request.owned_only || find_worker(request.worker)->draining};
  store::FetchedActivities fetched;

  // At most its share of the claimable sessions among the live workers, rounded up; those that drain don't
  // count.
  const std::vector<Activity*> ready = ready_activities();
  std::set<std::string> claimable;
  for (const Activity* const activity : ready) {
    if (admission(asker, *activity) == Admission::claims) claimable.insert(activity->session);
  }
  const auto live = static_cast<std::size_t>(std::count_if(rows().workers.begin(), rows().workers.end(),
                                                           [](const auto& row) { return takes_work(row); }));
  std::size_t share = (claimable.size() + live - 1) / std::max<std::size_t>(live, 1);

  for (Activity* const activity : ready) {
    const Admission admitted = admission(asker, *activity);
    if (admitted == Admission::refused) continue;
    Session* const session = find_session(activity->session);
    if (admitted == Admission::claims) {
      if (!has_capacity(asker)) {
        if (request.abilities->session_limit > 0) {
          const Duration waited = now() - waits_since(*activity);
          fetched.wants_capacity = std::max(fetched.wants_capacity.value_or(waited), waited);
        }
        continue;
      }
      if (share == 0) {
        fetched.next_due = {};
        continue;
      }
    }
    if (fetched.activities.size() == request.max) {
      fetched.left_behind = true;
      continue;
    }
    std::optional<Claim> claimed;
    if (admitted == Admission::claims) {
      --share;
      claimed = claim(*session, request.worker, *request.abilities, SessionReason::work);
    }
    fetched.activities.push_back(lock(*activity, request.worker, request.token, request.lease));
    if (!claimed) continue;
    store::SessionGrant& grant = *fetched.activities.back().session;
    grant.claimed = true;
    grant.same_owner = claimed->same_owner;
    grant.previous_owner = claimed->previous_owner;
    grant.reason = claimed->reason;
    grant.saved = session->saved;
  }
  fetched.to_hand_over = to_hand_over(request);
  fetched.next_due = std::min(fetched.next_due, next_activity_due());
  return fetched;
}

// As if by PutBack. A lock that lapsed is taken with the next delivery as always.
void Oracle::put_back_locked_by(LockToken token) const {
  const std::vector<store::ActivityId> locked =
      ids_of([&](const Activity& activity) { return activity.token == token && is_running(activity); });
  for (const store::ActivityId& id : locked) {
    static_cast<void>(finish({.id = id, .token = token, .result = store::PutBack{}}));
  }
}

// Sessions of this worker that have nothing in flight, and ready activities which it has no handler or queue
// for but another live worker has.
std::vector<store::SessionHold> Oracle::to_hand_over(const store::ActivityRequest& request) const {
  std::vector<store::SessionHold> holds;
  for (const auto& [id, session] : rows().sessions) {
    if (session.worker != request.worker || !is_held(session) || runs_on(session, request.worker)) continue;
    const auto fits_another = [&](const Activity& activity) {
      if (activity.session != session.id || !is_ready(activity) || has_code(*request.abilities, activity)) {
        return false;
      }
      return std::any_of(rows().workers.begin(), rows().workers.end(), [&](const WorkerRow& other) {
        const store::Abilities& abilities = other.info.abilities;
        return other.key != request.worker && takes_work(other) && abilities.session_limit > 0 &&
               has_code(abilities, activity) && covers(abilities, session.policy);
      });
    };
    if (std::any_of(rows().activities.begin(), rows().activities.end(), fits_another)) {
      holds.push_back({session.id, session.generation});
    }
  }
  return holds;
}

// Any moment at which something may change for a worker: it may be too early, never too late.
Duration Oracle::next_activity_due() const {
  Duration due = never;
  const auto at = [&](BootTime time) {
    if (time > now()) due = std::min(due, left(time));
  };
  for (const Activity& activity : rows().activities) at(waits_since(activity));
  for (const Cancel& cancel : rows().cancels) at(cancel.lease_until);
  for (const auto& [id, session] : rows().sessions) {
    at(session.lease_until);
    if (session.kept) at(session.kept->until);
  }
  return due;
}

}  // namespace holdfast::testing::oracle
