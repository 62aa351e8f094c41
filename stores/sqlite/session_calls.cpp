// Sessions are acquired, kept, given up, ended and looked at.
#include "admission.hpp"
#include "queue_reader.hpp"
#include "sessions.hpp"
#include "workers.hpp"

#include <holdfast/store/instances.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

using store::Acquired;
using store::SessionReason;
using store::SessionState;

Unexpected<StoreError> no_session(std::string_view id) {
  return refuse(StoreError::Kind::not_found, "there is no session '" + std::string(id) + "'");
}

// ---- acquiring ----------------------------------------------------------------------------------

Acquired answer_with(Transaction& tx, const Session& session, Acquired::Kind kind) {
  using Kind = store::Acquired::Kind;
  const bool owned = kind == Kind::created || kind == Kind::reused || kind == Kind::reacquired;
  return {.kind = kind,
          .session = view_session(tx, session, owned ? store::Saved::bytes : store::Saved::size)};
}

/// Why this worker may not claim any session with that policy, if so.
std::optional<Acquired::Kind> not_for(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                                      const store::SessionPolicy& policy) {
  if (!covers(abilities, policy.requirements)) return Acquired::Kind::requirements_not_met;
  if (sessions_held(tx, worker) >= abilities.session_limit) return Acquired::Kind::limit_exceeded;
  return std::nullopt;
}

Acquired acquire_new(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                     std::string_view id, const store::SessionPolicy& policy) {
  if (!policy.create_if_missing) return {.kind = Acquired::Kind::missing};
  if (const auto refused = not_for(tx, worker, abilities, policy)) return {.kind = *refused};
  Session& session = begin_session(tx, id, policy, nullptr);
  claim(tx, session, worker, abilities, SessionReason::acquired);
  return answer_with(tx, session, Acquired::Kind::created);
}

