// Turns in a store: an instance is locked, its messages are fetched, and the outcome of the turn is
// committed.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/status.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/sessions.hpp>
#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::store {

using InstanceStatus = Status;

// ---- fetching -----------------------------------------------------------------------------------

/// An instance that the caller has locked since an earlier turn, and could run another turn of.
struct HeldInstance {
  InstanceKey key{};
  LockToken token{};
  MessageId seen{};  ///< the last message that its frame was given
};

struct TurnRequest {
  WorkerKey worker{};
  const Code* code = nullptr;
  LockToken token{};  ///< random; locks all instances that this call fetches anew; new, unless `repeated`
  /// Earlier calls of this worker with this token were not answered: what they locked is released first.
  bool repeated = false;
  Duration lease{};
  std::size_t max = 1;
  std::span<const HeldInstance> held{};  ///< sorted by key
};

struct LockedTurn {
  InstanceKey key{};
  std::string instance{};  ///< its id
  LockToken token{};       ///< the request's, or the held one
  TurnStamp stamp{};       ///< of the last commit; empty before the first
  CodeVersion code{};
  std::uint64_t build = 0;
  ExecutionNumber execution{};
  InstanceStatus status = InstanceStatus::running;
  std::uint32_t delivery = 1;  ///< hand-outs since the last commit, this one included
  bool held = false;           ///< it was in the request's `held`
  std::vector<Message> messages{};
  friend bool operator==(const LockedTurn&, const LockedTurn&) = default;
};

struct FetchedTurns {
  std::vector<LockedTurn> turns{};  ///< held ones first, then those that were ready longest
  CalendarTime now{};               ///< calendar time of the store: the time of these turns
  Duration next_due = never;        ///< until a timer, a delayed message or a lapsing lock needs a fetch
  bool left_behind = false;         ///< because of `max`, ready instances that this worker may take were left
};

// ---- committing ---------------------------------------------------------------------------------

/// An activity of this instance that has ended in this process; the commit deletes its row.
struct LocalCompletion {
  EventId event{};
  LockToken token{};
  std::optional<SessionSave> save{};
  std::optional<std::string> abort_session{};
  friend bool operator==(const LocalCompletion&, const LocalCompletion&) = default;
};

struct CancelledActivity {
  EventId event{};
  CancelReason reason = CancelReason::dropped;
  friend bool operator==(const CancelledActivity&, const CancelledActivity&) = default;
};

struct NewTimer {
  EventId event{};
  CalendarTime due{};
  friend bool operator==(const NewTimer&, const NewTimer&) = default;
};

/// A message to another instance, or to this one. A target that has ended drops it, also by this very turn,
/// and so does one that is missing, unless the message is kept for it.
struct Outgoing {
  InstanceKey key{};       ///< a life of the target; or 0, and then
  std::string instance{};  ///< the id: whichever life has it
  NewMessage message{};
  Duration keep_early{};  ///< of a delivery by id: how long it is kept for an instance that doesn't exist yet
  bool cancels = false;   ///< the instance shows "cancel requested" from now on
  /// How many of the commit's `starts` come before it. It does not reach instances that are started later.
  std::size_t after_starts = std::numeric_limits<std::size_t>::max();
  friend bool operator==(const Outgoing&, const Outgoing&) = default;
};

/// A child or detached orchestration. For a new id an instance is made, with `body` as its start message; an
/// instance that exists, ended or not, gets the start message and answers it in its own turn.
struct NewInstance {
  std::string instance{};
  CodeVersion code{};
  std::string body{};
  InstanceKey parent{};                 ///< 0 for a detached one
  std::vector<Attribute> attributes{};  ///< sorted by name and type
  friend bool operator==(const NewInstance&, const NewInstance&) = default;
};

struct ValueChange {
  std::string key{};
  std::optional<std::string> value{};  ///< none: removed
  friend bool operator==(const ValueChange&, const ValueChange&) = default;
};

struct AttributeChange {
  std::string name{};
  AttributeType type = AttributeType::text;
  std::optional<AttributeValue> value{};  ///< of that type; none: removed
  friend bool operator==(const AttributeChange&, const AttributeChange&) = default;
};

/// A read of another instance's value: answered by a `value` message.
struct ValueRequest {
  EventId source{};
  std::string instance{};
  std::string key{};
  friend bool operator==(const ValueRequest&, const ValueRequest&) = default;
};

