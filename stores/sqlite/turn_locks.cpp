// Locks of instances: renewed, and given back without a commit.
#include "turns.hpp"

#include <algorithm>

namespace holdfast::sqlite_store {
namespace {

StoreError lost(InstanceKey key) {
  return store_error(StoreError::Kind::lost, "instance " + to_string(key) + " is not locked by this token");
}

}  // namespace

StoreResult<void> renew_turn(Transaction& tx, WorkerKey worker, Duration lease,
                             const store::TurnRenewal& renewal) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has))
    return Unexpected(*std::move(refused));
  Instance* instance = load_instance(tx, renewal.key);
  if (instance == nullptr || !instance->held || instance->held->token != renewal.token) {
    return Unexpected(lost(renewal.key));
  }
  take_out(tx, *instance);
  const LeaseTime until = later(tx.now, lease);
  instance->held->until = until;
  instance->held->lapsed = false;
  tx.run(tx.sql.extend_hold, renewal.key, until);
  LeaseTime& horizon = tx.counters().turn_horizon;
  horizon = std::min(horizon, until);
  return {};
}

StoreResult<void> release_turn(Transaction& tx, const store::TurnRelease& release) {
  Instance* instance = load_instance(tx, release.key);
  if (instance == nullptr || !instance->held || instance->held->token != release.token) {
    return Unexpected(lost(release.key));
  }
  take_out(tx, *instance);
  const std::uint32_t delivery = delivery_of(tx, *instance);
  instance->delivery = release.counts || delivery == 0 ? delivery : delivery - 1;
  if (release.park && !has_ended(instance->status)) {
    instance->status = store::InstanceStatus::parked;
    instance->updated_at = tx.calendar_now;
    tx.run(tx.sql.set_parked_because, release.key, *release.park);
    tx.news.instances.push_back(release.key);
  }
  instance->held.reset();
  tx.run(tx.sql.unhold, release.key);
  instance->seen = {};
  const bool waits = release.delay > Duration::zero() && !has_control_after(tx, *instance, release.seen);
  instance->not_before = waits ? later(tx.now, release.delay) : 0;
  instance->ready_at.reset();
  place(tx, *instance, needs_turn(tx, *instance, {}));
  save_instance(tx, *instance);
  return {};
}

StoreResult<std::uint64_t> wake_parked(Transaction& tx, const store::Code& code) {
  std::vector<InstanceKey> parked;
  for (Cursor row = tx.rows(tx.sql.parked, tx.ns); row.next();) parked.push_back(row->number<InstanceKey>(0));
  std::uint64_t woken = 0;
  for (const InstanceKey key : parked) {
    Instance* instance = load_instance(tx, key);
    if (!serves(code, tx.route(instance->route))) continue;
    take_out(tx, *instance);
    instance->status = store::InstanceStatus::running;
    instance->woken = true;
    instance->not_before = 0;
    instance->updated_at = tx.calendar_now;
    if (instance->is_free()) {
      instance->ready_at.reset();
      place(tx, *instance, true);
    }
    save_instance(tx, *instance);
    tx.run(tx.sql.set_parked_because, key, nullptr);
    tx.news.instances.push_back(key);
    tx.wake(store::kTurns);
    ++woken;
  }
  return woken;
}

}  // namespace holdfast::sqlite_store
