// Calls that look for rows before the rules do something with them.
#pragma once

#include "stores/rules/asks.hpp"
#include "stores/rules/calls.hpp"
#include "working_set.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

// ---- fetch_turns.cpp -----------------------------------------------------------------------------

StoreResult<store::FetchedTurns> fetch_turns(WorkingSet& set, const store::TurnRequest& request);
std::uint64_t wake_parked(WorkingSet& set, const store::Code& code);

// ---- fetch_activities.cpp ------------------------------------------------------------------------

StoreResult<store::FetchedActivities> fetch_activities(WorkingSet& set,
                                                       const store::ActivityRequest& request);
StoreResult<void> release_session(WorkingSet& set, WorkerKey worker, const store::SessionRelease& item);

// ---- asks.cpp ------------------------------------------------------------------------------------

/// The questions of a namespace, for one call. What it changes is written by write_back().
class AskRows {
 public:
  explicit AskRows(WorkingSet& set);
  rules::Asks& rows() noexcept { return rows_; }
  void write_back();

 private:
  WorkingSet& set_;
  rules::Asks rows_{};
  rules::Asks in_table_{};
};
bool is_anything_asked(WorkingSet& set);

// ---- sweep.cpp -----------------------------------------------------------------------------------

store::Swept sweep(WorkingSet& set, const store::SweepRequest& request, rules::Lapses& lapses);

// ---- views.cpp -----------------------------------------------------------------------------------

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
StoreResult<std::uint64_t> prune_executions(WorkingSet& set, std::string_view instance, std::uint64_t keep);
StoreResult<bool> prune_execution(WorkingSet& set, std::string_view instance, ExecutionNumber execution);
store::StoreState state(WorkingSet& set);

}  // namespace holdfast::sqlite_store
