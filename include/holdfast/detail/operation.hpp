// Operations: what an orchestration asks for. An Op<T> describes one; once it is started, the same struct is
// the scheduling event in history and the action that the runtime carries out. Their binary form is
// positional: new members go to the end.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::detail {

/// RetryPolicy with texts of its own.
struct RetrySettings {
  std::optional<int> max_attempts{};
  std::optional<Backoff> backoff{};
  std::optional<Duration> first_delay{};
  std::optional<double> factor{};
  std::optional<Duration> max_delay{};
  std::optional<double> jitter{};
  std::optional<Duration> total_deadline{};
  std::vector<std::string> non_retryable{};

  friend bool operator==(const RetrySettings&, const RetrySettings&) = default;
};

/// SessionOptions with texts of its own.
struct SessionSettings {
  std::string id{};
  std::string queue{};
  std::string connection{};
  std::vector<std::string> requirements{};
  std::optional<Duration> lease{};
  std::optional<Duration> idle_timeout{};
  std::optional<Duration> ttl{};
  std::optional<int> max_concurrent_activities{};
  std::optional<bool> create_if_missing{};
  std::optional<bool> allow_reacquire_after_failure{};
  bool outlives_opener = false;

  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

/// ActivityOptions with texts of its own, and the session's policy where one was given with the activity.
struct ActivitySettings {
  std::string queue{};
  std::optional<SessionSettings> session{};
  std::optional<Duration> timeout{};
  std::optional<Duration> schedule_to_start{};
  RetrySettings retry{};
  int priority = 0;

  friend bool operator==(const ActivitySettings&, const ActivitySettings&) = default;
};

// ---- operations with an outcome
// -----------------------------------------------------------------------------

struct ActivityScheduled {
  std::string name{};
  ActivitySettings settings{};
  Payload input{};
  friend bool operator==(const ActivityScheduled&, const ActivityScheduled&) = default;
};
struct TimerStarted {
  CalendarTime due{};
  friend bool operator==(const TimerStarted&, const TimerStarted&) = default;
};
struct EventAwaited {
  std::string name{};
  friend bool operator==(const EventAwaited&, const EventAwaited&) = default;
};
struct MessageAwaited {
  std::string mailbox{};
  friend bool operator==(const MessageAwaited&, const MessageAwaited&) = default;
};
struct ChildStarted {
  std::string id{};
  std::string name{};
  std::string version{};
  ParentClosePolicy on_parent_close = ParentClosePolicy::cancel;
  Payload input{};
  friend bool operator==(const ChildStarted&, const ChildStarted&) = default;
};
struct DetachedStarted {
  std::string id{};
  std::string name{};
  std::string version{};
  Payload input{};
  friend bool operator==(const DetachedStarted&, const DetachedStarted&) = default;
};
struct SessionOpened {
  SessionSettings settings{};
  friend bool operator==(const SessionOpened&, const SessionOpened&) = default;
};
struct SessionClosing {
  std::string id{};
  friend bool operator==(const SessionClosing&, const SessionClosing&) = default;
};
/// The next lifecycle event of a session.
struct SessionEventAwaited {
  std::string id{};
  friend bool operator==(const SessionEventAwaited&, const SessionEventAwaited&) = default;
};
/// A value of another instance.
struct ValueRead {
  std::string instance{};
  std::string key{};
  friend bool operator==(const ValueRead&, const ValueRead&) = default;
};

// ---- operations whose outcome is in their own event
// ------------------------------------------------------------

/// `failure` when the function threw.
struct SideEffectRecorded {
  Payload value{};
  std::optional<Failure> failure{};
  friend bool operator==(const SideEffectRecorded&, const SideEffectRecorded&) = default;
};
/// `value` when a message was there.
struct MessageTried {
  std::string mailbox{};
  std::optional<Payload> value{};
  friend bool operator==(const MessageTried&, const MessageTried&) = default;
};
/// A value of this instance was set, or removed when there is none.
struct ValueSet {
  std::string key{};
  std::optional<Payload> value{};
  friend bool operator==(const ValueSet&, const ValueSet&) = default;
};

/// What code can ask for.
using Operation = std::variant<ActivityScheduled, TimerStarted, EventAwaited, MessageAwaited, ChildStarted,
                               DetachedStarted, SessionOpened, SessionClosing, SessionEventAwaited, ValueRead,
                               SideEffectRecorded, MessageTried, ValueSet>;

}  // namespace holdfast::detail
