// StoreState: everything that a store holds in its namespace, in one form for all stores. For tests that
// compare stores, and for debugging; it takes time and memory in proportion to what is there.
#pragma once

#include <holdfast/store/activities.hpp>
#include <holdfast/store/asks.hpp>
#include <holdfast/store/instances.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/sessions.hpp>
#include <holdfast/store/turns.hpp>
#include <holdfast/store/workers.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::store {

struct InstanceRow {
  InstanceView view{};
  RequestId request{};
  Fingerprint fingerprint{};
  TurnStamp stamp{};
  std::uint32_t delivery = 0;
  std::optional<WorkerKey> locked_by{};  ///< also when the lease is over, until another worker takes it
  LockToken token{};
  Duration lease_left{};  ///< 0 when over or not locked
  /// By its messages: a fetch by a worker with the code would return it, once it is not locked.
  bool ready = false;
  std::vector<Address> waits{};
  std::vector<Message> messages{};          ///< by id
  std::vector<Message> delayed_messages{};  ///< not visible yet, timers excluded; by their order
  std::vector<NewTimer> timers{};           ///< of the current execution, by event
  std::map<std::string, std::string> values{};
  std::map<std::uint64_t, std::vector<Segment>> history{};  ///< by execution
  std::vector<std::string> watched_sessions{};              ///< sorted
  std::vector<EndWatcher> end_watchers{};                   ///< in the order in which they asked
  friend bool operator==(const InstanceRow&, const InstanceRow&) = default;
};

struct ActivityRow {
  ActivityView view{};
  LockToken token{};      ///< of the last lock; empty before the first, and after an answer
  Duration lease_left{};  ///< 0 when over or not locked
  Duration start_within = never;
  Duration total_left = never;
  std::string body{};
  Generation generation{};  ///< of the session, at its last lock
  friend bool operator==(const ActivityRow&, const ActivityRow&) = default;
};

struct EarlyRow {
  std::string instance{};
  NewMessage message{};
  Duration keeps_for{};
  friend bool operator==(const EarlyRow&, const EarlyRow&) = default;
};

/// Rows are sorted: instances by key, activities by id, sessions by id, early ones by instance and order.
struct StoreState {
  std::vector<InstanceRow> instances{};
  std::vector<ActivityRow> activities{};
  std::vector<SessionView> sessions{};
  std::vector<SessionLogEntry> session_log{};
  std::vector<WorkerView> workers{};
  std::vector<CancelRecord> cancels{};
  std::vector<EarlyRow> early{};
  std::vector<SetAsideRow> set_aside{};
  std::vector<AskRow> asks{};  ///< by id
  StatusCounts counts{};
  friend bool operator==(const StoreState&, const StoreState&) = default;
};

}  // namespace holdfast::store
