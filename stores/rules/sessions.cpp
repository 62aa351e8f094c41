#include "sessions.hpp"

#include "activities.hpp"
#include "messages.hpp"
#include "placing.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::rules {

// ---- what it is ----------------------------------------------------------------------------------

bool is_held(const Transaction& tx, const Session& session) {
  return !session.ended && session.worker != WorkerKey{} && session.lease_until > tx.now;
}

bool is_held_by(const Transaction& tx, const Session& session, WorkerKey worker) {
  return session.worker == worker && is_held(tx, session);
}

bool is_claimable(const Transaction& tx, const Session& session) {
  if (session.ended || session.ttl_until <= tx.now || is_held(tx, session)) return false;
  return session.worker == WorkerKey{} || session.policy.when_lost == SessionPolicy::WhenLost::reclaim;
}

bool is_kept(const Transaction& tx, const Session& session) {
  return session.worker == WorkerKey{} && session.lease_until > tx.now && is_claimable(tx, session);
}

bool is_kept_from(const Transaction& tx, const Session& session, WorkerKey worker) {
  if (!is_kept(tx, session)) return false;
  if (session.wanted) return node_of(tx, worker) != *session.wanted;
  return session.restarted && node_of(tx, worker) != session.last_owner;
}

bool is_full(const Transaction& tx, const Session& session) {
  const std::size_t limit = session.policy.max_concurrent;
  if (limit == 0) return false;
  return session.in_flight.size() >= limit ||
         session.in_flight.size() + stopping_in(tx, session).size() >= limit;
}

std::vector<BootTime> stopping_in(const Transaction& tx, const Session& session) {
  std::vector<BootTime> ends;
  if (session.policy.max_concurrent == 0) return ends;
  tx.rows.stopping(session.id);
  const auto found = tx.space.stopping.find(session.id);
  if (found == tx.space.stopping.end()) return ends;
  for (const auto& place : found->second) {
    const Cancel& cancel = *tx.space.cancels.peek(place);
    if (cancel.may_still_run(tx.now)) ends.push_back(cancel.until);
  }
  return ends;
}

bool runs_on(const Transaction& tx, const Session& session, WorkerKey worker) {
  return std::ranges::any_of(session.in_flight, [&](const ActivityId& id) {
    return tx.space.activities.peek(id)->lock.worker == worker;
  });
}

bool is_current(const Session& session, WorkerKey worker, Generation generation) {
  return !session.ended && session.worker == worker && session.generation == generation;
}

SessionStatus state_of(const Transaction& tx, const Session& session) {
  if (session.ended) return *session.ended;
  if (session.worker == WorkerKey{}) return SessionStatus::unclaimed;
  return is_held(tx, session) ? SessionStatus::active : SessionStatus::lapsed;
}

BootTime left_at(const Session& session) {
  if (session.worker != WorkerKey{}) return session.lease_until;
  return std::max(session.changed, session.lease_until);
}

bool begins_anew(const Session& session) {
  return session.ended == SessionStatus::closed && !session.policy.on_record;
}

CancelReason reason_of(const Session& session) {
  if (session.ended == SessionStatus::expired) return CancelReason::session_expired;
  if (session.ended == SessionStatus::closed) return CancelReason::session_closed;
  return session.reason == SessionReason::aborted ? CancelReason::session_aborted
                                                  : CancelReason::session_lost;
}

std::optional<std::string> saved_in(const Transaction& tx, const Session& session) {
  if (!session.saved) return std::nullopt;
  tx.rows.saved(session.id);
  return session.saved->bytes;
}

std::uint32_t sessions_held(const Transaction& tx, WorkerKey worker) {
  const std::uint32_t elsewhere = tx.rows.held_elsewhere(worker).count;
  const auto found = tx.space.owned.find(worker);
  if (found == tx.space.owned.end()) return elsewhere;
  return elsewhere + static_cast<std::uint32_t>(std::ranges::count_if(found->second, [&](const auto& id) {
           return is_held_by(tx, *tx.space.sessions.peek(id), worker);
         }));
}

Session* session_now(Transaction& tx, std::string_view id) {
  Session* const session = find_session(tx, id);
  if (session != nullptr && !session->ended && session->ttl_until <= tx.now) expire(tx, *session);
  return session;
}

// ---- telling -------------------------------------------------------------------------------------

