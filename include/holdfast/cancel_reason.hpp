// CancelReason: why an operation or activity was cancelled; CancelState: how far the cancellation is.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// Why an operation, or the activity behind it, was cancelled. The numbers are in histories and in stores:
/// new ones go to the end.
enum class CancelReason : std::uint8_t {
  dropped,              ///< the code no longer waits for it: it lost a race, timed out, or its scope ended
  cancel_requested,     ///< the instance was asked to stop
  execution_completed,  ///< this and the next four: the execution ended while it was open
  execution_failed,
  execution_cancelled,
  execution_terminated,
  continued_as_new,
  instance_deleted,
  session_lost,       ///< the session's owner is gone, and no other worker may take over
  session_closed,     ///< the session was closed
  session_expired,    ///< the session's time to live passed
  session_aborted,    ///< an activity declared the session's state unusable
  schedule_to_start,  ///< no worker took it in time
  total_deadline,     ///< RetryPolicy::total_deadline passed: no attempt may start any more
  lease_lost,         ///< the worker could not keep its lock
  attempt_timeout,    ///< the attempt took too long
  worker_stopping,    ///< the worker that runs it stops
  unreadable,         ///< its row could not be decoded, and was set aside
  /// No worker took it in time: of the live workers that have its code, none met its session's requirements.
  requirements_not_met,
  /// No worker took it in time: all live workers that could hold its session were at their session limit.
  no_session_capacity,
};

/// The name as it is written in logs, metrics and JSON: "schedule_to_start".
std::string_view to_string(CancelReason reason) noexcept;

/// What became of an activity that was cancelled while it ran.
enum class CancelState : std::uint8_t {
  requested,     ///< its code has not ended yet
  acknowledged,  ///< it has ended
  abandoned,     ///< it goes on after its grace; its result is dropped
};
std::string_view to_string(CancelState state) noexcept;

}  // namespace holdfast
