// What the oracle keeps: plain rows with every fact that a rule of the contract asks for, and nothing that
// follows from other facts.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing::oracle {

using Kind = StoreError::Kind;
inline Unexpected<StoreError> error(Kind kind) { return Unexpected(StoreError{.kind = kind}); }

struct WorkerRow {
  WorkerKey key{};
  store::NewWorker info{};
  bool draining = false;
  bool superseded = false;
  BootTime seen{};  ///< its last sign of life
  CalendarTime joined_at{};
};

/// A message that is not visible yet.
struct Delayed {
  BootTime due{};
  std::uint64_t order = 0;  ///< of those that are due at the same time, the one that was sent first
  store::Message message{};
};

struct Instance {
  InstanceKey key{};
  std::string id{};
  store::CodeVersion code{};
  std::uint64_t build = 0;
  ExecutionNumber execution{1};
  InstanceKey parent{};
  RequestId request{};
  Fingerprint fingerprint{};

  Status status = Status::running;
  std::string output{};
  std::string parked_because{};
  std::optional<std::string> custom_status{};
  std::uint64_t custom_status_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
  std::optional<CalendarTime> cancel_requested_at{};

  TurnStamp stamp{};
  std::uint32_t delivery = 0;  ///< hand-outs since the last commit
  std::optional<WorkerKey> locked_by{};
  LockToken token{};
  BootTime lease_until{};

  std::vector<store::Message> messages{};  ///< by id
  std::map<MessageId, BootTime> came{};    ///< when each of them became visible
  std::vector<Delayed> delayed{};
  std::vector<store::NewTimer> timers{};  ///< of the current execution
  std::vector<Address> waits{};

  MessageId seen{};    ///< the frame of the last commit was given these: no delivery among them makes ready
  bool woken = false;  ///< it was parked: ready without a message, until it is handed out
  BootTime free_since{};  ///< of its start, last release, commit or wake
  BootTime not_before{};  ///< the delay of its last release

  std::map<std::string, std::string> values{};
  std::map<std::pair<std::string, AttributeType>, AttributeValue> attributes{};
  std::map<std::uint64_t, std::vector<store::Segment>> history{};  ///< by execution
  std::set<std::string> watches{};                                 ///< ids of sessions
  std::vector<store::EndWatcher> end_watchers{};  ///< who waits for its end, in the order of asking
};

struct Activity {
  store::ActivityId id{};
  std::string name{};
  std::string own_queue{};  ///< as it was scheduled
  std::string queue{};      ///< its own, else that of its session
  std::string session{};    ///< empty: none
  int priority = 0;
  std::string body{};
  std::uint32_t attempt = 1;
  std::uint32_t delivery = 0;  ///< hand-outs of this attempt
  BootTime due{};              ///< it waits since then, or backs off until then
  Duration start_within = never;
  BootTime total_until = BootTime::max();
  std::string last_failure{};
  std::string progress{};

  WorkerKey worker{};  ///< that has locked it
  LockToken token{};
  BootTime lease_until{};
  Generation generation{};  ///< of its session, at its last lock
  /// Its session was closed or expired while it ran, and may have begun anew since.
  std::optional<CancelReason> session_over{};
};

/// An activity that was taken away while it ran.
struct Cancel {
  store::ActivityId id{};
  LockToken token{};
  std::string name{};
  std::string session{};  ///< that it ran in, if that has a concurrency limit
  CancelReason reason{};
  CancelState state = CancelState::requested;
  WorkerKey worker{};
  BootTime at{};
  BootTime lease_until{};  ///< that the activity had
};

/// Only this node may claim a session, until then.
struct Kept {
  std::string node{};
  BootTime until{};
};

/// An operator asks for a session, or a worker has displaced another one for it.
struct Wish {
  std::string to{};
  Duration keep_for{};
};

struct Session {
  std::string id{};
  store::SessionPolicy policy{};
  std::string opened_by{};  ///< instance id
  InstanceKey opener{};
  CalendarTime created_at{};
  CalendarTime updated_at{};
  BootTime ttl_until = BootTime::max();

  std::optional<store::SessionStatus> ended{};  ///< expired, closed or failed
  store::SessionReason reason = store::SessionReason::none;
  std::string note{};
  bool end_is_told = true;  ///< false until the owner at the end has acknowledged it

  WorkerKey worker{};   ///< that owns it, also when the lease is over; 0: nobody
  std::string owner{};  ///< its node; both stay after the end
  Generation generation{};
  BootTime lease_until{};
  Duration lease{};  ///< of this claim
  Duration idle_timeout = never;
  BootTime last_activity{};
  bool ran = false;  ///< an activity, in this generation

  // Of its last owner, also once it has left.
  WorkerKey last_worker{};
  std::string last_owner{};
  Generation held_since{};
  bool released = false;  ///< by that owner itself, or for an operator
  BootTime changed{};     ///< when it began, was claimed, saved, left or ended

  std::optional<Kept> kept{};
  std::optional<Wish> wish{};
  std::optional<std::string> saved{};
  std::uint64_t saved_version = 0;
};

/// A delivery for an instance that doesn't exist yet.
struct Early {
  std::string instance{};
  store::NewMessage message{};
  BootTime due{};  ///< not visible before
  BootTime until{};
};

/// A request of a client that took effect, and its answer.
struct Request {
  RequestId id{};
  InstanceKey key{};
  BootTime at{};
};

/// A question between processes.
struct Question {
  store::Ask ask{};
  BootTime until{};
  WorkerKey given_to{};
  BootTime given_until{};
  std::optional<store::AskAnswer> answer{};
};

/// The rows of one namespace. Lists, so that a row stays where it is while others come and go.
struct Space {
  std::list<WorkerRow> workers{};                          ///< by key
  std::list<Instance> instances{};                         ///< by key
  std::list<Activity> activities{};                        ///< in the order in which they were scheduled
  std::map<std::string, Session, std::less<>> sessions{};  ///< by id
  std::list<Cancel> cancels{};
  std::list<Early> early{};
  std::list<Request> requests{};
  std::vector<store::SessionLogEntry> log{};
  std::vector<store::SetAsideRow> set_aside{};
  std::list<Question> questions{};  ///< in the order in which they came
};

/// Numbers are shared by all namespaces: each grows by one per thing made.
struct Database {
  std::map<std::string, Space> spaces{};
  std::uint64_t last_worker = 0;
  std::uint64_t last_instance = 0;
  std::uint64_t last_message = 0;
  std::uint64_t last_delayed = 0;
  std::uint64_t last_generation = 0;
  std::uint64_t last_log_entry = 0;
  std::uint64_t last_set_aside = 0;
};

}  // namespace holdfast::testing::oracle
