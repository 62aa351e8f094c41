// What people see of sessions.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>

namespace holdfast::testing::oracle {

store::SessionView Oracle::view_of(const Session& session, store::Saved saved) const {
  store::SessionView view{.id = session.id,
                          .state = state_of(session),
                          .reason = session.reason,
                          .note = session.note,
                          .owner = session.owner,
                          .worker = session.worker,
                          .generation = session.generation,
                          .held_since = session.held_since,
                          .policy = session.policy,
                          .quiet_for = now() - session.last_activity,
                          .opened_by = session.opened_by,
                          .saved_version = session.saved_version,
                          .created_at = session.created_at,
                          .updated_at = session.updated_at};
  // Lapsed, and the owner's registration is stale or missing.
  if (view.state == store::SessionStatus::lapsed) {
    const WorkerRow* const owner = find_worker(session.worker);
    view.orphaned = owner == nullptr || now() - owner->seen >= owner->info.shown_stale_after();
  }
  if (session.wish) view.wanted = session.wish->to;
  if (is_kept(session)) view.kept_for = left(session.kept->until);
  if (is_held(session)) view.lease_left = left(session.lease_until);
  if (session.ttl_until != BootTime::max()) view.ttl_left = left(session.ttl_until);
  for (const Activity& activity : rows().activities) {
    if (activity.session == session.id) ++(is_running(activity) ? view.in_flight : view.queued);
  }
  if (session.saved) view.saved_size = session.saved->size();
  if (saved == store::Saved::bytes) view.saved = session.saved;
  return view;
}

StoreResult<store::SessionView> Oracle::session(std::string_view id, store::Saved saved) {
  const Session* const session = find_session(id);
  if (session == nullptr) return error(Kind::not_found);
  return view_of(*session, saved);
}

StoreResult<std::vector<store::SessionView>> Oracle::sessions(const store::SessionFilter& filter) {
  std::vector<store::SessionView> views;
  for (const auto& [id, session] : rows().sessions) {
    const store::SessionView view = view_of(session, store::Saved::size);
    const auto& states = filter.states;
    if (!states.empty() && std::find(states.begin(), states.end(), view.state) == states.end()) continue;
    if (filter.owner && *filter.owner != view.owner) continue;
    if (filter.queue && *filter.queue != view.policy.queue) continue;
    if (view.id > filter.after) views.push_back(view);
  }
  if (views.size() > filter.limit) views.resize(filter.limit);
  return views;
}

StoreResult<store::SessionCounts> Oracle::count_sessions() {
  using enum store::SessionStatus;
  store::SessionCounts counts;
  for (const auto& [id, session] : rows().sessions) {
    const store::SessionView view = view_of(session, store::Saved::size);
    if (view.state == unclaimed) ++counts.unclaimed;
    if (view.state == active) ++counts.active;
    if (view.state == lapsed) ++counts.lapsed;
    if (view.orphaned) ++counts.orphaned;
    if (view.state == expired) ++counts.expired;
    if (view.state == closed) ++counts.closed;
    if (view.state == failed) ++counts.failed;
  }
  return counts;
}

// Oldest first, after entry number `after`; of one session, or of all when `id` is empty.
StoreResult<std::vector<store::SessionLogEntry>> Oracle::session_log(std::string_view id, std::uint64_t after,
                                                                     std::size_t limit) {
  std::vector<store::SessionLogEntry> entries;
  for (const store::SessionLogEntry& entry : rows().log) {
    if (entry.number <= after || (!id.empty() && entry.session != id)) continue;
    if (entries.size() < limit) entries.push_back(entry);
  }
  return entries;
}

}  // namespace holdfast::testing::oracle
