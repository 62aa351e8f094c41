#include "sweep.hpp"

#include "activities.hpp"
#include "admission.hpp"
#include "clients.hpp"
#include "workers.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

class Sweep {
 public:
  Sweep(Transaction& tx, const store::SweepRequest& request, Lapses& lapses)
      : tx_(tx), request_(request), lapses_(lapses) {}

  store::Swept run() {
    trim_session_log();  // first: what this sweep writes stays
    fail_overdue_activities();
    remove_workers();  // before sessions: those that they owned are orphaned from now on
    look_at_sessions();
    drop_early();
    drop_requests();
    drop_cancels();
    drop_remains();
    swept_.next_due = left_until(next_, tx_.now);
    tx_.memo.next_sweep = next_;
    return swept_;
  }

 private:
  void due_at(LeaseTime time) { next_ = std::min(next_, time); }

  /// Whether something due at that time is to be done now; otherwise it is remembered when it will be.
  bool is_due(LeaseTime time, std::uint64_t done) {
    if (time <= tx_.now && done < request_.max) return true;
    due_at(time);
    return false;
  }

  /// When it is certain that somebody who is late won't come. Not before sweeps have seen it for half the
  /// time that they had: they may be as late as this sweep is. Sweeps so far apart that the store was out of
  /// reach in between begin anew.
  LeaseTime certain_at(Lateness& late, bool is_known, Duration limit) const {
    if (!is_known || tx_.now - late.last > limit.count()) late.since = tx_.now;
    late.last = tx_.now;
    return later(late.since, limit / 2);
  }

  // ---- activities -----------------------------------------------------------------------------

  CancelReason overdue(const Activity& activity) {
    if (activity.session_over) return *activity.session_over;
    if (activity.total_until <= activity.deadline()) return CancelReason::total_deadline;
    return why_nobody_took(activity);
  }

  /// The session is to blame when there are workers for the activity, but none that the session could be
  /// with.
  CancelReason why_nobody_took(const Activity& activity) {
    if (activity.session == 0) return CancelReason::schedule_to_start;
    const Session& session = session_of(tx_, activity.session);
    if (!session.begun) return CancelReason::schedule_to_start;
    bool anybody = false;
    bool anybody_able = false;
    for (const LiveWorker& worker : live_workers(tx_)) {
      const store::Abilities& abilities = worker.info.abilities;
      if (!serves(abilities, tx_.kind(activity.kind))) continue;
      anybody = true;
      if (!covers(abilities, session.policy.requirements)) continue;
      anybody_able = true;
      if (sessions_held(tx_, worker.key) < abilities.session_limit) return CancelReason::schedule_to_start;
    }
    if (!anybody) return CancelReason::schedule_to_start;
    if (!anybody_able) return CancelReason::requirements_not_met;
    return is_claimable(tx_, session) ? CancelReason::no_session_capacity : CancelReason::schedule_to_start;
  }

