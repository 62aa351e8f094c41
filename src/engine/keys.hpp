// Keys: 128 bits that name what an execution asks of others. They follow from its seed and from what is
// asked, at which event, and from nothing else: neither from the store, nor from its counters, nor from the
// number of the execution. So a store that was restored and goes on as before gives an effect the same key
// again, and one that goes another way gives it another key.
#pragma once

#include "codec/operation.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>

#include <string_view>

namespace holdfast::engine {

/// Of what is started by the event `id`: an activity, a child or a detached orchestration. Empty for all
/// else.
OperationKey key_of(Seed seed, EventId id, const detail::Operation& operation);

/// The seed of the execution that follows on one that ended before the event `next`.
Seed seed_of_successor(Seed seed, EventId next, std::string_view version, const Payload& input);

}  // namespace holdfast::engine
