// WorkingSet: the rows that one transaction is about. It brings them from the tables into a Space when the
// rules ask for them, locked, and writes back what the rules have changed.
//
// Nothing depends on rows being asked for in advance, but each time that a rule asks costs a way to the
// server and back: calls that come often ask for all they need beforehand (want_...(), then bring()).
#pragma once

#include "columns.hpp"
#include "connection.hpp"
#include "interned.hpp"
#include "kept.hpp"
#include "rows.hpp"
#include "stores/rules/brought.hpp"
#include "stores/rules/transaction.hpp"

#include <holdfast/fault.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

/// Thrown where a test wants a failure.
struct InjectedFault {};

/// A connection and what it knows.
struct Link {
  Link(const ConnectionSetup& setup, std::int32_t ns_number, FaultPlan* plan)
      : connection(setup), ns(ns_number), faults(plan) {}
  Connection connection;
  std::int32_t ns;
  FaultPlan* faults;
  Names names{};
  std::map<WorkerKey, store::NewWorker> workers{};  ///< what they joined with never changes
  Kept kept{};                                      ///< of who writes
  std::deque<InstanceKey> spare_keys{};             ///< taken by a transaction in which nothing has happened

  /// Between transactions. Plans that were made while the tables were small are made anew: soon after the
  /// beginning, then ever more rarely.
  void renew_plans() {
    const auto now = std::chrono::steady_clock::now();
    if (now < plan_again_) return;
    plan_again_ = now + plans_last_;
    plans_last_ = std::min(plans_last_ * 2, std::chrono::seconds(600));
    connection.run("DISCARD PLANS");
  }

 private:
  std::chrono::seconds plans_last_{1};
  std::chrono::steady_clock::time_point plan_again_ = std::chrono::steady_clock::now() + plans_last_;
};

enum class Access : std::uint8_t { reads, writes };

/// What the calls of a group will ask for.
struct Needs {
  std::set<std::string> reserved{};  ///< names that may be given to new instances, or kept something for
  std::set<std::string> early{};     ///< of those: whose early deliveries are to come
  std::set<std::string> started{};   ///< those that will be, if they are free
  std::set<std::string> names{};
  std::set<InstanceKey> instances{};
  std::map<InstanceKey, MessageId> unread{};  ///< messages of those, after what their frames were given
  std::set<InstanceKey> timers{};
  std::set<InstanceKey> ending{};  ///< whose activities, timers and sessions go
  std::set<store::ActivityId> activities{};
  std::set<std::string> sessions{};
  std::set<WorkerKey> workers{};
  std::set<RequestId> requests{};
  bool urgent = false;  ///< whether work of higher priority waits

  void add_locks(const Needs& more);
};

/// Reads a connection's answers in the order in which they were asked for.
class WorkingSet final : public rules::Source, public rules::Numbers {
 public:
  WorkingSet(Link& link, Access access);
  WorkingSet(const WorkingSet&) = delete;
  WorkingSet& operator=(const WorkingSet&) = delete;

  /// What the time is comes with the first answers.
  rules::Transaction& tx() {
    if (!tx_) bring();
    return *tx_;
  }
  [[nodiscard]] std::int32_t ns() const noexcept { return link_.ns; }
  [[nodiscard]] bool writes() const noexcept { return access_ == Access::writes; }

  using Take = std::function<void(const Answer&)>;
  /// Where the time comes from.
  struct TimeSource {
    /// Gets the answer to sql::kTime, and calls set_time().
    Take read{};
    /// Calls set_time() with what the time must be about by now. False when that is not known.
    std::function<bool()> guess{};
    /// Gets the answer to sql::kGuards, which has the time as well.
    Take learn{};
    /// Of the schema, as this process knows it.
    std::int64_t schema_version = 0;
  };
  /// Begins the transaction. What the time is comes with the first answers, after all locks that these had to
  /// wait for, and before any other is taken. When nothing has to be read, it is guessed.
  void begin(const Statement& how, TimeSource time);
  /// The time, which stands still from now on.
  void set_time(BootTime now, CalendarTime calendar, BootTime next_sweep);

  // ---- asking -----------------------------------------------------------------------------------

  /// Queues a statement; `take` gets its answer at the next bring().
  void ask(const Statement& statement, const Parameters& parameters, Take take = {});
  /// The same of many rows; the first `keys` of their columns tell them apart.
  template <class... Shared>
  void ask_rows(const ShapedStatement& statement, const ColumnArrays& rows, std::size_t keys,
                const Shared&... shared) {
    fail_if_told(statement.name);
    const Shape shape = link_.connection.shape_for(statement, rows.shape(keys));
    link_.connection.queue(statement, shape, rows.parameters_in(shape, shared...));
    takes_.emplace_back();
  }
  /// The same for the end of the transaction: tests decide elsewhere whether that fails.
  void commit();
  /// What may fail, and nobody minds.
  void after_commit(const Statement& statement, const Parameters& parameters);
  /// Sends what was queued, and takes the answers. Rows that came are placed.
  void bring();
  /// The same for the last time in a transaction that reads, which is over then.
  void bring_last();
  /// Whether something is queued.
  [[nodiscard]] bool asked() const noexcept { return !takes_.empty(); }

