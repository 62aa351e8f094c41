// The sweep: what is due and nobody else does.
#include "activities.hpp"
#include "calls.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::rules {

namespace {

using WhenLost = SessionPolicy::WhenLost;

Duration stale_after(const Worker& worker, const SweepRequest& request) {
  return worker.info.stale_after.value_or(request.worker_stale_after);
}

class Sweep {
 public:
  Sweep(Transaction& tx, const SweepRequest& request, Lapses& lapses)
      : tx_(tx), request_(request), lapses_(lapses) {}

  Swept run() {
    trim_session_log();  // first: what this sweep writes stays
    fail_overdue_activities();
    remove_workers();  // before sessions: those that they owned are orphaned from now on
    end_sessions();
    note_running();  // after sessions: what runs in those that have ended fails once its lock is over
    remove_sessions();
    drop_early();
    drop_requests();
    drop_cancels();
    swept_.next_due = left(next_, tx_.now);
    tx_.space.next_sweep = next_;
    return swept_;
  }

  std::vector<WorkerKey> staying() {
    std::vector<WorkerKey> stay;
    for (const auto& [key, worker] : tx_.space.workers) {
      if (gone_at(worker) > tx_.now) stay.push_back(key);
    }
    return stay;
  }

 private:
  void due_at(BootTime moment) { next_ = std::min(next_, moment); }

  /// Whether something due at `moment` is to be done now; otherwise it is remembered when it will be.
  bool is_due(BootTime moment, std::uint64_t done) {
    if (moment <= tx_.now && done < request_.max) return true;
    due_at(moment);
    return false;
  }

  /// When it is certain that somebody who is late won't come. Not before sweeps have seen it for half the
  /// time that they had: they may be as late as this sweep is. Sweeps so far apart that the store was out of
  /// reach in between begin anew.
  BootTime certain_at(Lateness& late, bool is_known, Duration limit) const {
    if (!is_known || tx_.now - late.last > limit) late.since = tx_.now;
    late.last = tx_.now;
    return after(late.since, limit / 2);
  }

  // ---- activities

  [[nodiscard]] CancelReason overdue(const Activity& activity) const {
    if (activity.session_over) return *activity.session_over;
    if (activity.total_until <= activity.deadline()) return CancelReason::total_deadline;
    return why_nobody_took(activity);
  }

  /// The session is to blame when there are workers for the activity, but none that the session could be
  /// with.
  [[nodiscard]] CancelReason why_nobody_took(const Activity& activity) const {
    const Session* const session = activity.session ? find_session(tx_, *activity.session) : nullptr;
    if (session == nullptr) return CancelReason::schedule_to_start;
    bool anybody = false;
    bool anybody_able = false;
    for (const auto& [key, worker] : tx_.space.workers) {
      const Abilities& abilities = worker.info.abilities;
      if (!is_live(worker) || !can_run(abilities, activity)) continue;
      anybody = true;
      if (!covers(abilities, session->policy)) continue;
      anybody_able = true;
      if (sessions_held(tx_, key) < abilities.session_limit) return CancelReason::schedule_to_start;
    }
    if (!anybody) return CancelReason::schedule_to_start;
    if (!anybody_able) return CancelReason::requirements_not_met;
    return is_claimable(tx_, *session) ? CancelReason::no_session_capacity : CancelReason::schedule_to_start;
  }

  void fail_overdue_activities() {
    auto& deadlines = tx_.space.deadlines;
    while (!deadlines.empty() && is_due(deadlines.begin()->first, swept_.activities_timed_out)) {
      Activity& activity = tx_.space.activities.at(deadlines.begin()->second);
      fail(tx_, activity, overdue(activity));
      ++swept_.activities_timed_out;
    }
  }

  /// Those that run fail once their locks are over: with the session that ended under them, or when nobody
  /// takes them again in time.
  void note_running() {
    for (const auto& [until, id] : tx_.space.activity_locks) {
      if (until >= next_) break;
      Activity lapsed = *tx_.space.activities.peek(id);
      lapsed.ready_since = until;
      due_at(std::max(until, lapsed.deadline()));
    }
  }

