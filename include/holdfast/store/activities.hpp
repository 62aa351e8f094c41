// Activities in a store: queued, locked by a worker, answered.
#pragma once

#include <holdfast/cancel_reason.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/sessions.hpp>
#include <holdfast/store/workers.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::store {

struct ActivityId {
  InstanceKey instance{};
  ExecutionNumber execution{};
  EventId event{};
  friend auto operator<=>(const ActivityId&, const ActivityId&) = default;
};

/// The session that an activity belongs to, and the policy for it if this activity creates the session.
struct SessionUse {
  std::string id{};
  SessionPolicy policy{};
  friend bool operator==(const SessionUse&, const SessionUse&) = default;
};

/// An activity that a turn schedules.
struct NewActivity {
  EventId event{};
  std::string name{};
  std::string queue{};            ///< empty: the session's, else the default one
  int priority = 0;               ///< higher goes first
  Duration start_within = never;  ///< the schedule-to-start timeout, each time that it is queued
  Duration total = never;         ///< no attempt starts later than this after the commit
  std::optional<SessionUse> session{};
  std::string body{};
  bool hand_off = false;  ///< lock it for the committing worker at once, if possible
  friend bool operator==(const NewActivity&, const NewActivity&) = default;
};

/// The session of a locked activity, as it is at the moment of locking.
struct SessionGrant {
  SessionHold hold{};
  Generation held_since{};       ///< as in SessionView
  bool claimed = false;          ///< this call claimed the session
  bool same_owner = false;       ///< when claimed: the last owner was this worker, with no other in between
  std::string previous_owner{};  ///< when claimed: the node that held it before, if any
  SessionReason reason{};        ///< when claimed: why, as in the session log
  Duration lease{};              ///< until the session's lease ends
  Duration idle_timeout = never;
  SessionPolicy::WhenLost when_lost = SessionPolicy::WhenLost::reclaim;
  std::optional<std::string> saved{};  ///< when claimed: the state that the last owner saved
  std::string connection{};            ///< of the session's policy
  friend bool operator==(const SessionGrant&, const SessionGrant&) = default;
};

/// An activity that the caller may run now.
struct LockedActivity {
  ActivityId id{};
  std::string instance{};  ///< the instance's id
  std::string name{};
  std::string queue{};
  int priority = 0;
  std::uint32_t attempt = 1;
  std::uint32_t delivery = 1;
  std::string body{};
  std::string last_failure{};  ///< of the attempt before, if any
  std::string progress{};      ///< of the last heartbeat that had details, also of earlier attempts
  std::optional<SessionGrant> session{};
  Duration total_left = never;
  friend bool operator==(const LockedActivity&, const LockedActivity&) = default;
};

struct ActivityRequest {
  WorkerKey worker{};
  const Abilities* abilities = nullptr;
  LockToken token{};  ///< random; locks all that this call fetches; new, unless `repeated`
  /// Earlier calls of this worker with this token were not answered: what they locked is put back first.
  bool repeated = false;
  Duration lease{};
  std::size_t max = 1;
  /// Fetch only activities of sessions that the worker owns, and claim none. The same holds for a worker that
  /// is registered as draining, whatever it asks for.
  bool owned_only = false;
};

struct FetchedActivities {
  std::vector<LockedActivity> activities{};  ///< higher priority first, then those that waited longest
  Duration next_due =
      never;  ///< until an activity that this worker could take is due, or a lease of it lapses
  bool left_behind = false;  ///< because of `max`, ready activities that this worker may take were left
  /// How long the oldest ready activity has waited whose session this worker could claim if it had room.
  std::optional<Duration> wants_capacity{};
  /// Sessions of this worker that have nothing in flight, and ready activities which it has no handler or
  /// queue for but another live worker has.
  std::vector<SessionHold> to_hand_over{};
};

/// The outcome of an attempt.
struct Finished {
  std::string body{};  ///< becomes an outcome message for the instance
};
struct Retry {
  Duration delay{};
  std::string failure{};
};
/// It was not run: put it back. Neither attempt nor delivery grows.
struct PutBack {
  Duration delay{};
};
/// Its body can't be decoded: set aside with its bytes; the instance gets `taken(unreadable)`.
struct SetAside {
  std::string problem{};
};

struct ActivityResult {
  ActivityId id{};
  LockToken token{};
  std::variant<Finished, Retry, PutBack, SetAside> result{};
  std::optional<std::string> progress{};  ///< of its last heartbeat that had details, for the next attempt
  std::optional<SessionSave> save{};      ///< saved with it, if the generation is still current
  std::optional<std::string> abort_session{};  ///< the reason: its session fails, its own result counts
  /// It timed out, and its code still runs: in a session with a concurrency limit it counts as running, by a
  /// cancel record, until that is acknowledged or its lease is over.
  bool still_runs = false;
};

struct ActivityRenewal {
  ActivityId id{};
  LockToken token{};
  std::optional<std::string> progress{};  ///< a heartbeat with details
};

/// An activity that was cancelled while it ran.
struct CancelRecord {
  using State = CancelState;
  ActivityId id{};
  LockToken token{};
  std::string name{};
  CancelReason reason = CancelReason::dropped;
  State state = State::requested;
  std::string owner{};  ///< the node that ran it; empty when that is no longer registered
  Duration age{};       ///< since the commit that cancelled it
  friend bool operator==(const CancelRecord&, const CancelRecord&) = default;
};

struct CancelAcknowledgement {
  ActivityId id{};
  LockToken token{};
  CancelRecord::State state = CancelRecord::State::acknowledged;
};

/// An activity as clients see it.
struct ActivityView {
  ActivityId id{};
  std::string name{};
  std::string queue{};
  std::string session{};
  int priority = 0;
  bool running = false;
  std::string owner{};  ///< node, when it runs
  std::uint32_t attempt = 1;
  std::uint32_t delivery = 0;
  Duration due_in{};             ///< until it may start; 0 = now or running
  Duration gives_up_in = never;  ///< until it fails because no worker took it; of one that doesn't run
  std::uint32_t workers = 0;     ///< live ones that have its code and serve its queue
  std::string last_failure{};
  std::string progress{};
  friend bool operator==(const ActivityView&, const ActivityView&) = default;
};

/// Activities of one name in one queue. `workers` counts live ones, by their last sign of life.
struct QueueDepth {
  std::string queue{};
  std::string name{};
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t running = 0;
  Duration oldest_wait{};
  std::uint32_t workers = 0;
  friend bool operator==(const QueueDepth&, const QueueDepth&) = default;
};

}  // namespace holdfast::store
