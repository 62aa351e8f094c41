// Sessions: how one begins, is claimed, left and ended.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

using store::MessageKind;
using store::SessionNews;
using store::SessionReason;
using store::SessionStatus;
using Logged = store::SessionLogEntry::Kind;

bool Oracle::is_held(const Session& session) const {
  return !session.ended && session.worker != WorkerKey{} && session.lease_until > now();
}

SessionStatus Oracle::state_of(const Session& session) const {
  if (session.ended) return *session.ended;
  if (session.worker == WorkerKey{}) return SessionStatus::unclaimed;
  return is_held(session) ? SessionStatus::active : SessionStatus::lapsed;
}

// Activities that former owners still run don't matter.
bool Oracle::runs_on(const Session& session, WorkerKey worker) const {
  return std::any_of(rows().activities.begin(), rows().activities.end(), [&](const Activity& activity) {
    return activity.session == session.id && is_running(activity) && activity.worker == worker;
  });
}

bool Oracle::has_queued(const Session& session) const {
  return std::any_of(rows().activities.begin(), rows().activities.end(), [&](const Activity& activity) {
    return activity.session == session.id && !is_running(activity);
  });
}

// A new record, also for an id that had one.
Session& Oracle::begin_session(const std::string& id, const store::SessionPolicy& policy,
                               const Instance* opener) const {
  Session& session = rows().sessions[id];
  session = {};
  session.id = id;
  session.policy = policy;
  session.created_at = session.updated_at = today();
  session.changed = session.last_activity = now();
  session.ttl_until = later(policy.ttl);
  if (opener != nullptr) {
    session.opened_by = opener->id;
    session.opener = opener->key;
  }
  // What waited for it: its queue is the default for its activities.
  for (Activity& activity : rows().activities) {
    const bool waits = activity.session == id && !activity.session_over && activity.own_queue.empty();
    if (waits) activity.queue = policy.queue;
  }
  return session;
}

// Any call that finds a session whose time to live is over expires it.
Session* Oracle::live_session(std::string_view id) const {
  Session* const session = find_session(id);
  if (session == nullptr) return nullptr;
  if (!session->ended && session->ttl_until <= now()) {
    end_session(*session, SessionStatus::expired, SessionReason::ttl);
  }
  return session->ended ? nullptr : session;
}

// `generation` comes from one counter and changes with every claim.
Oracle::Claim Oracle::claim(Session& session, WorkerKey worker, const store::Abilities& abilities,
                            SessionReason why) const {
  const std::string node = node_of(worker);
  Claim claim{
      .same_owner = session.last_worker == worker, .previous_owner = session.last_owner, .reason = why};
  // Why it is no longer with the worker before: its lease was over, its node was started again, or it has
  // released it.
  const SessionReason left_because = std::exchange(session.reason, why);
  if (session.worker != WorkerKey{} || left_because == SessionReason::lapsed) {
    claim.reason = SessionReason::lapsed;
  } else if (left_because == SessionReason::owner_restarted) {
    const bool taken_back = session.last_owner == node;
    claim.reason = taken_back ? SessionReason::taken_back : SessionReason::owner_restarted;
    if (taken_back) session.reason = SessionReason::taken_back;
  } else if (session.released && !claim.same_owner) {
    claim.reason = left_because;
  }
  // It has moved when another worker gets what the one before has released or saved; else it is only claimed
  // again.
  const bool is_first = session.generation == Generation{};
  const bool moves = !is_first && !claim.same_owner && (session.released || session.saved);

  session.generation = Generation{++database_->last_generation};
  if (!claim.same_owner) session.held_since = session.generation;
  session.worker = session.last_worker = worker;
  session.owner = session.last_owner = node;
  session.lease = session.policy.lease.value_or(abilities.session_lease);
  session.idle_timeout = session.policy.idle_timeout.value_or(abilities.session_idle);
  session.ran = session.released = false;
  session.kept.reset();
  session.wish.reset();
  session.changed = now();
  session.updated_at = today();
  extend(session);
  log(session,
      is_first ? Logged::claimed
      : moves  ? Logged::moved
               : Logged::reclaimed,
      claim.reason, node, claim.previous_owner);
  session.last_activity = now();
  tell(session, {.kind = is_first ? SessionNews::Kind::claimed
                         : moves  ? SessionNews::Kind::moved
                                  : SessionNews::Kind::restored,
                 .from = claim.previous_owner,
                 .to = node,
                 .reason = std::string(to_string(claim.reason)),
                 .generation = session.generation});
  return claim;
}

