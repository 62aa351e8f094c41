#include "sessions.hpp"

#include "activities.hpp"
#include "contract/rows.hpp"
#include "damaged_row.hpp"
#include "pack.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

using store::SessionLogEntry;
using store::SessionNews;
using store::SessionPolicy;
using store::SessionReason;
using store::SessionState;

// ---- rows ---------------------------------------------------------------------------------------

Session read_session(const Cursor& row) {
  Session session;
  session.number = row->int64(0);
  session.id = row->text(1);
  session.begun = row->truth(2);
  session.open = row->truth(3);
  if (session.begun && !store::from_bytes(row->blob(4), session.policy)) {
    // Nobody knows who may claim it, so nobody else does; and it stays in sight.
    session.policy = {.when_lost = WhenLost::fail, .on_record = true};
    session.unreadable_policy = row->blob(4);
  }
  if (!row->is_null(5)) session.ended = static_cast<SessionState>(row->integer(5));
  session.reason = static_cast<SessionReason>(row->integer(6));
  session.note = row->text(7);
  session.owner = row->text(8);
  session.worker = row->number<WorkerKey>(9);
  session.generation = row->number<Generation>(10);
  session.lease_until = row->int64(11);
  session.lease = Duration(row->int64(12));
  session.idle_timeout = Duration(row->int64(13));
  session.last_owner = row->text(14);
  session.last_worker = row->number<WorkerKey>(15);
  session.planned = row->truth(16);
  session.restarted = row->truth(17);
  session.ran = row->truth(18);
  session.last_activity = row->int64(19);
  session.changed = row->int64(20);
  if (!row->is_null(21)) session.ttl_until = row->int64(21);
  session.opener = row->number<InstanceKey>(22);
  session.opened_by = row->text(23);
  if (!row->is_null(24)) session.saved = row->blob(24);
  session.saved_version = row->uint64(25);
  session.created_at = calendar_from_row(row->int64(26));
  session.updated_at = calendar_from_row(row->int64(27));
  session.held_since = row->number<Generation>(28);
  if (!row->is_null(29)) session.wanted = row->text(29);
  session.wanted_for = Duration(row->int64(30));
  return session;
}

void save_session(Transaction& tx, const Session& s) {
  const auto ended = s.ended ? std::optional(to_row(*s.ended)) : std::nullopt;
  const auto worker = s.worker == WorkerKey{} ? std::nullopt : std::optional(s.worker);
  const auto ttl = s.ttl_until == kNoTime ? std::nullopt : std::optional(s.ttl_until);
  const auto opener = s.opener == InstanceKey{} ? std::nullopt : std::optional(s.opener);
  const auto saved = s.saved ? std::optional(Blob{*s.saved}) : std::nullopt;
  const std::string policy = store::to_bytes(s.policy);
  tx.run(tx.sql.save_session, s.number, s.open, Blob{policy}, ended, to_row(s.reason), s.note, s.owner,
         worker, s.generation, s.lease_until, s.lease.count(), s.idle_timeout.count(), s.last_owner,
         s.last_worker, s.planned, s.restarted, s.ran, s.last_activity, s.changed, ttl, opener, s.opened_by,
         saved, s.saved_version, to_row(s.created_at), to_row(s.updated_at), s.held_since, s.wanted,
         s.wanted_for.count());
}

namespace {

Session& keep(Transaction& tx, Session session) {
  if (tx.writes && session.unreadable_policy) {
    set_aside(tx, tx.ns, session.opener, "policy of session '" + session.id + "'", "can't be decoded",
              *std::exchange(session.unreadable_policy, std::nullopt));
    save_session(tx, session);
  }
  return tx.memo.sessions.put(std::move(session));
}

}  // namespace

Session& session_of(Transaction& tx, std::int64_t number) {
  if (Session* known = tx.memo.sessions.find(number)) return *known;
  Cursor row = tx.rows(tx.sql.session_by_number, number);
  if (!row.next()) throw DamagedRow("session", number);
  return keep(tx, read_session(row));
}