  Needs& need() noexcept { return needs_; }
  /// Segments of history may be there already.
  void expect_history() noexcept { history_may_be_there_ = true; }
  /// All that was waited for to be locked so far, in whatever order.
  [[nodiscard]] const Needs& waited_for() const noexcept { return waited_for_; }
  /// Brings what is needed, in the order in which everybody locks: ids that may be new; sessions by id, with
  /// their activities; instances by key; activities by key. Whoever locks an activity of a session has locked
  /// the session, so these need no order of their own. Rows of workers come when a call runs: whoever else
  /// wants one of them joins, sweeps, or is the worker itself.
  ///
  /// What is kept need not come. Where all instances that are needed are kept, they are locked when they are
  /// written; else with the others, in the order of everybody. `waits`: whether calls of the group will wait
  /// for locks, and need the time of after that.
  void bring_needed(bool waits);

  void want_instances(std::vector<InstanceKey> keys, std::vector<std::string> names = {});
  /// Only those that nobody else has locked.
  void want_free_instances(const std::vector<InstanceKey>& keys);
  /// Those that are parked, by key.
  void want_parked(InstanceKey after, std::size_t limit);
  /// Those of them that did not come are left alone.
  void leave(const std::vector<InstanceKey>& keys) { asked_instances_.insert(keys.begin(), keys.end()); }
  void want_unread(const std::map<InstanceKey, MessageId>& seen);
  void want_messages_after(const std::vector<std::pair<InstanceKey, MessageId>>& wanted);
  void want_timers(const std::vector<InstanceKey>& keys);
  void want_delayed(const std::vector<InstanceKey>& keys);
  void want_activities(const std::vector<store::ActivityId>& ids,
                       const std::vector<InstanceKey>& all_of = {});
  void want_sessions_of(const std::vector<InstanceKey>& keys);
  void want_sessions(const std::vector<std::string>& ids);
  /// Those named; those that the activities belong to; and those that instances which end have opened, or
  /// have activities in.
  void want_sessions(const std::vector<std::string>& ids, const std::vector<store::ActivityId>& activities,
                     const std::vector<InstanceKey>& ending);
  void want_free_sessions(const std::vector<std::string>& ids);
  /// The first `count` of those that may be claimed, and that nobody else has locked.
  void want_claimable_sessions(const std::vector<std::string>& ids, std::size_t count, WorkerKey worker,
                               store::Saved saved);
  /// How many sessions the worker holds, before any of them is in the space.
  void want_held_elsewhere(WorkerKey worker);
  /// The same of all workers in the space.
  void want_held_by_all();
  /// What was saved in those that are in the space.
  void want_saved(const std::vector<std::string>& sessions);
  void want_stopping(const std::vector<std::string>& sessions);
  void want_names(const std::vector<std::string>& names);
  void want_instance_keys(std::size_t count);
  void want_keys_for(const std::set<std::string>& names);
  void want_early(const std::vector<std::string>& names);
  void want_worker(WorkerKey key);
  /// Only those that are locked may be changed, or be relied on to stay as they are.
  void want_locked_worker(WorkerKey key);
  void want_all_workers();
  void want_waiting_above(int priority);
  void want_requests(const std::set<RequestId>& ids);
  void want_names_of(const std::vector<InstanceKey>& keys);
  void want_custom_status(const std::vector<InstanceKey>& keys);
  /// Nothing else of the namespace is left to read: for those who look at all of it.
  void want_everything();

  // What take functions put there.
  enum class Versions : std::uint8_t { none, come_last };  ///< of rows: as their last column
  void take_instances(const Answer& answer, Versions versions = Versions::none);
  void take_messages(const Answer& answer);
  void take_timers(const Answer& answer);
  void take_delayed(const Answer& answer);
  void take_activities(const Answer& answer, bool locked = true);
  /// The ids of the instances of activities, which stand behind their columns.
  void take_names(const Answer& answer);
  void take_cancels(const Answer& answer);
  void take_workers(const Answer& answer, bool locked = false);
  void take_custom_status(const Answer& answer);

  // ---- writing ----------------------------------------------------------------------------------

  /// Queues what has changed.
  void write_back();
  /// Forgets all rows: what others of the same transaction did has been written, and is to be read again.
  void clear();
  /// Before the commit, when all was written: asks for what it takes to keep rows.
  void prepare_to_keep();
  /// After the commit: what will be asked for again stays in the link.
  void keep();
  /// Instead of that, when nothing has happened: keys that it took are for the next try.
  void give_back_keys() { link_.spare_keys = std::move(taken_keys_); }
  /// Message ids for what comes due: they are told before they are written.
  void number_next_messages(std::size_t count);
  /// What the transaction has added to the names is true.
  void keep_names();

