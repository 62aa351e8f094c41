// The migrations of the store: which there are, and who is in the way of a long one.
#pragma once

#include "migrations.hpp"

#include <holdfast/clock.hpp>

namespace holdfast::sqlite_store {

/// `clock` outlives the plan.
MigrationPlan store_plan(const Clock& clock);

/// Workers that were heard of within the last minute, in all namespaces. Inside a write transaction.
std::int64_t live_engines(Connection& database, const Clock& clock);

}  // namespace holdfast::sqlite_store
