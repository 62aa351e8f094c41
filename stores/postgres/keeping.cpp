// Rows of held instances on their way from one transaction to the next.
#include "statements.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using store::ActivityId;

// ---- from the transaction before -----------------------------------------------------------------

// Locks are taken in one order by everybody. An instance that is kept is locked when it is written, late: so
// where others have to be read, or activities, it is asked for with them, for its lock.
void WorkingSet::use_kept(const Needs& needs) {
  if (access_ != Access::writes) return;
  Kept& kept = link_.kept;
  for (const WorkerKey key : needs.workers) {
    const auto found = kept.workers.find(key);
    if (found == kept.workers.end() || space_.workers.contains(key)) continue;
    guarded_workers_.insert(key);
    read_workers_.emplace(key, found->second);
    rules::Worker worker = found->second;
    space_.workers.emplace(key, std::move(worker));
  }
  if (needs.urgent && kept.nothing_urgent && !asked_above_) {
    relies_on_nothing_urgent_ = true;
    asked_above_ = 0;
  }
  const auto is_kept = [&](InstanceKey key) { return asked_instances_.contains(key) || kept.contains(key); };
  const auto has_all = [&](InstanceKey key) {
    const KeptInstance* const instance = kept.find(key);
    return instance != nullptr && instance->activities_known;
  };
  const auto has = [&](const ActivityId& id) {
    const KeptInstance* const instance = kept.find(id.instance);
    return instance != nullptr && (instance->activities_known || instance->activities.contains(id));
  };
  const bool others_come_too = !needs.names.empty() || !std::ranges::all_of(needs.instances, is_kept) ||
                               !std::ranges::all_of(needs.ending, has_all) ||
                               !std::ranges::all_of(needs.activities, has);
  for (const InstanceKey key : needs.instances) {
    if (asked_instances_.contains(key) || !kept.contains(key)) continue;
    place_kept(kept.take(key), false);
    waited_for_.instances.insert(key);
    if (others_come_too) asked_instances_.erase(key);
  }
}

void WorkingSet::place_kept(KeptInstance kept, bool is_locked) {
  const InstanceKey key = kept.row.view.key;
  asked_instances_.insert(key);
  Known& about = known(key);
  about.version = kept.version;
  about.guarded = !is_locked;
  about.waiting_after = kept.waiting_after;
  about.all_after = kept.all_after;
  about.timers_known = kept.timers_known;
  about.sessions_known = kept.sessions_known;
  about.activities_known = kept.activities_known;
  about.timers = kept.row.timers;
  for (const auto& [id, message] : kept.row.messages) about.messages.insert(id);
  for (const auto& [event, due] : about.timers) space_.timers.emplace(due, std::pair(key, event));
  for (auto& [id, activity] : kept.activities) {
    if (!asked_activities_.insert(id).second) continue;
    guarded_activities_.emplace(id, *activity.version);
    read_activities_.emplace(id, activity.row);
    space_.activities.emplace(id, std::move(activity.row));
    came_activities_.push_back(id);
  }
  space_.keys.emplace(kept.row.view.instance, key);
  Instance& instance = space_.instances[key];
  instance = std::move(kept.row);
  about.read = is_locked ? read_row(instance, codes_of(instance)) : ReadInstance{};
  came_instances_.push_back(key);
}

bool WorkingSet::is_known_to_be_in_no_session(const ActivityId& id) const {
  if (guarded_activities_.contains(id)) return true;
  const auto about = known_.find(id.instance);
  return about != known_.end() && about->second.activities_known;  // it is gone
}

bool WorkingSet::has_nothing_in_sessions(InstanceKey key) const {
  const auto about = known_.find(key);
  if (about == known_.end() || !about->second.activities_known || !about->second.sessions_known) return false;
  const auto first = space_.activities.lower_bound(ActivityId{.instance = key});
  return std::all_of(first, space_.activities.end(),
                     [&](const auto& entry) { return entry.first.instance != key || !entry.second.session; });
}

// Before anything is written. What a worker is, and that nothing urgent waits, is no row that this
// transaction writes.
void WorkingSet::guard() {
  std::vector<WorkerKey> workers(guarded_workers_.begin(), guarded_workers_.end());
  const Parameters expected(time_.schema_version, ns(), relies_on_nothing_urgent_);
  ask(sql::kGuards, Parameters(expected).add_all(workers), time_.learn);
}

// ---- for the next one ----------------------------------------------------------------------------

// When all was written, and before the space is emptied.
void WorkingSet::stash() {
  for (const ActivityId& id : written_activities_) {
    const auto now = space_.activities.find(id);
    note_written(id, now == space_.activities.end() ? nullptr : &now->second);
  }
  for (auto& [key, about] : known_) {
    const auto instance = space_.instances.find(key);
    if (instance != space_.instances.end()) {
      stash_instance(instance->second, about);
    } else if (about.read) {
      link_.kept.forget(key);
      to_keep_.erase(key);
    }
  }
  written_activities_.clear();
  note_workers();
  if (asked_above_ == 0) link_.kept.nothing_urgent = !found_urgent_;
}

