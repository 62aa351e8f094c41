// What ends without an outcome, and why.
#pragma once

#include "codec/operation.hpp"
#include "engine/turn.hpp"

#include <cstdint>
#include <string>

namespace holdfast::engine {

/// The activity's name, the child's id, the event's name, ...: what Cancel::label has.
std::string label_of(const detail::Operation& operation);

/// Whether there is anything to stop when an operation of this kind is given up. What was asked of others
/// takes effect, also when nobody waits for the answer any more.
bool is_cancellable(std::uint8_t kind) noexcept;

/// Whether a request to cancel leaves it alone, and it does something for others that nobody has to wait for.
bool outlasts_request(const detail::Operation& operation) noexcept;

/// Why what is still open at this end is cancelled.
history::CancelReason reason_of(const End& end) noexcept;

}  // namespace holdfast::engine
