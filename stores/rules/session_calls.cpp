// Sessions are acquired, kept, given up and ended.
#include "admission.hpp"
#include "calls.hpp"
#include "sessions.hpp"
#include "views.hpp"

#include <algorithm>

namespace holdfast::rules {

namespace {

using WhenLost = SessionPolicy::WhenLost;

// ---- acquiring -----------------------------------------------------------------------------------

Acquired answer_with(const Transaction& tx, const Session& session, Acquired::Kind kind) {
  const bool owned =
      kind == Acquired::Kind::created || kind == Acquired::Kind::reused || kind == Acquired::Kind::reacquired;
  return {.kind = kind, .session = view(tx, session, owned ? Saved::bytes : Saved::size)};
}

/// Why this worker may not claim any session with that policy, if so.
std::optional<Acquired::Kind> not_for(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                                      const SessionPolicy& policy) {
  if (!covers(abilities, policy)) return Acquired::Kind::requirements_not_met;
  if (sessions_held(tx, worker) >= abilities.session_limit) return Acquired::Kind::limit_exceeded;
  return std::nullopt;
}

Acquired acquire_new(Transaction& tx, const Worker& worker, const Abilities& abilities, std::string_view id,
                     const SessionPolicy& policy) {
  if (!policy.create_if_missing) return {.kind = Acquired::Kind::missing};
  if (const auto refused = not_for(tx, worker.key, abilities, policy)) return {.kind = *refused};
  Session& session = begin(tx, std::string(id), policy, nullptr);
  claim(tx, session, worker, abilities, SessionReason::acquired);
  return answer_with(tx, session, Acquired::Kind::created);
}

/// What stands in the way of claiming a session that exists, if anything does.
std::optional<Acquired::Kind> obstacle(const Transaction& tx, const Session& session, WorkerKey worker) {
  if (session.ended == SessionStatus::closed || session.ended == SessionStatus::expired ||
      session.ttl_until <= tx.now) {
    return Acquired::Kind::closed;
  }
  if (session.ended && session.policy.when_lost == WhenLost::fail) {
    return Acquired::Kind::reacquire_not_allowed;
  }
  if (is_held(tx, session) || is_kept_from(tx, session, worker)) return Acquired::Kind::owned_by_another;
  if (!session.ended && !is_claimable(tx, session)) return Acquired::Kind::reacquire_not_allowed;
  return std::nullopt;
}

Acquired acquire_again(Transaction& tx, const Worker& worker, const Abilities& abilities, Session& session) {
  // Under `fail` nobody else may ever claim it, so its owner goes on with it also when the lease is over.
  const bool goes_on = !session.ended && session.worker == worker.key &&
                       (is_held(tx, session) || session.policy.when_lost == WhenLost::fail);
  if (goes_on) {
    extend(tx, session);
    return answer_with(tx, session, Acquired::Kind::reused);
  }
  if (const auto stops = obstacle(tx, session, worker.key)) return answer_with(tx, session, *stops);
  if (const auto refused = not_for(tx, worker.key, abilities, session.policy)) {
    return answer_with(tx, session, *refused);
  }
  if (session.ended) revive(tx, session);
  const Claim found = claim(tx, session, worker, abilities, SessionReason::acquired);
  Acquired acquired = answer_with(tx, session, Acquired::Kind::reacquired);
  acquired.same_owner = found.same_owner;
  acquired.previous_owner = found.previous_owner;
  return acquired;
}

// ---- holding -------------------------------------------------------------------------------------

StoreResult<Session*> held(Transaction& tx, WorkerKey worker, const SessionHold& hold) {
  Session* const session = session_now(tx, hold.id);
  if (session != nullptr && session->ended) {
    return gone(reason_of(*session), "session '" + hold.id + "' has ended");
  }
  const bool current = session != nullptr && is_current(*session, worker, hold.generation);
  if (current && (is_held(tx, *session) || session->policy.when_lost == WhenLost::fail)) return session;
  return refuse(
      StoreError::Kind::lost,
      "session '" + hold.id + "' is not held by this worker in generation " + to_string(hold.generation));
}

/// Why its owner may not give a session up now, if so. What runs on a former owner is no hindrance: it has
/// nothing of this owner's memory, and its lease may be longer than that of the session.
std::optional<std::string> hindrance(const Transaction& tx, const Session& session,
                                     const SessionRelease& release) {
  const bool must_be_idle =
      release.reason == SessionReason::idle || release.reason == SessionReason::displaced;
  const bool must_be_still = must_be_idle || release.reason == SessionReason::drained ||
                             release.reason == SessionReason::handed_over ||
                             release.reason == SessionReason::operated;
  if (must_be_still && runs_on(tx, session, session.worker)) return "one of its activities runs";
  if (must_be_idle && !session.queued.empty()) return "one of its activities is queued";
  if (session.policy.when_lost == WhenLost::fail) {
    if (release.reason == SessionReason::displaced) return "it may not be displaced";
    if (session.ran && !release.save) return "it has run an activity, and its state was not saved";
  }
  return std::nullopt;
}

/// The session that a worker without room makes room for: the first, in the order of a fetch, that has waited
/// for long enough, and that it may claim.
Session* next_in_line(const Transaction& tx, const Worker& worker) {
  for (const ReadyActivity& ready : tx.space.waiting) {
    if (tx.now - ready.since < store::kWaitsForRoom) continue;
    const Activity& activity = *tx.space.activities.peek(ready.id);
    if (admit(tx, worker.key, worker.info.abilities, activity) != Admission::by_claim) continue;
    return find_session(tx, *activity.session);
  }
  return nullptr;
}

/// Why a session is not displaced, or the one that waits for its place.
Result<Session*, std::string> makes_room_for(const Transaction& tx, const Worker& worker) {
  if (!is_live(worker)) return Unexpected(std::string("its worker takes no new work"));
  if (sessions_held(tx, worker.key) < worker.info.abilities.session_limit) {
    return Unexpected(std::string("its worker has room for others"));
  }
  Session* const next = next_in_line(tx, worker);
  if (next == nullptr) return Unexpected(std::string("no other session waits for its place"));
  return next;
}

StoreResult<void> release_one(Transaction& tx, const Worker& worker, const SessionRelease& item) {
  const auto found = held(tx, worker.key, item.hold);
  if (!found) return Unexpected(found.error());
  Session& session = **found;
  const auto stays = [&](const std::string& why) {
    return refuse(StoreError::Kind::conflict, "session '" + session.id + "' is not released: " + why);
  };
  if (const auto why = hindrance(tx, session, item)) return stays(*why);
  Session* next = nullptr;
  if (item.reason == SessionReason::displaced && !session.wanted) {
    const auto waits = makes_room_for(tx, worker);  // others may have made room meanwhile
    if (!waits) return stays(waits.error());
    next = *waits;
  }
  if (item.save) save(tx, session, *item.save);
  release(tx, session, item.reason);
  if (next != nullptr) promise(tx, *next, worker);
  return {};
}

Unexpected<StoreError> no_session(std::string_view id) {
  return refuse(StoreError::Kind::not_found, "there is no session '" + std::string(id) + "'");
}

}  // namespace

StoreResult<Acquired> acquire_session(Transaction& tx, WorkerKey worker, const Abilities& abilities,
                                      std::string_view id, const SessionPolicy& policy) {
  if (auto refused = refusal(tx, worker, Call::takes_work)) return Unexpected(*refused);
  const Worker& row = *look_at(tx, worker);
  Session* const session = session_now(tx, id);
  if (session == nullptr) return acquire_new(tx, row, abilities, id, policy);
  return acquire_again(tx, row, abilities, *session);
}

StoreResult<void> renew_session(Transaction& tx, WorkerKey worker, const SessionRenewal& item) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  const auto session = held(tx, worker, item.hold);
  if (!session) return Unexpected(session.error());
  if (!is_held(tx, **session)) tx.news.work |= kActivities;
  extend(tx, **session);
  (*session)->last_activity = tx.now - item.quiet_for;
  return {};
}

