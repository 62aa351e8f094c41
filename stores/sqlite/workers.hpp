// Processes that run turns and activities: how they join and leave.
#pragma once

#include "transaction.hpp"

#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::sqlite_store {

StoreResult<WorkerKey> join(Transaction& tx, const store::WorkerInfo& info);
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
std::optional<SignOfLife> sign_of_life(Transaction& tx, WorkerKey worker);

struct LiveWorker {
  WorkerKey key{};
  store::WorkerInfo info{};
};
/// Those that may take new work.
std::vector<LiveWorker> live_workers(Transaction& tx);
std::size_t count_live_workers(Transaction& tx);

}  // namespace holdfast::sqlite_store