  void fail_overdue_activities() {
    std::vector<store::ActivityId> overdue_ids;
    for (Cursor row = tx_.rows(tx_.sql.overdue, tx_.ns, tx_.now, request_.max); row.next();) {
      overdue_ids.push_back(
          {row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
    }
    for (const store::ActivityId& id : overdue_ids) {
      const std::optional<Activity> activity = find_activity(tx_, id);
      if (!activity) continue;
      const CancelReason reason = overdue(*activity);
      const bool blames_session = activity->session_over || reason == CancelReason::requirements_not_met ||
                                  reason == CancelReason::no_session_capacity;
      const std::string session = blames_session ? session_of(tx_, activity->session).id : "";
      take_away(tx_, *activity, reason, session);
      ++swept_.activities_timed_out;
    }
    if (Cursor row = tx_.rows(tx_.sql.first_deadline, tx_.ns); row.next()) due_at(row->int64(0));
    // Those that run fail once their locks are over: with the session that ended under them, or when nobody
    // takes them again in time.
    for (Cursor row = tx_.rows(tx_.sql.running_with_deadlines, tx_.ns); row.next();) {
      Activity lapsed;
      lapsed.at = row->int64(0);
      if (!row->is_null(1)) lapsed.start_within = Duration(row->int64(1));
      if (!row->is_null(2)) lapsed.total_until = row->int64(2);
      if (row->truth(3)) lapsed.session_over = CancelReason::session_lost;
      due_at(std::max(lapsed.at, lapsed.deadline()));
    }
  }

  // ---- sessions -------------------------------------------------------------------------------

  void look_at_sessions() {
    std::vector<std::int64_t> numbers;
    for (Cursor row = tx_.rows(tx_.sql.session_numbers, tx_.ns); row.next();)
      numbers.push_back(row->int64(0));
    for (const std::int64_t number : numbers) end_if_due(session_of(tx_, number));
    std::erase_if(lapses_.sessions, [&](const auto& entry) { return !is_lapsed(entry.first); });
    for (const std::int64_t number : numbers) remove_if_due(session_of(tx_, number));
    tx_.run(tx_.sql.delete_empty_places, tx_.ns);
    tx_.memo.sessions.remove_unbegun();
  }

  void end_if_due(Session& session) {
    if (session.ended) return;
    if (session.ttl_until != kNoTime && is_due(session.ttl_until, swept_.sessions_expired)) {
      expire(tx_, session);
      ++swept_.sessions_expired;
    } else if (is_due(lost_at(session), swept_.sessions_lost)) {
      lose(tx_, session, store::SessionReason::owner_lost);
      ++swept_.sessions_lost;
    } else if (is_held_by_nobody(session) && is_due(tx_.now, leases_ended_)) {
      end_lease(tx_, session);
      ++leases_ended_;
    }
  }

  /// Whoever held it is not registered any more: it was silent for so long that it has stopped its work in
  /// sessions, or it has left.
  bool is_held_by_nobody(const Session& session) const {
    return session.policy.when_lost == WhenLost::reclaim && is_held(tx_, session) &&
           !is_registered(session.worker);
  }

  bool is_lapsed(const std::string& id) {
    const Session* const session = find_session(tx_, id);
    return session != nullptr && state_of(tx_, *session) == store::SessionState::lapsed;
  }

  /// When a `fail` session is to be declared lost, or to be looked at for that.
  LeaseTime lost_at(const Session& session) {
    if (session.policy.when_lost != WhenLost::fail || session.worker == WorkerKey{}) return kNoTime;
    if (is_held(tx_, session)) return session.lease_until;
    Lapse& lapse = lapses_.sessions[session.id];
    const bool is_known = lapse.generation == session.generation && lapse.lease_until == session.lease_until;
    lapse.generation = session.generation;
    lapse.lease_until = session.lease_until;
    return certain_at(lapse.late, is_known, session.lease);
  }

  /// When the record of a session that is of no more use may go, if nothing belongs to it. One whose owner is
  /// registered is of use, however long its lease is over: that worker has it in memory, and may be late
  /// because everybody is, after an outage of the store.
  LeaseTime removable_at(const Session& session) {
    if (session.ended) return later(session.changed, request_.session_record_retention);
    const bool owned = session.worker != WorkerKey{};
    if (owned && is_registered(session.worker)) return kNoTime;
    // Of one that nobody owns, lease_until is how long it is kept for a node.
    const LeaseTime left_at = owned ? session.lease_until : std::max(session.changed, session.lease_until);
    if (session.policy.on_record) {
      if (!owned && (session.ttl_until != kNoTime || opener_lives(session))) return kNoTime;
      const Duration kept = request_.session_record_retention;
      return later(left_at, session.saved ? std::max(kept, request_.session_state_retention) : kept);
    }
    if (owned && session.policy.when_lost == WhenLost::fail) return kNoTime;  // it is lost first
    return session.saved ? later(left_at, request_.session_state_retention) : left_at;
  }

  /// Then it may need the session again; or closes it with its end.
  bool opener_lives(const Session& session) {
    if (session.opener == InstanceKey{}) return false;
    if (!session.policy.outlives_opener) return true;
    Cursor row = tx_.rows(tx_.sql.instance_lives, session.opener);
    return row.next();
  }

  bool is_registered(WorkerKey worker) const { return registered_.contains(worker); }

  void remove_if_due(const Session& session) {
    // Most are not: whether anything belongs to them need not be known.
    if (!is_due(removable_at(session), swept_.sessions_removed)) return;
    if (queued_in(tx_, session) > 0 || in_flight_in(tx_, session) > 0) return;
    remove_session(tx_, session);
    ++swept_.sessions_removed;
  }

  // ---- the rest -------------------------------------------------------------------------------

  void remove_workers() {
    std::map<WorkerKey, Silence> silent;
    for (const auto& [key, seen, stale_after] : signs_of_life(tx_)) {
      if (is_due(gone_at(key, seen, stale_after.value_or(request_.worker_stale_after)),
                 swept_.workers_removed)) {
        tx_.run(tx_.sql.delete_worker, key, tx_.ns);
        tx_.memo.workers.erase(key.value);
        ++swept_.workers_removed;
        continue;
      }
      registered_.insert(key);
      const auto known = lapses_.workers.find(key);
      if (known != lapses_.workers.end() && known->second.heard == seen) silent.insert(*known);
    }
    lapses_.workers = std::move(silent);
  }

  /// When a worker counts as gone, or is to be looked at for that. Who sweeps is not.
  LeaseTime gone_at(WorkerKey worker, LeaseTime heard, Duration limit) {
    if (worker == request_.worker) return kNoTime;
    if (const LeaseTime stale = later(heard, limit); stale > tx_.now) return stale;
    const auto [entry, is_new] = lapses_.workers.try_emplace(worker);
    Silence& silence = entry->second;
    const bool is_known = !is_new && silence.heard == heard;
    silence.heard = heard;
    return certain_at(silence.late, is_known, limit);
  }

  void drop_early() {
    swept_.early_dropped = dropped(tx_.change(tx_.sql.drop_old_early, tx_.ns, tx_.now, request_.max));
    if (Cursor row = tx_.rows(tx_.sql.first_early, tx_.ns); row.next()) due_at(row->int64(0));
  }

  /// From its beginning, so that what is left of a session's story is its end.
  void trim_session_log() {
    if (request_.session_log_retention == never) return;
    const CalendarTime until = tx_.calendar_now - request_.session_log_retention;
    const std::uint64_t lines =
        dropped(tx_.change(tx_.sql.trim_session_log, tx_.ns, to_row(until), request_.max));
    swept_.remains_removed += lines;
    if (lines == request_.max) due_at(tx_.now);
  }

  void drop_requests() {
    const LeaseTime kept = tx_.now - request_.request_retention.count();
    swept_.remains_removed += dropped(tx_.change(tx_.sql.drop_old_requests, tx_.ns, kept, request_.max));
    if (Cursor row = tx_.rows(tx_.sql.first_request, tx_.ns); row.next()) {
      due_at(later(row->int64(0), request_.request_retention));
    }
  }

  void drop_cancels() {
    swept_.remains_removed += dropped(tx_.change(tx_.sql.drop_old_cancels, tx_.ns, tx_.now, request_.max));
    if (Cursor row = tx_.rows(tx_.sql.first_cancel, tx_.ns); row.next()) due_at(row->int64(0));
  }

  void drop_remains() {
    swept_.remains_removed += dropped(tx_.change(tx_.sql.drop_remaining_history, request_.max));
    tx_.run(tx_.sql.drop_empty_remains);
    if (Cursor row = tx_.rows(tx_.sql.any_remains); row.next()) due_at(tx_.now);
  }

  static std::uint64_t dropped(std::int64_t rows) { return static_cast<std::uint64_t>(rows); }

  Transaction& tx_;
  const store::SweepRequest& request_;
  Lapses& lapses_;
  std::set<WorkerKey> registered_{};  // once those that are gone were removed
  store::Swept swept_{};
  std::uint64_t leases_ended_ = 0;
  LeaseTime next_ = kNoTime;
};

}  // namespace

StoreResult<store::Swept> sweep(Transaction& tx, const store::SweepRequest& request, Lapses& lapses) {
  return Sweep(tx, request, lapses).run();
}

}  // namespace holdfast::sqlite_store
