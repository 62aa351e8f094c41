#include "runtime/abandoned.hpp"

#include "runtime/activity_line.hpp"

namespace holdfast::runtime {

void AbandonedCalls::add(const detail::ActivityCall& call) {
  const bool had_too_many = too_many();
  calls_.insert(&call);
  if (!call.can_be_ended()) ++threads_;
  settings_.counters.abandoned.add();
  settings_.counters.abandoned_now.add(1);
  log_activity(*settings_.logger, LogLevel::warn,
               "activity goes on after its grace; its slot is given to others", call.locked(),
               {{"abandoned", calls_.size()}});
  if (had_too_many || !too_many()) return;
  settings_.counters.refusing.add(1);
  log(*settings_.logger, LogLevel::error,
      "this worker begins no more activities: too many ignore that they were asked to stop; restart it, and "
      "make them heed their stop token",
      {{"abandoned", threads_}, {"max_abandoned", settings_.options.max_abandoned}});
}

bool AbandonedCalls::remove(const detail::ActivityCall& call) {
  const bool had_too_many = too_many();
  if (calls_.erase(&call) == 0) return false;
  if (!call.can_be_ended()) --threads_;
  settings_.counters.abandoned_now.add(-1);
  log_activity(*settings_.logger, LogLevel::info, "an abandoned activity has ended", call.locked(),
               {{"abandoned", calls_.size()}});
  if (had_too_many && !too_many()) {
    settings_.counters.refusing.add(-1);
    log(*settings_.logger, LogLevel::info, "this worker begins activities again");
  }
  return true;
}

}  // namespace holdfast::runtime