StoreResult<void> release_session(Transaction& tx, WorkerKey worker, const SessionRelease& item) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  return release_one(tx, *look_at(tx, worker), item);
}

StoreResult<bool> close_session(Transaction& tx, std::string_view id, SessionReason reason) {
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (session->ended) return false;
  close(tx, *session, reason);
  return true;
}

namespace {

/// What a worker lacks to have a session, if anything.
std::optional<std::string> lack(const Transaction& tx, const Session& session, const Abilities& abilities) {
  if (abilities.session_limit == 0) return "takes no sessions: its session_limit is 0";
  for (const std::string& requirement : session.policy.requirements) {
    if (!abilities.capabilities.contains(requirement)) return "lacks the capability '" + requirement + "'";
  }
  const std::string& queue = session.policy.queue;
  if (session.queued.empty() && !queue.empty() && !abilities.queues.serve(queue)) {
    return "does not serve the queue '" + queue + "' of its activities";
  }
  const auto can = [&](const ActivityId& id) { return can_run(abilities, *tx.space.activities.peek(id)); };
  if (!session.queued.empty() && std::ranges::none_of(session.queued, can)) {
    return "has no code for the activities that wait in it, or does not serve their queue";
  }
  return std::nullopt;
}

/// Why a session can't go to that node, if so.
std::optional<std::string> hindrance(const Transaction& tx, const Session& session, const std::string& node) {
  std::string why = "no worker of node '" + node + "' is at work";
  for (const auto& [key, worker] : tx.space.workers) {
    if (worker.info.node != node || !is_present(tx, worker)) continue;
    const auto lacks = lack(tx, session, worker.info.abilities);
    if (!lacks) return std::nullopt;
    why = "the worker of node '" + node + "' " + *lacks;
  }
  return why;
}

/// Why a person can't have what is wished for, if so.
std::optional<std::string> hindrance(const Transaction& tx, const Session& session, const SessionWish& wish) {
  if (session.ended) return "it has ended";
  const bool fails = session.policy.when_lost == WhenLost::fail;
  if (fails && session.worker != WorkerKey{} && !is_held(tx, session)) {
    return "its lease is over, and no other worker may claim it; close it";
  }
  if (fails && wish.force && session.ran && is_held(tx, session)) {
    return "it has run an activity, and no other worker may take over without its state; close it";
  }
  const bool is_there = is_held(tx, session) && session.owner == wish.to;
  if (wish.to.empty() || is_there) return std::nullopt;
  return hindrance(tx, session, wish.to);
}

}  // namespace

