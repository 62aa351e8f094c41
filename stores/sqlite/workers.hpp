// Processes that run turns and activities: how they join and leave.
#pragma once

#include "transaction.hpp"

#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::sqlite_store {

StoreResult<WorkerKey> join(Transaction& tx, const store::NewWorker& info);
StoreResult<void> refresh(Transaction& tx, WorkerKey worker, bool draining);
StoreResult<void> leave(Transaction& tx, WorkerKey worker);
StoreResult<std::vector<store::WorkerView>> view_workers(Transaction& tx);

/// When a worker was heard of last, and how long it may be silent, if it says so.
struct SignOfLife {
  WorkerKey worker{};
  LeaseTime seen = 0;
  std::optional<Duration> stale_after{};
};
/// Of all that are registered.
std::vector<SignOfLife> signs_of_life(Transaction& tx);

struct LiveWorker {
  WorkerKey key{};
  store::NewWorker info{};
  LeaseTime seen = 0;
};
/// Those that may take new work.
std::vector<LiveWorker> live_workers(Transaction& tx);
/// Those of them that have given a sign of life in time: who looks at workers is not misled by those that
/// died, and that no sweep has removed yet.
std::vector<LiveWorker> present_workers(Transaction& tx);
/// Whether a worker counts as dead by its last sign of life, or is not registered.
bool is_stale(Transaction& tx, WorkerKey worker);
std::size_t count_live_workers(Transaction& tx);

}  // namespace holdfast::sqlite_store