/// A question how the instance ends that has the id now: answered by an `ended` message, in the commit that
/// ends it.
struct EndRequest {
  EventId source{};
  std::string instance{};
  friend bool operator==(const EndRequest&, const EndRequest&) = default;
};
/// So many may wait for the end of one instance: the commit that ends it answers them all.
inline constexpr std::size_t kMaxEndRequests = 1000;

/// Who has asked how an instance ends.
struct EndWatcher {
  InstanceKey key{};
  ExecutionNumber execution{};
  EventId source{};
  friend auto operator<=>(const EndWatcher&, const EndWatcher&) = default;
};

/// Answered by a `session` message, unless `source` is 0.
struct SessionOpen {
  EventId source{};
  std::string id{};
  SessionPolicy policy{};
  friend bool operator==(const SessionOpen&, const SessionOpen&) = default;
};
struct SessionClose {
  EventId source{};
  std::string id{};
  friend bool operator==(const SessionClose&, const SessionClose&) = default;
};

/// The instance ends with this turn.
struct InstanceEnd {
  InstanceStatus status = InstanceStatus::completed;
  std::string output{};
  friend bool operator==(const InstanceEnd&, const InstanceEnd&) = default;
};
/// The next execution begins: number + 1, with `body` as its start message.
struct NextExecution {
  std::string version{};
  std::string body{};
  friend bool operator==(const NextExecution&, const NextExecution&) = default;
};

/// The outcome of a turn: committed as a whole or not at all.
struct TurnCommit {
  InstanceKey key{};
  LockToken token{};
  TurnStamp expected{};  ///< the stamp of the fetch, or of the last commit
  TurnStamp stamp{};     ///< new and random
  ExecutionNumber execution{};

  EventId first_event{};  ///< of the segment
  std::string segment{};  ///< new history; may be empty
  MessageId seen{};       ///< the last message that the frame was given
  std::vector<MessageId> consumed{};
  std::vector<MessageId> set_aside{};  ///< could not be decoded: kept with their bytes, out of the way
  std::optional<std::vector<Address>> waits{};  ///< set when they changed: sorted, all of them

  LockToken activity_token{};  ///< new and random; locks the activities that are handed off
  std::vector<NewActivity> activities{};
  std::vector<LocalCompletion> completed{};
  std::vector<CancelledActivity> cancelled{};
  std::vector<NewTimer> timers{};
  std::vector<EventId> cancelled_timers{};
  std::vector<Outgoing> messages{};
  std::vector<NewInstance> starts{};
  std::vector<ValueChange> values{};
  std::vector<AttributeChange> attributes{};  ///< one after the other
  std::vector<ValueRequest> value_reads{};
  std::vector<EndRequest> end_requests{};
  std::vector<EndRequest> cancelled_end_requests{};  ///< of this execution: not to be answered any more
  std::vector<SessionOpen> open_sessions{};
  std::vector<SessionClose> close_sessions{};
  std::vector<std::string> watch_sessions{};  ///< ids of sessions whose events it gets from now on

  std::optional<std::string> custom_status{};
  std::optional<std::string> version{};  ///< decided by the first turn
  std::optional<std::uint64_t> build{};  ///< of the code that ran, where it changed
  std::variant<std::monostate, InstanceEnd, NextExecution> end{};
  bool keep_lock = false;  ///< else, and when the instance ends, the lock is released
  friend bool operator==(const TurnCommit&, const TurnCommit&) = default;
};

struct CommitRequest {
  WorkerKey worker{};
  const Abilities* abilities = nullptr;
  Duration activity_lease{};  ///< of what is handed off
};

struct Committed {
  /// For each of `activities`: set if it asked for a hand-off and is locked for this worker. Without its
  /// instance, name and body: whoever commits has them.
  std::vector<std::optional<LockedActivity>> handed_off{};
  bool ready = false;                  ///< a message that arrived in the meantime needs another turn
  std::vector<std::size_t> dropped{};  ///< which of `messages`: their target was missing or had ended
  friend bool operator==(const Committed&, const Committed&) = default;
};

/// A lock to release without a commit.
struct TurnRelease {
  InstanceKey key{};
  LockToken token{};
  Duration delay{};  ///< not ready before this has passed, or a control message comes
  /// The last message that came with the turn: a control message after it is one that comes.
  MessageId seen{};
  bool counts = false;                ///< whether this hand-out counts as a delivery
  std::optional<std::string> park{};  ///< the status becomes parked; the text says why
};

struct TurnRenewal {
  InstanceKey key{};
  LockToken token{};
};

/// One turn's part of history.
struct Segment {
  EventId first_event{};
  std::string bytes{};
  friend bool operator==(const Segment&, const Segment&) = default;
};

}  // namespace holdfast::store
