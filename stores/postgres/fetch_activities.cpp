// Activities are fetched: candidates come into the set, free ones and those of sessions that the worker holds
// or may claim; the rules choose among them.
#include "calls.hpp"
#include "statements.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using store::Abilities;
using store::ActivityRequest;
using store::FetchedActivities;

namespace {

/// Appends what a worker can run: its handlers, whether it serves any queue, and the queues.
Parameters& add_abilities(Parameters& parameters, const Abilities& abilities) {
  return parameters.add_all(abilities.handlers).add(abilities.queues.any).add_all(abilities.queues.names);
}

void add_texts(const Answer& answer, std::vector<std::string>& all) {
  for (int i = 0; i < answer.rows(); ++i) all.emplace_back(answer.bytes(i, 0));
}

void bring_candidates(WorkingSet& set, const ActivityRequest& request) {
  const Abilities& abilities = *request.abilities;
  const BootTime now = set.tx().now;
  std::vector<std::string> sessions;
  set.want_worker(request.worker);
  set.ask(sql::kLetLapse, Parameters(set.ns(), now));
  Parameters free(set.ns());
  add_abilities(free, abilities).add(now).add(static_cast<std::int64_t>(request.max + 1));
  if (!request.owned_only) {
    set.ask(sql::kFreeActivities, free, [&](const Answer& answer) { set.take_activities(answer); });
  }
  if (abilities.session_limit > 0) {
    Parameters held(set.ns(), request.worker);
    add_abilities(held, abilities).add(now).add_all(abilities.capabilities);
    set.ask(sql::kSessionsFor, held, [&](const Answer& answer) { add_texts(answer, sessions); });
  }
  if (request.repeated) {
    const Parameters unanswered(set.ns(), request.token, now);
    set.ask(sql::kFreeLockedBy, unanswered, [&](const Answer& answer) { set.take_activities(answer); });
    set.ask(sql::kSessionsLockedBy, unanswered, [&](const Answer& answer) { add_texts(answer, sessions); });
  }
  set.bring();
  if (!sessions.empty()) {
    // Claims of one worker go one after the other, below its limit.
    set.want_locked_worker(request.worker);
    set.want_all_workers();
    set.want_free_sessions(sessions);
    set.bring();
  }
  std::vector<InstanceKey> keys;
  for (const auto& [id, activity] : set.tx().space.activities) keys.push_back(id.instance);
  set.want_names_of(keys);
  if (set.asked()) set.bring();
}

void bring_next_due(WorkingSet& set, const ActivityRequest& request, Duration& next_due) {
  const BootTime now = set.tx().now;
  const auto earlier = [&next_due, now](const Answer& answer) {
    if (answer.rows() == 0 || answer.is_null(0, 0)) return;
    next_due = std::min(next_due, left(Row(answer, 0).next<BootTime>(), now));
  };
  Parameters free(set.ns());
  add_abilities(free, *request.abilities).add(now);
  set.ask(sql::kNextFree, free, earlier);
  free.add_all(request.abilities->capabilities).add(request.worker).add(request.owned_only);
  set.ask(sql::kNextInSessions, free, earlier);
  set.ask(sql::kNextLapse, Parameters(set.ns(), now), earlier);
  set.bring();
}

}  // namespace

StoreResult<FetchedActivities> fetch_activities(WorkingSet& set, const ActivityRequest& request) {
  bring_candidates(set, request);
  StoreResult<FetchedActivities> fetched = rules::fetch_activities(set.tx(), request);
  if (!fetched) return fetched;
  set.write_back();
  bring_next_due(set, request, fetched->next_due);
  set.clear();
  return fetched;
}

}  // namespace holdfast::postgres_store
