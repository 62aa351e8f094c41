// Lines about activities, with all that tells one from another.
#pragma once

#include <holdfast/log.hpp>
#include <holdfast/store/activities.hpp>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

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

}  // namespace holdfast::runtime