namespace {

/// Also one that is not begun.
Session* find_place(Transaction& tx, std::string_view id) {
  if (Session* known = tx.memo.sessions.find(id)) return known;
  Cursor row = tx.rows(tx.sql.session_by_id, tx.ns, id);
  if (!row.next()) return nullptr;
  Session* session = tx.memo.sessions.find(row->int64(0));
  if (session == nullptr) session = &keep(tx, read_session(row));
  tx.memo.sessions.name(*session);
  return session;
}

}  // namespace

Session* find_session(Transaction& tx, std::string_view id) {
  Session* const session = find_place(tx, id);
  return session != nullptr && session->begun ? session : nullptr;
}

Session* session_now(Transaction& tx, std::string_view id) {
  Session* const session = find_session(tx, id);
  if (session != nullptr && !session->ended && session->ttl_until <= tx.now) expire(tx, *session);
  return session;
}

std::int64_t session_number(Transaction& tx, std::string_view id) {
  if (const Session* place = find_place(tx, id)) return place->number;
  Cursor row = tx.rows(tx.sql.insert_session, tx.ns, id);
  if (!row.next()) throw DamagedRow("session", 0);
  const std::int64_t number = row->int64(0);
  while (row.next()) {
  }
  return number;
}

// ---- what it is ---------------------------------------------------------------------------------

bool is_held(const Transaction& tx, const Session& session) {
  return !session.ended && session.worker != WorkerKey{} && session.lease_until > tx.now;
}

bool is_held_by(const Transaction& tx, const Session& session, WorkerKey worker) {
  return session.worker == worker && is_held(tx, session);
}

bool is_claimable(const Transaction& tx, const Session& session) {
  if (!session.begun || session.ended || session.ttl_until <= tx.now || is_held(tx, session)) return false;
  return session.worker == WorkerKey{} || session.policy.when_lost == WhenLost::reclaim;
}

bool is_kept(const Transaction& tx, const Session& session) {
  return session.worker == WorkerKey{} && session.lease_until > tx.now && is_claimable(tx, session);
}

bool is_kept_from(Transaction& tx, const Session& session, WorkerKey worker) {
  if (!is_kept(tx, session)) return false;
  if (session.wanted) return tx.node_of(worker) != *session.wanted;
  return session.restarted && tx.node_of(worker) != session.last_owner;
}

bool is_full(Transaction& tx, const Session& session) {
  const std::uint64_t limit = session.policy.max_concurrent;
  if (limit == 0) return false;
  const std::uint64_t running = in_flight_in(tx, session);
  return running >= limit || running + stopping_in(tx, session).size() >= limit;
}

std::vector<LeaseTime> stopping_in(Transaction& tx, const Session& session) {
  std::vector<LeaseTime> ends;
  if (session.policy.max_concurrent == 0) return ends;
  for (Cursor row = tx.rows(tx.sql.stopping_in_session, tx.ns, session.id, tx.now); row.next();) {
    ends.push_back(row->int64(0));
  }
  return ends;
}

bool is_current(const Session& session, WorkerKey worker, Generation generation) {
  return !session.ended && session.worker == worker && session.generation == generation;
}

SessionState state_of(const Transaction& tx, const Session& session) {
  if (session.ended) return *session.ended;
  if (session.worker == WorkerKey{}) return SessionState::unclaimed;
  return is_held(tx, session) ? SessionState::active : SessionState::lapsed;
}

bool begins_anew(const Session& session) {
  return session.ended == SessionState::closed && !session.policy.on_record;
}

CancelReason reason_of(const Session& session) {
  if (session.ended == SessionState::expired) return CancelReason::session_expired;
  if (session.ended == SessionState::closed) return CancelReason::session_closed;
  return session.reason == SessionReason::aborted ? CancelReason::session_aborted
                                                  : CancelReason::session_lost;
}

bool covers(const store::Abilities& abilities, const std::vector<std::string>& requirements) {
  return std::ranges::all_of(requirements, [&](const std::string& requirement) {
    return abilities.capabilities.contains(requirement);
  });
}

