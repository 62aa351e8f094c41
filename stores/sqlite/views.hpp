// Rows as others see them.
#pragma once

#include "activities.hpp"
#include "messages.hpp"
#include "transaction.hpp"

#include <holdfast/store/instances.hpp>
#include <holdfast/store/state.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

std::optional<store::InstanceView> view_instance(Transaction& tx, InstanceKey key);
store::ActivityView view_activity(Transaction& tx, const Activity& activity);
std::vector<store::NewTimer> timers_of(Transaction& tx, InstanceKey key);
std::vector<Address> waits_of(const Instance& instance);
/// Both tables, by id. Those of one instance, or all of the namespace when `key` is 0.
std::vector<Activity> all_activities(Transaction& tx, InstanceKey key);

StoreResult<store::InstanceView> find(Transaction& tx, std::string_view instance);
StoreResult<store::InstanceDetail> describe(Transaction& tx, std::string_view instance);
StoreResult<store::InstancePage> list(Transaction& tx, const store::InstanceFilter& filter);
StoreResult<std::vector<store::ExecutionView>> executions(Transaction& tx, InstanceKey key);
StoreResult<std::optional<std::string>> value(Transaction& tx, std::string_view instance,
                                              std::string_view key);
StoreResult<std::vector<store::SetAsideRow>> view_set_aside(Transaction& tx, std::uint64_t after,
                                                            std::size_t limit);
StoreResult<std::vector<store::CancelRecord>> cancel_records(Transaction& tx, WorkerKey worker);
StoreResult<std::vector<store::QueueDepth>> queue_depths(Transaction& tx);
StoreResult<store::StoreState> state(Transaction& tx);

Unexpected<StoreError> no_instance(std::string_view id);
Unexpected<StoreError> no_instance(InstanceKey key);

}  // namespace holdfast::sqlite_store