  // ---- ranges of versions -----------------------------------------------------------------------

  /// Routes that ask for one, as far as this connection knows.
  [[nodiscard]] std::vector<Route> ranges() const;
  /// There are so many: those that it doesn't know are read.
  void learn_ranges(std::size_t count);

  // ---- rules::Source ----------------------------------------------------------------------------

  void instance(InstanceKey key) override;
  void instance(std::string_view id) override;
  void reserve(std::string_view id) override;
  std::string name_of(InstanceKey key) override;
  void unread(rules::Instance& instance) override;
  void messages_after(rules::Instance& instance, MessageId seen) override;
  void message(rules::Instance& instance, MessageId id) override;
  void timers(rules::Instance& instance) override;
  void value(rules::Instance& instance, const std::string& key) override;
  void activities_of(rules::Instance& instance) override;
  void sessions_of(rules::Instance& instance) override;
  void early(std::string_view id) override;
  void commits(rules::Instance& instance, const store::TurnCommit& commit) override;
  void drops(rules::Instance& instance, Dropped dropped) override;
  void activity(const store::ActivityId& id) override;
  void waiting_above(int priority, WorkerKey worker, const store::Abilities& abilities) override;
  void cancel(const store::ActivityId& id, LockToken token) override;
  void session(std::string_view id) override;
  rules::HeldElsewhere held_elsewhere(WorkerKey worker) override;
  void saved(const std::string& session) override;
  void watchers(const std::string& session) override;
  void stopping(const std::string& session) override;
  void worker(WorkerKey key) override;
  void node(const std::string& name) override;
  void request(RequestId id) override;

  // ---- rules::Numbers ---------------------------------------------------------------------------

  InstanceKey next_instance() override;
  MessageId next_message() override;
  WorkerKey next_worker() override;
  Generation next_generation() override;
  std::uint64_t next_delayed() override;
  std::uint64_t next_log_entry() override { return 0; }
  std::uint64_t next_set_aside() override { return 0; }

 private:
  /// A row of `instances` as it stands in the table, without what never changes; its code by name.
  struct ReadInstance {
    rules::Image turn{};
    rules::Image state{};
    Route route{};
  };
  /// What is known about an instance in the space besides its row.
  struct Known : rules::Belongings {
    std::optional<ReadInstance> read{};   ///< if it stands in the table
    std::optional<RowVersion> version{};  ///< it was kept
    bool guarded = false;                 ///< and is not locked: it is written under a guard
    bool written = false;
    std::set<MessageId> messages{};            ///< rows that were read
    std::optional<MessageId> waiting_after{};  ///< all deliveries after this were read, and all that wake
    std::optional<std::vector<Address>> looked_for{};  ///< the last deliveries for these were read
    std::optional<MessageId> all_after{};              ///< all messages after this were read
    bool timers_known = false;
    bool activities_known = false;
    bool sessions_known = false;
    // What is to be written and doesn't stand in the row.
    std::set<MessageId> consumed{};
    bool drops_all_but_starts = false;
    bool drops_of_execution = false;
    std::map<std::string, std::optional<std::string>> values{};
    std::uint64_t shown = 0;
    std::optional<std::vector<Attribute>> attributes{};  ///< as they were before a turn changed them
    bool attributes_lost = false;                        ///< nobody knows what it is found by
  };
  /// Ids beyond this are given by the table when the row is written: they come after all that were read.
  static constexpr std::uint64_t kProvisional = std::uint64_t{1} << 62U;

  // keeping.cpp
  void use_kept(const Needs& needs);
  void place_kept(KeptInstance kept, bool is_locked);
  bool take_kept(InstanceKey key, RowVersion version);
  void guard();
  [[nodiscard]] bool is_known_to_be_in_no_session(const store::ActivityId& id) const;
  [[nodiscard]] bool has_nothing_in_sessions(InstanceKey key) const;
  void stash();
  void note_written(const store::ActivityId& id, const rules::Activity* now);
  [[nodiscard]] static bool is_worth_keeping(const rules::Instance& instance, const Known& about);
  [[nodiscard]] static bool is_worth_keeping(const rules::Activity& activity, WorkerKey holder);
  void stash_instance(rules::Instance& instance, const Known& about);
  void stash_activities(InstanceKey key, WorkerKey holder, KeptInstance& kept);
  void note_workers();