// By the session's lease length, never past the time to live.
void Oracle::extend(Session& session) const {
  session.lease_until = std::min(later(session.lease), session.ttl_until);
}

void Oracle::save_state(Session& session, const store::SessionSave& save) const {
  session.saved = save.bytes;
  ++session.saved_version;
  session.changed = now();
  session.updated_at = today();
}

// Every change is a line in the session log. What an operator has asked for is released as `operated`.
void Oracle::release(Session& session, SessionReason why) const {
  const SessionReason reason = session.wish ? SessionReason::operated : why;
  log(session, reason == SessionReason::displaced ? Logged::displaced : Logged::released, reason, "",
      session.owner);
  session.released = true;
  leave_owner(session, reason);
}

// Nobody owns it any more.
void Oracle::leave_owner(Session& session, SessionReason reason) const {
  session.worker = {};
  session.owner.clear();
  session.lease_until = {};
  session.reason = reason;
  session.changed = now();
  session.updated_at = today();
  keep_as_wished(session);
}

// A wish that names a node keeps the session for it from its release on; one that names none is fulfilled.
void Oracle::keep_as_wished(Session& session) const {
  session.kept.reset();
  if (!session.wish) return;
  if (session.wish->to.empty()) {
    session.wish.reset();
  } else {
    session.kept = Kept{session.wish->to, later(session.wish->keep_for)};
    session.changed = session.kept->until;
  }
}

// Losing, closing, expiring and aborting take queued activities away; what is in flight is cut off (lost,
// aborted) or may finish (closed, expired).
void Oracle::end_session(Session& session, SessionStatus how, SessionReason reason, std::string note) const {
  session.ended = how;
  session.reason = reason;
  session.note = std::move(note);
  session.end_is_told = session.worker == WorkerKey{};
  session.kept.reset();
  session.wish.reset();
  session.changed = now();
  session.updated_at = today();
  Logged logged = Logged::closed;
  if (how == SessionStatus::expired) logged = Logged::expired;
  if (how == SessionStatus::failed)
    logged = reason == SessionReason::aborted ? Logged::aborted : Logged::lost;
  log(session, logged, reason, "", session.owner);

  // What ran when an earlier session of this id was closed or expired may finish, whatever becomes of this
  // one.
  const auto of_session = [&](const Activity& activity, bool running) {
    return activity.session == session.id && is_running(activity) == running && !activity.session_over;
  };
  const std::vector<store::ActivityId> queued =
      ids_of([&](const Activity& activity) { return of_session(activity, false); });
  const std::vector<store::ActivityId> in_flight =
      ids_of([&](const Activity& activity) { return of_session(activity, true); });
  for (const store::ActivityId& id : queued) take(id, reason_of(session));
  for (const store::ActivityId& id : in_flight) {
    if (how == SessionStatus::failed) {
      take(id, reason_of(session));
    } else {
      find_activity(id)->session_over = reason_of(session);
    }
  }
  tell(session, news_of_end(session));
}

CancelReason Oracle::reason_of(const Session& session) {
  if (session.ended == SessionStatus::closed) return CancelReason::session_closed;
  if (session.ended == SessionStatus::expired) return CancelReason::session_expired;
  return session.reason == SessionReason::aborted ? CancelReason::session_aborted
                                                  : CancelReason::session_lost;
}

void Oracle::tell(const Session& session, const SessionNews& news) const {
  for (Instance& instance : rows().instances) {
    if (instance.watches.contains(session.id)) tell(instance, session, news);
  }
}

void Oracle::tell(Instance& instance, const Session& session, const SessionNews& news) const {
  deliver(instance,
          {.kind = MessageKind::news, .address = {Address::Kind::session, session.id}, .body = news});
}

SessionNews Oracle::news_of_end(const Session& session) {
  SessionNews news{.kind = SessionNews::Kind::expired,
                   .from = session.owner,
                   .reason = std::string(to_string(session.reason)),
                   .generation = session.generation};
  if (session.ended == SessionStatus::closed) news.kind = SessionNews::Kind::closed;
  if (session.ended == SessionStatus::failed) news.kind = SessionNews::Kind::lost;
  return news;
}

void Oracle::log(const Session& session, Logged kind, SessionReason reason, const std::string& owner,
                 const std::string& previous) const {
  rows().log.push_back({.number = ++database_->last_log_entry,
                        .session = session.id,
                        .kind = kind,
                        .reason = reason,
                        .owner = owner,
                        .previous_owner = previous,
                        .generation = session.generation,
                        .at = today(),
                        .quiet_for = now() - session.last_activity});
}

}  // namespace holdfast::testing::oracle
