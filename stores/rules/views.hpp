// Rows as others see them.
#pragma once

#include "transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::rules {

[[nodiscard]] WorkerView view(const Transaction& tx, const Worker& worker);
[[nodiscard]] ActivityView view(const Transaction& tx, const Activity& activity);
[[nodiscard]] CancelRecord view(const Transaction& tx, const Cancel& cancel);
[[nodiscard]] SessionView view(const Transaction& tx, const Session& session, Saved saved);
/// The worker is not registered, or has given no sign of life for so long that it counts as dead.
[[nodiscard]] bool is_gone(const Transaction& tx, WorkerKey owner);
[[nodiscard]] InstanceDetail detail_of(const Transaction& tx, const Instance& instance);

// ---- lists ---------------------------------------------------------------------------------------

// Stores find candidates; what a list has of them, and what a filter takes, is said here.

[[nodiscard]] bool takes(const Transaction& tx, const SessionFilter& filter, const Session& session);
/// Counts so many sessions of one owner that are in one state.
void count(const Transaction& tx, SessionCounts& counts, SessionStatus state, WorkerKey owner,
           std::uint64_t how_many);
/// Those that have a history. The current one is there from its first moment on.
[[nodiscard]] std::vector<ExecutionView> with_current(std::vector<ExecutionView> recorded,
                                                      const Instance& instance);
/// Of those in the space.
[[nodiscard]] StatusCounts count_by_status(const Transaction& tx);
/// Says how many there are of what a store has counted and not brought.
void add_counts(InstanceDetail& detail, std::uint64_t unread, std::uint64_t open_children,
                std::vector<std::string> value_keys);

}  // namespace holdfast::rules
