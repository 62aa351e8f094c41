// Activities and sessions on the way into the space.
#include "contract/rows.hpp"
#include "rows.hpp"
#include "statements.hpp"
#include "stores/rules/placing.hpp"
#include "stores/rules/setting_aside.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::postgres_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

// ---- activities ----------------------------------------------------------------------------------

// One that was only looked at gives way to the row itself.
void WorkingSet::take_activities(const Answer& answer, bool locked) {
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    Activity activity;
    id_columns(activity.id, row);
    if (locked) {
      asked_activities_.insert(activity.id);
      if (looked_at_.erase(activity.id) > 0) {
        unplace(tx(), space_.activities.at(activity.id));
        space_.activities.erase(activity.id);
        read_activities_.erase(activity.id);
      }
    }
    if (read_activities_.contains(activity.id) || space_.activities.contains(activity.id)) continue;
    ActivityCodes codes;
    task_columns(activity, codes, row);
    progress_columns(activity, codes, row);
    const Kind* const what = kind(codes.kind);
    if (what != nullptr) {
      activity.name = what->name;
      activity.queue = what->queue;
    }
    activity.priority = -codes.rank;
    if (codes.own_queue) activity.own_queue = activity.queue;
    if (!locked) looked_at_.insert(activity.id);
    read_activities_.emplace(activity.id, activity);
    if (what == nullptr && locked && writes())
      rules::kind_is_missing(tx(), activity, "row " + std::to_string(codes.kind) + " of `kinds`");
    came_activities_.push_back(activity.id);
    space_.activities.emplace(activity.id, std::move(activity));
  }
}

void WorkingSet::take_names(const Answer& answer) {
  static const int name_at = table::activities().size();
  for (int i = 0; i < answer.rows(); ++i) {
    const auto key = Row(answer, i).next<InstanceKey>();
    names_.insert_or_assign(key, std::string(answer.bytes(i, name_at)));
  }
}

void WorkingSet::want_activities(const std::vector<ActivityId>& ids, const std::vector<InstanceKey>& all_of) {
  Rows<InstanceKey, ExecutionNumber, EventId> rows;
  for (const ActivityId& id : ids) {
    if (!asked_activities_.insert(id).second) continue;
    const auto about = known_.find(id.instance);
    const bool is_gone = about != known_.end() && about->second.activities_known;
    if (!is_gone) rows.add(id.instance, id.execution, id.event);
  }
  std::vector<InstanceKey> keys;
  for (const InstanceKey key : all_of) {
    if (!std::exchange(known(key).activities_known, true)) keys.push_back(key);
  }
  if (knows_everything_ || (rows.empty() && keys.empty())) return;
  const Take take = [this](const Answer& answer) { take_activities(answer); };
  if (!writes()) return ask(sql::kReadActivitiesOf, Parameters().add_all(keys), take);
  waited_for_.activities.insert(ids.begin(), ids.end());
  ask(sql::kActivities, rows.parameters(ns()).add_all(keys), take);
}

void WorkingSet::activity(const ActivityId& id) {
  if (knows_everything_ || asked_activities_.contains(id)) return;
  if (space_.activities.contains(id) && !looked_at_.contains(id)) return;
  const auto about = known_.find(id.instance);
  if (about != known_.end() && (about->second.activities_known || !about->second.read)) return;
  want_activities({id});
  bring();
}

void WorkingSet::activities_of(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_activities({}, {instance.view.key});
  if (asked()) bring();
}

// Which of them are ready is seen when they are placed.
void WorkingSet::want_waiting_above(int priority) {
  if (knows_everything_ || (asked_above_ && *asked_above_ <= priority)) return;
  asked_above_ = priority;
  ask(priority < 0 ? sql::kMoreUrgent : sql::kUrgent, Parameters(ns(), std::int32_t{-priority}),
      [this](const Answer& answer) {
        found_urgent_ = found_urgent_ || answer.rows() > 0;
        take_activities(answer, false);
      });
}

void WorkingSet::waiting_above(int priority, WorkerKey /*worker*/, const store::Abilities& /*abilities*/) {
  want_waiting_above(priority);
  if (asked()) bring();
}

void WorkingSet::take_cancels(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    rules::Cancel cancel;
    cancelled_columns(cancel.record, row);
    rules::cancel_columns(cancel, row);
    const std::pair place(cancel.record.id, cancel.record.token);
    asked_cancels_.insert(place);
    if (!read_cancels_.emplace(place, cancel.record.state).second) continue;
    if (cancel.session) space_.stopping[*cancel.session].insert(place);
    space_.cancels.emplace(place, std::move(cancel));
  }
}

void WorkingSet::cancel(const ActivityId& id, LockToken token) {
  if (knows_everything_ || space_.cancels.contains(std::pair(id, token))) return;
  if (!asked_cancels_.emplace(id, token).second) return;
  ask_now(sql::kCancel, Parameters(ns(), id.instance, id.execution, id.event, token),
          [this](const Answer& answer) { take_cancels(answer); });
}