/// What stands in the way of claiming a session that exists, if anything does.
std::optional<Acquired::Kind> obstacle(Transaction& tx, const Session& session, WorkerKey worker) {
  if (session.ended == SessionState::closed || session.ended == SessionState::expired ||
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

Acquired acquire_again(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                       Session& session) {
  // Under `fail` nobody else may ever claim it, so its owner goes on with it also when the lease is over.
  const bool goes_on = !session.ended && session.worker == worker &&
                       (is_held(tx, session) || session.policy.when_lost == WhenLost::fail);
  if (goes_on) {
    extend(tx, session);
    save_session(tx, session);
    return answer_with(tx, session, Acquired::Kind::reused);
  }
  if (const auto stops = obstacle(tx, session, worker)) return answer_with(tx, session, *stops);
  if (const auto refused = not_for(tx, worker, abilities, session.policy)) {
    return answer_with(tx, session, *refused);
  }
  if (session.ended) revive(session);
  Claim found = claim(tx, session, worker, abilities, SessionReason::acquired);
  Acquired acquired = answer_with(tx, session, Acquired::Kind::reacquired);
  acquired.same_owner = found.same_owner;
  acquired.previous_owner = std::move(found.previous_owner);
  return acquired;
}

// ---- holding ------------------------------------------------------------------------------------

StoreResult<Session*> held(Transaction& tx, WorkerKey worker, const store::SessionHold& hold) {
  Session* const session = session_now(tx, hold.id);
  if (session != nullptr && session->ended) {
    StoreError gone = store_error(StoreError::Kind::gone, "session '" + hold.id + "' has ended");
    gone.reason = reason_of(*session);
    return Unexpected(std::move(gone));
  }
  const bool current = session != nullptr && is_current(*session, worker, hold.generation);
  if (current && (is_held(tx, *session) || session->policy.when_lost == WhenLost::fail)) {
    return session;
  }
  return refuse(
      StoreError::Kind::lost,
      "session '" + hold.id + "' is not held by this worker in generation " + to_string(hold.generation));
}

/// Why its owner may not give a session up now, if so. What runs on a former owner is no hindrance: it has
/// nothing of this owner's memory, and its lease may be longer than that of the session.
std::optional<std::string> hindrance(Transaction& tx, const Session& session,
                                     const store::SessionRelease& release) {
  const bool must_be_idle =
      release.reason == SessionReason::idle || release.reason == SessionReason::displaced;
  const bool must_be_still = must_be_idle || release.reason == SessionReason::drained ||
                             release.reason == SessionReason::handed_over ||
                             release.reason == SessionReason::operated;
  if (must_be_still && runs_on(tx, session, session.worker)) return "one of its activities runs";
  if (must_be_idle && queued_in(tx, session) > 0) return "one of its activities is queued";
  if (session.policy.when_lost == WhenLost::fail) {
    if (release.reason == SessionReason::displaced) return "it may not be displaced";
    if (session.ran && !release.save) return "it has run an activity, and its state was not saved";
  }
  return std::nullopt;
}

/// The session that a worker without room makes room for: the first, in the order of a fetch, that has waited
/// for long enough, and that it may claim.
Session* next_in_line(Transaction& tx, WorkerKey worker, const store::Abilities& abilities) {
  QueueReader queue(tx, worker, abilities, std::numeric_limits<std::int64_t>::max());
  while (const auto item = queue.next()) {
    if (item->lane < 0 || !tx.kind(item->lane).in_session) {
      queue.drop_lane(item->lane);
      continue;
    }
    if (tx.now - item->at < store::kWaitsForRoom.count()) {
      queue.drop_stream(*item);  // those behind it waited less
      continue;
    }
    const std::optional<Activity> activity = find_activity(tx, item->id);
    if (admit(tx, worker, abilities, *activity) != Admission::by_claim) continue;
    return &session_of(tx, activity->session);
  }
  return nullptr;
}

/// Why a session is not displaced, or the one that waits for its place.
Result<Session*, std::string> makes_room_for(Transaction& tx, WorkerKey worker) {
  const std::vector<LiveWorker> workers = live_workers(tx);
  const auto found = std::ranges::find(workers, worker, &LiveWorker::key);
  if (found == workers.end()) return Unexpected(std::string("its worker takes no new work"));
  const store::Abilities& abilities = found->info.abilities;
  if (sessions_held(tx, worker) < abilities.session_limit) {
    return Unexpected(std::string("its worker has room for others"));
  }
  Session* const next = next_in_line(tx, worker, abilities);
  if (next == nullptr) return Unexpected(std::string("no other session waits for its place"));
  return next;
}

}  // namespace

StoreResult<Acquired> acquire_session(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                                      std::string_view id, const store::SessionPolicy& policy) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::takes_work)) return Unexpected(*std::move(refused));
  Session* const session = session_now(tx, id);
  if (session == nullptr) return acquire_new(tx, worker, abilities, id, policy);
  return acquire_again(tx, worker, abilities, *session);
}

StoreResult<void> renew_session(Transaction& tx, WorkerKey worker, const store::SessionRenewal& renewal) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has)) {
    return Unexpected(*std::move(refused));
  }
  auto found = held(tx, worker, renewal.hold);
  if (!found) return Unexpected(std::move(found).error());
  Session& session = **found;
  if (!is_held(tx, session)) tx.wake(store::kActivities);  // its items may be taken again
  extend(tx, session);
  session.last_activity = tx.now - renewal.quiet_for.count();
  tx.run(tx.sql.extend_session, session.number, session.lease_until, session.last_activity);
  return {};
}

StoreResult<void> release_session(Transaction& tx, WorkerKey worker, const store::SessionRelease& item) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has)) {
    return Unexpected(*std::move(refused));
  }
  auto found = held(tx, worker, item.hold);
  if (!found) return Unexpected(std::move(found).error());
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
  if (item.save) keep_state(tx, session, *item.save);
  release(tx, session, item.reason);
  if (next != nullptr) promise(tx, *next, worker);
  return {};
}

StoreResult<bool> close_session(Transaction& tx, std::string_view id, SessionReason reason) {
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (session->ended) return false;
  close_session(tx, *session, reason);
  return true;
}