// In a transaction of its own, such as a renewal. Its instance may be kept, and is not what was written.
void WorkingSet::note_written(const ActivityId& id, const Activity* now) {
  const InstanceKey key = id.instance;
  if (link_.kept.contains(key)) to_keep_.insert_or_assign(key, link_.kept.take(key));
  const auto found = to_keep_.find(key);
  if (found == to_keep_.end()) return;
  KeptInstance& kept = found->second;
  kept.activities.erase(id);
  if (now == nullptr) return;
  if (is_worth_keeping(*now, kept.row.lock.worker)) {
    kept.activities.emplace(id, KeptActivity{.row = *now});
  } else {
    kept.activities_known = false;
  }
}

bool WorkingSet::is_worth_keeping(const Instance& instance, const Known& about) {
  if (!instance.lock.live || !about.read || has_ended(instance.view.status)) return false;
  const bool is_numbered =
      instance.messages.empty() || instance.messages.rbegin()->first.value <= kProvisional;
  return is_numbered && Kept::is_small(instance);
}

bool WorkingSet::is_worth_keeping(const Activity& activity, WorkerKey holder) {
  return activity.lock.live && activity.lock.worker == holder && !activity.session &&
         Kept::is_small(activity);
}

void WorkingSet::stash_instance(Instance& instance, const Known& about) {
  const InstanceKey key = instance.view.key;
  if (!about.written && !about.version) return;  // it was only looked at
  link_.kept.forget(key);
  auto before = to_keep_.extract(key);
  if (!is_worth_keeping(instance, about)) return;
  KeptInstance kept{
      .waiting_after = about.waiting_after,
      .all_after = about.all_after,
      .timers_known = about.timers_known,
      .sessions_known = about.sessions_known && instance.watched.empty() && instance.opened.empty(),
      .activities_known = about.activities_known};
  if (!about.written) kept.version = about.version;
  stash_activities(key, instance.lock.worker, kept);
  // Written before in this transaction: what was known then is known still.
  if (before && !kept.activities_known) {
    kept.activities_known = before.mapped().activities_known;
    kept.activities = std::move(before.mapped().activities);
    kept.sessions_known = before.mapped().sessions_known;
    kept.timers_known = before.mapped().timers_known && before.mapped().row.timers.empty();
  }
  kept.row = std::move(instance);
  kept.row.view.custom_status.reset();
  kept.row.view.custom_status_version = 0;
  kept.row.values.clear();
  kept.row.history.clear();
  kept.row.delayed.clear();
  kept.row.watched.clear();
  kept.row.opened.clear();
  to_keep_.insert_or_assign(key, std::move(kept));
}

// Others take what is not locked, without a word to the instance.
void WorkingSet::stash_activities(InstanceKey key, WorkerKey holder, KeptInstance& kept) {
  for (auto next = space_.activities.lower_bound(ActivityId{.instance = key});
       next != space_.activities.end() && next->first.instance == key; ++next) {
    const ActivityId& id = next->first;
    const auto guarded = guarded_activities_.find(id);
    const bool is_written = written_activities_.contains(id);
    const bool has_version = is_written || guarded != guarded_activities_.end();
    if (!has_version || !is_worth_keeping(next->second, holder) ||
        kept.activities.size() == Kept::kMostActivities) {
      kept.activities_known = false;
      continue;
    }
    KeptActivity& activity = kept.activities[id];
    if (!is_written) activity.version = guarded->second;
    activity.row = next->second;
  }
}

void WorkingSet::note_workers() {
  constexpr std::size_t kMost = 100;
  auto& kept = link_.kept.workers;
  if (kept.size() > kMost) kept.clear();
  for (const auto& [key, read] : read_workers_) {
    const rules::Worker* const worker = space_.workers.peek(key);
    if (worker == nullptr || worker->draining || worker->superseded) {
      kept.erase(key);
    } else {
      kept.try_emplace(key, *worker);
    }
  }
}

void WorkingSet::prepare_to_keep() {
  stash();
  if (to_keep_.empty()) return;
  ask(sql::kOwnVersion, Parameters(), [this](const Answer& answer) {
    own_version_ = RowVersion{static_cast<std::uint32_t>(answer.integer(0, 0))};
  });
}

void WorkingSet::keep() {
  for (auto& [key, instance] : std::exchange(to_keep_, {})) {
    if (!instance.version) instance.version = own_version_;
    for (auto& [id, activity] : instance.activities) {
      if (!activity.version) activity.version = own_version_;
    }
    link_.kept.keep(key, std::move(instance));
  }
}

}  // namespace holdfast::postgres_store
