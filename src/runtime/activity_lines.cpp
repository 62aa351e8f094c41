#include "runtime/activity_lines.hpp"

#include <chrono>
#include <string_view>

namespace holdfast::runtime {

void say_asked_to_stop(const Settings& settings, const detail::ActivityCall& call, CancelReason reason,
                       std::optional<Duration> late) {
  settings.counters.asked_to_stop.add();
  if (late) settings.counters.cancel_seconds.observe(std::chrono::duration<double>(*late).count());
  constexpr std::string_view kSaid = "activity is asked to stop";
  const LogField why{"reason", to_string(reason)};
  if (!late) return log_activity(*settings.logger, LogLevel::info, kSaid, call.locked(), {why});
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(*late).count();
  log_activity(*settings.logger, LogLevel::info, kSaid, call.locked(), {why, {"after_us", us}});
}

void say_stopped(const Settings& settings, const detail::ActivityCall& call, CancelReason reason, Fate fate) {
  settings.counters.stopped.add();
  const bool too_late = fate == Fate::dropped && reason == CancelReason::lease_lost;
  std::string_view said = "activity has ended within its grace";
  if (fate == Fate::failure_dropped)
    said = "activity failed while it was asked to stop; its failure is dropped";
  if (too_late) said = "activity has ended after another worker had taken it; its result is dropped";
  const bool warns = fate == Fate::failure_dropped || too_late;
  log_activity(*settings.logger, warns ? LogLevel::warn : LogLevel::info, said, call.locked(),
               {{"reason", to_string(reason)}});
}

void say_failed(const Settings& settings, const store::LockedActivity& activity, const Failure& failure,
                std::optional<Duration> retry_in) {
  (retry_in ? settings.counters.activities_retried : settings.counters.activities_failed).add();
  const LogField type{"type", failure.type};
  const LogField message{"failure", failure.message};
  if (!retry_in) {
    return log_activity(*settings.logger, LogLevel::warn, "activity failed for good", activity,
                        {type, message});
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*retry_in).count();
  log_activity(*settings.logger, LogLevel::warn, "attempt failed; it is retried", activity,
               {{"retry_in_ms", ms}, type, message});
}

void say_abandoned(const Settings& settings, const detail::ActivityCall& call,
                   const AbandonedCalls::Change& change) {
  settings.counters.abandoned.add();
  settings.counters.abandoned_now.add(1);
  log_activity(*settings.logger, LogLevel::warn,
               "activity goes on after its grace; its slot is given to others", call.locked(),
               {{"abandoned", change.calls}});
  if (!change.turned) return;
  settings.counters.refusing.add(1);
  log(*settings.logger, LogLevel::error,
      "this worker begins no more activities: too many ignore that they were asked to stop; restart it, and "
      "make them heed their stop token",
      {{"abandoned", change.threads}, {"max_abandoned", settings.options.max_abandoned}});
}

void say_came_back(const Settings& settings, const detail::ActivityCall& call,
                   const AbandonedCalls::Change& change) {
  settings.counters.abandoned_now.add(-1);
  log_activity(*settings.logger, LogLevel::info, "an abandoned activity has ended", call.locked(),
               {{"abandoned", change.calls}});
  if (!change.turned) return;
  settings.counters.refusing.add(-1);
  log(*settings.logger, LogLevel::info, "this worker begins activities again");
}

}  // namespace holdfast::runtime
