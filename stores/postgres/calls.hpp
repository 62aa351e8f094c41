// Calls that look for rows in their own way: what is fetched, swept and shown.
#pragma once

#include "look_again.hpp"
#include "stores/rules/asks.hpp"
#include "stores/rules/calls.hpp"
#include "working_set.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres_store {

// ---- in transactions that write ------------------------------------------------------------------

/// What a commit will ask for.
void want_for_commit(WorkingSet& set, const store::CommitRequest& request, const store::TurnCommit& commit);
void want_for_start(WorkingSet& set, const store::StartRequest& request);
void want_for_send(WorkingSet& set, const store::ClientMessage& message);
void want_for_finish(WorkingSet& set, const store::ActivityResult& result);

/// Brings the session that a worker without room could make room for, if nobody else has locked it.
void bring_next_in_line(WorkingSet& set, WorkerKey worker);

// These begin with an empty set, and leave it written and empty.
StoreResult<store::FetchedTurns> fetch_turns(WorkingSet& set, const store::TurnRequest& request,
                                             LookAgain& look_again);
StoreResult<store::FetchedActivities> fetch_activities(WorkingSet& set, const store::ActivityRequest& request,
                                                       LookAgain& look_again);
/// Some of those that are parked, by key.
struct WokenSlice {
  std::uint64_t woken = 0;
  std::optional<InstanceKey> last{};  ///< the next slice begins after it, if there is one
};
WokenSlice wake_parked(WorkingSet& set, const store::Code& code, InstanceKey after);
store::Swept sweep(WorkingSet& set, const store::SweepRequest& request, rules::Lapses& lapses);

StoreResult<std::uint64_t> prune_executions(WorkingSet& set, std::string_view instance, std::uint64_t keep);
StoreResult<bool> prune_execution(WorkingSet& set, std::string_view instance, ExecutionNumber execution);

// ---- asks.cpp ------------------------------------------------------------------------------------

/// The questions of a namespace, for one call. Where they may be changed they are locked, and what has
/// changed is written by write_back().
class AskRows {
 public:
  AskRows(WorkingSet& set, Access access);
  rules::Asks& rows() noexcept { return rows_; }
  void write_back();

 private:
  WorkingSet& set_;
  rules::Asks rows_{};
  rules::Asks in_table_{};
};
bool is_anything_asked(WorkingSet& set);

// ---- in transactions that read -------------------------------------------------------------------

std::vector<store::WorkerView> view_workers(WorkingSet& set);
StoreResult<std::vector<store::Segment>> read_history(WorkingSet& set, InstanceKey key,
                                                      ExecutionNumber execution, EventId after,
                                                      std::size_t max_bytes);
std::vector<store::CancelRecord> view_cancels(WorkingSet& set, WorkerKey worker);
std::vector<store::QueueDepth> view_queues(WorkingSet& set);
std::vector<store::SessionView> view_sessions(WorkingSet& set, const store::SessionFilter& filter);
store::SessionCounts count_sessions(WorkingSet& set);
std::vector<store::WantedSession> wanted_sessions(WorkingSet& set, WorkerKey worker);
std::vector<store::SessionLogEntry> view_session_log(WorkingSet& set, std::string_view id,
                                                     std::uint64_t after, std::size_t limit);
StoreResult<store::InstanceView> find(WorkingSet& set, std::string_view instance);
std::vector<std::optional<store::InstanceView>> look(WorkingSet& set, std::span<const InstanceKey> keys);
StoreResult<store::InstanceDetail> describe(WorkingSet& set, std::string_view instance);
store::InstancePage list(WorkingSet& set, const store::InstanceFilter& filter);
store::InstanceCount count(WorkingSet& set, const store::InstanceFilter& filter);
store::StatusCounts count_by_status(WorkingSet& set);
StoreResult<std::vector<store::ExecutionView>> executions(WorkingSet& set, InstanceKey key);
std::vector<store::SetAsideRow> view_set_aside(WorkingSet& set, std::uint64_t after, std::size_t limit);
store::StoreState state(WorkingSet& set);

}  // namespace holdfast::postgres_store
