// Whether and when a failed attempt is followed by another.
#pragma once

#include "codec/operation.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>
#include <holdfast/random.hpp>

#include <cstdint>
#include <optional>

namespace holdfast::runtime {

/// The delay before the next attempt, or nothing when `failure` is final. `attempt` is the one that failed,
/// `total_left` what is left of the activity's total deadline. What `policy` leaves open is taken from
/// `defaults`.
std::optional<Duration> retry_delay(const detail::RetrySettings& policy, const RetryPolicy& defaults,
                                    const Failure& failure, std::uint32_t attempt, Duration total_left,
                                    Random& random);

}  // namespace holdfast::runtime