namespace {

/// What a worker lacks to have a session, if anything. `waiting`: the kinds of its activities in the queue.
std::optional<std::string> lack(Transaction& tx, const Session& session,
                                const std::vector<std::int64_t>& waiting, const store::Abilities& abilities) {
  if (abilities.session_limit == 0) return "takes no sessions: its session_limit is 0";
  for (const std::string& requirement : session.policy.requirements) {
    if (!abilities.capabilities.contains(requirement)) return "lacks the capability '" + requirement + "'";
  }
  const std::string& queue = session.policy.queue;
  if (waiting.empty() && !queue.empty() && !abilities.queues.serve(queue)) {
    return "does not serve the queue '" + queue + "' of its activities";
  }
  const auto can = [&](std::int64_t kind) { return serves(abilities, tx.kind(kind)); };
  if (!waiting.empty() && std::ranges::none_of(waiting, can)) {
    return "has no code for the activities that wait in it, or does not serve their queue";
  }
  return std::nullopt;
}

/// Why a session can't go to that node, if so.
std::optional<std::string> hindrance(Transaction& tx, const Session& session, const std::string& node) {
  std::vector<std::int64_t> waiting;
  for (Cursor row = tx.rows(tx.sql.ready_kinds_in_session, session.number, kNoTime); row.next();) {
    waiting.push_back(row->int64(0));
  }
  std::string why = "no worker of node '" + node + "' is at work";
  for (const LiveWorker& worker : present_workers(tx)) {
    if (worker.info.node != node) continue;
    const auto lacks = lack(tx, session, waiting, worker.info.abilities);
    if (!lacks) return std::nullopt;
    why = "the worker of node '" + node + "' " + *lacks;
  }
  return why;
}

/// Why a person can't have what is wished for, if so.
std::optional<std::string> hindrance(Transaction& tx, const Session& session,
                                     const store::SessionWish& wish) {
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

StoreResult<store::WishAnswer> ask_for_session(Transaction& tx, std::string_view id,
                                               const store::SessionWish& wish) {
  using store::WishAnswer;
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (const auto why = hindrance(tx, *session, wish)) {
    return refuse(StoreError::Kind::conflict, "session '" + session->id + "' can't be released: " + *why);
  }
  const bool held = is_held(tx, *session);
  if (held && session->owner == wish.to) {
    session->wanted.reset();
    save_session(tx, *session);
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
  save_session(tx, *session);
  tx.news.cancelled.push_back(session->worker);
  return WishAnswer::asked;
}

StoreResult<std::vector<store::WantedSession>> wanted_sessions(Transaction& tx, WorkerKey worker) {
  std::vector<store::WantedSession> wanted;
  for (Cursor row = tx.rows(tx.sql.sessions_wanted, worker); row.next();) {
    wanted.push_back({.hold = {std::string(row->text(0)), row->number<Generation>(1)}});
    if (!row->is_null(2)) wanted.back().ended = static_cast<SessionReason>(row->integer(2));
  }
  return wanted;
}

void acknowledge_end(Transaction& tx, WorkerKey worker, const store::SessionHold& hold) {
  Session* const session = find_session(tx, hold.id);
  if (session == nullptr || !session->ended || !session->wanted) return;
  if (session->worker != worker || session->generation != hold.generation) return;
  session->wanted.reset();
  save_session(tx, *session);
}

StoreResult<bool> discard_session_state(Transaction& tx, std::string_view id) {
  Session* const session = session_now(tx, id);
  if (session == nullptr) return no_session(id);
  if (!session->saved) return false;
  session->saved.reset();
  ++session->saved_version;
  session->updated_at = tx.calendar_now;
  save_session(tx, *session);
  return true;
}

StoreResult<void> fail_session(Transaction& tx, WorkerKey worker, const store::SessionHold& hold,
                               SessionReason reason) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has)) {
    return Unexpected(*std::move(refused));
  }
  auto found = held(tx, worker, hold);
  if (!found) return Unexpected(std::move(found).error());
  Session& session = **found;
  if (session.policy.when_lost != WhenLost::fail) {
    return refuse(StoreError::Kind::invalid, "session '" + hold.id + "' may be re-claimed: release it");
  }
  lose(tx, session, reason);
  return {};
}