StoreResult<WishAnswer> ask_for_session(Transaction& tx, std::string_view id, const SessionWish& wish) {
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (const auto why = hindrance(tx, *session, wish)) {
    return refuse(StoreError::Kind::conflict, "session '" + session->id + "' can't be released: " + *why);
  }
  const bool held = is_held(tx, *session);
  if (held && session->owner == wish.to) {
    session->wanted.reset();
    return WishAnswer::there;
  }
  session->wanted = wish.to;
  session->wanted_for = wish.keep_for;
  if (session->worker == WorkerKey{}) {
    session->restarted = false;
    keep_for_wanted(tx, *session);
    return WishAnswer::free;
  }
  if (!held || wish.force) {
    release(tx, *session, SessionReason::operated);
    return WishAnswer::released;
  }
  tx.news.cancelled.push_back(session->worker);
  return WishAnswer::asked;
}

std::vector<WantedSession> wanted_sessions(const Transaction& tx, WorkerKey worker) {
  std::vector<WantedSession> wanted;
  for (const auto* const index : {&tx.space.owned, &tx.space.untold}) {
    const auto found = index->find(worker);
    if (found == index->end()) continue;
    for (const std::string& id : found->second) {
      const Session& session = *find_session(tx, id);
      if (!session.wanted) continue;
      wanted.push_back({.hold = {id, session.generation}});
      if (session.ended) wanted.back().ended = session.reason;
    }
  }
  std::ranges::sort(wanted, {}, [](const WantedSession& one) -> const std::string& { return one.hold.id; });
  return wanted;
}

void acknowledge_end(Transaction& tx, WorkerKey worker, const SessionHold& hold) {
  Session* const session = find_session(tx, hold.id);
  const bool is_it =
      session != nullptr && session->worker == worker && session->generation == hold.generation;
  if (is_it) forget_end(tx, *session);
}

StoreResult<bool> discard_session_state(Transaction& tx, std::string_view id) {
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (!session->saved) return false;
  session->saved.reset();
  ++session->saved_version;
  session->updated_at = tx.calendar;
  return true;
}

StoreResult<void> fail_session(Transaction& tx, WorkerKey worker, const SessionHold& hold,
                               SessionReason reason) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  const auto session = held(tx, worker, hold);
  if (!session) return Unexpected(session.error());
  if ((*session)->policy.when_lost != WhenLost::fail) {
    return refuse(StoreError::Kind::invalid, "session '" + hold.id + "' may be re-claimed: release it");
  }
  lose(tx, **session, reason);
  return {};
}

StoreResult<SessionView> session(Transaction& tx, std::string_view id, Saved saved) {
  const Session* const session = find_session(tx, id);
  if (session == nullptr) return no_session(id);
  return view(tx, *session, saved);
}

}  // namespace holdfast::rules
