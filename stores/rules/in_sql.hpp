// Rules that stores with SQL tell the database as well: sets of kinds and states, and what a sweep looks for,
// each defined once, and their text. Columns have the same names in all stores; `now` is how a statement
// names its parameter.
#pragma once

#include "rows.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace holdfast::rules {

// ---- messages ------------------------------------------------------------------------------------

/// What ends with its execution: outcomes, timers and answers, whichever execution they name.
inline constexpr std::array kOfExecution{MessageKind::outcome, MessageKind::timer,   MessageKind::taken,
                                         MessageKind::value,   MessageKind::session, MessageKind::ended};
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

// ---- what a sweep looks for ----------------------------------------------------------------------

/// How a statement of a sweep names what it knows of a session, a row called `s`.
struct SweptSession {
  std::string now{};
  // Parameters: what was left, or has ended, up to then is kept no more; see kept_until().
  std::string state{};   ///< with saved state
  std::string record{};  ///< on record
  std::string both{};    ///< on record, with saved state
  // Conditions.
  std::string has_saved{};
  std::string has_items{};  ///< activities
  std::string stays{};      ///< its owner is registered, and this sweep does not remove it: see staying()
};

/// left_at(), of a session.
inline std::string left_moment() {
  return "(CASE WHEN s.worker <> 0 OR s.lease_until > s.changed THEN s.lease_until ELSE s.changed END)";
}

/// A `fail` session whose lease is over. Sweeps have to see it for a while before it is lost.
inline std::string is_late(const SweptSession& session) {
  return "(s.ended IS NULL AND s.worker <> 0 AND NOT s.reclaim AND s.lease_until <= " + session.now + ")";
}

/// Something may have to be done with it now: it is expired, lost or removed, or its lease is ended.
inline std::string may_be_swept(const SweptSession& session) {
  const std::string now = session.now;
  const std::string left = left_moment();
  const std::string ends = "(s.ended IS NULL AND (s.ttl_until <= " + now + " OR " + is_late(session) +
                           " OR (s.worker <> 0 AND s.reclaim AND s.lease_until > " + now + " AND NOT " +
                           session.stays + ")))";
  const std::string nobody_needs_it =
      "(s.worker <> 0 OR (s.ttl_until = " + std::to_string(kNever.time_since_epoch().count()) +
      " AND NOT EXISTS (SELECT 1 FROM instances AS i WHERE i.key = s.opener AND " + is_open("i.status") +
      ")))";
  const std::string is_over =
      "(CASE WHEN s.ended IS NOT NULL THEN s.changed <= " + session.record + " WHEN " + session.stays +
      " THEN false WHEN s.on_record THEN " + nobody_needs_it + " AND " + left + " <= (CASE WHEN " +
      session.has_saved + " THEN " + session.both + " ELSE " + session.record + " END) ELSE " + left +
      " <= (CASE WHEN " + session.has_saved + " THEN " + session.state + " ELSE " + now + " END) END)";
  return "(" + ends + " OR (" + is_over + " AND NOT " + session.has_items + "))";
}

/// Of all sessions that may_be_swept() is not true of: since when the first of each kind is kept. For how
/// long, says kept_in_sweep(). What is kept for another reason may be among them, so the moment may be too
/// early.
inline std::string next_to_sweep(const SweptSession& session) {
  const std::string left = left_moment();
  const auto first = [](const std::string& since, const std::string& after, const std::string& among) {
    return "min(" + since + ") FILTER (WHERE " + among + " AND " + since + " > " + after + ")";
  };
  const std::string open = "s.ended IS NULL";
  const std::string saved = " AND " + session.has_saved;
  const std::string not_saved = " AND NOT " + session.has_saved;
  return first("s.ttl_until", session.now, open) + ", " +
         first("s.lease_until", session.now, open + " AND s.worker <> 0 AND NOT s.reclaim") + ", " +
         first(left, session.now, open + " AND s.worker = 0 AND NOT s.on_record" + not_saved) + ", " +
         first(left, session.state, open + " AND NOT s.on_record" + saved) + ", " +
         first("s.changed", session.record, "s.ended IS NOT NULL") + ", " +
         first(left, session.record, open + " AND s.on_record" + not_saved) + ", " +
         first(left, session.both, open + " AND s.on_record" + saved);
}

[[nodiscard]] inline std::array<Duration, 7> kept_in_sweep(const SweepRequest& request) {
  const Duration state = request.session_state_retention;
  const Duration record = request.session_record_retention;
  return {Duration{}, Duration{}, Duration{}, state, record, record, std::max(state, record)};
}

}  // namespace holdfast::rules
