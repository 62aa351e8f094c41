// Rules that stores with SQL tell the database as well: sets of kinds and states, each defined once, and
// their text. Columns have the same names in all stores; `now` is how a statement names its parameter.
#pragma once

#include "rows.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace holdfast::rules {

// ---- messages ------------------------------------------------------------------------------------

/// What ends with its execution: outcomes, timers and answers, whichever execution they name.
inline constexpr std::array kOfExecution{MessageKind::outcome, MessageKind::timer, MessageKind::taken,
                                         MessageKind::value, MessageKind::session};
[[nodiscard]] constexpr bool belongs_to_execution(MessageKind kind) noexcept {
  return std::ranges::find(kOfExecution, kind) != kOfExecution.end();
}
static_assert(std::ranges::none_of(kOfExecution, [](MessageKind kind) { return waits_for_code(kind); }),
              "stores look for these among the messages that wait for no code");

/// What ends with its instance: all but starts, which begin its next life. The same are unread messages.
[[nodiscard]] constexpr bool ends_with_instance(MessageKind kind) noexcept {
  return kind != MessageKind::start;
}

// ---- their text ----------------------------------------------------------------------------------

/// A kind or a state as it stands in a column.
template <class Enum>
std::string number(Enum value) {
  return std::to_string(static_cast<int>(value));
}

/// belongs_to_execution(), of a message.
inline std::string is_of_execution() {
  std::string numbers;
  for (const MessageKind kind : kOfExecution) numbers += (numbers.empty() ? "" : ", ") + number(kind);
  return "kind IN (" + numbers + ")";
}

/// ends_with_instance(), of a message.
inline std::string is_no_start() { return "kind <> " + number(MessageKind::start); }

/// Not has_ended(), of the status of an instance.
inline std::string is_open(std::string_view status) {
  constexpr InstanceStatus kFirst = InstanceStatus::completed;
  static_assert(has_ended(kFirst) && has_ended(InstanceStatus::failed) &&
                    has_ended(InstanceStatus::cancelled) && has_ended(InstanceStatus::terminated),
                "all from here on have ended");
  static_assert(!has_ended(InstanceStatus::running) && !has_ended(InstanceStatus::suspended) &&
                    !has_ended(InstanceStatus::parked) &&
                    InstanceStatus::parked == static_cast<InstanceStatus>(static_cast<int>(kFirst) - 1),
                "none before it has");
  return std::string(status) + " < " + number(kFirst);
}

/// Cancel::may_still_run(); `of` is what comes before its columns.
inline std::string may_still_run(const std::string& of, const std::string& now) {
  return of + "state <> " + number(CancelRecord::State::acknowledged) + " AND " + of + "until > " + now;
}

/// Its code has not ended yet, of a cancel: what cancel_records() gives its worker.
inline std::string is_requested(const std::string& of) {
  return of + "state = " + number(CancelRecord::State::requested);
}

/// state_of(), of a session.
inline std::string session_state(const std::string& now) {
  return "coalesce(ended, CASE WHEN worker = 0 THEN " + number(SessionStatus::unclaimed) +
         " WHEN lease_until > " + now + " THEN " + number(SessionStatus::active) + " ELSE " +
         number(SessionStatus::lapsed) + " END)";
}

}  // namespace holdfast::rules
