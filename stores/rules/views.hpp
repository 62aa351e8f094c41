// Rows as others see them.
#pragma once

#include "transaction.hpp"

namespace holdfast::rules {

[[nodiscard]] WorkerView view(const Transaction& tx, const Worker& worker);
[[nodiscard]] ActivityView view(const Transaction& tx, const Activity& activity);
[[nodiscard]] CancelRecord view(const Transaction& tx, const Cancel& cancel);
[[nodiscard]] SessionView view(const Transaction& tx, const Session& session, Saved saved);
[[nodiscard]] InstanceDetail detail_of(const Transaction& tx, const Instance& instance);

}  // namespace holdfast::rules