// ---- looking ------------------------------------------------------------------------------------

namespace {

bool is_orphaned(Transaction& tx, const Session& session) {
  return state_of(tx, session) == SessionState::lapsed && is_stale(tx, session.worker);
}

}  // namespace

store::SessionView view_session(Transaction& tx, const Session& session, store::Saved saved) {
  store::SessionView view{
      .id = session.id,
      .state = state_of(tx, session),
      .orphaned = is_orphaned(tx, session),
      .reason = session.reason,
      .note = session.note,
      .owner = session.owner,
      .worker = session.worker,
      .generation = session.generation,
      .held_since = session.held_since,
      .wanted = session.ended ? std::nullopt : session.wanted,
      .kept_for = is_kept(tx, session) ? left_until(session.lease_until, tx.now) : Duration{},
      .policy = session.policy,
      .lease_left = is_held(tx, session) ? left_until(session.lease_until, tx.now) : Duration{},
      .quiet_for = Duration(tx.now - session.last_activity),
      .opened_by = session.opened_by,
      .queued = queued_in(tx, session),
      .in_flight = in_flight_in(tx, session),
      .saved_version = session.saved_version,
      .created_at = session.created_at,
      .updated_at = session.updated_at};
  if (session.ttl_until != kNoTime) view.ttl_left = left_until(session.ttl_until, tx.now);
  if (session.saved) view.saved_size = session.saved->size();
  if (saved == store::Saved::bytes) view.saved = session.saved;
  return view;
}

StoreResult<store::SessionView> view_session(Transaction& tx, std::string_view id, store::Saved saved) {
  const Session* const session = find_session(tx, id);
  if (session == nullptr) return no_session(id);
  return view_session(tx, *session, saved);
}

StoreResult<std::vector<store::SessionView>> view_sessions(Transaction& tx,
                                                           const store::SessionFilter& filter,
                                                           store::Saved saved) {
  std::vector<store::SessionView> views;
  const bool with_bytes = saved == store::Saved::bytes;
  for (Cursor row = tx.rows(tx.sql.sessions_after, tx.ns, filter.after, with_bytes);
       views.size() < filter.limit && row.next();) {
    const Session session = read_session(row);
    if (!filter.takes(state_of(tx, session), session.owner, session.policy.queue)) continue;
    store::SessionView& view = views.emplace_back(view_session(tx, session, saved));
    if (!row->is_null(31)) view.saved_size = row->uint64(31);
  }
  return views;
}

StoreResult<store::SessionCounts> count_sessions(Transaction& tx) {
  store::SessionCounts counts;
  for (Cursor row = tx.rows(tx.sql.session_counts, tx.ns, tx.now); row.next();) {
    const auto state = static_cast<SessionState>(row->integer(0));
    const bool orphaned = state == SessionState::lapsed && is_stale(tx, row->number<WorkerKey>(1));
    counts.add(state, orphaned, row->uint64(2));
  }
  return counts;
}

StoreResult<std::vector<store::SessionLogEntry>> read_session_log(Transaction& tx, std::string_view id,
                                                                  std::uint64_t after, std::size_t limit) {
  std::vector<store::SessionLogEntry> entries;
  for (Cursor row = id.empty() ? tx.rows(tx.sql.log_of_all, after, tx.ns, limit)
                               : tx.rows(tx.sql.log_of_session, tx.ns, id, after, limit);
       row.next();) {
    entries.push_back({.number = row->uint64(0),
                       .session = std::string(row->text(1)),
                       .kind = static_cast<store::SessionLogEntry::Kind>(row->integer(2)),
                       .reason = static_cast<SessionReason>(row->integer(3)),
                       .owner = std::string(row->text(4)),
                       .previous_owner = std::string(row->text(5)),
                       .generation = row->number<Generation>(6),
                       .at = calendar_from_row(row->int64(7)),
                       .quiet_for = Duration(row->int64(8))});
  }
  return entries;
}

}  // namespace holdfast::sqlite_store