// After the activities of the session, which are locked: one that is taken away meanwhile is seen as one of
// both.
void WorkingSet::want_stopping(const std::vector<std::string>& sessions) {
  std::vector<std::string> missing;
  for (const std::string& id : sessions) {
    if (asked_stopping_.insert(id).second) missing.push_back(id);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kStopping, Parameters(ns()).add_all(missing).add(tx().now),
      [this](const Answer& answer) { take_cancels(answer); });
}

void WorkingSet::stopping(const std::string& session) {
  want_stopping({session});
  if (asked()) bring();
}

// ---- sessions ------------------------------------------------------------------------------------

// Whoever finds none may begin one: nobody else does so meanwhile.
void WorkingSet::want_sessions(const std::vector<std::string>& ids, const std::vector<ActivityId>& activities,
                               const std::vector<InstanceKey>& ending) {
  std::vector<std::string> missing;
  for (const std::string& id : ids) {
    if (asked_sessions_.insert(id).second) missing.push_back(id);
  }
  if (knows_everything_ || (missing.empty() && activities.empty() && ending.empty())) return;
  std::ranges::sort(missing);
  const Take take_those = [this](const Answer& answer) { take_activities(answer); };
  if (!writes()) {
    ask(sql::kReadSessions, Parameters(ns()).add_all(missing),
        [this](const Answer& answer) { take_sessions(answer); });
    ask(sql::kReadActivitiesIn, Parameters(ns()).add_all(missing), take_those);
    return;
  }
  Rows<InstanceKey, ExecutionNumber, EventId> rows;
  for (const ActivityId& id : activities) rows.add(id.instance, id.execution, id.event);
  const Parameters wanted = rows.parameters(ns()).add_all(missing).add_all(ending);
  waited_for_.sessions.insert(missing.begin(), missing.end());
  if (!missing.empty()) ask(sql::kReserveSessions, Parameters(ns()).add_all(missing));
  ask(sql::kSessions, wanted, [this, missing, take_those](const Answer& answer) {
    // Those that were not named have activities, too.
    std::vector<std::string> others = take_sessions(answer);
    std::erase_if(others, [&](const std::string& id) { return std::ranges::binary_search(missing, id); });
    if (others.empty()) return;
    ask(sql::kActivitiesIn, Parameters(ns()).add_all(others), take_those);
    bring();
  });
  if (!missing.empty()) ask(sql::kActivitiesIn, Parameters(ns()).add_all(missing), take_those);
}

void WorkingSet::want_sessions(const std::vector<std::string>& ids) { want_sessions(ids, {}, {}); }

// Those that others have locked are left to them.
void WorkingSet::want_free_sessions(const std::vector<std::string>& ids) {
  std::vector<std::string> missing;
  for (const std::string& id : ids) {
    if (!asked_sessions_.contains(id)) missing.push_back(id);
  }
  if (missing.empty()) return;
  ask(sql::kSessionsNow, Parameters(ns()).add_all(missing),
      [this](const Answer& answer) { take_free_sessions(answer, store::Saved::size); });
}

void WorkingSet::want_claimable_sessions(const std::vector<std::string>& ids, std::size_t count,
                                         WorkerKey worker, store::Saved saved) {
  Parameters wanted(ns());
  wanted.add_all(ids).add(tx().now).add(static_cast<std::int64_t>(count)).add(worker);
  ask(sql::kClaimableSessions, wanted,
      [this, saved](const Answer& answer) { take_free_sessions(answer, saved); });
}

void WorkingSet::take_free_sessions(const Answer& answer, store::Saved saved) {
  const std::vector<std::string> locked = take_sessions(answer);
  if (locked.empty()) return;
  ask(sql::kActivitiesIn, Parameters(ns()).add_all(locked),
      [this](const Answer& activities) { take_activities(activities); });
  std::vector<std::string> limited;
  std::ranges::copy_if(locked, std::back_inserter(limited), [this](const std::string& id) {
    return space_.sessions.at(id).policy.max_concurrent != 0;
  });
  want_stopping(limited);
  if (saved == store::Saved::bytes) want_saved(locked);
  bring();
}

void WorkingSet::want_saved(const std::vector<std::string>& sessions) {
  std::vector<std::string> missing;
  for (const std::string& id : sessions) {
    const auto& saved = space_.sessions.at(id).saved;
    if (saved && !saved->bytes) missing.push_back(id);
  }
  if (missing.empty()) return;
  ask(sql::kSaved, Parameters(ns()).add_all(missing), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto id = row.next<std::string>();
      auto& saved = space_.sessions.at(id).saved;
      if (!saved || saved->bytes) continue;
      saved->bytes = row.next<std::string>();
      read_sessions_.at(id).saved = saved;
    }
  });
}

