// StoreGate: what stands between a worker and its store. It lets all calls pass until the worker has to be
// gone; from then on, a store that does not answer is asked nothing more.
#pragma once

#include "base/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime {

/// A call to a store that is away or locked by others may take as long as its timeout, and a worker that
/// leaves has many to make. Past the time of close_at() they are made one at a time, each only if the last
/// one was answered; what is refused is answered `unavailable` at once. So whoever waits for the worker waits
/// for the calls that were under way at that time, and for no others. Thread-safe.
class StoreGate final : public Store {
 public:
  explicit StoreGate(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  /// From that time on, the first call that gets no answer is the last one.
  void close_at(BootTime time);
  /// Whether calls are refused.
  [[nodiscard]] bool is_shut() const;

  [[nodiscard]] const std::string& ns() const noexcept override { return inner_->ns(); }
  [[nodiscard]] const Clock& clock() const noexcept override { return inner_->clock(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }

  StoreResult<WorkerKey> join(const store::NewWorker& info) override;
  StoreResult<void> refresh(WorkerKey worker, bool draining) override;
  StoreResult<void> leave(WorkerKey worker) override;
  StoreResult<std::vector<store::WorkerView>> workers() override;

  StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) override;
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override;
  std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) override;
  StoreResult<std::vector<store::Segment>> read_history(InstanceKey key, ExecutionNumber execution,
                                                        EventId after, std::size_t max_bytes) override;
  StoreResult<std::uint64_t> wake_parked(const store::Code& code) override;

  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override;
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override;
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override;
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override;
  StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey worker) override;
  StoreResult<void> acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) override;
  StoreResult<std::vector<store::QueueDepth>> queue_depths() override;

  StoreResult<store::Acquired> acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                               std::string_view id,
                                               const store::SessionPolicy& policy) override;
  std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                std::span<const store::SessionRenewal> holds) override;
  std::vector<StoreResult<void>> release_sessions(WorkerKey worker,
                                                  std::span<const store::SessionRelease> releases) override;
  StoreResult<bool> close_session(std::string_view id, store::SessionReason reason) override;
  StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                 const store::SessionWish& wish) override;
  StoreResult<std::vector<store::WantedSession>> wanted_sessions(WorkerKey worker) override;
  StoreResult<void> acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) override;
  StoreResult<bool> discard_session_state(std::string_view id) override;
  StoreResult<void> fail_session(WorkerKey worker, const store::SessionHold& hold,
                                 store::SessionReason reason) override;
  StoreResult<store::SessionView> session(std::string_view id, store::Saved saved) override;
  StoreResult<std::vector<store::SessionView>> sessions(const store::SessionFilter& filter) override;
  StoreResult<store::SessionCounts> count_sessions() override;
  StoreResult<std::vector<store::SessionLogEntry>> session_log(std::string_view id, std::uint64_t after,
                                                               std::size_t limit) override;

  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> requests) override;
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override;
  StoreResult<store::InstanceView> find(std::string_view instance) override;
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override;
  StoreResult<store::InstanceDetail> describe(std::string_view instance) override;
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override;
  StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) override;
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override;
  StoreResult<void> delete_instance(std::string_view instance, bool force, InstanceKey life) override;
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override;
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override;
  StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override;

  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override;
  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) override;
  StoreResult<store::StoreState> state() override;

 private:
  /// A call with one answer.
  template <class Call>
  auto one(Call call) -> decltype(call());
  /// A call with one answer for each of so many items.
  template <class Call>
  auto each(std::size_t items, Call call) -> decltype(call());
  class Passage;
  /// Why the call must not be made, if so.
  [[nodiscard]] std::optional<StoreError> enter();
  /// A call has returned, and nobody has answered it, for that reason if one is given.
  void leave_with(std::optional<std::string> unanswered);

  const std::shared_ptr<Store> inner_;
  mutable Mutex mutex_;
  Condition changed_;
  BootTime closes_at_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::max();
  std::size_t under_way_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::optional<std::string> unanswered_
      HOLDFAST_GUARDED_BY(mutex_){};  // why the call was not that returned last, if so
};

}  // namespace holdfast::runtime
