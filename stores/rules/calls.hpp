// The calls of the contract, as far as they are the same for every store that keeps its rows in a Space. Each
// works inside the caller's transaction; what they do stands in the files named after it.
#pragma once

#include "admission.hpp"
#include "transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::rules {

// ---- workers.cpp ---------------------------------------------------------------------------------

WorkerKey join(Transaction& tx, const NewWorker& info);
StoreResult<void> refresh(Transaction& tx, WorkerKey worker, bool draining);
StoreResult<void> leave(Transaction& tx, WorkerKey worker);
/// Of those in the space.
std::vector<WorkerView> workers(Transaction& tx);

// ---- turns.cpp -----------------------------------------------------------------------------------

/// Due timers and messages, held and ready instances are those in the space.
StoreResult<FetchedTurns> fetch_turns(Transaction& tx, const TurnRequest& request);
StoreResult<void> release_turn(Transaction& tx, const TurnRelease& item);
StoreResult<void> renew_turn(Transaction& tx, WorkerKey worker, Duration lease, const TurnRenewal& item);
std::uint64_t wake_parked(Transaction& tx, const Code& code);

// ---- commit.cpp ----------------------------------------------------------------------------------

StoreResult<Committed> commit_turn(Transaction& tx, const CommitRequest& request, const TurnCommit& commit);

// ---- fetch_activities.cpp ------------------------------------------------------------------------

/// What a fetch could take, and is not in the space: it comes behind all that is.
struct NotInSpace {
  bool owned = false;          ///< ready activities of sessions that the worker holds
  std::size_t claimable = 0;   ///< sessions that it may claim, with ready activities for it
  BootTime claimable_since{};  ///< since when the oldest of their activities waits
};
/// Of those in the space.
StoreResult<FetchedActivities> fetch_activities(Transaction& tx, const ActivityRequest& request,
                                                const NotInSpace& elsewhere = {});

// ---- activity_calls.cpp --------------------------------------------------------------------------

StoreResult<void> finish_activity(Transaction& tx, const ActivityResult& item);
StoreResult<void> renew_activity(Transaction& tx, WorkerKey worker, Duration lease,
                                 const ActivityRenewal& item);
/// Of those in the space, like the next two.
std::vector<CancelRecord> cancel_records(Transaction& tx, WorkerKey worker);
void acknowledge_cancel(Transaction& tx, const CancelAcknowledgement& item);
std::vector<QueueDepth> queue_depths(Transaction& tx);

// ---- session_calls.cpp ---------------------------------------------------------------------------

StoreResult<Acquired> acquire_session(Transaction& tx, WorkerKey worker, const Abilities& abilities,
                                      std::string_view id, const SessionPolicy& policy);
StoreResult<void> renew_session(Transaction& tx, WorkerKey worker, const SessionRenewal& item);
StoreResult<void> release_session(Transaction& tx, WorkerKey worker, const SessionRelease& item);
StoreResult<bool> close_session(Transaction& tx, std::string_view id, SessionReason reason);
/// With all workers in the space, when the wish names a node.
StoreResult<WishAnswer> ask_for_session(Transaction& tx, std::string_view id, const SessionWish& wish);
std::vector<WantedSession> wanted_sessions(const Transaction& tx, WorkerKey worker);
void acknowledge_end(Transaction& tx, WorkerKey worker, const SessionHold& hold);
StoreResult<bool> discard_session_state(Transaction& tx, std::string_view id);
StoreResult<void> fail_session(Transaction& tx, WorkerKey worker, const SessionHold& hold,
                               SessionReason reason);
StoreResult<SessionView> session(Transaction& tx, std::string_view id, Saved saved);

// ---- clients.cpp ---------------------------------------------------------------------------------

StoreResult<StartAnswer> start(Transaction& tx, const StartRequest& request);
StoreResult<InstanceKey> send(Transaction& tx, const ClientMessage& item);
StoreResult<InstanceKey> set_suspended(Transaction& tx, const Suspension& wish);
StoreResult<InstanceView> find(Transaction& tx, std::string_view instance);
std::optional<InstanceView> look(Transaction& tx, InstanceKey key);
/// Its activities, cancel records and children are those in the space.
StoreResult<InstanceDetail> describe(Transaction& tx, std::string_view instance);
/// By the history in the space.
StoreResult<std::vector<ExecutionView>> executions(Transaction& tx, InstanceKey key);
StoreResult<std::optional<std::string>> value(Transaction& tx, std::string_view instance,
                                              std::string_view key);
StoreResult<void> delete_instance(Transaction& tx, const Deletion& deletion);
/// Executions whose history goes: from `first` on, and before `end`.
struct Pruned {
  Instance* instance = nullptr;
  ExecutionNumber first{};
  ExecutionNumber end{};
};
/// All but the last `keep`; the current one stays.
StoreResult<Pruned> to_prune(Transaction& tx, std::string_view instance, std::uint64_t keep);
/// One that is over.
StoreResult<Pruned> to_prune(Transaction& tx, std::string_view instance, ExecutionNumber execution);

// ---- sweep.cpp -----------------------------------------------------------------------------------

/// Since when the sweeps of one store see that somebody is late.
struct Lateness {
  BootTime since{};
  BootTime last{};
};
/// Of a `fail` session whose lease is over.
struct Lapse {
  Generation generation{};
  BootTime lease_until{};
  Lateness late{};
};
/// Of a worker without a sign of life.
struct Silence {
  BootTime heard{};
  Lateness late{};
};
/// What the sweeps of one store have seen; to be cleared when one of its calls may not have reached the data.
struct Lapses {
  std::map<std::string, Lapse, std::less<>> sessions{};
  std::map<WorkerKey, Silence> workers{};
  void clear() noexcept {
    sessions.clear();
    workers.clear();
  }
};

/// When the worker will have given no sign of life for too long.
[[nodiscard]] BootTime stale_at(const Worker& worker, const SweepRequest& request);
/// Those of the workers in the space that a sweep would leave registered, and with them what they own.
[[nodiscard]] std::vector<WorkerKey> staying(Transaction& tx, const SweepRequest& request, Lapses& lapses);
/// Of what is in the space.
Swept sweep(Transaction& tx, const SweepRequest& request, Lapses& lapses);

// ---- views.cpp -----------------------------------------------------------------------------------

/// All that is in the space.
StoreState state(Transaction& tx);

}  // namespace holdfast::rules
