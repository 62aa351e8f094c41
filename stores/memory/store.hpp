// MemoryStore: the calls of the contract. Each is one transaction under the mutex of the database; what they
// do stands in the rules.
#pragma once

#include "contract/wake_bus.hpp"
#include "database.hpp"
#include "stores/rules/calls.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::memory_store {

using namespace holdfast::store;
using rules::Transaction;

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryOptions options);
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  [[nodiscard]] const std::string& ns() const noexcept override { return ns_; }
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] std::string description() const override;

  StoreResult<WorkerKey> join(const NewWorker& info) override;
  StoreResult<void> refresh(WorkerKey worker, bool draining) override;
  StoreResult<void> leave(WorkerKey worker) override;
  StoreResult<std::vector<WorkerView>> workers() override;

  StoreResult<FetchedTurns> fetch_turns(const TurnRequest& request) override;
  std::vector<StoreResult<void>> release_turns(std::span<const TurnRelease> releases) override;
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const TurnRenewal> turns) override;
  StoreResult<std::vector<Segment>> read_history(InstanceKey key, ExecutionNumber execution, EventId after,
                                                 std::size_t max_bytes) override;
  StoreResult<std::uint64_t> wake_parked(const Code& code) override;

  std::vector<StoreResult<Committed>> commit_turns(const CommitRequest& request,
                                                   std::span<const TurnCommit> commits) override;

  StoreResult<FetchedActivities> fetch_activities(const ActivityRequest& request) override;

  std::vector<StoreResult<void>> finish_activities(std::span<const ActivityResult> results) override;
  std::vector<StoreResult<void>> renew_activities(WorkerKey worker, Duration lease,
                                                  std::span<const ActivityRenewal> activities) override;
  StoreResult<std::vector<CancelRecord>> cancel_records(WorkerKey worker) override;
  StoreResult<void> acknowledge_cancels(std::span<const CancelAcknowledgement> cancels) override;
  StoreResult<std::vector<QueueDepth>> queue_depths() override;

  StoreResult<Acquired> acquire_session(WorkerKey worker, const Abilities& abilities, std::string_view id,
                                        const SessionPolicy& policy) override;
  std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                std::span<const SessionRenewal> holds) override;
  std::vector<StoreResult<void>> release_sessions(WorkerKey worker,
                                                  std::span<const SessionRelease> releases) override;
  StoreResult<bool> close_session(std::string_view id, SessionReason reason) override;
  StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                 const store::SessionWish& wish) override;
  StoreResult<std::vector<store::WantedSession>> wanted_sessions(WorkerKey worker) override;
  StoreResult<void> acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) override;
  StoreResult<bool> discard_session_state(std::string_view id) override;
  StoreResult<void> fail_session(WorkerKey worker, const SessionHold& hold, SessionReason reason) override;
  StoreResult<SessionView> session(std::string_view id, store::Saved saved) override;
  StoreResult<std::vector<SessionView>> sessions(const store::SessionFilter& filter) override;
  StoreResult<store::SessionCounts> count_sessions() override;
  StoreResult<std::vector<SessionLogEntry>> session_log(std::string_view id, std::uint64_t after,
                                                        std::size_t limit) override;

  std::vector<StoreResult<StartAnswer>> start(std::span<const StartRequest> requests) override;
  std::vector<StoreResult<InstanceKey>> send(std::span<const ClientMessage> messages) override;
  std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) override;
  StoreResult<InstanceView> find(std::string_view instance) override;
  StoreResult<std::vector<std::optional<InstanceView>>> look(std::span<const InstanceKey> keys) override;
  StoreResult<InstanceDetail> describe(std::string_view instance) override;
  StoreResult<InstancePage> list(const InstanceFilter& filter) override;
  StoreResult<store::InstanceCount> count(const store::InstanceFilter& filter) override;
  StoreResult<store::StatusCounts> count_by_status() override;
  StoreResult<std::vector<ExecutionView>> executions(InstanceKey key) override;
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override;
  std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) override;
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override;
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override;
  StoreResult<std::vector<SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override;

  std::vector<StoreResult<void>> ask(std::span<const store::Ask> asks) override;
  StoreResult<std::vector<store::Ask>> fetch_asks(const store::AskRequest& request) override;
  std::vector<StoreResult<void>> answer(std::span<const store::AskAnswer> answers) override;
  StoreResult<std::vector<store::AskAnswer>> take_answers(std::span<const store::AskId> asks) override;

  StoreResult<Swept> sweep(const SweepRequest& request) override;

  StoreResult<StoreState> state() override;

  std::unique_ptr<Listener> listen(WorkMask mask, WorkerKey worker) override;

 private:
  /// Runs `call` with a Transaction, and tells those who wait.
  template <class Call>
  auto transact(Call&& call) HOLDFAST_REQUIRES(database_->mutex) {
    Transaction tx = begin_transaction();
    auto answer = call(tx);
    publish(tx.news);
    return answer;
  }

  /// A call with one answer.
  template <class T, class Call>
  StoreResult<T> answer_one(std::string_view point, Call&& call) {
    const Fault fault = fault_at(faults_, point);
    const MutexLock lock(database_->mutex);
    if (fault == Fault::fail_before) return unavailable(point);
    StoreResult<T> result = transact(std::forward<Call>(call));
    if (fault == Fault::lose_answer) return unavailable(point);
    return result;
  }

  /// A call with one answer for each of its items.
  template <class T, class Item, class Call>
  std::vector<StoreResult<T>> answer_each(std::string_view point, std::span<const Item> items, Call&& call) {
    using Results = std::vector<StoreResult<T>>;
    const Fault fault = fault_at(faults_, point);
    const MutexLock lock(database_->mutex);
    if (fault == Fault::fail_before) return Results(items.size(), unavailable(point));
    Results results = transact([&](Transaction& tx) {
      Results each;
      each.reserve(items.size());
      for (const Item& item : items) each.push_back(call(tx, item));
      return each;
    });
    if (fault == Fault::lose_answer) return Results(items.size(), unavailable(point));
    return results;
  }

  Transaction begin_transaction() HOLDFAST_REQUIRES(database_->mutex);
  void publish(const News& news);
  /// Also ends what the sweeps of this store have seen without interruption.
  Unexpected<StoreError> unavailable(std::string_view point) HOLDFAST_REQUIRES(database_->mutex);

  const std::string ns_;
  const std::shared_ptr<MemoryDatabase> database_;
  const Clock& clock_;
  FaultPlan* const faults_;
  Namespace* namespace_ = nullptr;
  WakeBus bus_;
  rules::Lapses lapses_ HOLDFAST_GUARDED_BY(database_->mutex){};
};

}  // namespace holdfast::memory_store