namespace {

void write_log(Transaction& tx, const Session& session, SessionLogEntry::Kind kind, SessionReason reason,
               const std::string& owner, const std::string& previous_owner) {
  tx.space.session_log.push_back({.number = tx.numbers.next_log_entry(),
                                  .session = session.id,
                                  .kind = kind,
                                  .reason = reason,
                                  .owner = owner,
                                  .previous_owner = previous_owner,
                                  .generation = session.generation,
                                  .at = tx.calendar,
                                  .quiet_for = tx.now - session.last_activity});
}

void tell(Transaction& tx, Instance& watcher, const std::string& session, const SessionNews& news) {
  deliver(tx, watcher,
          Message{.kind = MessageKind::news, .address = {Address::Kind::session, session}, .body = news});
}

void tell_watchers(Transaction& tx, const Session& session, const SessionNews& news) {
  tx.rows.watchers(session.id);
  const auto found = tx.space.watchers.find(session.id);
  if (found == tx.space.watchers.end()) return;
  for (const InstanceKey key : found->second) tell(tx, *find_instance(tx, key), session.id, news);
}

/// What there is to say of a session that has ended, or whose record goes.
SessionNews end_of(const Session& session, SessionReason reason) {
  using Kind = SessionNews::Kind;
  return {.kind = session.ended == SessionStatus::closed   ? Kind::closed
                  : session.ended == SessionStatus::failed ? Kind::lost
                                                           : Kind::expired,
          .from = session.owner,
          .reason = std::string(to_string(reason)),
          .generation = session.generation};
}

void changed(Transaction& tx, Session& session, SessionReason reason) {
  session.reason = reason;
  session.changed = tx.now;
  session.updated_at = tx.calendar;
}

void disown(Transaction& tx, Session& session) {
  const auto found = tx.space.owned.find(session.worker);
  if (found == tx.space.owned.end()) return;
  found->second.erase(session.id);
  if (found->second.empty()) tx.space.owned.erase(found);
}

/// Nobody owns it any more: that is what a person wanted, or the node that the person named has its time from
/// now on, and until then the record stays.
BootTime keep_as_wanted(Transaction& tx, Session& session) {
  if (!session.wanted || session.wanted->empty()) {
    session.wanted.reset();
    return {};
  }
  const BootTime until = after(tx.now, session.wanted_for);
  session.changed = until;
  tx.sweep_by(until);
  return until;
}

/// Nobody owns it any more, and whoever waits for it may claim it; or only the node that held it, until then.
void make_unclaimed(Transaction& tx, Session& session, BootTime kept_until = {}) {
  disown(tx, session);
  session.owner.clear();
  session.worker = {};
  session.lease_until = kept_until;
  if (!session.queued.empty()) tx.news.work |= kActivities;
}

}  // namespace

// ---- beginning -----------------------------------------------------------------------------------

namespace {

/// Activities that waited for a session of this id are its own now.
void adopt_waiting(Transaction& tx, const Session& session) {
  const auto found = tx.space.without_session.find(session.id);
  if (found == tx.space.without_session.end()) return;
  const std::set<ActivityId> waiting = found->second;
  for (const ActivityId& id : waiting) {
    Activity& activity = tx.space.activities.at(id);
    unplace(tx, activity);
    activity.queue = activity.own_queue.empty() ? session.policy.queue : activity.own_queue;
    place(tx, activity);
  }
  tx.news.work |= kActivities;
}

}  // namespace

Session& begin(Transaction& tx, const std::string& id, const SessionPolicy& policy, Instance* opener) {
  Session& session = tx.space.sessions[id];
  forget_end(tx, session);
  session = Session{.id = id,
                    .policy = policy,
                    .last_activity = tx.now,
                    .changed = tx.now,
                    .ttl_until = after(tx.now, policy.ttl),
                    .created_at = tx.calendar,
                    .updated_at = tx.calendar,
                    .queued = std::move(session.queued),
                    .in_flight = std::move(session.in_flight)};
  if (opener != nullptr) {
    session.opener = opener->view.key;
    session.opened_by = opener->view.instance;
    opener->opened.insert(id);
  }
  if (session.ttl_until != kNever) tx.sweep_by(session.ttl_until);
  adopt_waiting(tx, session);
  return session;
}

void revive(Transaction& tx, Session& session) {
  forget_end(tx, session);
  session.ended.reset();
  session.note.clear();
  session.saved.reset();
  session.owner.clear();
  session.worker = session.last_worker = {};
}

// ---- owners --------------------------------------------------------------------------------------

