// Activities are fetched: candidates come from the tables into the space, and the rules choose.
#include "calls.hpp"
#include "queue.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {

using store::ActivityRequest;
using store::FetchedActivities;

StoreResult<FetchedActivities> fetch_activities(WorkingSet& set, const ActivityRequest& request) {
  rules::Transaction& tx = set.tx();
  if (auto refused = rules::refusal(tx, request.worker, rules::Call::takes_work)) return Unexpected(*refused);
  set.write_back();
  if (request.repeated) {
    for (const store::ActivityId& id :
         ids_of(set.link().rows(set.sql().running_by, request.token, parameter(tx.now), set.ns()))) {
      set.activity(id);
    }
  }
  const bool draining = rules::look_at(tx, request.worker)->draining;
  const BootTime next = bring_candidates(set, {.worker = request.worker,
                                               .abilities = *request.abilities,
                                               .max = request.max,
                                               .owned_only = request.owned_only || draining});
  StoreResult<FetchedActivities> fetched = rules::fetch_activities(tx, request);
  if (!fetched) return fetched;
  set.write_back();
  for (const BootTime moment : {next, set.horizons().activities, set.horizons().sessions}) {
    fetched->next_due = std::min(fetched->next_due, left(moment, tx.now));
  }
  return fetched;
}

// A session is displaced for the first that waits for its place.
StoreResult<void> release_session(WorkingSet& set, WorkerKey worker, const store::SessionRelease& item) {
  const rules::Worker* const owner = rules::look_at(set.tx(), worker);
  if (owner != nullptr && item.reason == store::SessionReason::displaced) {
    set.write_back();
    bring_candidates(set, {.worker = worker, .abilities = owner->info.abilities});
  }
  return rules::release_session(set.tx(), worker, item);
}

}  // namespace holdfast::sqlite_store
