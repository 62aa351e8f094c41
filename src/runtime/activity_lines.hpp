// What a worker says of its activities: the lines, and what is counted with them.
#pragma once

#include "runtime/abandoned.hpp"
#include "runtime/calls.hpp"
#include "runtime/settings.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/activities.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

// The logger is code of the user: none of these is called with a mutex held.

/// Names its instance, its name, the event that scheduled it, the attempt, and its session if it has one;
/// then comes what else is to be said.
inline void log_activity(Logger& logger, LogLevel level, std::string_view message,
                         const store::LockedActivity& activity, std::initializer_list<LogField> more = {}) {
  if (!logger.enabled(level)) return;
  std::vector<LogField> fields{{"instance", activity.instance},
                               {"activity", activity.name},
                               {"event", activity.id.event.value},
                               {"attempt", activity.attempt}};
  if (activity.session) fields.push_back({"session", activity.session->hold.id});
  fields.insert(fields.end(), more.begin(), more.end());
  logger.write({level, logger.clock().calendar_now(), message, fields});
}

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
