// A store that hands every call on to another: for stores with one mistake.
#pragma once

#include <holdfast/store.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::shared_ptr<Store> to) : to_(std::move(to)) {}

  const std::string& ns() const noexcept override { return to_->ns(); }
  const Clock& clock() const noexcept override { return to_->clock(); }
  std::string description() const override { return to_->description(); }

  StoreResult<WorkerKey> join(const store::NewWorker& info) override { return to_->join(info); }
  StoreResult<void> refresh(WorkerKey worker, bool draining) override {
    return to_->refresh(worker, draining);
  }
  StoreResult<void> leave(WorkerKey worker) override { return to_->leave(worker); }
  StoreResult<std::vector<store::WorkerView>> workers() override { return to_->workers(); }

  StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) override {
    return to_->fetch_turns(request);
  }
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override {
    return to_->commit_turns(request, commits);
  }
  std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) override {
    return to_->release_turns(releases);
  }
  StoreResult<std::vector<store::Segment>> read_history(InstanceKey key, ExecutionNumber execution,
                                                        EventId after, std::size_t max_bytes) override {
    return to_->read_history(key, execution, after, max_bytes);
  }
  StoreResult<std::uint64_t> wake_parked(const store::Code& code) override { return to_->wake_parked(code); }

  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override {
    return to_->fetch_activities(request);
  }
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override {
    return to_->finish_activities(results);
  }
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override {
    return to_->renew_turns(worker, lease, turns);
  }
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override {
    return to_->renew_activities(worker, lease, activities);
  }
  StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey worker) override {
    return to_->cancel_records(worker);
  }
  StoreResult<void> acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) override {
    return to_->acknowledge_cancels(cancels);
  }
  StoreResult<std::vector<store::QueueDepth>> queue_depths() override { return to_->queue_depths(); }

  StoreResult<store::Acquired> acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                               std::string_view id,
                                               const store::SessionPolicy& policy) override {
    return to_->acquire_session(worker, abilities, id, policy);
  }
  std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                std::span<const store::SessionRenewal> holds) override {
    return to_->renew_sessions(worker, holds);
  }
  std::vector<StoreResult<void>> release_sessions(WorkerKey worker,
                                                  std::span<const store::SessionRelease> releases) override {
    return to_->release_sessions(worker, releases);
  }
  StoreResult<bool> close_session(std::string_view id, store::SessionReason reason) override {
    return to_->close_session(id, reason);
  }
  StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                 const store::SessionWish& wish) override {
    return to_->ask_for_session(id, wish);
  }
  StoreResult<std::vector<store::WantedSession>> wanted_sessions(WorkerKey worker) override {
    return to_->wanted_sessions(worker);
  }
  StoreResult<void> acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) override {
    return to_->acknowledge_ends(worker, holds);
  }
  StoreResult<bool> discard_session_state(std::string_view id) override {
    return to_->discard_session_state(id);
  }
  StoreResult<void> fail_session(WorkerKey worker, const store::SessionHold& hold,
                                 store::SessionReason reason) override {
    return to_->fail_session(worker, hold, reason);
  }
  StoreResult<store::SessionView> session(std::string_view id, store::Saved saved) override {
    return to_->session(id, saved);
  }
  StoreResult<std::vector<store::SessionView>> sessions(const store::SessionFilter& filter) override {
    return to_->sessions(filter);
  }
  StoreResult<store::SessionCounts> count_sessions() override { return to_->count_sessions(); }
  StoreResult<std::vector<store::SessionLogEntry>> session_log(std::string_view id, std::uint64_t after,
                                                               std::size_t limit) override {
    return to_->session_log(id, after, limit);
  }

  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> requests) override {
    return to_->start(requests);
  }
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override {
    return to_->send(messages);
  }
  StoreResult<store::InstanceView> find(std::string_view instance) override { return to_->find(instance); }
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override {
    return to_->look(keys);
  }
  StoreResult<store::InstanceDetail> describe(std::string_view instance) override {
    return to_->describe(instance);
  }
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override {
    return to_->list(filter);
  }
  StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) override {
    return to_->executions(key);
  }
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override {
    return to_->value(instance, key);
  }
  StoreResult<void> delete_instance(std::string_view instance, bool force, InstanceKey life) override {
    return to_->delete_instance(instance, force, life);
  }
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override {
    return to_->prune_executions(instance, keep);
  }
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override {
    return to_->prune_execution(instance, execution);
  }
  StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override {
    return to_->set_aside(after, limit);
  }

  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override { return to_->sweep(request); }
  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) override {
    return to_->listen(mask, worker);
  }
  StoreResult<store::StoreState> state() override { return to_->state(); }

 protected:
  Store& to() noexcept { return *to_; }

 private:
  std::shared_ptr<Store> to_;
};

}  // namespace holdfast
