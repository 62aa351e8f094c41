// What workers and operators do with sessions.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

using store::Acquired;
using store::SessionReason;
using store::SessionStatus;
using WhenLost = store::SessionPolicy::WhenLost;
using Logged = store::SessionLogEntry::Kind;

// When several things stand in the way, whoever asks is told the one that lasts longest.
StoreResult<Acquired> Oracle::acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                              std::string_view id, const store::SessionPolicy& policy) {
  if (const auto refused = refusal(worker)) return Unexpected(*refused);
  const Asker asker{worker, &abilities};
  live_session(id);
  Session* const session = find_session(id);
  if (session == nullptr) {
    if (!policy.create_if_missing) return Acquired{.kind = Acquired::Kind::missing};
    if (!covers(abilities, policy)) return Acquired{.kind = Acquired::Kind::requirements_not_met};
    if (!has_capacity(asker)) return Acquired{.kind = Acquired::Kind::limit_exceeded};
    Session& begun = begin_session(std::string(id), policy, nullptr);
    claim(begun, worker, abilities, SessionReason::acquired);
    return Acquired{.kind = Acquired::Kind::created, .session = view_of(begun, store::Saved::bytes)};
  }
  const auto is = [&](Acquired::Kind kind) {
    return Acquired{.kind = kind, .session = view_of(*session, store::Saved::size)};
  };
  const bool fails = session->policy.when_lost == WhenLost::fail;
  // The caller owns it already; its lease begins anew. Under `fail` also when it was over.
  if (!session->ended && session->worker == worker && (is_held(*session) || fails)) {
    extend(*session);
    return Acquired{.kind = Acquired::Kind::reused, .session = view_of(*session, store::Saved::bytes)};
  }
  if (session->ended == SessionStatus::closed || session->ended == SessionStatus::expired ||
      session->ttl_until <= now()) {
    return is(Acquired::Kind::closed);
  }
  if (session->ended && fails) return is(Acquired::Kind::reacquire_not_allowed);
  if (is_held(*session) || is_kept_from(*session, worker)) return is(Acquired::Kind::owned_by_another);
  if (!session->ended && !is_claimable(*session)) return is(Acquired::Kind::reacquire_not_allowed);
  if (!covers(abilities, session->policy)) return is(Acquired::Kind::requirements_not_met);
  if (!has_capacity(asker)) return is(Acquired::Kind::limit_exceeded);
  if (session->ended) {
    // One that failed begins again, with nothing of what it had.
    session->ended.reset();
    session->note.clear();
    session->saved.reset();
    session->worker = session->last_worker = {};
    session->owner.clear();
  }
  const Claim claimed = claim(*session, worker, abilities, SessionReason::acquired);
  return Acquired{.kind = Acquired::Kind::reacquired,
                  .session = view_of(*session, store::Saved::bytes),
                  .same_owner = claimed.same_owner,
                  .previous_owner = claimed.previous_owner};
}

// `lost` when the hold is not current or its lease is over (under `fail`, the same worker may renew it until
// the session is declared lost), `gone` when the session ended.
StoreResult<Session*> Oracle::held(WorkerKey worker, const store::SessionHold& hold) const {
  Session* const session = live_session(hold.id);
  if (const Session* const record = find_session(hold.id); record != nullptr && record->ended) {
    return Unexpected(StoreError{.kind = Kind::gone, .reason = reason_of(*record)});
  }
  if (session == nullptr || session->worker != worker || session->generation != hold.generation) {
    return error(Kind::lost);
  }
  if (!is_held(*session) && session->policy.when_lost == WhenLost::reclaim) return error(Kind::lost);
  return session;
}

