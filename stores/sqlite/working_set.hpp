// WorkingSet: the rows that transactions are about. It brings them from the tables into a Space when the
// rules ask for them, and writes back what the rules have changed.
//
// Rows are kept between transactions under a guard: as long as nobody else has written the file (PRAGMA
// data_version) and nothing was rolled back, what stands in the space is what stands in the tables. So a turn
// of an instance that is held reads nothing. Whoever finds the guard broken calls forget().
#pragma once

#include "base/block_containers.hpp"
#include "known_rows.hpp"
#include "link.hpp"
#include "pack.hpp"
#include "stores/rules/transaction.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

enum class Access : std::uint8_t { reads, writes };

/// One thread at a time. After an exception the space is of no use: forget().
class WorkingSet final : public rules::Source, public rules::Numbers {
 public:
  WorkingSet(Link& link, Access access);
  WorkingSet(const WorkingSet&) = delete;
  WorkingSet& operator=(const WorkingSet&) = delete;

  // ---- transactions -----------------------------------------------------------------------------

  /// In a transaction of the connection. Time stands still until end().
  void begin(BootTime now, CalendarTime calendar);
  /// What time alone has done comes first: locks and leases that are over, also of rows that are not here.
  void settle();
  /// Writes what has changed so far. Whoever looks for rows in the tables does so before.
  void write_back();
  /// The same for counters and counts, which change until the end.
  void write_numbers();
  /// Before the commit: writes back, and lets rows go that are not worth their memory.
  void end();
  /// The guard is broken.
  void forget();

  rules::Transaction& tx() { return *tx_; }
  rules::Space& space() { return space_; }
  Link& link() { return link_; }
  Statements& sql() { return link_.statements; }
  [[nodiscard]] std::int64_t ns() const { return link_.ns; }
  [[nodiscard]] const Horizons& horizons() { return numbers().horizons; }
  [[nodiscard]] const rules::StatusChanges& statuses() { return numbers().statuses; }

  // ---- rules::Source ----------------------------------------------------------------------------

  void instance(InstanceKey key) override;
  void instance(std::string_view id) override;
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
  void record(rules::Instance& instance, const store::TurnCommit& commit) override;
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

  InstanceKey next_instance() override { return {++numbers().counters.instances}; }
  MessageId next_message() override { return {++numbers().counters.messages}; }
  WorkerKey next_worker() override { return {++numbers().counters.workers}; }
  Generation next_generation() override { return {++numbers().counters.generations}; }
  std::uint64_t next_delayed() override { return ++numbers().counters.delayed; }
  std::uint64_t next_log_entry() override { return ++numbers().counters.session_log; }
  std::uint64_t next_set_aside() override { return ++numbers().counters.set_aside; }

  // ---- more to bring ----------------------------------------------------------------------------

  void delayed(rules::Instance& instance);
  /// One that is known to wait in the queue.
  void queued_activity(const store::ActivityId& id);
  void bring_all_workers();
  /// A session that is let go after this transaction, unless it was here before.
  void visit_session(const std::string& id);
  /// What the rows of a statement about cancels say.
  void take_cancels(Cursor row);
  void bring_request(RequestId id, BootTime at, InstanceKey answer);
  /// Whatever belongs to an instance, for those who look at all of it.
  void bring_all_of(rules::Instance& instance);
  /// What an instance shows of itself, as it stands in the tables; nothing when it is not there.
  [[nodiscard]] std::optional<store::InstanceView> look_at(InstanceKey key);
  /// What it shows of itself.
  void bring_custom_status(rules::Instance& instance);
  /// History was removed: the stamp in its last segment may be gone.
  void history_has_changed(rules::Instance& instance);

  // What is known of tables as a whole.
  [[nodiscard]] bool is_anything_queued();
  /// Of all that is queued, at least 0.
  [[nodiscard]] int top_priority();

 private:
  NumberRows& numbers();
  [[nodiscard]] bool writes() const { return access_ == Access::writes; }
  [[nodiscard]] KnownInstance* known(InstanceKey key);

  // bring_instances.cpp
  void take_instance(Cursor row);
  void read_instance(Cursor& row, rules::Instance& instance, KnownInstance& about);
  /// What the row of an instance says of its view.
  void show(const InstanceRow& row, store::InstanceView& view);
  void read_messages(rules::Instance& instance, Cursor row);
  void consume(rules::Instance& instance, MessageId id);
  void settle_start(rules::Instance& instance, const store::TurnCommit& commit);
  [[nodiscard]] bool has_rows_of(const rules::Instance& instance, const KnownInstance& about,
                                 const std::function<bool(store::MessageKind)>& kinds) const;