Claim claim(Transaction& tx, Session& session, const Worker& worker, const Abilities& abilities,
            SessionReason reason) {
  using Kind = SessionLogEntry::Kind;
  const bool restarted = session.worker == WorkerKey{} && session.reason == SessionReason::owner_restarted;
  if (restarted && session.last_owner == worker.info.node) reason = SessionReason::taken_back;
  const bool same_owner = session.last_worker == worker.key;
  const Claim found{.same_owner = same_owner,
                    .previous_owner = session.last_owner,
                    .reason = session.worker != WorkerKey{} || session.reason == SessionReason::lapsed
                                  ? SessionReason::lapsed
                              : reason == SessionReason::taken_back ? reason
                              : restarted                           ? SessionReason::owner_restarted
                              : session.planned && !same_owner      ? session.reason
                                                                    : reason,
                    .saved = saved_in(tx, session)};
  const bool hands_over = !found.same_owner && (session.planned || session.saved);
  const Kind kind = session.generation == Generation{} ? Kind::claimed
                    : hands_over                       ? Kind::moved
                                                       : Kind::reclaimed;
  const std::string& from = found.previous_owner;

  disown(tx, session);
  session.generation = tx.numbers.next_generation();
  if (!same_owner) session.held_since = session.generation;
  session.owner = session.last_owner = worker.info.node;
  session.worker = session.last_worker = worker.key;
  session.lease = session.policy.lease.value_or(abilities.session_lease);
  session.idle_timeout = session.policy.idle_timeout.value_or(abilities.session_idle);
  session.planned = session.restarted = session.ran = false;
  session.wanted.reset();
  tx.space.owned[worker.key].insert(session.id);
  extend(tx, session);
  changed(tx, session, reason);
  write_log(tx, session, kind, found.reason, worker.info.node, from);
  session.last_activity = tx.now;
  tell_watchers(tx, session,
                {.kind = kind == Kind::claimed ? SessionNews::Kind::claimed
                         : kind == Kind::moved ? SessionNews::Kind::moved
                                               : SessionNews::Kind::restored,
                 .from = from,
                 .to = worker.info.node,
                 .reason = std::string(to_string(found.reason)),
                 .generation = session.generation});
  return found;
}

void extend(Transaction& tx, Session& session) {
  session.lease_until = std::min(after(tx.now, session.lease), session.ttl_until);
  if (session.policy.when_lost == SessionPolicy::WhenLost::fail) tx.sweep_by(session.lease_until);
}

void end_lease(Transaction& tx, Session& session) {
  session.lease_until = tx.now;
  if (!session.queued.empty()) tx.news.work |= kActivities;
}

void save(Transaction& tx, Session& session, const SessionSave& save) {
  session.saved = SavedState{.size = save.bytes.size(), .bytes = save.bytes};
  ++session.saved_version;
  session.changed = tx.now;
  session.updated_at = tx.calendar;
}

void release(Transaction& tx, Session& session, SessionReason reason) {
  using Kind = SessionLogEntry::Kind;
  if (session.wanted) reason = SessionReason::operated;
  changed(tx, session, reason);
  const Kind kind = reason == SessionReason::displaced ? Kind::displaced : Kind::released;
  write_log(tx, session, kind, reason, "", session.owner);
  session.planned = true;
  make_unclaimed(tx, session, keep_as_wanted(tx, session));
}

void promise(Transaction& tx, Session& session, const Worker& worker) {
  // One that lapsed under this worker is its own still, with what it has in memory.
  if (is_kept(tx, session) || session.worker == worker.key) return;
  if (session.worker != WorkerKey{}) {
    make_unclaimed(tx, session);
    changed(tx, session, SessionReason::lapsed);
  }
  session.wanted = worker.info.node;
  session.wanted_for = store::kWaitsForRoom;
  keep_for_wanted(tx, session);
}

void keep_for_wanted(Transaction& tx, Session& session) {
  session.lease_until = keep_as_wanted(tx, session);
  if (!session.queued.empty()) tx.news.work |= kActivities;
}

void owner_restarted(Transaction& tx, Session& session, const Worker& joined) {
  if (session.policy.when_lost == SessionPolicy::WhenLost::fail) {
    lose(tx, session, SessionReason::owner_restarted);
    return;
  }
  changed(tx, session, SessionReason::owner_restarted);
  write_log(tx, session, SessionLogEntry::Kind::released, SessionReason::owner_restarted, "", session.owner);
  if (session.wanted) return make_unclaimed(tx, session, keep_as_wanted(tx, session));
  session.restarted = true;
  make_unclaimed(tx, session, std::min(after(tx.now, joined.info.take_back_within), session.lease_until));
}

// ---- ends ----------------------------------------------------------------------------------------

