// The life of a session: begun, claimed, given up or lost, ended. Each of these is written to the log, and
// told to the instances that watch it.
#pragma once

#include "transaction.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::rules {

/// Its owner's lease is not over.
[[nodiscard]] bool is_held(const Transaction& tx, const Session& session);
[[nodiscard]] bool is_held_by(const Transaction& tx, const Session& session, WorkerKey worker);
/// Somebody who meets its requirements may claim it.
[[nodiscard]] bool is_claimable(const Transaction& tx, const Session& session);
/// It is claimable, but only by a certain node: the one that held it, which was started again, the one that a
/// person has named, or the one that has made room for it.
[[nodiscard]] bool is_kept(const Transaction& tx, const Session& session);
/// The same, and this worker is of another node.
[[nodiscard]] bool is_kept_from(const Transaction& tx, const Session& session, WorkerKey worker);
/// No more of its activities may run at once.
[[nodiscard]] bool is_full(const Transaction& tx, const Session& session);
/// Those of its activities that were taken away, and whose code may still run, end no later than these times.
/// Only of a session that has a limit.
[[nodiscard]] std::vector<BootTime> stopping_in(const Transaction& tx, const Session& session);
/// Whether this worker runs an activity of it, in whatever generation.
[[nodiscard]] bool runs_on(const Transaction& tx, const Session& session, WorkerKey worker);
/// Whether this was its owner, in its current generation, and it has not ended.
[[nodiscard]] bool is_current(const Session& session, WorkerKey worker, Generation generation);
[[nodiscard]] SessionStatus state_of(const Transaction& tx, const Session& session);
/// Until when it was of use, of one that has not ended: to its owner, or, if nobody owns it, to the node that
/// it is kept for.
[[nodiscard]] BootTime left_at(const Session& session);
/// It was closed, and never opened nor given a policy: an activity that names it begins it anew.
[[nodiscard]] bool begins_anew(const Session& session);
/// Why the activities of a session that has ended don't run.
[[nodiscard]] CancelReason reason_of(const Session& session);
/// The bytes that its last owner has saved.
[[nodiscard]] std::optional<std::string> saved_in(const Transaction& tx, const Session& session);
/// How many sessions the worker holds.
[[nodiscard]] std::uint32_t sessions_held(const Transaction& tx, WorkerKey worker);

/// The session of that id as it is now: one whose time to live has passed is expired by this.
Session* session_now(Transaction& tx, std::string_view id);

/// Begins a session; one of that id that has ended begins anew. Activities that waited for it are queued.
Session& begin(Transaction& tx, const std::string& id, const SessionPolicy& policy, Instance* opener);

/// One that was aborted may be claimed again, with nothing of what it had.
void revive(Transaction& tx, Session& session);

/// What a claim found.
struct Claim {
  bool same_owner = false;
  std::string previous_owner{};
  /// What it is claimed for; or why the last owner has it no more, where that was another, or a lapse.
  SessionReason reason{};
  std::optional<std::string> saved{};
};
Claim claim(Transaction& tx, Session& session, const Worker& worker, const Abilities& abilities,
            SessionReason reason);
/// The lease begins anew; it never outlasts the session's time to live.
void extend(Transaction& tx, Session& session);
/// Its owner is gone: whoever waits for it may claim it.
void end_lease(Transaction& tx, Session& session);
void save(Transaction& tx, Session& session, const SessionSave& save);
/// Its owner gives it up.
void release(Transaction& tx, Session& session, SessionReason reason);
/// This worker has made room for it: it is kept for that worker's node for a moment, so that no other one
/// makes room too.
void promise(Transaction& tx, Session& session, const Worker& worker);
/// Its owner knows that it has ended, or need not know any more.
void forget_end(Transaction& tx, Session& session);
/// One that nobody owns is kept for the node in `wanted`, or no longer for anybody.
void keep_for_wanted(Transaction& tx, Session& session);
/// A newer incarnation of its owner's node has joined.
void owner_restarted(Transaction& tx, Session& session, const Worker& joined);

/// Ends it: queued activities fail, what is in flight may finish.
void close(Transaction& tx, Session& session, SessionReason reason);
/// Its time is over. One that has a note by then is damaged (policy_is_damaged()), and ends as aborted.
void expire(Transaction& tx, Session& session);
/// Ends it: all activities fail, also those in flight.
void lose(Transaction& tx, Session& session, SessionReason reason);
void abort(Transaction& tx, Session& session, const std::string& note);
/// Removes the record.
void remove(Transaction& tx, Session& session);

void watch(Transaction& tx, Instance& instance, const std::string& id);
void unwatch(Transaction& tx, Instance& instance, const std::string& session);

}  // namespace holdfast::rules
