// Starts: what a client asks the store for, and what it says when that is refused.
#pragma once

#include "client/core.hpp"
#include "codec/history.hpp"

#include <holdfast/client.hpp>
#include <holdfast/store.hpp>

#include <optional>
#include <string_view>

namespace holdfast::client {

/// Throws for what is wrong with the call itself.
store::StartRequest start_request(detail::ClientCore& core, std::string_view orchestration,
                                  const StartOptions& options, Payload input);

/// `answer`: what the store said the first time. It is asked again while it can't answer.
InstanceKey start(detail::ClientCore& core, const store::StartRequest& request,
                  StoreResult<store::StartAnswer> answer);

/// What an instance was started with: what stands at the beginning of its first execution. Nothing when its
/// history has been pruned, or it was ended before it began. Throws ClientError: damaged.
StoreResult<std::optional<history::Started>> beginning_of(Store& store, const store::InstanceView& view);

/// Says what stands in the way. The store is asked once: the thread that asks has other calls to make.
[[noreturn]] void refuse_at_once(Store& store, const store::StartRequest& request, const StoreError& error);

}  // namespace holdfast::client
