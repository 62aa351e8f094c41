// Processes that run turns and activities: how they join and leave.
#pragma once

#include "transaction.hpp"

#include <holdfast/store/workers.hpp>

namespace holdfast::sqlite_store {

StoreResult<WorkerKey> join(Transaction& tx, const store::WorkerInfo& info);

}  // namespace holdfast::sqlite_store
