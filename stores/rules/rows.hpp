// The rows that the rules work on. Each is as plain as it can be: what follows from other rows is not kept
// here but in the indexes of a Space.
#pragma once

#include "route.hpp"
#include "times.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::rules {

using namespace holdfast::store;

/// Stays when its lease is over, until somebody takes the row: the token still counts.
struct Lock {
  WorkerKey worker{};
  LockToken token{};
  BootTime until{};
  bool live = false;  ///< the lease is not over, as of the transaction's time

  [[nodiscard]] bool is(LockToken other) const { return !token.empty() && token == other; }
};

/// The place of a delayed message among all of them.
using DelayedKey = std::pair<BootTime, std::uint64_t>;

struct Instance {
  InstanceView view{};
  RequestId request{};
  Fingerprint fingerprint{};
  TurnStamp stamp{};
  std::uint32_t delivery = 0;
  Lock lock{};
  std::vector<Address> waits{};           ///< sorted
  MessageId seen{};                       ///< deliveries up to this don't make it ready
  bool woken = false;                     ///< ready, whatever its messages are
  bool terminating = false;               ///< it has an unread control message
  BootTime not_before{};                  ///< not ready before this
  std::optional<BootTime> ready_since{};  ///< its place among the ready ones, if it is there
  std::map<MessageId, Message> messages{};
  std::set<DelayedKey> delayed{};
  std::map<EventId, CalendarTime> timers{};  ///< of the current execution
  std::map<std::string, std::string> values{};
  std::map<ExecutionNumber, std::map<EventId, std::string>> history{};
  std::set<std::string> watched{};  ///< sessions whose news it gets
  std::set<std::string> opened{};   ///< sessions that it opened, also when others have since
  std::vector<EndWatcher> end_watchers{};

  [[nodiscard]] Route route() const { return {view.code, view.build, terminating}; }
};

struct DelayedMessage {
  InstanceKey key{};
  NewMessage message{};
};

struct Activity {
  ActivityId id{};
  std::string name{};
  std::string own_queue{};  ///< as it was scheduled
  std::string queue{};      ///< its own, else that of its session
  int priority = 0;
  Duration start_within = never;
  BootTime total_until = kNever;
  std::optional<std::string> session{};
  /// Its session has ended while it ran: this attempt may finish, and no other begins.
  std::optional<CancelReason> session_over{};
  std::string body{};
  std::uint32_t attempt = 1;
  std::uint32_t delivery = 0;
  std::string last_failure{};
  std::string progress{};
  Lock lock{};
  Generation generation{};  ///< of its session, at its last lock
  BootTime ready_since{};   ///< may be to come: it backs off until then

  /// When somebody must have taken it. Of no meaning while its lock is live.
  [[nodiscard]] BootTime deadline() const {
    if (session_over) return ready_since;
    return std::min(after(ready_since, start_within), total_until);
  }
};

/// What an owner has saved for the next one.
struct SavedState {
  std::uint64_t size = 0;
  std::optional<std::string> bytes{};  ///< there once they were asked for, see Source::saved()
  friend bool operator==(const SavedState&, const SavedState&) = default;
};

struct Session {
  std::string id{};
  SessionPolicy policy{};
  std::optional<SessionStatus> ended{};  ///< expired, closed or failed
  SessionReason reason = SessionReason::none;
  std::string note{};
  std::string owner{};      ///< node; after the end: who owned it then
  WorkerKey worker{};       ///< 0: unclaimed
  Generation generation{};  ///< 0: never claimed
  Generation held_since{};  ///< when its last owner began to hold it, nobody else in between
  /// Of its owner. When it was taken from an older incarnation of its owner's node: only that node may claim
  /// it until then.
  BootTime lease_until{};
  Duration lease{};               ///< as stamped by the last claim
  Duration idle_timeout = never;  ///< likewise
  std::string last_owner{};       ///< who owned it last, or owns it
  WorkerKey last_worker{};
  bool planned = false;    ///< the last owner gave it up itself
  bool restarted = false;  ///< it was taken from an older incarnation of its owner's node
  bool ran = false;        ///< an activity was handed out in this generation
  /// A person wants its owner to give it up: for this node, or for anybody (""). Of one that is unclaimed:
  /// only this node may claim it until `lease_until`. Of one that has ended (""): its owner has to be told.
  std::optional<std::string> wanted{};
  Duration wanted_for{};  ///< how long it is kept for that node once it is unclaimed
  BootTime last_activity{};
  BootTime changed{};  ///< the lease time of `updated_at`
  BootTime ttl_until = kNever;
  InstanceKey opener{};  ///< 0: nobody
  std::string opened_by{};
  std::optional<SavedState> saved{};
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
  std::set<ActivityId> queued{};
  std::set<ActivityId> in_flight{};  ///< locked, by owners of any generation
};

struct Worker {
  WorkerKey key{};
  NewWorker info{};
  bool draining = false;
  bool superseded = false;  ///< a newer incarnation of the node has joined
  CalendarTime joined_at{};
  BootTime seen{};
};

struct Cancel {
  CancelRecord record{};
  WorkerKey worker{};
  BootTime at{};     ///< of the commit that took it away
  BootTime until{};  ///< the end of the lease that the activity had
  /// The session that it ran in, if that has a limit: until its code has ended it counts.
  std::optional<std::string> session{};

  [[nodiscard]] bool may_still_run(BootTime now) const {
    return record.state != CancelRecord::State::acknowledged && until > now;
  }
};

struct Early {
  NewMessage message{};
  BootTime visible{};
  BootTime until{};
  bool is_stored = false;  ///< for a store that writes rows: it stands in the table
};

/// A client's request that took effect: a message that was sent, or the start of an instance that is gone; as
/// long as that is there, its own row knows the request.
struct Request {
  InstanceKey answer{};
  BootTime at{};  ///< when it took effect, or its instance went
};

}  // namespace holdfast::rules