std::vector<StoreResult<void>> Oracle::renew_sessions(WorkerKey worker,
                                                      std::span<const store::SessionRenewal> holds) {
  const auto refused = refusal_to_keep(worker);
  std::vector<StoreResult<void>> answers;
  for (const store::SessionRenewal& renewal : holds) {
    if (refused) {
      answers.emplace_back(Unexpected(*refused));
      continue;
    }
    const StoreResult<Session*> session = held(worker, renewal.hold);
    if (!session) {
      answers.emplace_back(Unexpected(session.error()));
      continue;
    }
    extend(**session);
    (*session)->last_activity = now() - renewal.quiet_for;
    answers.emplace_back();
  }
  return answers;
}

std::vector<StoreResult<void>> Oracle::release_sessions(WorkerKey worker,
                                                        std::span<const store::SessionRelease> releases) {
  const auto refused = refusal_to_keep(worker);
  std::vector<StoreResult<void>> answers;
  for (const store::SessionRelease& one : releases) {
    answers.push_back(refused ? StoreResult<void>(Unexpected(*refused)) : release(worker, one));
  }
  return answers;
}

StoreResult<void> Oracle::release(WorkerKey worker, const store::SessionRelease& wanted) const {
  const StoreResult<Session*> found = held(worker, wanted.hold);
  if (!found) return Unexpected(found.error());
  Session& session = **found;
  const bool displaced = wanted.reason == SessionReason::displaced;
  const bool fails = session.policy.when_lost == WhenLost::fail;
  // `conflict` when an activity of the session runs on this worker;
  if (runs_on(session, worker)) return error(Kind::conflict);
  // when it is idle or displaced and something of it is queued;
  const bool must_be_idle = displaced || wanted.reason == SessionReason::idle;
  if (must_be_idle && has_queued(session)) return error(Kind::conflict);
  // or when a `fail` session that has run an activity in this generation is released without a save.
  // Displacement never takes one.
  if (fails && (displaced || (session.ran && !wanted.save))) return error(Kind::conflict);
  // A session is displaced for one that waits; unless an operator wants it to leave.
  Session* waits = nullptr;
  const WorkerRow& row = *find_worker(worker);
  if (displaced && !session.wish) {
    waits = waits_for_room_of(row);
    if (waits == nullptr) return error(Kind::conflict);
  }
  if (wanted.save) save_state(session, *wanted.save);
  release(session, wanted.reason);
  if (waits != nullptr) keep_for(*waits, row);
  return {};
}

// From now on that one is kept for the worker's node, for kWaitsForRoom; if its lease was over, nobody owns
// it any more. What is kept for the worker, or lapsed under it, stays so.
void Oracle::keep_for(Session& session, const WorkerRow& worker) const {
  if (is_kept(session) || session.worker == worker.key) return;
  session.wish = Wish{worker.info.node, store::kWaitsForRoom};
  if (session.worker != WorkerKey{}) {
    leave_owner(session, SessionReason::lapsed);
  } else {
    keep_as_wished(session);
  }
}

// The first, in the order of a fetch, that has waited for kWaitsForRoom and that this worker may claim.
Session* Oracle::waits_for_room_of(const WorkerRow& worker) const {
  const Asker asker{worker.key, &worker.info.abilities};
  // `conflict` when the worker is below its limit of sessions; one that takes no new work needs no room.
  if (!takes_work(worker) || has_capacity(asker)) return nullptr;
  for (const Activity* const activity : ready_activities()) {
    if (now() - waits_since(*activity) < store::kWaitsForRoom) continue;
    if (admission(asker, *activity) == Admission::claims) return find_session(activity->session);
  }
  return nullptr;
}

// False when it had ended already; `not_found` when there is none.
StoreResult<bool> Oracle::close_session(std::string_view id, SessionReason reason) {
  if (find_session(id) == nullptr) return error(Kind::not_found);
  Session* const session = live_session(id);
  if (session == nullptr) return false;
  end_session(*session, SessionStatus::closed, reason);
  return true;
}

