// The life of a session: begun, claimed, given up or lost, ended. Each of these is written to the log, and
// told to the instances that watch it.
#pragma once

#include "messages.hpp"
#include "transaction.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/store/sessions.hpp>
#include <holdfast/store/workers.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

using WhenLost = store::SessionPolicy::WhenLost;

Session read_session(const Cursor& row);
void save_session(Transaction& tx, const Session& session);

// What these give is what the transaction knows of the session: whoever changes it saves it.

/// The session of that number; it is there while anything belongs to it.
Session& session_of(Transaction& tx, std::int64_t number);
/// Null when there is none, or only items that wait for one.
Session* find_session(Transaction& tx, std::string_view id);
/// As it is now: one whose time to live has passed is expired by this.
Session* session_now(Transaction& tx, std::string_view id);
/// The number of that id, also where there is no session yet: so that items can wait for it.
std::int64_t session_number(Transaction& tx, std::string_view id);

// ---- what it is ---------------------------------------------------------------------------------

bool is_held(const Transaction& tx, const Session& session);
bool is_held_by(const Transaction& tx, const Session& session, WorkerKey worker);
/// Somebody who meets its requirements may claim it.
bool is_claimable(const Transaction& tx, const Session& session);
/// It is claimable, but only by a certain node: the one that held it, which was started again, the one that a
/// person has named, or the one that has made room for it.
bool is_kept(const Transaction& tx, const Session& session);
/// The same, and this worker is of another node.
bool is_kept_from(Transaction& tx, const Session& session, WorkerKey worker);
/// No more of its activities may run at once.
bool is_full(Transaction& tx, const Session& session);
/// Those of its activities that were taken away, and whose code may still run, end no later than these times.
/// Only of a session that has a limit.
std::vector<LeaseTime> stopping_in(Transaction& tx, const Session& session);
/// Whether this is its owner, in its current generation, and it has not ended.
bool is_current(const Session& session, WorkerKey worker, Generation generation);
store::SessionState state_of(const Transaction& tx, const Session& session);
/// It was closed, and never opened nor given a policy: an activity that names it begins it anew.
bool begins_anew(const Session& session);
/// Why the activities of a session that has ended don't run.
CancelReason reason_of(const Session& session);
bool covers(const store::Abilities& abilities, const std::vector<std::string>& requirements);

/// Whether it has items in the queue, ready or not.
bool has_queued(Transaction& tx, Session& session);
/// An activity of it has left its worker: whoever has another one of it to run, or to pass on, looks again.
void note_room(Transaction& tx, std::int64_t number);
std::uint64_t queued_in(Transaction& tx, const Session& session);
std::uint64_t in_flight_in(Transaction& tx, const Session& session);
/// Whether this worker runs an activity of it, in whatever generation.
bool runs_on(Transaction& tx, const Session& session, WorkerKey worker);
/// How many sessions the worker holds.
std::uint32_t sessions_held(Transaction& tx, WorkerKey worker);

// ---- what becomes of it -------------------------------------------------------------------------

/// Begins a session; one of that id that has ended begins anew. Items that waited for it are queued.
Session& begin_session(Transaction& tx, std::string_view id, const store::SessionPolicy& policy,
                       Instance* opener);
/// One that was aborted may be claimed again, with nothing of what it had.
void revive(Session& session);

/// What a claim found.
struct Claim {
  bool same_owner = false;
  std::string previous_owner{};
  /// What it is claimed for; or why the last owner has it no more, where that was another, or a lapse.
  store::SessionReason reason{};
  std::optional<std::string> saved{};
};
Claim claim(Transaction& tx, Session& session, WorkerKey worker, const store::Abilities& abilities,
            store::SessionReason reason);
/// The lease begins anew; it never outlasts the session's time to live. To be saved by the caller.
void extend(Transaction& tx, Session& session);
/// Its owner is gone: whoever waits for it may claim it.
void end_lease(Transaction& tx, Session& session);
/// To be saved by the caller.
void keep_state(Transaction& tx, Session& session, const store::SessionSave& save);
/// Its owner gives it up.
void release(Transaction& tx, Session& session, store::SessionReason reason);
/// This worker has made room for it: it is kept for that worker's node for a moment, so that no other one
/// makes room too.
void promise(Transaction& tx, Session& session, WorkerKey worker);
/// One that nobody owns is kept for the node in `wanted`, or no longer for anybody.
void keep_for_wanted(Transaction& tx, Session& session);
/// A newer incarnation of its owner's node has joined.
void owner_restarted(Transaction& tx, Session& session, const store::NewWorker& joined);

/// Ends it: queued items fail, what is in flight may finish.
void close_session(Transaction& tx, Session& session, store::SessionReason reason);
void expire(Transaction& tx, Session& session);
/// Ends it: all items fail, also those in flight.
void lose(Transaction& tx, Session& session, store::SessionReason reason);
void abort_session(Transaction& tx, Session& session, std::string_view note);
/// Removes the record.
void remove_session(Transaction& tx, const Session& session);

/// An instance gets its news from now on.
void watch(Transaction& tx, InstanceKey key, const std::string& id);
/// An instance has ended or goes away: what it opened is closed, and it watches nothing any more.
void leave_sessions(Transaction& tx, InstanceKey key);

/// Items of sessions whose leases are over go to where others find them. How long until the next.
Duration let_sessions_lapse(Transaction& tx);

// ---- the calls ----------------------------------------------------------------------------------

StoreResult<store::Acquired> acquire_session(Transaction& tx, WorkerKey worker,
                                             const store::Abilities& abilities, std::string_view id,
                                             const store::SessionPolicy& policy);
StoreResult<void> renew_session(Transaction& tx, WorkerKey worker, const store::SessionRenewal& renewal);
StoreResult<void> release_session(Transaction& tx, WorkerKey worker, const store::SessionRelease& release);
StoreResult<bool> close_session(Transaction& tx, std::string_view id, store::SessionReason reason);
StoreResult<store::WishAnswer> ask_for_session(Transaction& tx, std::string_view id,
                                               const store::SessionWish& wish);
StoreResult<std::vector<store::WantedSession>> wanted_sessions(Transaction& tx, WorkerKey worker);
void acknowledge_end(Transaction& tx, WorkerKey worker, const store::SessionHold& hold);
StoreResult<bool> discard_session_state(Transaction& tx, std::string_view id);
StoreResult<void> fail_session(Transaction& tx, WorkerKey worker, const store::SessionHold& hold,
                               store::SessionReason reason);
store::SessionView view_session(Transaction& tx, const Session& session, store::Saved saved);
StoreResult<store::SessionView> view_session(Transaction& tx, std::string_view id, store::Saved saved);
StoreResult<std::vector<store::SessionView>> view_sessions(Transaction& tx,
                                                           const store::SessionFilter& filter,
                                                           store::Saved saved);
StoreResult<store::SessionCounts> count_sessions(Transaction& tx);
StoreResult<std::vector<store::SessionLogEntry>> read_session_log(Transaction& tx, std::string_view id,
                                                                  std::uint64_t after, std::size_t limit);

}  // namespace holdfast::sqlite_store
