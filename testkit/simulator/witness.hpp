// Witness: hears what the store truly did, and says when it was not allowed to.
#pragma once

#include "base/moments.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace holdfast::simulator {

/// Keeps a small model of who holds what, and of what happened to each operation and message. It hears of
/// every call after it was made, with the store's own answer; what the caller is told plays no role.
class Witness {
 public:
  /// `broken` is called with a sentence whenever something happened that must not.
  Witness(const Clock& clock, std::function<void(std::string)> broken)
      : clock_(clock), broken_(std::move(broken)) {}

  void fetched(const store::TurnRequest& request, const store::FetchedTurns& answer);
  void committed(const store::CommitRequest& request, const store::TurnCommit& commit,
                 const StoreResult<store::Committed>& answer);
  void released(const store::TurnRelease& release, const StoreResult<void>& answer);
  void renewed(Duration lease, const store::TurnRenewal& renewal, const StoreResult<void>& answer);

  void fetched(const store::ActivityRequest& request, const store::FetchedActivities& answer);
  void finished(const store::ActivityResult& result, const StoreResult<void>& answer);
  void renewed(Duration lease, const store::ActivityRenewal& renewal, const StoreResult<void>& answer);

  void started(const store::StartRequest& request, const StoreResult<store::StartAnswer>& answer);
  void deleted(InstanceKey key);
  void swept(const store::Swept& answer);

  /// Compares the whole store with what was heard.
  void inspect(const store::StoreState& state);

  /// How many commits ended an instance so far, and how many instances were started: whoever waits for the
  /// end looks again when one of them changes.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

 private:
  struct Lock {
    LockToken token{};
    WorkerKey worker{};
    BootTime until = kLongAgo;
  };
  struct Instance {
    std::string id{};
    std::optional<Lock> lock{};
    BootTime not_before = kLongAgo;  ///< a release asked for a delay
    TurnStamp stamp{};
    bool ended = false;
    ExecutionNumber execution{1};
    EventId next_event{1};
    std::set<EventId> open{};  ///< operations of this execution without an outcome
    std::set<MessageId> consumed{};
  };
  struct Activity {
    std::optional<Lock> lock{};
    std::uint32_t attempt = 1;
    std::uint32_t delivery = 0;
    bool over = false;
  };

  void broken(std::string what) { broken_(std::move(what)); }
  Instance& instance(InstanceKey key) { return instances_[key]; }
  [[nodiscard]] std::string name(InstanceKey key) const;
  [[nodiscard]] std::string name(const store::ActivityId& id) const;
  void take(Instance& instance, const store::TurnRequest& request, const store::LockedTurn& turn);
  void read_segment(InstanceKey key, Instance& instance, const store::TurnCommit& commit);
  void consume(InstanceKey key, Instance& instance, const store::TurnCommit& commit);
  void schedule(const store::CommitRequest& request, const store::TurnCommit& commit,
                const store::Committed& answer);
  void hand_out(const store::LockedActivity& locked, const Lock& lock);
  void end_activity(const store::ActivityId& id);
  void end_execution(InstanceKey key, ExecutionNumber execution);

  const Clock& clock_;
  std::function<void(std::string)> broken_;
  std::map<InstanceKey, Instance> instances_;
  std::map<store::ActivityId, Activity> activities_;
  std::uint64_t changes_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace holdfast::simulator
