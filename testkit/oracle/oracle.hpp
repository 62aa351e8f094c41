// Oracle: the store contract once more, written to be read beside its text, and by nothing else than that
// text. Stores are compared with it (holdfast/testing/model_comparison.hpp).
#pragma once

#include "testkit/oracle/rows.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing::oracle {

/// A handle on a database, for one namespace. It shares no code with any store. Each call looks at all rows
/// again: there are no indexes, no caches and no counts that could disagree with the rows. Each rule stands
/// in one function, in the words and in the order of holdfast/store.hpp and docs/writing-a-store.md.
///
/// What programs of calls can't see is left out: durability, waiting (listeners always hear all that they
/// listen for), rows that can't be read. For one thread.
class Oracle final : public Store {
 public:
  Oracle(std::shared_ptr<Database> database, std::string ns, const Clock& clock);

  [[nodiscard]] const std::string& ns() const noexcept override { return ns_; }
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] std::string description() const override { return "oracle"; }

  // workers.cpp
  StoreResult<WorkerKey> join(const store::NewWorker& info) override;
  StoreResult<void> refresh(WorkerKey worker, bool draining) override;
  StoreResult<void> leave(WorkerKey worker) override;
  StoreResult<std::vector<store::WorkerView>> workers() override;

  // turns.cpp
  StoreResult<store::FetchedTurns> fetch_turns(const store::TurnRequest& request) override;
  std::vector<StoreResult<void>> release_turns(std::span<const store::TurnRelease> releases) override;
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override;
  StoreResult<std::vector<store::Segment>> read_history(InstanceKey key, ExecutionNumber execution,
                                                        EventId after, std::size_t max_bytes) override;
  StoreResult<std::uint64_t> wake_parked(const store::Code& code) override;

  // commit.cpp
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override;

  // fetch_activities.cpp
  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override;

  // activities.cpp
  std::vector<StoreResult<void>> finish_activities(std::span<const store::ActivityResult> results) override;
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override;
  StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey worker) override;
  StoreResult<void> acknowledge_cancels(std::span<const store::CancelAcknowledgement> cancels) override;

  // session_calls.cpp
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

  // session_views.cpp
  StoreResult<store::SessionView> session(std::string_view id, store::Saved saved) override;
  StoreResult<std::vector<store::SessionView>> sessions(const store::SessionFilter& filter) override;
  StoreResult<store::SessionCounts> count_sessions() override;
  StoreResult<std::vector<store::SessionLogEntry>> session_log(std::string_view id, std::uint64_t after,
                                                               std::size_t limit) override;

  // clients.cpp
  std::vector<StoreResult<store::StartAnswer>> start(std::span<const store::StartRequest> requests) override;
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override;
  std::vector<StoreResult<InstanceKey>> set_suspended(std::span<const store::Suspension> wishes) override;
  std::vector<StoreResult<void>> delete_instances(std::span<const store::Deletion> deletions) override;
  StoreResult<std::uint64_t> prune_executions(std::string_view instance, std::uint64_t keep) override;
  StoreResult<bool> prune_execution(std::string_view instance, ExecutionNumber execution) override;

  // views.cpp
  StoreResult<store::InstanceView> find(std::string_view instance) override;
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override;
  StoreResult<store::InstanceDetail> describe(std::string_view instance) override;
  StoreResult<store::InstancePage> list(const store::InstanceFilter& filter) override;
  StoreResult<store::InstanceCount> count(const store::InstanceFilter& filter) override;
  StoreResult<store::StatusCounts> count_by_status() override;
  StoreResult<std::vector<store::ExecutionView>> executions(InstanceKey key) override;
  StoreResult<std::optional<std::string>> value(std::string_view instance, std::string_view key) override;
  StoreResult<std::vector<store::SetAsideRow>> set_aside(std::uint64_t after, std::size_t limit) override;
  StoreResult<std::vector<store::QueueDepth>> queue_depths() override;
  StoreResult<store::StoreState> state() override;

  // asks.cpp
  std::vector<StoreResult<void>> ask(std::span<const store::Ask> asks) override;
  StoreResult<std::vector<store::Ask>> fetch_asks(const store::AskRequest& request) override;
  std::vector<StoreResult<void>> answer(std::span<const store::AskAnswer> answers) override;
  StoreResult<std::vector<store::AskAnswer>> take_answers(std::span<const store::AskId> asks) override;

  // sweep.cpp
  StoreResult<store::Swept> sweep(const store::SweepRequest& request) override;

  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker) override;

 private:
  // ---- oracle.cpp: rows and time

  [[nodiscard]] Space& rows() const { return database_->spaces[ns_]; }
  [[nodiscard]] BootTime now() const { return clock_.boot_now(); }
  [[nodiscard]] CalendarTime today() const { return clock_.calendar_now(); }
  /// So much later than now; the end of time for `never`.
  [[nodiscard]] BootTime later(Duration by) const;
  /// How long until then; 0 when it is over, `never` for the end of time.
  [[nodiscard]] Duration left(BootTime until) const;

  // Null when there is none.
  [[nodiscard]] WorkerRow* find_worker(WorkerKey key) const;
  [[nodiscard]] Instance* find_instance(InstanceKey key) const;
  [[nodiscard]] Instance* find_instance(std::string_view id) const;
  [[nodiscard]] Activity* find_activity(const store::ActivityId& id) const;
  [[nodiscard]] Session* find_session(std::string_view id) const;

  // ---- workers.cpp

  /// Why a call of this worker for new work is refused, if it is.
  [[nodiscard]] std::optional<StoreError> refusal(WorkerKey worker) const;
  /// Why it may not renew or release what it has.
  [[nodiscard]] std::optional<StoreError> refusal_to_keep(WorkerKey worker) const;
  [[nodiscard]] std::string node_of(WorkerKey worker) const;
  /// Neither superseded nor draining.
  [[nodiscard]] static bool takes_work(const WorkerRow& worker);
  /// The same, and not silent for too long.
  [[nodiscard]] bool is_at_work(const WorkerRow& worker) const;
  [[nodiscard]] std::uint32_t sessions_owned(WorkerKey worker) const;

  // ---- messages.cpp

  /// Whether a message makes it ready, if its frame was given those up to `seen`.
  [[nodiscard]] static bool makes_ready(const Instance& instance, const store::Message& message,
                                        MessageId seen);
  [[nodiscard]] static bool needs_turn(const Instance& instance, MessageId seen);
  /// Since when it is there for whoever has its code; none: it is not.
  [[nodiscard]] std::optional<BootTime> ready_since(const Instance& instance) const;
  [[nodiscard]] static bool is_locked_by(const Instance& instance, LockToken token);
  [[nodiscard]] bool lock_is_over(const Instance& instance) const;
  /// False when it has ended, and the message was dropped therefore.
  bool deliver(Instance& instance, store::Message message) const;
  void deliver_later(Instance& instance, BootTime due, store::Message message) const;
  void make_due_messages_visible() const;
  void set_message_aside(const Instance& instance, const store::Message& message) const;
  void set_row_aside(InstanceKey key, std::string what, std::string problem, std::string bytes) const;

  // ---- instances.cpp

  Instance& new_instance(const std::string& id, const store::CodeVersion& code,
                         const std::vector<Attribute>& attributes) const;
  void give_early_deliveries(Instance& instance) const;
  void keep_early(const std::string& id, const store::NewMessage& message, Duration keep,
                  Duration delay) const;
  void end_execution(Instance& instance, CancelReason reason) const;
  void close_sessions_of(const Instance& instance) const;
  void remove_instance(Instance& instance) const;
  void tell_of_end(const Instance& instance, const store::EndWatcher& watcher,
                   store::EndAnswer::Kind kind) const;

  // ---- clients.cpp

  [[nodiscard]] std::optional<InstanceKey> answered(RequestId request) const;
  void remember(RequestId request, InstanceKey key) const;
  [[nodiscard]] StoreResult<store::StartAnswer> start(const store::StartRequest& request) const;
  [[nodiscard]] StoreResult<InstanceKey> send(const store::ClientMessage& sent) const;
  [[nodiscard]] StoreResult<InstanceKey> set_suspended(const store::Suspension& wish) const;
  [[nodiscard]] StoreResult<void> remove(const store::Deletion& deletion) const;

  // ---- turns.cpp

  [[nodiscard]] static bool may_run(const store::Code& code, const Instance& instance);
  [[nodiscard]] static bool has_code(const store::Code& code, const Instance& instance);
  /// The same for an instance of this version and build.
  [[nodiscard]] static bool has_code(const store::Code& code, const store::CodeVersion& version,
                                     std::uint64_t build);
  // asks.cpp
  void forget_late_questions();
  [[nodiscard]] Question* find_question(store::AskId id) const;
  [[nodiscard]] std::vector<store::AskRow> view_of_questions() const;
  void hand_out(Instance& instance, const store::TurnRequest& request, LockToken token) const;
  void release_lock(Instance& instance, bool counts) const;
  [[nodiscard]] Duration next_turn_due() const;

  // ---- commit.cpp

  [[nodiscard]] std::optional<StoreError> refusal(const store::TurnCommit& commit) const;
  store::Committed commit(const store::CommitRequest& request, const store::TurnCommit& commit) const;
  void consume(Instance& instance, const store::TurnCommit& commit) const;
  void complete_locally(const store::TurnCommit& commit) const;
  void cancel_work(Instance& instance, const store::TurnCommit& commit) const;
  static void cancel_timer(Instance& instance, EventId event);
  [[nodiscard]] std::optional<store::LockedActivity> schedule(const store::CommitRequest& request,
                                                              const store::TurnCommit& commit,
                                                              const store::NewActivity& wanted) const;
  /// Answers to what it asked for, in the order in which it gets them.
  using Answers = std::vector<store::Message>;
  void open_sessions(Instance& instance, const store::TurnCommit& commit, Answers& answers) const;
  void close_and_watch_sessions(Instance& instance, const store::TurnCommit& commit, Answers& answers) const;
  void start_and_send(Instance& instance, const store::TurnCommit& commit, store::Committed& committed) const;
  bool send_out(Instance& from, const store::Outgoing& message, bool from_ends) const;
  void start_child(const store::NewInstance& child) const;
  [[nodiscard]] Answers values_read(const store::TurnCommit& commit) const;
  void ask_for_ends(Instance& instance, const store::TurnCommit& commit) const;
  void end_turn(Instance& instance, const store::TurnCommit& commit) const;

  // ---- admission.cpp: may this worker take this activity now?

  struct Asker {
    WorkerKey key{};
    const store::Abilities* abilities = nullptr;
    bool owned_only = false;
  };
  [[nodiscard]] bool is_running(const Activity& activity) const;
  [[nodiscard]] bool is_ready(const Activity& activity) const;
  [[nodiscard]] BootTime waits_since(const Activity& activity) const;
  [[nodiscard]] BootTime deadline(const Activity& activity) const;
  [[nodiscard]] static bool has_code(const store::Abilities& abilities, const Activity& activity);
  [[nodiscard]] static bool covers(const store::Abilities& abilities, const store::SessionPolicy& policy);
  /// Whether another of its activities may run beside those that do.
  [[nodiscard]] bool has_room(const Session& session, const Activity* apart_from = nullptr) const;
  [[nodiscard]] bool is_claimable(const Session& session) const;
  /// For some node.
  [[nodiscard]] bool is_kept(const Session& session) const;
  [[nodiscard]] bool is_kept_from(const Session& session, WorkerKey worker) const;
  /// Room for another session.
  [[nodiscard]] bool has_capacity(const Asker& asker) const;
  /// `claims`: it may be taken with a claim of its session, if the worker has room for another one.
  enum class Admission : std::uint8_t { refused, allowed, claims };
  [[nodiscard]] Admission admission(const Asker& asker, const Activity& activity) const;
  /// Ready activities, in the order in which they are handed out.
  [[nodiscard]] std::vector<Activity*> ready_activities() const;
  store::LockedActivity lock(Activity& activity, WorkerKey worker, LockToken token, Duration lease) const;

  // ---- fetch_activities.cpp

  void put_back_locked_by(LockToken token) const;
  [[nodiscard]] std::vector<store::SessionHold> to_hand_over(const store::ActivityRequest& request) const;
  [[nodiscard]] Duration next_activity_due() const;

  // ---- activities.cpp

  [[nodiscard]] StoreError refusal(const store::ActivityId& id, LockToken token) const;
  StoreResult<void> finish(const store::ActivityResult& result) const;
  /// Whether a save of this activity would be refused although its session lives.
  [[nodiscard]] bool refuses_save(const Activity& activity) const;
  void save_and_abort(const Activity& activity, const std::optional<store::SessionSave>& save,
                      const std::optional<std::string>& abort) const;
  /// In the order of their ids.
  [[nodiscard]] std::vector<store::ActivityId> ids_of(
      const std::function<bool(const Activity&)>& wanted) const;
  void remove(store::ActivityId id) const;
  void queue(Activity& activity, Duration delay) const;
  /// Its row is deleted, and whoever runs it is told.
  void cancel(store::ActivityId id, CancelReason reason) const;
  /// The same by another call than its instance's own turn: the instance is told, too.
  void take(store::ActivityId id, CancelReason reason) const;
  void tell_taken(const Activity& activity, CancelReason reason) const;
  void leave_record(const Activity& activity, CancelReason reason, CancelState state) const;
  /// Its session, if that has a concurrency limit; else empty.
  [[nodiscard]] std::string limited_session(const Activity& activity) const;
  [[nodiscard]] store::CancelRecord record_of(const Cancel& cancel) const;

  // ---- sessions.cpp: how a session begins, is claimed, left and ended

  [[nodiscard]] bool is_held(const Session& session) const;  ///< owned, with an unexpired lease
  [[nodiscard]] store::SessionStatus state_of(const Session& session) const;
  [[nodiscard]] bool runs_on(const Session& session, WorkerKey worker) const;
  /// Something that waits or backs off.
  [[nodiscard]] bool has_queued(const Session& session) const;
  Session& begin_session(const std::string& id, const store::SessionPolicy& policy,
                         const Instance* opener) const;
  /// Null when there is none, or it has ended.
  Session* live_session(std::string_view id) const;
  /// What a claim tells.
  struct Claim {
    bool same_owner = false;
    std::string previous_owner{};
    store::SessionReason reason{};
  };
  Claim claim(Session& session, WorkerKey worker, const store::Abilities& abilities,
              store::SessionReason why) const;
  void extend(Session& session) const;
  void save_state(Session& session, const store::SessionSave& save) const;
  void release(Session& session, store::SessionReason why) const;
  void leave_owner(Session& session, store::SessionReason reason) const;
  void keep_as_wished(Session& session) const;
  void end_session(Session& session, store::SessionStatus how, store::SessionReason reason,
                   std::string note = {}) const;
  [[nodiscard]] static CancelReason reason_of(const Session& session);
  void tell(const Session& session, const store::SessionNews& news) const;
  void tell(Instance& instance, const Session& session, const store::SessionNews& news) const;
  [[nodiscard]] static store::SessionNews news_of_end(const Session& session);
  void log(const Session& session, store::SessionLogEntry::Kind kind, store::SessionReason reason,
           const std::string& owner, const std::string& previous) const;

  // ---- session_calls.cpp

  /// The session, or why the hold is not good any more.
  [[nodiscard]] StoreResult<Session*> held(WorkerKey worker, const store::SessionHold& hold) const;
  StoreResult<void> release(WorkerKey worker, const store::SessionRelease& wanted) const;
  void keep_for(Session& session, const WorkerRow& worker) const;
  [[nodiscard]] Session* waits_for_room_of(const WorkerRow& worker) const;
  [[nodiscard]] bool node_could_claim(const std::string& node, const Session& session) const;

  // ---- views

  [[nodiscard]] store::InstanceView view_of(const Instance& instance) const;
  [[nodiscard]] store::ActivityView view_of(const Activity& activity) const;
  [[nodiscard]] store::SessionView view_of(const Session& session, store::Saved saved) const;
  [[nodiscard]] std::uint32_t workers_for(const Activity& activity) const;

  // ---- sweep.cpp

  /// Of somebody who is late, by sweeps of this handle.
  struct Sighting {
    BootTime due{};  ///< when it became late, or was last heard of: another time begins anew
    BootTime first{};
    BootTime last{};
  };
  BootTime certain_at(Sighting& sighting, BootTime due, Duration whole) const;
  /// How much of each kind is done at once, and whether something is left.
  struct Slices {
    std::size_t max = 0;
    bool more = false;
  };
  class Slice;
  void trim_log(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const;
  void time_out_activities(Slices& slices, store::Swept& swept) const;
  [[nodiscard]] CancelReason why_not_started(const Activity& activity) const;
  void end_sessions(Slices& slices, store::Swept& swept);
  void remove_workers(const store::SweepRequest& request, Slices& slices, store::Swept& swept);
  void remove_sessions(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const;
  [[nodiscard]] BootTime removable_at(const Session& session, const store::SweepRequest& request) const;
  void remove_remains(const store::SweepRequest& request, Slices& slices, store::Swept& swept) const;
  [[nodiscard]] Duration next_sweep_due(const store::SweepRequest& request) const;

  std::shared_ptr<Database> database_;
  std::string ns_;
  const Clock& clock_;
  std::map<WorkerKey, Sighting> late_workers_{};
  std::map<std::pair<std::string, Generation>, Sighting> late_sessions_{};
};

}  // namespace holdfast::testing::oracle
