// Requests of clients that took effect, and what they were answered: sent messages, and starts of instances
// that are gone. As long as an instance is there, its own row knows the request that started it.
#pragma once

#include "transaction.hpp"

#include <optional>

namespace holdfast::sqlite_store {

/// What the request was answered when it took effect, if it did; nothing for no request.
std::optional<InstanceKey> answer_of(Transaction& tx, RequestId request);

/// The request took effect. Sweeps forget it once `SweepRequest::request_retention` is over.
void remember_request(Transaction& tx, RequestId request, InstanceKey answer);
/// The same for the request that started an instance, if one did, which is about to go.
void remember_start(Transaction& tx, InstanceKey key);

}  // namespace holdfast::sqlite_store
