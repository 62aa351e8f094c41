// PostgresStore: the contract over one schema. Here calls become jobs of the writer or reads of a snapshot;
// what they do stands in the rules, and in the files about what is fetched, swept and shown.
#pragma once

#include "base/mutex.hpp"
#include "calls.hpp"
#include "contract/group_commit.hpp"
#include "contract/later_logger.hpp"
#include "lease_clock.hpp"
#include "locked_rows.hpp"
#include "open.hpp"
#include "wakes.hpp"
#include "working_set.hpp"

#include <holdfast/postgres.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres_store {

/// What becomes of an item that the database itself refuses.
StoreError refused(const SqlError& error);

class PostgresStore final : public Store {
 public:
  PostgresStore(std::string_view uri, PostgresOptions options);
  ~PostgresStore() override;

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
  using Job = store::Job<WorkingSet>;
  using Item = store::ItemOf<Job>;
  using Order = store::Order;

  /// Whose call it is: somebody with nothing else to do waits for a locked row until `timeout`, one of the
  /// few threads of a worker does not.
  enum class Caller : std::uint8_t { client, worker };

  /// One call with one answer, through the writer.
  template <class Answer, class Call, class Needs = store::NeedsNothing>
  StoreResult<Answer> write(Caller caller, Call call, Needs needs = {}, Order order = Order::middle);
  /// One answer for each item, through the writer.
  template <class Answer, class Asked, class Call, class Needs>
  std::vector<StoreResult<Answer>> write_each(Caller caller, std::span<const Asked> items, Order order,
                                              Call call, Needs needs);
  /// A call that writes nothing, on a connection of its own.
  template <class Answer, class Call>
  StoreResult<Answer> read(Call call);

  /// How long a transaction waits for a lock of somebody else before it lets go of all that it has.
  enum class Patience : std::uint8_t {
    some,
    little,  ///< a call waits, or has waited lately: its row may be asked for again
    none,    ///< its row was locked a moment ago
  };
  /// One of several tries of a transaction. What the first one takes for granted is true almost always.
  struct Attempt {
    Patience patience = Patience::some;
    bool relies = true;                 ///< on what is kept, and on its own clock
    bool history_may_be_there = false;  ///< a segment that it writes
  };

  // group.cpp
  /// Returns when every item of the job has its answer.
  void run(Job& job);
  void lead(std::span<store::GroupedCall* const> group);
  void try_again(std::span<const Item> items);
  void commit_in_parts(std::span<const Item> items, Patience patience);
  void commit_together(std::span<const Item> items, Patience patience);
  void set_apart(std::span<const Item> items);
  Needs needs_of(const Item& item);
  void look_for_locks(std::span<const Item> items);
  void commit_alone(const Item& item, Patience patience);
  void commit(std::span<const Item> items, Patience patience);
  void run_transaction(std::span<const Item> items, const Attempt& attempt, Needs& locks);
  void run_items(WorkingSet& set, std::span<const Item> items, const Attempt& attempt);
  void finish_transaction(WorkingSet& set);
  void begin(WorkingSet& set, const Statement& how, BootTime next_sweep, bool may_guess);
  Link& writer();
  void roll_back();

  std::unique_ptr<Link> take_reader();
  void give_back(std::unique_ptr<Link> link);
  std::unique_ptr<Link> make_link();
  StoreError unavailable(std::string why);
  static StoreError busy();

  PostgresOptions options_;
  store::LaterLogger later_;  // for who leads, or is about to read
  ConnectionSetup setup_;
  std::int32_t ns_number_ = 0;
  LeaseClock lease_clock_;
  std::unique_ptr<Wakes> wakes_{};

  // A transaction stays well below 50 ms.
  static constexpr std::size_t kItemsPerTransaction = 200;
  store::CallQueue queue_{kItemsPerTransaction};
  std::unique_ptr<Link> writer_{};  // of who leads, and so are the next five
  LockedRows locked_{};
  BootTime next_sweep_ = rules::kNever;
  rules::Lapses lapses_{};
  LookAgain turns_again_{};
  LookAgain activities_again_{};
  std::atomic<int> waiting_{0};        // calls whose rows others have locked
  std::atomic<bool> in_doubt_{false};  // a call was answered `unavailable` since the last sweep

  Mutex readers_mutex_{};
  Condition reader_free_{};
  std::vector<std::unique_ptr<Link>> readers_ HOLDFAST_GUARDED_BY(readers_mutex_){};
  std::size_t readers_out_ HOLDFAST_GUARDED_BY(readers_mutex_) = 0;
};

}  // namespace holdfast::postgres_store
