// Space: the rows of one namespace that the rules work on, and the indexes over them. The memory store keeps
// all rows of the namespace in it; others those that a transaction is about.
#pragma once

#include "index.hpp"
#include "rows.hpp"
#include "table.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::rules {

/// The place of an activity among those that may start: higher priority first, then those that waited
/// longest.
struct ReadyActivity {
  int rank = 0;  ///< minus the priority
  BootTime since{};
  ActivityId id{};
  friend auto operator<=>(const ReadyActivity&, const ReadyActivity&) = default;
};

template <class Row>
using ByName = std::map<std::string, Row, std::less<>>;
template <class Time, class Id>
using ByTime = Index<std::pair<Time, Id>>;

/// One namespace.
struct Space {
  Table<InstanceKey, Instance> instances{};
  ByName<InstanceKey> keys{};
  ByTime<BootTime, InstanceKey> ready{};           ///< some of them later
  ByTime<BootTime, InstanceKey> instance_locks{};  ///< live ones
  ByTime<CalendarTime, std::pair<InstanceKey, EventId>> timers{};
  std::map<DelayedKey, DelayedMessage> delayed{};

  Table<ActivityId, Activity> activities{};
  // An activity is in one of these.
  Index<ReadyActivity> waiting{};  ///< for a worker
  ByTime<BootTime, ActivityId> backing_off{};
  ByName<std::set<ActivityId>> without_session{};  ///< wait for a session of this name
  ByTime<BootTime, ActivityId> activity_locks{};   ///< live ones
  // And all but the last kind are in this one too, unless they may wait for ever.
  ByTime<BootTime, ActivityId> deadlines{};

  Table<std::string, Session> sessions{};
  std::map<WorkerKey, std::set<std::string>> owned{};  ///< sessions; also when the lease is over
  std::map<WorkerKey, std::set<std::string>>
      untold{};                              ///< sessions that have ended; it does not know that yet
  ByName<std::set<InstanceKey>> watchers{};  ///< of sessions, whether there or not
  std::vector<SessionLogEntry> session_log{};

  Table<WorkerKey, Worker> workers{};
  Table<std::pair<ActivityId, LockToken>, Cancel> cancels{};
  ByName<std::set<std::pair<ActivityId, LockToken>>> stopping{};  ///< those of sessions with a limit
  Table<std::string, std::vector<Early>> early{};
  Table<RequestId, Request> requests{};
  std::vector<SetAsideRow> set_aside{};

  /// When a sweep was promised to be needed next: whoever makes it sooner says so.
  BootTime next_sweep = kNever;
};

}  // namespace holdfast::rules
