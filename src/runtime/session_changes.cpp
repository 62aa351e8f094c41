#include "runtime/session_changes.hpp"

#include <holdfast/log.hpp>

#include <chrono>
#include <string_view>

namespace holdfast::runtime {

namespace {

void say_came(Logger& logger, const SessionChange& change, std::string_view said) {
  log(logger, LogLevel::info, said,
      {{"session", change.hold.id},
       {"generation", change.hold.generation.value},
       {"from", change.from},
       {"reason", to_string(change.reason)},
       {"saved_bytes", change.saved_bytes}});
}

void say_left(Logger& logger, const SessionChange& change) {
  log(logger, LogLevel::info, "a session has left this worker",
      {{"session", change.hold.id},
       {"generation", change.hold.generation.value},
       {"reason", to_string(change.reason)},
       {"quiet_ms", std::chrono::duration_cast<std::chrono::milliseconds>(change.quiet).count()}});
}

void say_plain(Logger& logger, LogLevel level, const SessionChange& change, std::string_view said) {
  log(logger, level, said, {{"session", change.hold.id}, {"generation", change.hold.generation.value}});
}

void say_error(Logger& logger, LogLevel level, const SessionChange& change, std::string_view said) {
  log(logger, level, said,
      {{"session", change.hold.id}, {"generation", change.hold.generation.value}, {"error", change.error}});
}

}  // namespace

void say(const Settings& settings, const SessionChange& change) {
  Logger& logger = *settings.logger;
  using Kind = SessionChange::Kind;
  switch (change.kind) {
    case Kind::claimed:
      return say_came(logger, change, "session claimed");
    case Kind::came:
      return say_came(logger, change, "a session has come from another worker");
    case Kind::reclaimed:
      return say_plain(logger, LogLevel::info, change, "session re-claimed; what is in memory stays");
    case Kind::lapsed:
      return say_plain(logger, LogLevel::warn, change,
                       "the lease of a session is over; another worker may claim it");
    case Kind::overdue:
      return say_plain(logger, LogLevel::warn, change,
                       "the lease of a session could not be kept; nothing of it is begun until it is");
    case Kind::left:
      return say_left(logger, change);
    case Kind::asked_for:
      return say_plain(logger, LogLevel::info, change,
                       "an operator asked for a session; it is released when none of its activities runs");
    case Kind::not_releasable:
      return say_error(logger, LogLevel::warn, change,
                       "a session that an operator asked for can't be released; close it to end it");
    case Kind::stranded:
      return say_error(logger, LogLevel::warn, change,
                       "a session has work that this worker has no code for, and can't go to a worker that "
                       "has; close it to "
                       "end that work");
    case Kind::released_unsaved:
      return say_error(
          logger, LogLevel::error, change,
          "a session is released without being saved: changes since its state was saved last are lost");
  }
}

}  // namespace holdfast::runtime
