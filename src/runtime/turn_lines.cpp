#include "runtime/turn_lines.hpp"

#include <string>
#include <utility>
#include <variant>

namespace holdfast::runtime {

namespace {

void say_failed(const Settings& settings, const PreparedTurn& turn, const store::TurnCommit& commit) {
  const CachedInstance& instance = *turn.taken.instance;
  const bool ended = std::holds_alternative<store::InstanceEnd>(commit.end);
  log(*settings.logger, LogLevel::warn,
      ended ? "instance failed" : "an attempt of an instance failed; its next execution tries again",
      {{"instance", instance.id},
       {"orchestration", instance.code.name},
       {"execution", commit.execution.value},
       {"type", turn.failure->type},
       {"failure", turn.failure->message}});
}

// What its code sent. Answers to parents, and requests to children that end with it, may go nowhere.
void say_dropped(const Settings& settings, const CachedInstance& instance, const store::TurnCommit& commit,
                 const store::Committed& committed) {
  for (const std::size_t index : committed.dropped) {
    const store::Outgoing& dropped = commit.messages[index];
    const bool sent = dropped.cancels || dropped.message.kind == store::MessageKind::delivery;
    if (!sent) continue;
    log(*settings.logger, LogLevel::warn,
        "a message of an instance is dropped: its target has ended, or doesn't exist",
        {{"instance", instance.id},
         {"to", dropped.instance},
         {"what",
          dropped.cancels ? std::string_view("cancel") : std::string_view(dropped.message.address.name)}});
  }
}

void say_refused_launches(const Settings& settings, const PreparedTurn& turn) {
  for (const bodies::Start& refused : turn.incoming.refused_starts) {
    if (refused.launched_by.empty()) continue;
    log(*settings.logger, LogLevel::warn, "an orchestration is not launched: its id is taken",
        {{"instance", refused.launched_by},
         {"id", turn.taken.instance->id},
         {"orchestration", refused.started.name}});
  }
}

}  // namespace

void say_taken_over(const Settings& settings, const store::LockedTurn& turn) {
  if (turn.held || turn.delivery <= 1) return;
  log(*settings.logger, LogLevel::warn,
      "instance taken over: the worker that had it committed nothing before its lease was over",
      {{"instance", turn.instance}, {"orchestration", turn.code.name}, {"delivery", turn.delivery}});
}

void say_suspect(const Settings& settings, const store::LockedTurn& turn) {
  log(*settings.logger, LogLevel::warn, "an instance is run by itself: it may crash its worker",
      {{"instance", turn.instance}, {"orchestration", turn.code.name}, {"delivery", turn.delivery}});
}

void say_outcome(const Settings& settings, const CachedInstance& instance, const engine::Outcome& outcome) {
  for (const engine::Unreadable& message : outcome.unreadable) {
    const bool event = message.address.kind == Address::Kind::event;
    log(*settings.logger, LogLevel::error,
        event ? "an event can't be read as what the code waits for; it is set aside"
              : "a message can't be read as what the code waits for; it is set aside",
        {{"instance", instance.id},
         {"orchestration", instance.code.name},
         {event ? "event" : "mailbox", message.address.name},
         {"why", message.failure.message}});
  }
  for (const std::string& near : outcome.near_limits) {
    settings.counters.near_limits.add();
    log(*settings.logger, LogLevel::warn, "instance approaching its limit",
        {{"instance", instance.id}, {"orchestration", instance.code.name}, {"what", near}});
  }
}

void say_committed(const Settings& settings, const PreparedTurn& turn, const store::TurnCommit& commit,
                   const store::Committed& committed) {
  if (turn.failure) say_failed(settings, turn, commit);
  say_dropped(settings, *turn.taken.instance, commit, committed);
  say_refused_launches(settings, turn);
}

void say_parked(const Settings& settings, const CachedInstance& instance, std::string_view why) {
  log(*settings.logger, LogLevel::error, "instance can't go on and is parked",
      {{"instance", instance.id}, {"orchestration", instance.code.name}, {"why", why}});
}

void say_left_to_others(const Settings& settings, const CachedInstance& instance,
                        std::string_view recorded_by, std::string_view why) {
  log(*settings.logger, LogLevel::warn,
      "instance does not fit the code of this build, and is left to another one that is at work",
      {{"instance", instance.id},
       {"orchestration", instance.code.name},
       {"build", settings.options.build},
       {"recorded_by", recorded_by},
       {"why", why}});
}

void say_overdue(const Settings& settings, const CachedInstance& instance, int stuck) {
  log(*settings.logger, LogLevel::error,
      "a turn has not come back within turn_time_limit: code of orchestrations must not block or compute for "
      "long; its instance is parked, its thread is left to it",
      {{"instance", instance.id}, {"orchestration", instance.code.name}});
  if (!std::cmp_greater(stuck, settings.options.max_abandoned)) return;
  log(*settings.logger, LogLevel::error,
      "its thread is not replaced: too many are stuck in turns; restart this worker",
      {{"stuck", stuck}, {"max_abandoned", settings.options.max_abandoned}});
}

void say_overdue_elsewhere(const Settings& settings, const CachedInstance& instance, const FrameHome& home) {
  log(*settings.logger, LogLevel::error,
      "a turn has not come back within turn_time_limit: code of orchestrations must not block or compute for "
      "long; its instance is parked, and its executor gets no turns until it comes back",
      {{"instance", instance.id}, {"orchestration", instance.code.name}, {"executor", home.name()}});
}

void say_away(const Settings& settings, const FrameHome& home) {
  log(*settings.logger, LogLevel::error,
      "an executor of orchestrations has not begun with its turns within turn_time_limit: they are left to "
      "other workers, and it gets no more until it does",
      {{"executor", home.name()}});
}

void say_back(const Settings& settings, const FrameHome& home) {
  log(*settings.logger, LogLevel::info,
      "an executor of orchestrations has come back; what it did late is dropped",
      {{"executor", home.name()}});
}

void say_gone(const Settings& settings, const FrameHome& home) {
  log(*settings.logger, LogLevel::error,
      "an executor of orchestrations takes nothing more: this worker runs no more turns of its code",
      {{"executor", home.name()}});
}

}  // namespace holdfast::runtime
