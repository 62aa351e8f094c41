// StoreForwarder: a store in front of another one. Each call of the contract is handed on here, and nowhere
// else.
#pragma once

#include <holdfast/store.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::store {

/// `How` derives from it and says how calls are made, by
/// - `one(name, call)` for a call with one answer: `call()` makes it;
/// - `each(name, items, call)` for a call with one answer for each item: `call(items)` makes it, also with
///   some of them.
/// It may override calls as well.
template <class How>
class StoreForwarder : public Store {
 public:
  [[nodiscard]] const std::string& ns() const noexcept override { return inner_->ns(); }
  [[nodiscard]] const Clock& clock() const noexcept override { return inner_->clock(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }

  [[nodiscard]] store::LocalAsks& local_asks() noexcept override { return inner_->local_asks(); }

  StoreResult<WorkerKey> join(const store::NewWorker& info) override {
    return how().one("join", [&] { return inner_->join(info); });
  }
  StoreResult<void> refresh(WorkerKey worker, bool draining) override {
    return how().one("refresh", [&] { return inner_->refresh(worker, draining); });
  }
  StoreResult<void> leave(WorkerKey worker) override {
    return how().one("leave", [&] { return inner_->leave(worker); });
  }
  StoreResult<std::vector<store::WorkerView>> workers() override {
    return how().one("workers", [&] { return inner_->workers(); });
  }

  StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) override {
    return how().one("fetch turns", [&] { return inner_->fetch_turns(request); });
  }
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override {
    return how().each("commit turns", commits,
                      [&](auto reached) { return inner_->commit_turns(request, reached); });
  }
  std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) override {
    return how().each("release turns", releases,
                      [&](auto reached) { return inner_->release_turns(reached); });
  }
  StoreResult<std::vector<store::Segment>> read_history(InstanceKey key, ExecutionNumber execution,
                                                        EventId after, std::size_t max_bytes) override {
    return how().one("read history", [&] { return inner_->read_history(key, execution, after, max_bytes); });
  }
  StoreResult<std::uint64_t> wake_parked(const store::Code& code) override {
    return how().one("wake parked", [&] { return inner_->wake_parked(code); });
  }

  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override {
    return how().one("fetch activities", [&] { return inner_->fetch_activities(request); });
  }
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override {
    return how().each("finish activities", results,
                      [&](auto reached) { return inner_->finish_activities(reached); });
  }
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override {
    return how().each("renew turns", turns,
                      [&](auto reached) { return inner_->renew_turns(worker, lease, reached); });
  }
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override {
    return how().each("renew activities", activities,
                      [&](auto reached) { return inner_->renew_activities(worker, lease, reached); });
  }
  StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey worker) override {
    return how().one("cancel records", [&] { return inner_->cancel_records(worker); });
  }
  StoreResult<void> acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) override {
    return how().one("acknowledge cancels", [&] { return inner_->acknowledge_cancels(cancels); });
  }
  StoreResult<std::vector<store::QueueDepth>> queue_depths() override {
    return how().one("queue depths", [&] { return inner_->queue_depths(); });
  }

  StoreResult<store::Acquired> acquire_session(WorkerKey worker, const store::Abilities& abilities,
                                               std::string_view id,
                                               const store::SessionPolicy& policy) override {
    return how().one("acquire session",
                     [&] { return inner_->acquire_session(worker, abilities, id, policy); });
  }
  std::vector<StoreResult<void>> renew_sessions(WorkerKey worker,
                                                std::span<const store::SessionRenewal> holds) override {
    return how().each("renew sessions", holds,
                      [&](auto reached) { return inner_->renew_sessions(worker, reached); });
  }
  std::vector<StoreResult<void>> release_sessions(WorkerKey worker,
                                                  std::span<const store::SessionRelease> releases) override {
    return how().each("release sessions", releases,
                      [&](auto reached) { return inner_->release_sessions(worker, reached); });
  }
  StoreResult<bool> close_session(std::string_view id, store::SessionReason reason) override {
    return how().one("close session", [&] { return inner_->close_session(id, reason); });
  }
  StoreResult<store::WishAnswer> ask_for_session(std::string_view id,
                                                 const store::SessionWish& wish) override {
    return how().one("ask for session", [&] { return inner_->ask_for_session(id, wish); });
  }
  StoreResult<std::vector<store::WantedSession>> wanted_sessions(WorkerKey worker) override {
    return how().one("wanted sessions", [&] { return inner_->wanted_sessions(worker); });
  }
  StoreResult<void> acknowledge_ends(WorkerKey worker, std::span<const store::SessionHold> holds) override {
    return how().one("acknowledge ends", [&] { return inner_->acknowledge_ends(worker, holds); });
  }
  StoreResult<bool> discard_session_state(std::string_view id) override {
    return how().one("discard session state", [&] { return inner_->discard_session_state(id); });
  }
  StoreResult<void> fail_session(WorkerKey worker, const store::SessionHold& hold,
                                 store::SessionReason reason) override {
    return how().one("fail session", [&] { return inner_->fail_session(worker, hold, reason); });
  }
  StoreResult<store::SessionView> session(std::string_view id, store::Saved saved) override {
    return how().one("session", [&] { return inner_->session(id, saved); });
  }
  StoreResult<std::vector<store::SessionView>> sessions(const store::SessionFilter& filter) override {
    return how().one("sessions", [&] { return inner_->sessions(filter); });
  }
  StoreResult<store::SessionCounts> count_sessions() override {
    return how().one("count sessions", [&] { return inner_->count_sessions(); });
  }
  StoreResult<std::vector<store::SessionLogEntry>> session_log(std::string_view id, std::uint64_t after,
                                                               std::size_t limit) override {
    return how().one("session log", [&] { return inner_->session_log(id, after, limit); });
  }

  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> requests) override {
    return how().each("start", requests, [&](auto reached) { return inner_->start(reached); });
  }
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override {
    return how().each("send", messages, [&](auto reached) { return inner_->send(reached); });
  }
  std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) override {
    return how().each("set suspended", wishes, [&](auto reached) { return inner_->set_suspended(reached); });
  }
  StoreResult<store::InstanceView> find(std::string_view instance) override {
    return how().one("find", [&] { return inner_->find(instance); });
  }
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override {
    return how().one("look", [&] { return inner_->look(keys); });
  }
  StoreResult<store::InstanceDetail> describe(std::string_view instance) override {
    return how().one("describe", [&] { return inner_->describe(instance); });
  }
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override {
    return how().one("list", [&] { return inner_->list(filter); });
  }
  StoreResult<store::InstanceCount> count(const store::InstanceFilter& filter) override {
    return how().one("count", [&] { return inner_->count(filter); });
  }
  StoreResult<store::StatusCounts> count_by_status() override {
    return how().one("count by status", [&] { return inner_->count_by_status(); });
  }
  StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) override {
    return how().one("executions", [&] { return inner_->executions(key); });
  }
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override {
    return how().one("value", [&] { return inner_->value(instance, key); });
  }
  std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) override {
    return how().each("delete instances", deletions,
                      [&](auto reached) { return inner_->delete_instances(reached); });
  }
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override {
    return how().one("prune executions", [&] { return inner_->prune_executions(instance, keep); });
  }
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override {
    return how().one("prune execution", [&] { return inner_->prune_execution(instance, execution); });
  }
  StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override {
    return how().one("set aside", [&] { return inner_->set_aside(after, limit); });
  }

  std::vector<StoreResult<void>> ask(std::span<const store::Ask> asks) override {
    return how().each("ask", asks, [&](auto reached) { return inner_->ask(reached); });
  }
  StoreResult<std::vector<store::Ask>> fetch_asks(const store::AskRequest& request) override {
    return how().one("fetch asks", [&] { return inner_->fetch_asks(request); });
  }
  std::vector<StoreResult<void>> answer(std::span<const store::AskAnswer> answers) override {
    return how().each("answer", answers, [&](auto reached) { return inner_->answer(reached); });
  }
  StoreResult<std::vector<store::AskAnswer>> take_answers(std::span<const store::AskId> asks) override {
    return how().one("take answers", [&] { return inner_->take_answers(asks); });
  }

  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override {
    return how().one("sweep", [&] { return inner_->sweep(request); });
  }
  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) override {
    return inner_->listen(mask, worker);
  }
  StoreResult<store::StoreState> state() override {
    return how().one("state", [&] { return inner_->state(); });
  }

 protected:
  explicit StoreForwarder(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Store& inner() const noexcept { return *inner_; }

 private:
  How& how() noexcept { return static_cast<How&>(*this); }

  const std::shared_ptr<Store> inner_;
};

}  // namespace holdfast::store