void WorkingSet::saved(const std::string& session) {
  want_saved({session});
  if (asked()) bring();
}

std::vector<std::string> WorkingSet::take_sessions(const Answer& answer) {
  std::vector<std::string> came;
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    Session session;
    PolicyCodes codes;
    session.id = row.next<std::string>();
    const auto saved_size = row.next<std::optional<std::uint64_t>>();
    policy_columns(codes, row);
    rules::session_columns(session, row);
    const bool damaged = !store::from_bytes(codes.bytes, session.policy);
    if (saved_size) session.saved = rules::SavedState{.size = *saved_size};
    if (read_sessions_.contains(session.id)) continue;
    asked_sessions_.insert(session.id);
    read_sessions_.emplace(session.id, session);
    if (damaged && writes()) {
      damaged_sessions_.insert(session.id);
      rules::policy_is_damaged(tx(), session, std::move(codes.bytes));
    }
    came.push_back(session.id);
    space_.sessions.emplace(session.id, std::move(session));
  }
  came_sessions_.insert(came_sessions_.end(), came.begin(), came.end());
  return came;
}

void WorkingSet::session(std::string_view id) {
  if (asked_sessions_.contains(id)) return;
  want_sessions({std::string(id)});
  if (asked()) bring();
}

// Those in the space may have been changed already. Once more of them are there, fewer are elsewhere.
rules::HeldElsewhere WorkingSet::held_elsewhere(WorkerKey worker) {
  if (knows_everything_) return {};
  const auto found = held_elsewhere_.find(worker);
  if (found == held_elsewhere_.end() || found->second.first != read_sessions_.size()) {
    want_held_elsewhere(worker);
    bring();
  }
  return held_elsewhere_.at(worker).second;
}

void WorkingSet::want_held_elsewhere(WorkerKey worker) {
  std::vector<std::string> here;
  for (const auto& [id, session] : read_sessions_) here.push_back(id);
  ask(sql::kHeldElsewhere, Parameters(ns(), worker, tx().now).add_all(here),
      [this, worker, count = here.size()](const Answer& answer) {
        Row row(answer, 0);
        rules::HeldElsewhere held{.count = row.next<std::uint32_t>()};
        held.first_end = row.next<std::optional<BootTime>>().value_or(rules::kNever);
        held_elsewhere_.insert_or_assign(worker, HeldBy(count, held));
      });
}

void WorkingSet::want_held_by_all() {
  for (const auto& [key, worker] : space_.workers) held_elsewhere_.insert_or_assign(key, HeldBy{});
  ask(sql::kHeldByAll, Parameters(ns(), tx().now), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      rules::HeldElsewhere& held = held_elsewhere_[row.next<WorkerKey>()].second;
      held.count = row.next<std::uint32_t>();
      held.first_end = row.next<BootTime>();
    }
  });
}

void WorkingSet::take_watches(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto session = row.next<std::string>();
    const auto key = row.next<InstanceKey>();
    space_.watchers[session].insert(key);
    known(key).watched.insert(session);
    if (const auto instance = space_.instances.find(key); instance != space_.instances.end()) {
      instance->second.watched.insert(session);
    }
  }
}

void WorkingSet::watchers(const std::string& session) {
  if (knows_everything_ || !asked_watchers_.insert(session).second) return;
  std::vector<InstanceKey> keys;
  ask_now(sql::kWatchers, Parameters(ns(), session), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      row.skip();
      const auto key = row.next<InstanceKey>();
      // One that has been told to forget it in this transaction is not asked again.
      const auto instance = space_.instances.find(key);
      if (instance != space_.instances.end() && known(key).watched.contains(session)) continue;
      if (asked_instances_.contains(key) && instance == space_.instances.end()) continue;
      keys.push_back(key);
    }
  });
  want_instances(keys);
  if (asked()) bring();
  for (const InstanceKey key : keys) {
    // One that was deleted meanwhile watches nothing any more.
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    bring_watch(space_, known(key), instance->second, session);
  }
}

void WorkingSet::want_sessions_of(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!std::exchange(known(key).sessions_known, true)) missing.push_back(key);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kOpenedBy, Parameters().add_all(missing), [this](const Answer& answer) {
    std::vector<std::string> ids;
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      ids.push_back(row.next<std::string>());
      const auto opener = space_.instances.find(row.next<InstanceKey>());
      if (opener != space_.instances.end()) opener->second.opened.insert(ids.back());
    }
    want_sessions(ids);
    if (asked()) bring();
  });
  ask(sql::kWatchesOf, Parameters().add_all(missing), [this](const Answer& answer) { take_watches(answer); });
}

void WorkingSet::sessions_of(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_sessions_of({instance.view.key});
  if (asked()) bring();
}

}  // namespace holdfast::postgres_store