  // ---- sessions

  void end_sessions() {
    for (const auto& [id, session] : tx_.space.sessions) {
      if (session.ended) continue;
      if (session.ttl_until != kNever && is_due(session.ttl_until, swept_.sessions_expired)) {
        expire(tx_, tx_.space.sessions.at(id));
        ++swept_.sessions_expired;
      } else if (is_due(lost_at(session), swept_.sessions_lost)) {
        lose(tx_, tx_.space.sessions.at(id), SessionReason::owner_lost);
        ++swept_.sessions_lost;
      } else if (is_held_by_nobody(session) && is_due(tx_.now, leases_ended_)) {
        end_lease(tx_, tx_.space.sessions.at(id));
        ++leases_ended_;
      }
    }
    std::erase_if(lapses_.sessions, [&](const auto& entry) { return !is_lapsed(entry.first); });
  }

  /// Whoever held it is not registered any more: it was silent for so long that it has stopped its work in
  /// sessions, or it has left.
  [[nodiscard]] bool is_held_by_nobody(const Session& session) const {
    return session.policy.when_lost == WhenLost::reclaim && is_held(tx_, session) &&
           !is_registered(session.worker);
  }

  /// Asks the store: a worker may have joined and claimed something since this sweep looked at all of them.
  [[nodiscard]] bool is_registered(WorkerKey worker) const { return look_at(tx_, worker) != nullptr; }

  [[nodiscard]] bool is_lapsed(const std::string& id) const {
    const Session* const session = find_session(tx_, id);
    return session != nullptr && state_of(tx_, *session) == SessionStatus::lapsed;
  }

  /// When a `fail` session is to be declared lost, or to be looked at for that.
  BootTime lost_at(const Session& session) {
    if (session.policy.when_lost != WhenLost::fail || session.worker == WorkerKey{}) return kNever;
    if (is_held(tx_, session)) return session.lease_until;
    Lapse& lapse = lapses_.sessions[session.id];
    const bool is_known = lapse.generation == session.generation && lapse.lease_until == session.lease_until;
    lapse.generation = session.generation;
    lapse.lease_until = session.lease_until;
    return certain_at(lapse.late, is_known, session.lease);
  }

  /// When the record of a session that is of no more use may go. One whose owner is registered is of use,
  /// however long its lease is over: that worker has it in memory, and may be late because everybody is,
  /// after an outage of the store.
  [[nodiscard]] BootTime removable_at(const Session& session) const {
    if (!session.queued.empty() || !session.in_flight.empty()) return kNever;
    if (session.ended) return after(session.changed, request_.session_record_retention);
    const bool owned = session.worker != WorkerKey{};
    if (owned && is_registered(session.worker)) return kNever;
    if (owned && session.policy.when_lost == WhenLost::fail) return kNever;  // it is lost first
    if (session.policy.on_record) {
      if (!owned && (session.ttl_until != kNever || opener_lives(session))) return kNever;
      const Duration kept = request_.session_record_retention;
      return after(left_at(session), session.saved ? std::max(kept, request_.session_state_retention) : kept);
    }
    return session.saved ? after(left_at(session), request_.session_state_retention) : left_at(session);
  }

  /// Then it may need the session again; or closes it with its end.
  [[nodiscard]] bool opener_lives(const Session& session) const {
    if (session.opener == InstanceKey{}) return false;
    if (!session.policy.outlives_opener) return true;
    const Instance* const opener = find_instance(tx_, session.opener);
    return opener != nullptr && !has_ended(opener->view.status);
  }

  void remove_sessions() {
    for (auto next = tx_.space.sessions.begin(); next != tx_.space.sessions.end();) {
      const Session& session = (next++)->second;
      if (!is_due(removable_at(session), swept_.sessions_removed)) continue;
      remove(tx_, tx_.space.sessions.at(session.id));
      ++swept_.sessions_removed;
    }
  }

  // ---- the rest

