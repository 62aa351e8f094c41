// What clients ask for, inside a transaction.
#pragma once

#include "instances.hpp"
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

/// Keeps a message until lease time has come to `visible`.
void deliver_at(Transaction& tx, InstanceKey key, LeaseTime visible, const Letter& letter);

StoreResult<store::StartAnswer> start(Transaction& tx, const store::StartRequest& request);

}  // namespace holdfast::sqlite_store
