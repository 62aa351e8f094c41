#include "working_set.hpp"

#include "contract/rows.hpp"
#include "damaged_row.hpp"
#include "stores/rules/setting_aside.hpp"

#include <utility>

namespace holdfast::sqlite_store {

WorkingSet::WorkingSet(Link& link, Access access) : link_(link), access_(access) { forget(); }

// ---- transactions --------------------------------------------------------------------------------

void WorkingSet::begin(BootTime now, CalendarTime calendar) {
  tx_.emplace(
      rules::Transaction{.space = space_, .rows = *this, .numbers = *this, .now = now, .calendar = calendar});
}

void WorkingSet::end() {
  write_back();
  write_numbers();
  let_go();
}

void WorkingSet::forget() {
  space_ = rules::Space{};
  if (writes()) {
    space_.instances.begin_notes();
    space_.activities.begin_notes();
    space_.sessions.begin_notes();
    space_.workers.begin_notes();
    space_.cancels.begin_notes();
    space_.early.begin_notes();
    space_.requests.begin_notes();
  }
  numbers_.reset();
  known_.clear();
  own_rows_.clear();
  packs_.clear();
  known_sessions_.clear();
  known_workers_.clear();
  workers_known_ = false;
  anything_queued_.reset();
  top_priority_.reset();
  anything_early_.reset();
  anything_requested_.reset();
  left_places_.clear();
  end_visit();
}

void WorkingSet::end_visit() {
  last_named_ = {};
  used_instances_.clear();
  used_activities_.clear();
  used_sessions_.clear();
  absent_sessions_.clear();
  visited_sessions_.clear();
  held_elsewhere_.clear();
  asked_watchers_.clear();
  asked_stopping_.clear();
  early_in_table_.clear();
  cancels_in_table_.clear();
}

KnownInstance* WorkingSet::known(InstanceKey key) {
  const auto found = known_.find(key.value);
  return found == known_.end() ? nullptr : &found->second;
}

// ---- numbers -------------------------------------------------------------------------------------

NumberRows& WorkingSet::numbers() {
  if (numbers_) return *numbers_;
  Cursor row = link_.rows(sql().counters, ns());
  if (!row.next()) throw DamagedRow("counters", 1);
  RowReader reader(row);
  NumberRows& read = numbers_.emplace();
  counter_columns(read.counters, reader);
  horizon_columns(read.horizons, reader);
  status_columns(read.statuses, reader);
  numbers_in_tables_ = read;
  messages_written_ = read.counters.messages;
  delayed_written_ = read.counters.delayed;
  return read;
}

void WorkingSet::write_numbers() {
  const rules::StatusChanges changes = std::exchange(tx().status_changes, {});
  if (changes != rules::StatusChanges{}) {
    for (std::size_t i = 0; i < changes.size(); ++i) numbers().statuses.at(i) += changes.at(i);
  }
  if (!numbers_ || *numbers_ == numbers_in_tables_) return;
  if (numbers_->counters != numbers_in_tables_.counters) {
    Statement& save = sql().save_counters.use(link_.connection, link_.faults);
    counter_columns(std::as_const(numbers_->counters), ColumnBinder(save, 1));
    run_bound(save);
  }
  if (numbers_->horizons != numbers_in_tables_.horizons ||
      numbers_->statuses != numbers_in_tables_.statuses) {
    Statement& save = sql().save_horizons.use(link_.connection, link_.faults);
    save.bind(1, ns());
    ColumnBinder horizons(save, 2);
    horizon_columns(std::as_const(numbers_->horizons), horizons);
    status_columns(std::as_const(numbers_->statuses), ColumnBinder(save, horizons.position()));
    run_bound(save);
  }
  numbers_in_tables_ = *numbers_;
}

// ---- workers -------------------------------------------------------------------------------------

// All of them: they are few, and rules compare them with each other.
void WorkingSet::bring_all_workers() {
  if (workers_known_) return;
  workers_known_ = true;
  constexpr std::size_t kMostKnown = 1024;
  if (link_.workers.size() > kMostKnown) link_.workers.clear();
  std::vector<std::pair<WorkerKey, std::string>> damaged;
  for (Cursor row = link_.rows(sql().workers, ns()); row.next();) {
    RowReader reader(row);
    rules::Worker worker;
    worker.key = reader.next<WorkerKey>();
    reader.skip();  // its node
    const auto [info, is_new] = link_.workers.try_emplace(worker.key);
    if (is_new && !store::from_bytes(row->blob(reader.column()), info->second)) {
      link_.workers.erase(info);
      damaged.emplace_back(worker.key, row->blob(reader.column()));
      continue;
    }
    worker.info = info->second;
    reader.skip();
    rules::worker_columns(worker, reader);
    Image image;
    rules::worker_columns(std::as_const(worker), image);
    known_workers_.insert_or_assign(worker.key, std::move(image));
    space_.workers.bring(worker.key, std::move(worker));
  }
  if (!writes()) return;
  for (auto& [key, bytes] : damaged) {
    link_.run(sql().delete_worker, key);
    rules::worker_is_damaged(tx(), key, std::move(bytes));
  }
}

void WorkingSet::worker(WorkerKey /*key*/) { bring_all_workers(); }

void WorkingSet::node(const std::string& name) {
  bring_all_workers();
  for (const std::string& id : texts_of(link_.rows(sql().sessions_of_node, ns(), name))) session(id);
}

// ---- what clients left ---------------------------------------------------------------------------

void WorkingSet::early(std::string_view id) {
  if (early_in_table_.contains(id)) return;
  if (!anything_early_) {
    Cursor row = link_.rows(sql().any_early);
    anything_early_ = row.next();
  }
  if (!*anything_early_) return;
  std::vector<rules::Early> read;
  for (Cursor row = link_.rows(sql().early_of, ns(), id); row.next();) {
    RowReader reader(row);
    rules::Early& early = read.emplace_back();
    early.is_stored = true;
    early.until = reader.next<BootTime>();
    early.visible = reader.next<BootTime>();
    message_columns(early.message, Bytes(early.message.body), reader);
  }
  const std::string name(id);
  early_in_table_.emplace(name, read.size());
  if (read.empty()) return;
  // Before those that this transaction has added.
  if (std::vector<rules::Early>* const added = space_.early.fill(name)) {
    added->insert(added->begin(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
  } else {
    space_.early.bring(name, std::move(read));
  }
}

void WorkingSet::request(RequestId id) {
  if (space_.requests.contains(id)) return;
  if (!anything_requested_) {
    Cursor row = link_.rows(sql().any_request);
    anything_requested_ = row.next();
  }
  if (!*anything_requested_ || space_.requests.is_gone(id)) return;
  Cursor row = link_.rows(sql().request, ns(), id);
  if (row.next()) {
    RowReader reader(row);
    const auto at = reader.next<BootTime>();
    bring_request(id, at, reader.next<InstanceKey>());
  }
}

void WorkingSet::bring_request(RequestId id, BootTime at, InstanceKey answer) {
  if (!space_.requests.contains(id)) space_.requests.bring(id, {.answer = answer, .at = at});
}

}  // namespace holdfast::sqlite_store