namespace {

std::uint64_t count(Cursor row) { return row.next() ? row->uint64(0) : 0; }

template <class Counts>
std::uint64_t count_packed(Transaction& tx, const Session& session, Counts counts) {
  const std::vector<Activity> packed = packed_in_session(tx, session.number);
  return static_cast<std::uint64_t>(std::ranges::count_if(packed, counts, &Activity::until));
}

}  // namespace

bool has_queued(Transaction& tx, Session& session) {
  if (!session.queued) session.queued = count(tx.rows(tx.sql.count_queued, session.number));
  return *session.queued > 0;
}

void note_room(Transaction& tx, std::int64_t number) {
  if (number != 0 && has_queued(tx, session_of(tx, number))) tx.wake(store::kActivities);
}

std::uint64_t queued_in(Transaction& tx, const Session& session) {
  // Those whose locks are over are queued, whether somebody has moved them already or not.
  return count(tx.rows(tx.sql.count_queued, session.number)) +
         count(tx.rows(tx.sql.count_lapsed, session.number, tx.now)) +
         count_packed(tx, session, [&](LeaseTime until) { return until <= tx.now; });
}

std::uint64_t in_flight_in(Transaction& tx, const Session& session) {
  return count(tx.rows(tx.sql.count_running, session.number, tx.now)) +
         count_packed(tx, session, [&](LeaseTime until) { return until > tx.now; });
}

bool runs_on(Transaction& tx, const Session& session, WorkerKey worker) {
  {
    Cursor row = tx.rows(tx.sql.runs_on_worker, session.number, tx.now, worker);
    if (row.next()) return true;
  }
  return std::ranges::any_of(packed_in_session(tx, session.number), [&](const Activity& activity) {
    return activity.worker == worker && activity.until > tx.now;
  });
}

std::uint32_t sessions_held(Transaction& tx, WorkerKey worker) {
  return static_cast<std::uint32_t>(count(tx.rows(tx.sql.sessions_held, worker, tx.now)));
}

// ---- telling ------------------------------------------------------------------------------------