namespace {

/// Takes a copy: those that fail leave their session. What ran when an earlier session of the id ended is not
/// its own: it may finish, whatever becomes of this one.
void fail_activities(Transaction& tx, std::set<ActivityId> ids, CancelReason reason) {
  for (const ActivityId& id : ids) {
    Activity& activity = tx.space.activities.at(id);
    if (!activity.session_over) fail(tx, activity, reason);
  }
}

/// The record keeps its last owner, for those who look at it; and the owner is told, which may keep much in
/// its memory.
void end(Transaction& tx, Session& session, SessionStatus state, SessionReason reason,
         SessionLogEntry::Kind kind) {
  changed(tx, session, reason);
  session.ended = state;
  session.wanted.reset();
  disown(tx, session);
  if (session.worker != WorkerKey{}) {
    session.wanted = "";
    tx.space.untold[session.worker].insert(session.id);
    tx.news.cancelled.push_back(session.worker);
  }
  write_log(tx, session, kind, reason, "", session.owner);
}

void fail_queued(Transaction& tx, Session& session) {
  const CancelReason reason = reason_of(session);
  fail_activities(tx, session.queued, reason);
  for (const ActivityId& id : session.in_flight) {
    Activity& activity = tx.space.activities.at(id);
    if (!activity.session_over) activity.session_over = reason;
    tx.sweep_by(activity.lock.until);
  }
}

void fail_all(Transaction& tx, Session& session) {
  const CancelReason reason = reason_of(session);
  fail_activities(tx, session.queued, reason);
  fail_activities(tx, session.in_flight, reason);
}

}  // namespace

void close(Transaction& tx, Session& session, SessionReason reason) {
  end(tx, session, SessionStatus::closed, reason, SessionLogEntry::Kind::closed);
  fail_queued(tx, session);
  tell_watchers(tx, session, end_of(session, reason));
}

void expire(Transaction& tx, Session& session) {
  if (session.note.empty()) {
    end(tx, session, SessionStatus::expired, SessionReason::ttl, SessionLogEntry::Kind::expired);
  } else {
    end(tx, session, SessionStatus::failed, SessionReason::aborted, SessionLogEntry::Kind::aborted);
    session.ttl_until = kNever;
  }
  fail_queued(tx, session);
  tell_watchers(tx, session, end_of(session, session.reason));
}

void lose(Transaction& tx, Session& session, SessionReason reason) {
  end(tx, session, SessionStatus::failed, reason, SessionLogEntry::Kind::lost);
  fail_all(tx, session);
  tell_watchers(tx, session, end_of(session, reason));
}

void abort(Transaction& tx, Session& session, const std::string& note) {
  end(tx, session, SessionStatus::failed, SessionReason::aborted, SessionLogEntry::Kind::aborted);
  session.note = note;
  fail_all(tx, session);
  tell_watchers(tx, session, end_of(session, SessionReason::aborted));
}

void forget_end(Transaction& tx, Session& session) {
  if (!session.ended) return;
  session.wanted.reset();
  const auto found = tx.space.untold.find(session.worker);
  if (found == tx.space.untold.end()) return;
  found->second.erase(session.id);
  if (found->second.empty()) tx.space.untold.erase(found);
}

void remove(Transaction& tx, Session& session) {
  disown(tx, session);
  forget_end(tx, session);
  write_log(tx, session, SessionLogEntry::Kind::swept, SessionReason::swept, "", session.owner);
  if (!session.ended) tell_watchers(tx, session, end_of(session, SessionReason::swept));
  const std::string id = session.id;
  tx.space.sessions.erase(id);
}

// ---- watching ------------------------------------------------------------------------------------

// Who comes when it has ended hears of that: there will be nothing else to hear of.
void watch(Transaction& tx, Instance& instance, const std::string& id) {
  const Session* const session = find_session(tx, id);
  const bool has_ended = session != nullptr && session->ended;
  if (has_ended) tx.rows.watchers(id);
  const bool is_new = instance.watched.insert(id).second;
  tx.space.watchers[id].insert(instance.view.key);
  if (has_ended && is_new) tell(tx, instance, id, end_of(*session, session->reason));
}

void unwatch(Transaction& tx, Instance& instance, const std::string& session) {
  const auto found = tx.space.watchers.find(session);
  if (found != tx.space.watchers.end()) {
    found->second.erase(instance.view.key);
    if (found->second.empty()) tx.space.watchers.erase(found);
  }
  if (const auto watched = instance.watched.find(session); watched != instance.watched.end()) {
    instance.watched.erase(watched);
  }
}

}  // namespace holdfast::rules
