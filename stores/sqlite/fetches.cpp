// Turns and activities are fetched: candidates come from the tables into the space, and the rules choose.
#include "calls.hpp"
#include "queue.hpp"
#include "stores/rules/readiness.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {

using store::ActivityRequest;
using store::FetchedActivities;
using store::FetchedTurns;
using store::TurnRequest;

namespace {

// The rest waits for the next fetch: a transaction stays short, however many timers end at once.
constexpr std::size_t kMaxDue = 1000;

/// Timers and delayed messages that are due. Answers when the next ones will be.
class Due {
 public:
  explicit Due(WorkingSet& set) : set_(set) {}

  void bring() {
    if (until_next() > Duration::zero()) return;
    const rules::Transaction& tx = set_.tx();
    for (const InstanceKey key : keys_of(
             set_.link().rows(set_.sql().due_timers, set_.ns(), parameter(tx.calendar), kMaxDue))) {
      if (rules::Instance* const instance = rules::find_instance(tx, key)) set_.timers(*instance);
    }
    for (const InstanceKey key :
         keys_of(set_.link().rows(set_.sql().due_delayed, set_.ns(), parameter(tx.now), kMaxDue))) {
      if (rules::Instance* const instance = rules::find_instance(tx, key)) set_.delayed(*instance);
    }
  }

  Duration until_next() {
    const rules::Transaction& tx = set_.tx();
    Duration next = never;
    if (Cursor row = set_.link().rows(set_.sql().first_timer, set_.ns()); row.next()) {
      next = std::min(next, left(CalendarTime(Duration(row->int64(0))), tx.calendar));
    }
    return std::min(next, left(time_of(set_.link().rows(set_.sql().first_delayed, set_.ns())), tx.now));
  }

 private:
  WorkingSet& set_;
};

/// Those of the lanes that the worker has the code for, the oldest first. Answers when the first of those that
/// are not ready yet will be.
BootTime bring_ready(WorkingSet& set, const TurnRequest& request) {
  const rules::Transaction& tx = set.tx();
  BootTime next = rules::kNever;
  std::vector<std::pair<std::int64_t, InstanceKey>> found;
  const NumberRange range(set.ns());
  for (std::int64_t lane = range.below;;) {
    {
      Cursor row = set.link().rows(set.sql().next_lane, lane, range.above);
      if (!row.next()) break;
      lane = row->int64(0);
    }
    const Route* const route = set.link().interned.find_route(lane);
    if (route == nullptr || !rules::suits(*request.code, route->code, route->build)) continue;
    for (Cursor row =
             set.link().rows(set.sql().ready_in_lane, lane, parameter(tx.now), request.max + 1);
         row.next();) {
      found.emplace_back(row->int64(0), row->number<InstanceKey>(1));
    }
    next = std::min(next, time_of(set.link().rows(set.sql().next_in_lane, lane, parameter(tx.now))));
  }
  std::ranges::sort(found);
  if (found.size() > request.max + 1) found.resize(request.max + 1);
  for (const auto& [at, key] : found) set.instance(key);
  return next;
}

}  // namespace

StoreResult<FetchedTurns> fetch_turns(WorkingSet& set, const TurnRequest& request) {
  rules::Transaction& tx = set.tx();
  if (auto refused = rules::refusal(tx, request.worker, rules::Call::takes_work)) return Unexpected(*refused);
  set.write_back();
  if (request.repeated) {
    for (const InstanceKey key : keys_of(
             set.link().rows(set.sql().held_by, request.token, parameter(tx.now), set.ns()))) {
      set.instance(key);
    }
  }
  Due due(set);
  due.bring();
  const BootTime next_ready = bring_ready(set, request);
  StoreResult<FetchedTurns> fetched = rules::fetch_turns(tx, request);
  if (!fetched) return fetched;
  set.write_back();
  fetched->next_due = std::min({fetched->next_due, due.until_next(), left(next_ready, tx.now),
                                left(set.horizons().turns, tx.now)});
  return fetched;
}

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
  const bool draining = rules::find_worker(tx, request.worker)->draining;
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

std::uint64_t wake_parked(WorkingSet& set, const store::Code& code) {
  set.write_back();
  for (const InstanceKey key : keys_of(set.link().rows(set.sql().parked, set.ns()))) set.instance(key);
  return rules::wake_parked(set.tx(), code);
}

// A session is displaced for the first that waits for its place.
StoreResult<void> release_session(WorkingSet& set, WorkerKey worker, const store::SessionRelease& item) {
  const rules::Worker* const owner = rules::find_worker(set.tx(), worker);
  if (owner != nullptr && item.reason == store::SessionReason::displaced) {
    set.write_back();
    bring_candidates(set, {.worker = worker, .abilities = owner->info.abilities});
  }
  return rules::release_session(set.tx(), worker, item);
}

}  // namespace holdfast::sqlite_store
