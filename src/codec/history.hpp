// History: what happened in one execution, event by event. Events are numbered from 1; inside a turn they
// stand in causal order: what was revealed to the code, then what the code did, then the next reveal.
#pragma once

#include "codec/operation.hpp"

#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::history {

using detail::ActivityScheduled;
using detail::AttributeSet;
using detail::CancelSent;
using detail::ChildStarted;
using detail::DetachedStarted;
using detail::EndAwaited;
using detail::EventAwaited;
using detail::MessageAwaited;
using detail::MessageSent;
using detail::MessageTried;
using detail::Operation;
using detail::SessionClosing;
using detail::SessionEventAwaited;
using detail::SessionOpened;
using detail::SideEffectRecorded;
using detail::TerminateSent;
using detail::TimerStarted;
using detail::ValueRead;
using detail::ValueSet;
using holdfast::CancelReason;

// ---- what is revealed to the code ---------------------------------------------------------------

/// A turn begins. `time` is what ctx.now() says during the turn.
struct TurnStarted {
  CalendarTime time{};
  std::string build{};  ///< of the code that runs the turn
  friend bool operator==(const TurnStarted&, const TurnStarted&) = default;
};

/// Where a child reports to.
struct Parent {
  std::string instance{};
  ExecutionNumber execution{};
  EventId event{};
  InstanceKey key{};  ///< this life of the parent: an answer never reaches a later one of the same id
  friend bool operator==(const Parent&, const Parent&) = default;
};

/// What an execution may take, as the settings were when it began; 0 = no limit. See holdfast/limits.hpp.
struct ExecutionLimits {
  std::uint64_t payload_bytes = 0;
  std::uint64_t history_events = 0;
  std::uint64_t history_bytes = 0;
  std::uint64_t open_operations = 0;
  std::uint64_t values = 0;
  std::uint64_t values_bytes = 0;
  friend bool operator==(const ExecutionLimits&, const ExecutionLimits&) = default;
};

/// How a child begins anew when it fails. At its default it doesn't.
struct Retrying {
  detail::RetrySettings policy{};
  std::uint32_t attempt = 1;
  CalendarTime first_start{};  ///< of the first attempt; not set while that begins
  CalendarTime not_before{};   ///< the code of this attempt begins then
  friend bool operator==(const Retrying&, const Retrying&) = default;
};

/// The execution begins.
struct Started {
  std::string name{};
  std::string version{};
  Payload input{};
  std::uint64_t seed = 0;  ///< of everything random in this execution: its lower half
  std::optional<Parent> parent{};
  std::map<std::string, Payload> values{};        ///< key/value as the former execution left it
  std::optional<std::string> cancel_requested{};  ///< the reason, when a request came before this execution
  std::uint64_t history_budget = 0;               ///< how many events before the code should continue as new
  detail::Boxed<ExecutionLimits> limits{};
  detail::Boxed<Retrying> retrying{};
  std::uint64_t seed_high = 0;          ///< the upper half of the seed
  std::vector<Attribute> attributes{};  ///< sorted by name and type
  friend bool operator==(const Started&, const Started&) = default;
};

/// An operation succeeded.
struct Completed {
  EventId source{};
  Payload value{};
  friend bool operator==(const Completed&, const Completed&) = default;
};
/// An operation failed.
struct Failed {
  EventId source{};
  Failure failure{};
  friend bool operator==(const Failed&, const Failed&) = default;
};
/// Somebody asked for the instance to stop.
struct CancelRequested {
  std::string reason{};
  friend bool operator==(const CancelRequested&, const CancelRequested&) = default;
};

// ---- how an execution ends ----------------------------------------------------------------------

struct ExecutionCompleted {
  Payload output{};
  friend bool operator==(const ExecutionCompleted&, const ExecutionCompleted&) = default;
};
struct ExecutionFailed {
  Failure failure{};
  friend bool operator==(const ExecutionFailed&, const ExecutionFailed&) = default;
};
struct ExecutionCancelled {
  Failure failure{};
  friend bool operator==(const ExecutionCancelled&, const ExecutionCancelled&) = default;
};
struct ExecutionTerminated {
  std::string reason{};
  friend bool operator==(const ExecutionTerminated&, const ExecutionTerminated&) = default;
};
struct ContinuedAsNew {
  std::string version{};  ///< empty: the newest that the worker of the next execution's first turn has
  Payload input{};
  friend bool operator==(const ContinuedAsNew&, const ContinuedAsNew&) = default;
};

// ---- what ends with a turn ----------------------------------------------------------------------

/// Stands at the end of its turn, sorted by source: the order in which destructors run is no part of history.
struct OperationCancelled {
  EventId source{};
  CancelReason reason = CancelReason::dropped;
  friend bool operator==(const OperationCancelled&, const OperationCancelled&) = default;
};

// ---- what the code was told ---------------------------------------------------------------------

/// The code asked for a patch, and was told to take it: ctx.patched().
struct Patched {
  std::string id{};
  friend bool operator==(const Patched&, const Patched&) = default;
};

/// The order of the alternatives is the kind in the binary form: new ones go to the end.
using Body = std::variant<TurnStarted, Started, Completed, Failed, CancelRequested, ExecutionCompleted,
                          ExecutionFailed, ExecutionCancelled, ExecutionTerminated, ContinuedAsNew,
                          OperationCancelled, ActivityScheduled, TimerStarted, EventAwaited, MessageAwaited,
                          ChildStarted, DetachedStarted, SessionOpened, SessionClosing, SessionEventAwaited,
                          ValueRead, SideEffectRecorded, MessageTried, ValueSet, MessageSent, CancelSent,
                          Patched, TerminateSent, EndAwaited, AttributeSet>;

struct Event {
  EventId id{};
  Body body{};
  friend bool operator==(const Event&, const Event&) = default;
};

/// How many causes of a failure history keeps: those of the causes that are nested deeper are left out.
inline constexpr int kMaxCauses = 64;

/// The name of an event's kind: "activity_scheduled".
std::string_view kind_name(const Body& body) noexcept;
/// The same for a kind as a number, the index in Body; empty when there is no such kind.
std::string_view kind_name(std::uint8_t kind) noexcept;

}  // namespace holdfast::history
