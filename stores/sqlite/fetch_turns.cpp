// Turns are fetched: candidates come from the tables into the space, and the rules choose.
#include "calls.hpp"
#include "stores/rules/readiness.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {

using store::FetchedTurns;
using store::TurnRequest;

namespace {

// The rest waits for the next fetch: a transaction stays short, however many timers end at once.
constexpr std::size_t kMaxDue = 1000;

/// How long it is until a timer or a delayed message is due.
Duration next_delivery(WorkingSet& set) {
  const rules::Transaction& tx = set.tx();
  Duration next = left(time_of(set.link().rows(set.sql().first_delayed, set.ns())), tx.now);
  if (Cursor row = set.link().rows(set.sql().first_timer, set.ns()); row.next())
    next = std::min(next, left(CalendarTime(Duration(row->int64(0))), tx.calendar));
  return next;
}

/// Those that are due come into the space.
void bring_due(WorkingSet& set) {
  const rules::Transaction& tx = set.tx();
  for (const InstanceKey key :
       keys_of(set.link().rows(set.sql().due_timers, set.ns(), parameter(tx.calendar), kMaxDue))) {
    if (rules::Instance* const instance = rules::find_instance(tx, key)) set.timers(*instance);
  }
  for (const InstanceKey key :
       keys_of(set.link().rows(set.sql().due_delayed, set.ns(), parameter(tx.now), kMaxDue))) {
    if (rules::Instance* const instance = rules::find_instance(tx, key)) set.delayed(*instance);
  }
}

/// The first `limit` ready instances whose code the worker has, the oldest first. Lanes of others cost one
/// step each. `next`: when the first of those that are not ready yet will be.
std::vector<InstanceKey> ready_keys(WorkingSet& set, const store::Code& code, std::size_t limit,
                                    BootTime& next) {
  const std::int64_t now = parameter(set.tx().now);
  std::vector<std::pair<std::int64_t, InstanceKey>> found;
  const NumberRange range(set.ns());
  for (std::int64_t lane = range.below;;) {
    {
      Cursor row = set.link().rows(set.sql().next_lane, lane, range.above);
      if (!row.next()) break;
      lane = row->int64(0);
    }
    const Route* const route = set.link().interned.route(lane);
    // What nobody knows comes to whoever looks: then it is parked.
    if (route != nullptr && !rules::suits(code, *route)) continue;
    for (Cursor row = set.link().rows(set.sql().ready_in_lane, lane, now, limit); row.next();)
      found.emplace_back(row->int64(0), row->number<InstanceKey>(1));
    next = std::min(next, time_of(set.link().rows(set.sql().next_in_lane, lane, now)));
  }
  std::ranges::sort(found);
  if (found.size() > limit) found.resize(limit);
  std::vector<InstanceKey> keys;
  for (const auto& [at, key] : found) keys.push_back(key);
  return keys;
}

/// One more than it could take, besides those that it holds: these may go first, whatever their place.
BootTime bring_ready(WorkingSet& set, const TurnRequest& request) {
  const auto is_free = [&](InstanceKey key) {
    set.instance(key);
    const rules::Instance* const instance = set.space().instances.peek(key);
    if (instance != nullptr && !instance->ready_since) return false;  // it was parked just now
    if (instance == nullptr || instance->lock.token.empty()) return true;
    return !std::ranges::binary_search(request.held, key, {}, &store::HeldInstance::key);
  };
  constexpr std::size_t kMost = 1'000'000;
  BootTime next = rules::kNever;
  for (std::size_t limit = std::min(request.max, kMost) + 1;; limit *= 2) {
    const std::vector<InstanceKey> keys = ready_keys(set, *request.code, limit, next);
    const auto free = static_cast<std::size_t>(std::ranges::count_if(keys, is_free));
    if (free > request.max || keys.size() < limit) return next;
  }
}

}  // namespace

StoreResult<FetchedTurns> fetch_turns(WorkingSet& set, const TurnRequest& request) {
  rules::Transaction& tx = set.tx();
  if (auto refused = rules::refusal(tx, request.worker, rules::Call::takes_work)) return Unexpected(*refused);
  set.write_back();
  if (request.repeated) {
    for (const InstanceKey key :
         keys_of(set.link().rows(set.sql().held_by, request.token, parameter(tx.now), set.ns()))) {
      set.instance(key);
    }
  }
  Duration next_due = next_delivery(set);
  const bool is_due = next_due <= Duration::zero();
  if (is_due) bring_due(set);
  const BootTime next_ready = bring_ready(set, request);
  StoreResult<FetchedTurns> fetched = rules::fetch_turns(tx, request);
  if (!fetched) return fetched;
  set.write_back();
  if (is_due) next_due = next_delivery(set);
  fetched->next_due =
      std::min({fetched->next_due, next_due, left(next_ready, tx.now), left(set.horizons().turns, tx.now)});
  return fetched;
}

std::uint64_t wake_parked(WorkingSet& set, const store::Code& code) {
  set.write_back();
  for (const InstanceKey key : keys_of(set.link().rows(set.sql().parked, set.ns()))) set.instance(key);
  return rules::wake_parked(set.tx(), code);
}

}  // namespace holdfast::sqlite_store
