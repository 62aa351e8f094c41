// What clients ask for, inside a transaction.
#pragma once

#include "messages.hpp"
#include "transaction.hpp"

#include <holdfast/store/instances.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

struct Birth {
  std::string_view name{};
  const store::CodeVersion* code = nullptr;
  std::string_view body{};  ///< of the start message
  InstanceKey parent{};
  RequestId request{};
  Fingerprint fingerprint{};
  Duration delay{};  ///< of the start message
};

/// A new life of an id, with its start message and what was sent to it early. Nothing, and nothing done, when
/// the id exists.
std::optional<InstanceKey> create_instance(Transaction& tx, const Birth& birth);

StoreResult<store::StartAnswer> start(Transaction& tx, const store::StartRequest& request);
StoreResult<InstanceKey> send(Transaction& tx, const store::ClientMessage& message);
StoreResult<void> delete_instance(Transaction& tx, std::string_view instance, bool force, InstanceKey life);
StoreResult<std::uint64_t> prune_executions(Transaction& tx, std::string_view instance, std::uint64_t keep);
StoreResult<bool> prune_execution(Transaction& tx, std::string_view instance, ExecutionNumber execution);

/// Removes an instance and all that belongs to it. Long histories are left to sweeps.
void remove_instance(Transaction& tx, InstanceKey key);

}  // namespace holdfast::sqlite_store
