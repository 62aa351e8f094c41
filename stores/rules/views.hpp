// Rows as others see them.
#pragma once

#include "transaction.hpp"

namespace holdfast::rules {

[[nodiscard]] WorkerView view(const Transaction& tx, const Worker& worker);
[[nodiscard]] ActivityView view(const Transaction& tx, const Activity& activity);
[[nodiscard]] CancelRecord view(const Transaction& tx, const Cancel& cancel);
[[nodiscard]] SessionView view(const Transaction& tx, const Session& session, Saved saved);
/// The worker is not registered, or has given no sign of life for so long that it counts as dead.
[[nodiscard]] bool is_gone(const Transaction& tx, WorkerKey owner);
/// The lease of the session is over, and its owner is gone.
[[nodiscard]] bool is_orphaned(const Transaction& tx, const Session& session);
[[nodiscard]] InstanceDetail detail_of(const Transaction& tx, const Instance& instance);

}  // namespace holdfast::rules
