// What a worker says of its activities: the lines, and what is counted with them.
#pragma once

#include "runtime/abandoned.hpp"
#include "runtime/calls.hpp"
#include "runtime/settings.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/activities.hpp>

#include <cstdint>
#include <optional>

namespace holdfast::runtime {

// The logger is code of the user: none of these is called with a mutex held.

/// `late` is the time since the commit that took it away, where that is known.
void say_asked_to_stop(const Settings& settings, const detail::ActivityCall& call, CancelReason reason,
                       std::optional<Duration> late);

/// What becomes of what the code returned or threw.
enum class Fate : std::uint8_t { counts, dropped, failure_dropped };
void say_stopped(const Settings& settings, const detail::ActivityCall& call, CancelReason reason, Fate fate);

/// It failed, and is tried again or not.
void say_failed(const Settings& settings, const store::LockedActivity& activity, const Failure& failure,
                std::optional<Duration> retry_in);

/// Its code goes on after its grace; or has ended after all.
void say_abandoned(const Settings& settings, const detail::ActivityCall& call,
                   const AbandonedCalls::Change& change);
void say_came_back(const Settings& settings, const detail::ActivityCall& call,
                   const AbandonedCalls::Change& change);

}  // namespace holdfast::runtime