StoreResult<store::WishAnswer> Oracle::ask_for_session(std::string_view id, const store::SessionWish& wish) {
  if (find_session(id) == nullptr) return error(Kind::not_found);
  // `conflict` when the session has ended;
  Session* const session = live_session(id);
  if (session == nullptr) return error(Kind::conflict);
  const bool is_owned = session->worker != WorkerKey{};
  const bool fails = session->policy.when_lost == WhenLost::fail;
  // when it is a `fail` session whose lease is over, or, with `force`, that has run an activity in this
  // generation;
  if (is_owned && fails && (!is_held(*session) || (wish.force && session->ran))) return error(Kind::conflict);
  if (is_held(*session) && session->owner == wish.to) {
    session->wish.reset();
    return store::WishAnswer::there;
  }
  // and when no worker of the node is at work that could claim it.
  if (!wish.to.empty() && !node_could_claim(wish.to, *session)) return error(Kind::conflict);
  // A later wish replaces the one before.
  session->wish = Wish{wish.to, wish.keep_for};
  if (!is_owned) {
    keep_as_wished(*session);
    return store::WishAnswer::free;
  }
  // With `force`, or when its lease is over, the session is released by this call, without a save.
  if (is_held(*session) && !wish.force) return store::WishAnswer::asked;
  release(*session, SessionReason::operated);
  return store::WishAnswer::released;
}

// With a limit of sessions above 0, the capabilities, and, where its queue or activities that wait in it say
// which, the queue and the code.
bool Oracle::node_could_claim(const std::string& node, const Session& session) const {
  return std::any_of(rows().workers.begin(), rows().workers.end(), [&](const WorkerRow& worker) {
    const store::Abilities& abilities = worker.info.abilities;
    if (worker.info.node != node || !is_at_work(worker)) return false;
    if (abilities.session_limit == 0 || !covers(abilities, session.policy)) return false;
    bool any_waits = false;
    bool any_fits = false;
    for (const Activity& activity : rows().activities) {
      if (activity.session != session.id || is_running(activity)) continue;
      any_waits = true;
      any_fits = any_fits || has_code(abilities, activity);
    }
    if (any_waits) return any_fits;
    return session.policy.queue.empty() || abilities.queues.serve(session.policy.queue);
  });
}

// Sessions of this worker that an operator has asked for; and those that have ended while it owned them,
// until it acknowledges that. By id.
StoreResult<std::vector<store::WantedSession>> Oracle::wanted_sessions(WorkerKey worker) {
  std::vector<store::WantedSession> wanted;
  for (const auto& [id, session] : rows().sessions) {
    if (session.worker != worker) continue;
    if (session.ended ? session.end_is_told : !session.wish) continue;
    wanted.push_back({.hold = {id, session.generation}});
    if (session.ended) wanted.back().ended = session.reason;
  }
  return wanted;
}

StoreResult<void> Oracle::acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) {
  for (const store::SessionHold& hold : holds) {
    Session* const session = find_session(hold.id);
    if (session == nullptr || !session->ended || session->worker != worker) continue;
    if (session->generation == hold.generation) session->end_is_told = true;
  }
  return {};
}

StoreResult<bool> Oracle::discard_session_state(std::string_view id) {
  live_session(id);
  Session* const session = find_session(id);
  if (session == nullptr) return error(Kind::not_found);
  if (!session->saved) return false;
  session->saved.reset();
  ++session->saved_version;
  session->updated_at = today();
  return true;
}

// A `fail` session of this worker that can't be handed over is lost now, with this reason.
StoreResult<void> Oracle::fail_session(WorkerKey worker, const store::SessionHold& hold,
                                       SessionReason reason) {
  if (const auto refused = refusal_to_keep(worker)) return Unexpected(*refused);
  const StoreResult<Session*> session = held(worker, hold);
  if (!session) return Unexpected(session.error());
  if ((*session)->policy.when_lost != WhenLost::fail) return error(Kind::invalid);
  end_session(**session, SessionStatus::failed, reason);
  return {};
}

}  // namespace holdfast::testing::oracle
