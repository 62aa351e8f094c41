// CancelReason: why something ends without an outcome of its own; CancelState: how far that is.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// Why an operation, or the activity behind it, was cancelled. The numbers are in histories and in stores:
/// new ones go to the end.
enum class CancelReason : std::uint8_t {
  dropped,              ///< the code no longer waits for it: it lost a race, timed out, or its scope ended
  cancel_requested,     ///< the instance was asked to stop
  execution_completed,  ///< the execution ended with it open, in one of these ways
  execution_failed,
  execution_cancelled,
  execution_terminated,
  continued_as_new,
  instance_deleted,
  session_lost,       ///< the session's owner is gone, and nobody may take over
  session_closed,     ///< the session was ended
  session_expired,    ///< the session's time to live passed
  session_aborted,    ///< an activity declared the session's state unusable
  schedule_to_start,  ///< no worker took it in time
  total_deadline,     ///< no attempt may start any more
  lease_lost,         ///< the worker could not keep its lock
  attempt_timeout,    ///< the attempt took too long
  worker_stopping,    ///< the worker that runs it goes away
  unreadable,         ///< its row could not be decoded, and was set aside
  /// No worker took it in time, and none that is alive and has its code met its session's requirements.
  requirements_not_met,
  /// No worker took it in time, since all that are alive and could hold its session hold as many as they may.
  no_session_capacity,
};

/// The name as it is written in logs, metrics and JSON: "schedule_to_start".
std::string_view to_string(CancelReason reason) noexcept;

/// What became of an activity that was cancelled while it ran.
enum class CancelState : std::uint8_t {
  requested,     ///< its code has not answered yet
  acknowledged,  ///< it has ended
  abandoned,     ///< it goes on after its grace, and nobody waits for it
};
std::string_view to_string(CancelState state) noexcept;

}  // namespace holdfast