  void ask_now(const Statement& statement, const Parameters& parameters, const Take& take);
  void ask_time();
  void fail_if_told(const char* point);
  void queue(const Statement& statement, const Parameters& parameters, Take take);
  std::int64_t ask_number(const Statement& statement);
  Known& known(InstanceKey key) { return known_[key]; }
  void place_what_came();
  [[nodiscard]] bool is_dropped(const Known& about, store::MessageKind kind, MessageId id) const;

  /// None when its row is missing.
  const Route* route(std::int32_t number);
  void read_routes();
  std::int32_t route_number(const Route& route);
  const Kind* kind(std::int32_t number);
  std::int32_t kind_number(const Kind& kind);

  void forget_worker(WorkerKey key);
  /// Answers which are new.
  std::vector<std::string> take_sessions(const Answer& answer);
  /// With all that belongs to them; with what was saved, too, if they are to be claimed.
  void take_free_sessions(const Answer& answer, store::Saved saved);
  void take_watches(const Answer& answer);
  void take_early(const Answer& answer);

  // write_back.cpp
  static InstanceCodes codes_of(const rules::Instance& instance);
  static ReadInstance read_row(const rules::Instance& instance, const InstanceCodes& codes);
  void write_instances();
  void write_removed(const std::vector<InstanceKey>& removed);
  [[nodiscard]] static bool has_new_messages(const rules::Instance& instance, const Known& about);
  void write_messages();
  void write_timers();
  void write_delayed();
  void write_activities();
  void write_sessions();
  void write_workers();
  void write_cancels();
  void write_clients();
  void write_values();
  void write_entries();
  void write_status_counts();
  void write_session(const rules::Session& session, bool keeps_saved);

  Link& link_;
  Access access_;
  rules::Space space_{};
  std::optional<rules::Transaction> tx_{};
  TimeSource time_{};
  std::optional<std::size_t> time_at_{};  // which of the answers that are to come has the time
  std::vector<Take> takes_{};
  std::size_t optional_ = 0;  // so many of them may fail
  Needs needs_{};
  Needs waited_for_{};

  std::map<InstanceKey, Known> known_{};
  std::set<InstanceKey> asked_instances_{};
  std::set<std::string, std::less<>> asked_names_{};
  std::set<std::string, std::less<>> reserved_{};
  std::map<InstanceKey, std::string> names_{};
  std::set<store::ActivityId> asked_activities_{};
  std::map<store::ActivityId, rules::Activity> read_activities_{};
  std::set<store::ActivityId> looked_at_{};  // without a lock: never written
  std::set<std::string, std::less<>> asked_sessions_{};
  rules::ByName<rules::Session> read_sessions_{};
  std::set<std::string, std::less<>> asked_watchers_{};
  std::set<std::string, std::less<>> asked_stopping_{};
  /// With how many sessions were in the space when it was asked for.
  using HeldBy = std::pair<std::size_t, rules::HeldElsewhere>;
  std::map<WorkerKey, HeldBy> held_elsewhere_{};
  std::set<WorkerKey> asked_workers_{};
  std::set<WorkerKey> locked_workers_{};
  std::map<WorkerKey, rules::Worker> read_workers_{};
  std::map<std::pair<store::ActivityId, LockToken>, store::CancelRecord::State> read_cancels_{};
  std::set<std::pair<store::ActivityId, LockToken>> asked_cancels_{};
  std::set<std::string, std::less<>> asked_early_{};
  std::map<std::string, std::size_t, std::less<>> read_early_{};
  std::map<RequestId, rules::Request> read_requests_{};
  std::set<RequestId> asked_requests_{};
  std::optional<int> asked_above_{};
  bool found_urgent_ = false;
  bool knows_everything_ = false;

  std::set<std::string, std::less<>> damaged_sessions_{};  // written in any case
  std::set<WorkerKey> damaged_workers_{};                  // removed, and not in the space

  std::vector<InstanceKey> came_instances_{};
  std::vector<store::ActivityId> came_activities_{};
  std::vector<std::string> came_sessions_{};

  std::deque<InstanceKey> instance_keys_{};
  std::deque<InstanceKey> taken_keys_{};  // those that were among them, too
  std::deque<MessageId> message_ids_{};
  std::uint64_t made_messages_ = 0;
  std::uint64_t numbered_messages_ = 0;  // of those
  std::uint64_t made_delayed_ = 0;
  std::vector<std::pair<std::int32_t, Route>> added_routes_{};
  std::vector<std::pair<std::int32_t, Kind>> added_kinds_{};

  // What is kept, and what the guards are to find.
  std::map<store::ActivityId, RowVersion> guarded_activities_{};
  std::set<store::ActivityId> written_activities_{};
  std::set<WorkerKey> guarded_workers_{};
  bool relies_on_nothing_urgent_ = false;
  bool history_may_be_there_ = false;
  std::map<InstanceKey, KeptInstance> to_keep_{};
  std::optional<RowVersion> own_version_{};
};

}  // namespace holdfast::postgres_store