namespace {

void write_log(Transaction& tx, const Session& session, SessionLogEntry::Kind kind, SessionReason reason,
               std::string_view owner, std::string_view previous_owner) {
  tx.run(tx.sql.insert_log, ++tx.counters().session_log, tx.ns, session.id, to_row(kind), to_row(reason),
         owner, previous_owner, session.generation, to_row(tx.calendar_now), tx.now - session.last_activity);
}

void tell(Transaction& tx, InstanceKey watcher, const std::string& session, std::string_view body) {
  deliver(tx, watcher,
          {.kind = store::MessageKind::news,
           .address_kind = Address::Kind::session,
           .address = session,
           .body = std::string(body)});
}

void tell_watchers(Transaction& tx, const Session& session, const SessionNews& news) {
  std::vector<InstanceKey> watchers;
  for (Cursor row = tx.rows(tx.sql.watchers, tx.ns, session.id); row.next();) {
    watchers.push_back(row->number<InstanceKey>(0));
  }
  if (watchers.empty()) return;
  const std::string body = store::encode_body(news);
  for (const InstanceKey key : watchers) tell(tx, key, session.id, body);
}

/// What there is to say of a session that has ended, or whose record goes.
SessionNews end_of(const Session& session, SessionReason reason) {
  using Kind = SessionNews::Kind;
  return {.kind = session.ended == SessionState::closed   ? Kind::closed
                  : session.ended == SessionState::failed ? Kind::lost
                                                          : Kind::expired,
          .from = session.owner,
          .reason = std::string(to_string(reason)),
          .generation = session.generation};
}

void note_change(Transaction& tx, Session& session, SessionReason reason) {
  session.reason = reason;
  session.changed = tx.now;
  session.updated_at = tx.calendar_now;
}

/// Its items go to where those who may take them look.
void set_open(Transaction& tx, Session& session, bool open) {
  if (session.open == open) return;
  session.open = open;
  tx.run(open ? tx.sql.items_to_kinds : tx.sql.items_to_session, session.number);
}

/// Nobody owns it any more: that is what a person wanted, or the node that the person named has its time from
/// now on, and until then the record stays.
LeaseTime keep_as_wanted(Transaction& tx, Session& session) {
  if (!session.wanted || session.wanted->empty()) {
    session.wanted.reset();
    return 0;
  }
  const LeaseTime until = later(tx.now, session.wanted_for);
  session.changed = until;
  tx.sweep_by(until);
  return until;
}

/// Nobody owns it any more, and whoever waits for it may claim it; or only the node that held it, until then.
void make_unclaimed(Transaction& tx, Session& session, LeaseTime kept_until = 0) {
  session.owner.clear();
  session.worker = {};
  session.lease_until = kept_until;
  set_open(tx, session, true);
  if (queued_in(tx, session) > 0) tx.wake(store::kActivities);
  save_session(tx, session);
}

std::vector<store::ActivityId> items(Transaction& tx, Query& query, const Session& session) {
  std::vector<store::ActivityId> ids;
  for (Cursor row = tx.rows(query, session.number); row.next();) {
    ids.push_back({row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
  }
  return ids;
}

/// Items that waited for a session of this id are its own now.
void adopt_waiting(Transaction& tx, const Session& session) {
  const std::vector<store::ActivityId> waiting = items(tx, tx.sql.queued_in_session, session);
  const std::string requirements = store::to_bytes(session.policy.requirements);
  for (const store::ActivityId& id : waiting) {
    const std::optional<Activity> activity = find_activity(tx, id);
    const Kind& kind = tx.kind(activity->kind);
    const std::string queue = activity->adopts ? session.policy.queue : kind.queue;
    tx.run(tx.sql.adopt_item, id.instance, id.execution, id.event,
           tx.kind_number(queue, std::string(kind.name), requirements));
  }
  if (waiting.empty()) return;
  tx.run(tx.sql.items_to_kinds, session.number);
  tx.wake(store::kActivities);
}

}  // namespace

// ---- beginning ----------------------------------------------------------------------------------

Session& begin_session(Transaction& tx, std::string_view id, const SessionPolicy& policy, Instance* opener) {
  Session& session = tx.memo.sessions.put({.number = session_number(tx, id),
                                           .id = std::string(id),
                                           .policy = policy,
                                           .last_activity = tx.now,
                                           .changed = tx.now,
                                           .ttl_until = later(tx.now, policy.ttl),
                                           .created_at = tx.calendar_now,
                                           .updated_at = tx.calendar_now});
  tx.memo.sessions.name(session);
  if (opener != nullptr) {
    session.opener = opener->key;
    session.opened_by = opener->name;
    opener->bare = false;
  }
  save_session(tx, session);
  tx.sweep_by(session.ttl_until);
  adopt_waiting(tx, session);
  return session;
}

void revive(Session& session) {
  session.ended.reset();
  session.note.clear();
  session.saved.reset();
  session.owner.clear();
  session.worker = session.last_worker = {};
}

// ---- owners -------------------------------------------------------------------------------------

Claim claim(Transaction& tx, Session& session, WorkerKey worker, const store::Abilities& abilities,
            SessionReason reason) {
  using LogKind = SessionLogEntry::Kind;
  const std::string node = tx.node_of(worker);
  if (session.restarted && session.last_owner == node) reason = SessionReason::taken_back;
  const bool same_owner = session.last_worker == worker;
  Claim found{.same_owner = same_owner,
              .previous_owner = session.last_owner,
              .reason = session.worker != WorkerKey{} || session.reason == SessionReason::lapsed
                            ? SessionReason::lapsed
                        : reason == SessionReason::taken_back ? reason
                        : session.restarted                   ? SessionReason::owner_restarted
                        : session.planned && !same_owner      ? session.reason
                                                              : reason,
              .saved = session.saved};
  const bool hands_over = !found.same_owner && (session.planned || session.saved);
  const LogKind kind = session.generation == Generation{} ? LogKind::claimed
                       : hands_over                       ? LogKind::moved
                                                          : LogKind::reclaimed;
  const std::string& from = found.previous_owner;

  session.generation = Generation{++tx.counters().generations};
  if (!same_owner) session.held_since = session.generation;
  session.owner = session.last_owner = node;
  session.worker = session.last_worker = worker;
  session.lease = session.policy.lease.value_or(abilities.session_lease);
  session.idle_timeout = session.policy.idle_timeout.value_or(abilities.session_idle);
  session.planned = session.restarted = session.ran = false;
  session.wanted.reset();
  extend(tx, session);
  note_change(tx, session, reason);
  set_open(tx, session, false);
  write_log(tx, session, kind, found.reason, node, from);
  session.last_activity = tx.now;
  save_session(tx, session);
  tell_watchers(tx, session,
                {.kind = kind == LogKind::claimed ? SessionNews::Kind::claimed
                         : kind == LogKind::moved ? SessionNews::Kind::moved
                                                  : SessionNews::Kind::restored,
                 .from = from,
                 .to = node,
                 .reason = std::string(to_string(found.reason)),
                 .generation = session.generation});
  return found;
}

void extend(Transaction& tx, Session& session) {
  session.lease_until = std::min(later(tx.now, session.lease), session.ttl_until);
  LeaseTime& horizon = tx.counters().session_horizon;
  horizon = std::min(horizon, session.lease_until);
  if (session.policy.when_lost == WhenLost::fail) tx.sweep_by(session.lease_until);
}

void end_lease(Transaction& tx, Session& session) {
  session.lease_until = tx.now;
  tx.counters().session_horizon = tx.now;
  save_session(tx, session);
  if (queued_in(tx, session) > 0) tx.wake(store::kActivities);
}

void keep_state(Transaction& tx, Session& session, const store::SessionSave& save) {
  session.saved = save.bytes;
  ++session.saved_version;
  session.changed = tx.now;
  session.updated_at = tx.calendar_now;
}

void release(Transaction& tx, Session& session, SessionReason reason) {
  if (session.wanted) reason = SessionReason::operated;
  note_change(tx, session, reason);
  write_log(
      tx, session,
      reason == SessionReason::displaced ? SessionLogEntry::Kind::displaced : SessionLogEntry::Kind::released,
      reason, {}, session.owner);
  session.planned = true;
  make_unclaimed(tx, session, keep_as_wanted(tx, session));
}

void promise(Transaction& tx, Session& session, WorkerKey worker) {
  // One that lapsed under this worker is its own still, with what it has in memory.
  if (is_kept(tx, session) || session.worker == worker) return;
  if (session.worker != WorkerKey{}) {
    make_unclaimed(tx, session);
    note_change(tx, session, SessionReason::lapsed);
  }
  session.wanted = tx.node_of(worker);
  session.wanted_for = store::kWaitsForRoom;
  keep_for_wanted(tx, session);
}

void keep_for_wanted(Transaction& tx, Session& session) {
  session.lease_until = keep_as_wanted(tx, session);
  if (queued_in(tx, session) > 0) tx.wake(store::kActivities);
  save_session(tx, session);
}

void owner_restarted(Transaction& tx, Session& session, const store::NewWorker& joined) {
  if (session.policy.when_lost == WhenLost::fail) {
    lose(tx, session, SessionReason::owner_restarted);
    return;
  }
  note_change(tx, session, SessionReason::owner_restarted);
  write_log(tx, session, SessionLogEntry::Kind::released, SessionReason::owner_restarted, {}, session.owner);
  if (session.wanted) return make_unclaimed(tx, session, keep_as_wanted(tx, session));
  session.restarted = true;
  make_unclaimed(tx, session, std::min(later(tx.now, joined.take_back_within), session.lease_until));
}

// ---- ends ---------------------------------------------------------------------------------------

namespace {

/// The record keeps its last owner, for those who look at it; and the owner is told, which may keep much in
/// its memory.
void end(Transaction& tx, Session& session, SessionState state, SessionReason reason,
         SessionLogEntry::Kind kind) {
  note_change(tx, session, reason);
  session.ended = state;
  session.wanted.reset();
  if (session.worker != WorkerKey{}) {
    session.wanted = "";
    tx.news.cancelled.push_back(session.worker);
  }
  write_log(tx, session, kind, reason, {}, session.owner);
  save_session(tx, session);
}

void fail_items(Transaction& tx, Query& query, const Session& session) {
  for (const store::ActivityId& id : items(tx, query, session)) {
    if (const auto activity = find_activity(tx, id)) take_away(tx, *activity, reason_of(session), session.id);
  }
}

void fail_queued(Transaction& tx, const Session& session) {
  fail_items(tx, tx.sql.queued_in_session, session);
  unpack_session(tx, session.number);
  if (tx.change(tx.sql.end_running_in_session, session.number, to_row(reason_of(session))) > 0) {
    tx.wake(store::kSweep);
  }
}

void fail_all(Transaction& tx, const Session& session) {
  unpack_session(tx, session.number);
  fail_items(tx, tx.sql.queued_in_session, session);
  fail_items(tx, tx.sql.running_in_session, session);
}

}  // namespace

void close_session(Transaction& tx, Session& session, SessionReason reason) {
  end(tx, session, SessionState::closed, reason, SessionLogEntry::Kind::closed);
  fail_queued(tx, session);
  tell_watchers(tx, session, end_of(session, reason));
}

void expire(Transaction& tx, Session& session) {
  end(tx, session, SessionState::expired, SessionReason::ttl, SessionLogEntry::Kind::expired);
  fail_queued(tx, session);
  tell_watchers(tx, session, end_of(session, SessionReason::ttl));
}

void lose(Transaction& tx, Session& session, SessionReason reason) {
  end(tx, session, SessionState::failed, reason, SessionLogEntry::Kind::lost);
  fail_all(tx, session);
  tell_watchers(tx, session, end_of(session, reason));
}

void abort_session(Transaction& tx, Session& session, std::string_view note) {
  session.note = note;
  end(tx, session, SessionState::failed, SessionReason::aborted, SessionLogEntry::Kind::aborted);
  fail_all(tx, session);
  tell_watchers(tx, session, end_of(session, SessionReason::aborted));
}

void remove_session(Transaction& tx, const Session& session) {
  write_log(tx, session, SessionLogEntry::Kind::swept, SessionReason::swept, {}, session.owner);
  if (!session.ended) tell_watchers(tx, session, end_of(session, SessionReason::swept));
  const std::int64_t number = session.number;
  tx.run(tx.sql.delete_session, number);
  tx.memo.sessions.remove(number);
}

// Who comes when it has ended hears of that: there will be nothing else to hear of.
void watch(Transaction& tx, InstanceKey key, const std::string& id) {
  const bool is_new = tx.change(tx.sql.watch, tx.ns, id, key) == 1;
  const Session* const session = is_new ? find_session(tx, id) : nullptr;
  if (session == nullptr || !session->ended) return;
  tell(tx, key, id, store::encode_body(end_of(*session, session->reason)));
}

void leave_sessions(Transaction& tx, InstanceKey key) {
  tx.run(tx.sql.unwatch_all, key);
  std::vector<std::int64_t> opened;
  for (Cursor row = tx.rows(tx.sql.sessions_of_opener, key); row.next();) opened.push_back(row->int64(0));
  for (const std::int64_t number : opened) {
    Session& session = session_of(tx, number);
    if (!session.policy.outlives_opener) close_session(tx, session, SessionReason::opener_ended);
  }
}

Duration let_sessions_lapse(Transaction& tx) {
  if (tx.now < tx.counters().session_horizon) return left_until(tx.counters().session_horizon, tx.now);
  LeaseTime horizon = kNoTime;
  std::vector<std::int64_t> over;
  for (Cursor row = tx.rows(tx.sql.session_leases); row.next();) {
    if (const LeaseTime until = row->int64(1); until > tx.now) {
      horizon = std::min(horizon, until);
    } else {
      over.push_back(row->int64(0));
    }
  }
  for (const std::int64_t number : over) {
    Session& session = session_of(tx, number);
    if (session.policy.when_lost == WhenLost::fail) continue;
    set_open(tx, session, true);
    tx.run(tx.sql.set_session_open, number, 1);
    tx.wake(store::kActivities);
  }
  tx.counters().session_horizon = horizon;
  return left_until(horizon, tx.now);
}

}  // namespace holdfast::sqlite_store