  // bring_activities.cpp
  void read_activities(Cursor row, bool queued, std::vector<ReadActivity>& all);
  void read_packs(Cursor row);
  void give_up_pack(InstanceKey key, std::string bytes);
  void take_activities(std::vector<ReadActivity> all);
  void take_activity(rules::Activity activity);
  [[nodiscard]] ActivityCodes codes_of(const rules::Activity& activity);
  [[nodiscard]] Image image_of(const rules::Activity& activity, const ActivityCodes& codes, bool queued);
  [[nodiscard]] std::int64_t lane_of(const rules::Activity& activity, std::int64_t kind);
  [[nodiscard]] std::optional<BootTime> deadline_of(const rules::Activity& activity) const;
  [[nodiscard]] SessionCodes codes_of(const rules::Session& session);
  void let_turns_lapse();
  void let_activities_lapse();
  void let_sessions_lapse();

  // write_back.cpp
  void write_instances();
  void write_instance(rules::Instance& instance);
  void remove_instance(InstanceKey key);
  [[nodiscard]] InstanceRow row_of(const rules::Instance& instance, const KnownInstance& about);
  void insert_instance(const rules::Instance& instance, KnownInstance& about, const InstanceRow& row);
  void write_entries(InstanceKey key, const std::string& before, const std::vector<Attribute>& attributes,
                     const std::string& now);
  void write_lock(const rules::Instance& instance, KnownInstance& about);
  void delete_places();
  void write_place(const rules::Instance& instance, KnownInstance& about, std::int64_t route);
  void write_messages(const rules::Instance& instance, const KnownInstance& about);
  void write_belongings(const rules::Instance& instance, KnownInstance& about);
  void insert_message(InstanceKey key, const store::Message& message);
  void write_activities();
  using ActivityNote = rules::Table<store::ActivityId, rules::Activity>::Note;
  void write_activities_of(InstanceKey key, std::span<const ActivityNote> notes);
  void write_activity(const store::ActivityId& id, const rules::Activity& activity);
  [[nodiscard]] bool may_have_unknown_pack(InstanceKey key);
  void write_pack(InstanceKey key, Pack pack);
  void delete_activity(const store::ActivityId& id);
  void write_sessions();
  void write_session(const std::string& id, const rules::Session& session);
  void write_saved(const rules::Session& session, KnownSession& about);
  void write_workers();
  void write_cancels();
  void write_early();
  void write_requests();
  void write_logs();

  void end_visit();

  // keeping.cpp
  void let_go();
  void let_go(InstanceKey key);
  void let_go(const store::ActivityId& id);
  void let_go_session(const std::string& id);
  [[nodiscard]] bool is_worth_keeping(InstanceKey key) const;
  [[nodiscard]] bool is_worth_keeping(const rules::Activity& activity) const;
  [[nodiscard]] bool is_worth_keeping(const rules::Session& session) const;
  void trim(rules::Instance& instance);

  Link& link_;
  Access access_;
  rules::Space space_{};
  std::optional<rules::Transaction> tx_{};

  // Kept under the guard.
  std::optional<NumberRows> numbers_{};
  NumberRows numbers_in_tables_{};
  BlockHashMap<std::uint64_t, KnownInstance> known_{};
  BlockMap<store::ActivityId, KnownActivity> own_rows_{};
  BlockMap<InstanceKey, Pack> packs_{};  ///< those that activities in the space are in
  std::string spare_bytes_{};            ///< memory for the bytes of the next
  std::map<std::string, KnownSession, std::less<>> known_sessions_{};
  std::map<WorkerKey, Image> known_workers_{};
  bool workers_known_ = false;
  std::optional<bool> anything_queued_{};
  std::optional<int> top_priority_{};
  std::optional<bool> anything_early_{};
  std::optional<bool> anything_requested_{};
  std::uint64_t messages_written_ = 0;  ///< ids up to this stand in the table, if anywhere
  std::uint64_t delayed_written_ = 0;

  // Of what is written at the moment: kept for their memory.
  std::vector<EventId> left_pack_{};
  std::vector<const rules::Activity*> plain_{};

  // Of one transaction.
  std::vector<ReadyPlace> left_places_{};  ///< of `ready`, to be deleted
  std::pair<InstanceKey, std::string> last_named_{};
  std::vector<InstanceKey> used_instances_{};
  std::vector<store::ActivityId> used_activities_{};
  std::vector<std::string> used_sessions_{};
  std::set<std::string, std::less<>> absent_sessions_{};
  std::set<std::string, std::less<>> visited_sessions_{};
  /// With how many sessions had been brought when it was asked for.
  std::map<WorkerKey, std::pair<std::size_t, rules::HeldElsewhere>> held_elsewhere_{};
  std::size_t sessions_brought_ = 0;
  std::set<std::string, std::less<>> asked_watchers_{};
  std::set<std::string, std::less<>> asked_stopping_{};
  std::map<std::string, std::size_t, std::less<>> early_in_table_{};  ///< how many of those that were read
  std::map<std::pair<store::ActivityId, LockToken>, store::CancelRecord::State> cancels_in_table_{};
};

}  // namespace holdfast::sqlite_store