  void remove_workers() {
    tx_.space.workers.erase_if([&](const auto& entry) {
      if (!is_due(gone_at(entry.second), swept_.workers_removed)) return false;
      ++swept_.workers_removed;
      return true;
    });
    std::erase_if(lapses_.workers, [&](const auto& entry) {
      const Worker* const worker = look_at(tx_, entry.first);
      return worker == nullptr || worker->seen != entry.second.heard;
    });
  }

  /// When a worker counts as gone, or is to be looked at for that. Who sweeps is not.
  BootTime gone_at(const Worker& worker) {
    if (worker.key == request_.worker) return kNever;
    if (const BootTime stale = stale_at(worker, request_); stale > tx_.now) return stale;
    const auto [entry, is_new] = lapses_.workers.try_emplace(worker.key);
    Silence& silence = entry->second;
    const bool is_known = !is_new && silence.heard == worker.seen;
    silence.heard = worker.seen;
    return certain_at(silence.late, is_known, stale_after(worker, request_));
  }

  void drop_early() {
    for (const auto& [instance, messages] : tx_.space.early) {
      std::erase_if(tx_.space.early.at(instance), [&](const Early& early) {
        if (!is_due(early.until, swept_.early_dropped)) return false;
        ++swept_.early_dropped;
        return true;
      });
    }
    tx_.space.early.erase_if([](const auto& entry) { return entry.second.empty(); });
  }

  /// From its beginning, so that what is left of a session's story is its end.
  void trim_session_log() {
    if (request_.session_log_retention == never) return;
    auto& log = tx_.space.session_log;
    const CalendarTime until = tx_.calendar - request_.session_log_retention;
    const auto slice = log.begin() + static_cast<std::ptrdiff_t>(std::min(log.size(), request_.max));
    const auto kept =
        std::remove_if(log.begin(), slice, [&](const SessionLogEntry& entry) { return entry.at <= until; });
    const auto dropped = static_cast<std::size_t>(slice - kept);
    log.erase(kept, slice);
    swept_.remains_removed += dropped;
    if (dropped == request_.max) due_at(tx_.now);
  }

  /// The oldest first: the order in which they are forgotten must not depend on the store.
  void drop_requests() {
    std::set<std::pair<BootTime, RequestId>> by_age;
    for (const auto& [id, request] : tx_.space.requests) by_age.emplace(request.at, id);
    std::uint64_t dropped = 0;
    for (const auto& [at, id] : by_age) {
      if (!is_due(after(at, request_.request_retention), dropped)) break;
      tx_.space.requests.erase(id);
      ++dropped;
    }
    swept_.remains_removed += dropped;
  }

  void drop_cancels() {
    std::uint64_t dropped = 0;
    tx_.space.cancels.erase_if([&](const auto& entry) {
      const auto& [place, cancel] = entry;
      if (!is_due(cancel.until, dropped)) return false;
      ++dropped;
      if (cancel.session) forget_stopping(*cancel.session, place);
      return true;
    });
    swept_.remains_removed += dropped;
  }

  void forget_stopping(const std::string& session, const std::pair<ActivityId, LockToken>& place) {
    const auto found = tx_.space.stopping.find(session);
    if (found == tx_.space.stopping.end()) return;
    found->second.erase(place);
    if (found->second.empty()) tx_.space.stopping.erase(found);
  }

  Transaction& tx_;
  const SweepRequest& request_;
  Lapses& lapses_;
  Swept swept_{};
  std::uint64_t leases_ended_ = 0;
  BootTime next_ = kNever;
};

}  // namespace

BootTime stale_at(const Worker& worker, const SweepRequest& request) {
  return after(worker.seen, stale_after(worker, request));
}

std::vector<WorkerKey> staying(Transaction& tx, const SweepRequest& request, Lapses& lapses) {
  return Sweep(tx, request, lapses).staying();
}

Swept sweep(Transaction& tx, const SweepRequest& request, Lapses& lapses) {
  return Sweep(tx, request, lapses).run();
}

}  // namespace holdfast::rules
