// SqliteStore: the contract over one file. Here calls become jobs of the writer or reads of a snapshot; what
// they do stands in the rules, and in the files about what is fetched, swept and shown.
#pragma once

#include "base/mutex.hpp"
#include "contract/later_logger.hpp"
#include "lease_clock.hpp"
#include "log_trust.hpp"
#include "open.hpp"
#include "stores/rules/calls.hpp"
#include "turnstile.hpp"
#include "wakes.hpp"
#include "wal_limit.hpp"
#include "writer.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::sqlite_store {

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::filesystem::path& path, SqliteOptions options);
  ~SqliteStore() override;

  [[nodiscard]] const std::string& ns() const noexcept override { return options_.ns; }
  [[nodiscard]] const Clock& clock() const noexcept override { return *options_.clock; }
  [[nodiscard]] std::string description() const override;

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
  std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) override;
  StoreResult<store::InstanceView> find(std::string_view instance) override;
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override;
  StoreResult<store::InstanceDetail> describe(std::string_view instance) override;
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override;
  StoreResult<store::InstanceCount> count(const store::InstanceFilter& filter) override;
  StoreResult<store::StatusCounts> count_by_status() override;
  StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) override;
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override;
  std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) override;
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override;
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override;
  StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override;

  std::vector<StoreResult<void>> ask(std::span<const store::Ask> asks) override;
  StoreResult<std::vector<store::Ask>> fetch_asks(const store::AskRequest& request) override;
  std::vector<StoreResult<void>> answer(std::span<const store::AskAnswer> answers) override;
  StoreResult<std::vector<store::AskAnswer>> take_answers(std::span<const store::AskId> asks) override;

  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override;
  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) override;
  StoreResult<store::StoreState> state() override;

 private:
  /// One call with one answer, through the writer.
  template <class Answer, class Call>
  StoreResult<Answer> write(Call call, Order order = Order::middle);
  /// One answer for each item, through the writer.
  template <class Answer, class Item, class Call>
  std::vector<StoreResult<Answer>> write_each(std::span<const Item> items, Order order, Call call);
  void run(Job& job);
  /// A call that writes nothing.
  template <class Answer, class Call>
  StoreResult<Answer> read(Call call);

  void begin(std::chrono::milliseconds waited);
  void require_schema(Connection& connection) const;
  void set_wait_for_disk(bool wait);
  /// A connection for one read, from the pool or new.
  std::unique_ptr<Link> take_reader();

  SqliteOptions options_;
  store::LaterLogger later_;  // for who leads
  OpenedDatabase database_{};
  std::int64_t schema_number_ = 0;
  std::int64_t ns_number_ = 0;
  std::shared_ptr<SideFile> side_file_{};
  std::unique_ptr<Turnstile> turnstile_{};
  std::unique_ptr<FileWakes> wakes_{};
  std::unique_ptr<Link> link_{};
  std::unique_ptr<LeaseClock> lease_clock_{};
  std::unique_ptr<LogTrust> log_trust_{};
  std::unique_ptr<WalLimit> wal_limit_{};
  bool waits_for_disk_ = true;  // the writer's connection; used by its leader only
  std::unique_ptr<Writer> writer_{};
  rules::Lapses lapses_{};             // used by jobs of the writer only, one at a time
  std::atomic<bool> in_doubt_{false};  // a call was answered `unavailable` since the last sweep

  Mutex readers_mutex_;
  std::vector<std::unique_ptr<Link>> readers_ HOLDFAST_GUARDED_BY(readers_mutex_){};
};

}  // namespace holdfast::sqlite_store
