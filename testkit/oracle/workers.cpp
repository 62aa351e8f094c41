// Workers: they join, give signs of life and leave.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>

namespace holdfast::testing::oracle {

using store::SessionReason;
using WhenLost = store::SessionPolicy::WhenLost;

StoreResult<WorkerKey> Oracle::join(const store::NewWorker& info) {
  const WorkerKey key{++database_->last_worker};
  // Calls of older incarnations of the node are answered `superseded` from now on.
  for (WorkerRow& older : rows().workers) {
    if (older.info.node == info.node) older.superseded = true;
  }
  // Sessions of older incarnations that are not draining.
  for (auto& [id, session] : rows().sessions) {
    if (session.ended || session.worker == WorkerKey{} || session.owner != info.node) continue;
    const WorkerRow* const owner = find_worker(session.worker);
    if (owner != nullptr && owner->draining) continue;
    if (session.policy.when_lost == WhenLost::fail) {
      end_session(session, store::SessionStatus::failed, SessionReason::owner_restarted);
      continue;
    }
    // Only this node may claim it, but no longer than its lease would have lasted; unless an operator has
    // asked for it.
    const BootTime until = std::min(later(info.take_back_within), session.lease_until);
    const bool wished_for = session.wish.has_value();
    log(session, store::SessionLogEntry::Kind::released, SessionReason::owner_restarted, "", session.owner);
    leave_owner(session, SessionReason::owner_restarted);
    if (!wished_for) session.kept = Kept{info.node, until};
  }
  rows().workers.push_back({.key = key, .info = info, .seen = now(), .joined_at = today()});
  return key;
}

StoreResult<void> Oracle::refresh(WorkerKey worker, bool draining) {
  if (const auto refused = refusal_to_keep(worker)) return Unexpected(*refused);
  WorkerRow* const row = find_worker(worker);
  row->seen = now();
  row->draining = draining;
  return {};
}

StoreResult<void> Oracle::leave(WorkerKey worker) {
  if (find_worker(worker) == nullptr) return error(Kind::not_found);
  std::erase_if(rows().workers, [&](const WorkerRow& row) { return row.key == worker; });
  return {};
}

StoreResult<std::vector<store::WorkerView>> Oracle::workers() {
  std::vector<store::WorkerView> views;
  for (const WorkerRow& row : rows().workers) {
    views.push_back({.key = row.key,
                     .info = row.info,
                     .draining = row.draining,
                     .superseded = row.superseded,
                     .sessions_owned = sessions_owned(row.key),
                     .joined_at = row.joined_at,
                     .last_seen = now() - row.seen});
  }
  return views;
}

std::optional<StoreError> Oracle::refusal(WorkerKey worker) const {
  const WorkerRow* const row = find_worker(worker);
  if (row == nullptr) return StoreError{.kind = Kind::not_found};
  if (row->superseded) return StoreError{.kind = Kind::superseded};
  return std::nullopt;
}

std::optional<StoreError> Oracle::refusal_to_keep(WorkerKey worker) const {
  // An older incarnation that drains may renew and release what it has until it is done.
  const WorkerRow* const row = find_worker(worker);
  const bool drains = row != nullptr && row->draining;
  return drains ? std::nullopt : refusal(worker);
}

std::string Oracle::node_of(WorkerKey worker) const {
  const WorkerRow* const row = find_worker(worker);
  return row == nullptr ? "" : row->info.node;
}

bool Oracle::takes_work(const WorkerRow& worker) { return !worker.superseded && !worker.draining; }

bool Oracle::is_at_work(const WorkerRow& worker) const {
  return takes_work(worker) && now() - worker.seen < worker.info.shown_stale_after();
}

std::uint32_t Oracle::sessions_owned(WorkerKey worker) const {
  std::uint32_t owned = 0;
  for (const auto& [id, session] : rows().sessions) {
    if (session.worker == worker && is_held(session)) ++owned;
  }
  return owned;
}

}  // namespace holdfast::testing::oracle
