// Worker: plays a process that has joined the store.
#pragma once

#include "testkit/conformance/turn.hpp"
#include "testkit/conformance/world.hpp"

#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing::conformance {

/// A fetch, with what is locked in the worker's hands.
struct Turns {
  std::vector<Turn> turns{};
  CalendarTime now{};
  Duration next_due = never;
  bool left_behind = false;
};
struct Works {
  std::vector<Work> works{};
  Duration next_due = never;
  bool left_behind = false;
  std::optional<Duration> wants_capacity{};
  std::vector<store::SessionHold> to_hand_over{};
};

/// The ids of the instances, the names of the activities: in the order in which they were fetched.
Texts names(const Turns& fetched);
Texts names(const Works& fetched);

/// Verbs as in World. Locks are taken with the lease that the members say, and new tokens.
class Worker {
 public:
  Worker(const World& world, store::NewWorker worker, WorkerKey worker_key)
      : key(worker_key), info(std::move(worker)), world_(&world) {}

  // ---- turns

  StoreResult<store::FetchedTurns> try_fetch_turns(std::size_t max = 10,
                                                   std::span<const store::HeldInstance> held = {}) const;
  Turns fetch_turns(std::size_t max = 10, std::span<const store::HeldInstance> held = {},
                    Where where = Where::current()) const;
  /// As if the fetch that locked by this token had not been answered.
  Turns fetch_turns_again(LockToken token, std::size_t max = 10, Where where = Where::current()) const;
  /// The only instance that is ready.
  Turn fetch_turn(Where where = Where::current()) const;
  /// What has come for an instance whose lock was kept.
  std::optional<Turn> news_of(const Turn& held, Where where = Where::current()) const;
  /// Starts an instance, and fetches its first turn.
  Turn begin(const std::string& instance, Where where = Where::current()) const;

  StoreResult<store::Committed> try_commit(const Turn& turn) const;
  store::Committed commit(Turn& turn, Where where = Where::current()) const;
  store::Committed commit(Turn&& turn, Where where = Where::current()) const { return commit(turn, where); }
  std::vector<StoreResult<store::Committed>> try_commit(std::span<const store::TurnCommit> commits) const;
  /// Commits and expects each activity that was wished for to be handed off.
  std::vector<Work> commit_and_run(Turn& turn, Where where = Where::current()) const;

  StoreResult<void> renew(const Turn& turn, Duration lease = std::chrono::seconds(5)) const;
  StoreResult<void> release(const Turn& turn) const {
    return release(store::TurnRelease{turn.key(), turn->token});
  }
  StoreResult<void> release(const store::TurnRelease& release) const;

  // ---- activities

  StoreResult<store::FetchedActivities> try_fetch_activities(std::size_t max = 10) const;
  Works fetch_activities(std::size_t max = 10, Where where = Where::current()) const;
  /// The only activity that it may take.
  Work fetch_activity(Where where = Where::current()) const;

  /// As if the fetch that locked by this token had not been answered.
  Works fetch_activities_again(LockToken token, std::size_t max = 10, Where where = Where::current()) const;

  StoreResult<void> answer_with(const store::ActivityResult& result) const;
  StoreResult<void> finish(const Work& work, std::string body = "result") const;
  StoreResult<void> retry(const Work& work, Duration delay = {}, std::string failure = "failure") const;
  StoreResult<void> put_back(const Work& work, Duration delay = {}) const;
  StoreResult<void> set_aside(const Work& work, std::string problem) const;
  StoreResult<void> renew(const Work& work, Duration lease = std::chrono::seconds(30)) const;
  StoreResult<void> heartbeat(const Work& work, std::string progress) const;

  std::vector<store::CancelRecord> cancel_records(Where where = Where::current()) const;
  StoreResult<void> acknowledge(
      const store::CancelRecord& record,
      store::CancelRecord::State state = store::CancelRecord::State::acknowledged) const;

  // ---- sessions

  store::Acquired acquire(std::string_view id, const store::SessionPolicy& policy = {},
                          Where where = Where::current()) const;
  StoreResult<void> renew(const store::SessionHold& hold) const;
  StoreResult<void> release(const store::SessionHold& hold, store::SessionReason reason,
                            std::optional<std::string> save = {}) const;

  WorkerKey key{};
  store::NewWorker info{};
  Duration turn_lease = std::chrono::seconds(5);
  Duration activity_lease = std::chrono::seconds(30);

 private:
  Turns fetch(const store::TurnRequest& request, Where where) const;
  Works fetch(const store::ActivityRequest& request, Where where) const;

  const World* world_;
};

}  // namespace holdfast::testing::conformance
