// Source: where the rows in a Space come from. A store that keeps all of them in memory has nothing to do
// here; one that keeps them in a database brings each row into the space when a rule asks for it, unless it
// is there already, and learns from some of these calls what to write.
#pragma once

#include "rows.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::rules {

struct HeldElsewhere {
  std::uint32_t count = 0;
  BootTime first_end = kNever;  ///< of their leases
};

/// Each call makes the space know what it names, present or not. Rows are placed when they come.
class Source {
 public:
  virtual ~Source() = default;

  // ---- instances
  virtual void instance(InstanceKey) {}
  virtual void instance(std::string_view /*id*/) {}
  /// The id may be given to a new instance, or something may be kept for it: nobody else does so until the
  /// transaction is over.
  virtual void reserve(std::string_view /*id*/) {}
  /// The id of an instance whose row need not come for that.
  virtual std::string name_of(InstanceKey key) = 0;

  // ---- what belongs to an instance, which is in the space
  /// Enough of its messages to say whether it is ready, those of its waits included.
  virtual void unread(Instance&) {}
  virtual void messages_after(Instance&, MessageId /*seen*/) {}
  virtual void message(Instance&, MessageId) {}
  virtual void timers(Instance&) {}
  virtual void value(Instance&, const std::string& /*key*/) {}
  virtual void activities_of(Instance&) {}
  /// Sessions that it opened, and those that it watches.
  virtual void sessions_of(Instance&) {}
  /// What was sent to the id before it existed.
  virtual void early(std::string_view /*id*/) {}

  /// A turn of it is about to be applied. Messages that it consumes need not be in the space.
  virtual void commits(Instance&, const TurnCommit&) {}
  /// The segment of history that the turn brings. A store that keeps histories elsewhere puts it there.
  virtual void record(Instance& instance, const TurnCommit& commit) {
    instance.history[instance.view.execution].insert_or_assign(commit.first_event, commit.segment);
  }
  /// Which of its messages the instance is about to drop, those included that are not in the space.
  enum class Dropped : std::uint8_t {
    all_but_starts,  ///< delayed ones too
    of_execution,    ///< outcomes, timers and answers
  };
  virtual void drops(Instance&, Dropped) {}

  // ---- activities and sessions
  virtual void activity(const ActivityId&) {}
  /// Those that wait for a worker and have a higher priority than this: at least the first that this worker
  /// may take.
  virtual void waiting_above(int /*priority*/, WorkerKey, const Abilities&) {}
  virtual void cancel(const ActivityId&, LockToken) {}
  /// With all activities that belong to it, or wait for it.
  virtual void session(std::string_view /*id*/) {}
  /// Sessions that the worker holds and that are not in the space.
  virtual HeldElsewhere held_elsewhere(WorkerKey) { return {}; }
  /// The bytes that were saved in a session, which is in the space.
  virtual void saved(const std::string& /*session*/) {}
  virtual void watchers(const std::string& /*session*/) {}
  /// Activities of the session that were taken away, and may still run.
  virtual void stopping(const std::string& /*session*/) {}

  // ---- the rest
  virtual void worker(WorkerKey) {}
  /// All incarnations of a node, and the sessions that they own.
  virtual void node(const std::string& /*name*/) {}
  virtual void request(RequestId) {}
};

/// The next number of each kind. Each grows by one per thing made, over all namespaces.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual InstanceKey next_instance() = 0;
  virtual MessageId next_message() = 0;
  virtual WorkerKey next_worker() = 0;
  virtual Generation next_generation() = 0;
  virtual std::uint64_t next_delayed() = 0;
  virtual std::uint64_t next_log_entry() = 0;
  virtual std::uint64_t next_set_aside() = 0;
};

}  // namespace holdfast::rules
