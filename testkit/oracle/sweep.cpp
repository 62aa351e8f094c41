// Housekeeping: deadlines, workers without a sign of life, ends of sessions, records that nobody needs.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

using store::SessionReason;
using store::SessionStatus;
using WhenLost = store::SessionPolicy::WhenLost;

/// So many rows of one kind at once.
class Oracle::Slice {
 public:
  explicit Slice(Slices& slices) : slices_(slices) {}
  /// Whether there is room for one more. Who asks in vain is due at once.
  bool takes() {
    if (taken_ == slices_.max) {
      slices_.more = true;
      return false;
    }
    ++taken_;
    return true;
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  Slices& slices_;
  std::size_t taken_ = 0;
};

StoreResult<store::Swept> Oracle::sweep(const store::SweepRequest& request) {
  store::Swept swept;
  Slices slices{.max = request.max};
  trim_log(request, slices, swept);
  time_out_activities(slices, swept);
  remove_workers(request, slices, swept);
  end_sessions(slices, swept);
  remove_sessions(request, slices, swept);
  remove_remains(request, slices, swept);
  swept.next_due = slices.more ? Duration{} : next_sweep_due(request);
  return swept;
}

void Oracle::trim_log(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const {
  Slice slice(slices);
  std::erase_if(rows().log, [&](const store::SessionLogEntry& entry) {
    return today() - entry.at >= request.session_log_retention && slice.takes();
  });
  swept.remains_removed += slice.taken();
}

// The earliest deadline first. Whatever was in the way when it passed is the reason.
void Oracle::time_out_activities(Slices& slices, store::Swept& swept) const {
  std::vector<std::pair<BootTime, store::ActivityId>> late;
  for (const Activity& activity : rows().activities) {
    if (!is_running(activity) && deadline(activity) <= now())
      late.emplace_back(deadline(activity), activity.id);
  }
  std::sort(late.begin(), late.end());
  Slice slice(slices);
  for (const auto& [due, id] : late) {
    if (!slice.takes()) break;
    const Activity& activity = *find_activity(id);
    CancelReason reason = why_not_started(activity);
    if (activity.total_until <= due) reason = CancelReason::total_deadline;
    if (activity.session_over) reason = *activity.session_over;
    take(id, reason);
  }
  swept.activities_timed_out = slice.taken();
}

// `requirements_not_met` when workers for the activity live, and none of them meets its session's
// requirements; `no_session_capacity` when some do, the session could be claimed, and all of them hold as
// many as they may.
CancelReason Oracle::why_not_started(const Activity& activity) const {
  const Session* const session = find_session(activity.session);
  if (session == nullptr) return CancelReason::schedule_to_start;
  bool any_lives = false;
  bool any_covers = false;
  bool any_has_room = false;
  for (const WorkerRow& worker : rows().workers) {
    const store::Abilities& abilities = worker.info.abilities;
    if (!takes_work(worker) || !has_code(abilities, activity)) continue;
    any_lives = true;
    if (!covers(abilities, session->policy)) continue;
    any_covers = true;
    any_has_room = any_has_room || has_capacity({worker.key, &abilities});
  }
  if (any_lives && !any_covers) return CancelReason::requirements_not_met;
  if (any_covers && !any_has_room && is_claimable(*session)) return CancelReason::no_session_capacity;
  return CancelReason::schedule_to_start;
}

// Only when sweeps of this handle have seen it overdue for half of the time. These observations are void when
// no sweep saw it for longer than the whole of that time.
BootTime Oracle::certain_at(Sighting& sighting, BootTime due, Duration whole) const {
  const bool is_known = sighting.due == due && now() - sighting.last <= whole;
  if (!is_known) sighting.first = now();
  sighting.due = due;
  sighting.last = now();
  return sighting.first + whole / 2;
}

void Oracle::remove_workers(const store::SweepRequest& request, Slices& slices, store::Swept& swept) {
  std::vector<WorkerKey> gone;
  Slice slice(slices);
  for (const WorkerRow& worker : rows().workers) {
    const Duration whole = worker.info.stale_after.value_or(request.worker_stale_after);
    // A sweep never removes its caller, and says nothing of how late it is.
    if (worker.key == request.worker || now() - worker.seen < whole) continue;
    const BootTime certain = certain_at(late_workers_[worker.key], worker.seen, whole);
    if (certain <= now() && slice.takes()) gone.push_back(worker.key);
  }
  for (const WorkerKey key : gone) {
    std::erase_if(rows().workers, [&](const WorkerRow& worker) { return worker.key == key; });
    ++swept.workers_removed;
  }
}

void Oracle::end_sessions(Slices& slices, store::Swept& swept) {
  Slice expired(slices);
  Slice lost(slices);
  Slice leases(slices);
  for (auto& [id, session] : rows().sessions) {
    if (session.ended) continue;
    const bool fails = session.policy.when_lost == WhenLost::fail;
    const bool lapsed = session.worker != WorkerKey{} && !is_held(session);
    if (session.ttl_until <= now() && expired.takes()) {
      end_session(session, SessionStatus::expired, SessionReason::ttl);
    } else if (fails && lapsed &&
               certain_at(late_sessions_[{id, session.generation}], session.lease_until, session.lease) <=
                   now() &&
               lost.takes()) {
      end_session(session, SessionStatus::failed, SessionReason::owner_lost);
    } else if (!fails && is_held(session) && find_worker(session.worker) == nullptr && leases.takes()) {
      // The leases of sessions that may be re-claimed end when their owner is not registered any more.
      session.lease_until = now();
    }
  }
  swept.sessions_expired = expired.taken();
  swept.sessions_lost = lost.taken();
}

void Oracle::remove_sessions(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const {
  Slice slice(slices);
  std::vector<std::string> removed;
  for (const auto& [id, session] : rows().sessions) {
    if (removable_at(session, request) > now() || !slice.takes()) continue;
    log(session, store::SessionLogEntry::Kind::swept, SessionReason::swept, "", session.owner);
    if (!session.ended) {
      tell(session, {.kind = store::SessionNews::Kind::expired,
                     .from = session.owner,
                     .reason = std::string(to_string(SessionReason::swept)),
                     .generation = session.generation});
    }
    removed.push_back(id);
  }
  for (const std::string& id : removed) rows().sessions.erase(id);
  swept.sessions_removed = slice.taken();
}

// When nobody needs the record of a session any more.
BootTime Oracle::removable_at(const Session& session, const store::SweepRequest& request) const {
  const auto after = [](BootTime from, Duration by) {
    return by > BootTime::max() - from ? BootTime::max() : from + by;
  };
  const bool has_work = std::any_of(rows().activities.begin(), rows().activities.end(),
                                    [&](const auto& item) { return item.session == session.id; });
  if (has_work) return BootTime::max();
  // Those that have ended stay listed for a while.
  if (session.ended) return after(session.changed, request.session_record_retention);
  // The record of a lapsed session whose owner is registered is left alone; one that fails is lost first.
  const bool is_owned = session.worker != WorkerKey{};
  const bool fails = session.policy.when_lost == WhenLost::fail;
  if (is_owned && (fails || find_worker(session.worker) != nullptr)) return BootTime::max();
  // Implicit ones go once lapsed or released, and those with a saved state after its retention; none is swept
  // while it is kept for a node.
  BootTime left_at = is_owned ? session.lease_until : session.changed;
  if (session.kept) left_at = std::max(left_at, session.kept->until);
  Duration retention = session.saved ? request.session_state_retention : Duration{};
  if (session.policy.on_record) {
    retention = std::max(retention, request.session_record_retention);
    // Of those that nobody owns, a time to live ends by itself; and whoever opened it may need it again.
    const Instance* const opener = find_instance(session.opener);
    const bool opener_lives = opener != nullptr && !has_ended(opener->status);
    if (!is_owned && (session.ttl_until != BootTime::max() || opener_lives)) return BootTime::max();
  }
  return after(left_at, retention);
}

// Requests go the oldest first: they stand in the order in which they took effect.
void Oracle::remove_remains(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const {
  Slice early_ones(slices);
  Slice requests(slices);
  Slice cancels(slices);
  std::erase_if(rows().early, [&](const Early& early) { return early.until <= now() && early_ones.takes(); });
  std::erase_if(rows().requests, [&](const Request& one) {
    return now() - one.at >= request.request_retention && requests.takes();
  });
  std::erase_if(rows().cancels,
                [&](const Cancel& cancel) { return cancel.lease_until <= now() && cancels.takes(); });
  swept.early_dropped = early_ones.taken();
  swept.remains_removed += requests.taken() + cancels.taken();
}

// Any moment at which a sweep may find something: it may be too early, never too late.
Duration Oracle::next_sweep_due(const store::SweepRequest& request) const {
  Duration due = never;
  const auto at = [&](BootTime time) {
    if (time > now()) due = std::min(due, left(time));
  };
  for (const Activity& activity : rows().activities) {
    at(deadline(activity));
    if (!activity.token.empty()) at(activity.lease_until);
  }
  for (const auto& [id, session] : rows().sessions) {
    at(session.ttl_until);
    at(session.lease_until);
    at(removable_at(session, request));
    const auto seen = late_sessions_.find({id, session.generation});
    if (seen != late_sessions_.end()) at(seen->second.first + session.lease / 2);
  }
  for (const WorkerRow& worker : rows().workers) {
    const Duration whole = worker.info.stale_after.value_or(request.worker_stale_after);
    if (whole < BootTime::max() - worker.seen) at(worker.seen + whole);
    const auto seen = late_workers_.find(worker.key);
    if (seen != late_workers_.end()) at(seen->second.first + whole / 2);
  }
  for (const Early& early : rows().early) at(early.until);
  for (const Cancel& cancel : rows().cancels) at(cancel.lease_until);
  for (const Request& one : rows().requests) {
    if (request.request_retention < BootTime::max() - one.at) at(one.at + request.request_retention);
  }
  return due;
}

}  // namespace holdfast::testing::oracle
