// What people and clients look at.
#include "stores/rules/views.hpp"

#include "calls.hpp"
#include "rows.hpp"
#include "statements.hpp"
#include "stores/rules/admission.hpp"
#include "stores/rules/sessions.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace holdfast::postgres_store {

using store::InstanceView;

namespace {

std::vector<InstanceKey> keys_in(WorkingSet& set) {
  std::vector<InstanceKey> keys;
  for (const auto& [key, instance] : set.tx().space.instances) keys.push_back(key);
  return keys;
}

/// The instance of that id, with all that its view shows.
rules::Instance* bring_instance(WorkingSet& set, std::string_view id) {
  rules::Instance* const instance = rules::find_instance(set.tx(), id);
  if (instance == nullptr) return nullptr;
  set.want_custom_status({instance->view.key});
  set.bring();
  return instance;
}

constexpr std::int64_t kAll = std::int64_t{1} << 40U;

std::int64_t limit_of(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, static_cast<std::size_t>(kAll)));
}

}  // namespace

std::vector<store::WorkerView> view_workers(WorkingSet& set) {
  set.want_all_workers();
  set.bring();
  set.want_held_by_all();
  set.bring();
  return rules::workers(set.tx());
}

StoreResult<std::vector<store::Segment>> read_history(WorkingSet& set, InstanceKey key,
                                                      ExecutionNumber execution, EventId after,
                                                      std::size_t max_bytes) {
  std::vector<store::Segment> segments;
  set.want_names_of({key});
  set.ask(sql::kReadHistory, Parameters(key, execution, after, limit_of(max_bytes)),
          [&](const Answer& answer) {
            for (int i = 0; i < answer.rows(); ++i) {
              Row row(answer, i);
              const auto first = row.next<EventId>();
              segments.push_back({.first_event = first, .bytes = row.next<std::string>()});
            }
          });
  set.bring();
  if (set.name_of(key).empty()) return rules::no_instance(key);
  return segments;
}

std::vector<store::CancelRecord> view_cancels(WorkingSet& set, WorkerKey worker) {
  set.want_worker(worker);
  set.ask(sql::kCancelsOfWorker, Parameters(set.ns(), worker),
          [&](const Answer& answer) { set.take_cancels(answer); });
  set.bring();
  return rules::cancel_records(set.tx(), worker);
}

std::vector<store::QueueDepth> view_queues(WorkingSet& set) {
  const rules::Transaction& tx = set.tx();
  std::vector<store::QueueDepth> depths;
  set.want_all_workers();
  set.ask(sql::kQueueDepths, Parameters(set.ns(), tx.now), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      store::QueueDepth& depth = depths.emplace_back();
      depth.queue = row.next<std::string>();
      depth.name = row.next<std::string>();
      depth.ready = row.next<std::uint64_t>();
      depth.delayed = row.next<std::uint64_t>();
      depth.running = row.next<std::uint64_t>();
      if (const auto oldest = row.next<std::optional<BootTime>>(); oldest && depth.ready > 0) {
        depth.oldest_wait = tx.now - *oldest;
      }
    }
  });
  set.bring();
  for (store::QueueDepth& depth : depths) {
    depth.workers = rules::workers_for(tx, depth.queue, depth.name);
  }
  return depths;
}

namespace {

/// The first ids after `after` whose sessions are in one of the states and have the owner that is wanted.
std::vector<std::string> ids_after(WorkingSet& set, const store::SessionFilter& filter,
                                   const std::string& after, std::size_t limit) {
  std::vector<std::string> ids;
  Parameters wanted(set.ns(), after, limit_of(limit), set.tx().now, filter.owner);
  wanted.add_all(filter.states);
  set.ask(sql::kSessionsAfter, wanted, [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) ids.emplace_back(answer.bytes(i, 0));
  });
  set.bring();
  return ids;
}

}  // namespace

// A queue is part of a policy, which is bytes for the server: that part of the filter is tried here.
std::vector<store::SessionView> view_sessions(WorkingSet& set, const store::SessionFilter& filter) {
  constexpr std::size_t kAtOnce = 1000;
  std::vector<store::SessionView> views;
  set.want_all_workers();
  for (std::string after = filter.after; views.size() < filter.limit;) {
    const std::size_t most = filter.queue ? kAtOnce : filter.limit - views.size();
    const std::vector<std::string> ids = ids_after(set, filter, after, most);
    if (ids.empty()) break;
    after = ids.back();
    set.want_sessions(ids);
    if (set.asked()) set.bring();
    for (const std::string& id : ids) {
      const rules::Session& session = set.tx().space.sessions.at(id);
      const bool taken = views.size() < filter.limit && rules::takes(set.tx(), filter, session);
      if (taken) views.push_back(view(set.tx(), session, store::Saved::size));
    }
    if (ids.size() < most) break;
  }
  return views;
}

store::SessionCounts count_sessions(WorkingSet& set) {
  struct Group {
    store::SessionStatus state{};
    WorkerKey owner{};
    std::uint64_t count = 0;
  };
  std::vector<Group> groups;
  set.want_all_workers();
  set.ask(sql::kCountSessions, Parameters(set.ns(), set.tx().now), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      Group& group = groups.emplace_back();
      group.state = row.next<store::SessionStatus>();
      group.owner = row.next<WorkerKey>();
      group.count = row.next<std::uint64_t>();
    }
  });
  set.bring();
  store::SessionCounts counts;
  for (const Group& group : groups) rules::count(set.tx(), counts, group.state, group.owner, group.count);
  return counts;
}

std::vector<store::WantedSession> wanted_sessions(WorkingSet& set, WorkerKey worker) {
  std::vector<store::WantedSession> wanted;
  set.ask(sql::kWantedSessions, Parameters(set.ns(), worker), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      store::WantedSession& one = wanted.emplace_back();
      one.hold.id = row.next<std::string>();
      one.hold.generation = row.next<Generation>();
      one.ended = row.next<std::optional<store::SessionReason>>();
    }
  });
  set.bring();
  return wanted;
}

std::vector<store::SessionLogEntry> view_session_log(WorkingSet& set, std::string_view id,
                                                     std::uint64_t after, std::size_t limit) {
  std::vector<store::SessionLogEntry> entries;
  set.ask(sql::kLog, Parameters(set.ns(), after, id, limit_of(limit)), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      ColumnReader row(answer, i);
      store::SessionLogEntry& entry = entries.emplace_back();
      entry.number = row.next<std::uint64_t>();
      rules::log_columns(entry, row);
    }
  });
  set.bring();
  return entries;
}

// ---- instances -----------------------------------------------------------------------------------

StoreResult<InstanceView> find(WorkingSet& set, std::string_view instance) {
  const rules::Instance* const found = bring_instance(set, instance);
  if (found == nullptr) return rules::no_instance(instance);
  return found->view;
}

std::vector<std::optional<InstanceView>> look(WorkingSet& set, std::span<const InstanceKey> keys) {
  const std::vector<InstanceKey> all(keys.begin(), keys.end());
  set.want_instances(all);
  set.want_custom_status(all);
  set.bring_last();
  std::vector<std::optional<InstanceView>> views;
  for (const InstanceKey key : keys) views.push_back(rules::look(set.tx(), key));
  return views;
}

StoreResult<store::InstanceDetail> describe(WorkingSet& set, std::string_view id) {
  const rules::Instance* const instance = rules::find_instance(set.tx(), id);
  if (instance == nullptr) return rules::no_instance(id);
  const InstanceKey key = instance->view.key;
  std::uint64_t unread = 0;
  std::uint64_t children = 0;
  std::vector<std::string> value_keys;
  set.want_all_workers();
  set.want_timers({key});
  set.want_delayed({key});
  set.want_activities({}, {key});
  set.ask(sql::kCancelsOf, Parameters(set.ns(), key),
          [&](const Answer& answer) { set.take_cancels(answer); });
  set.ask(sql::kCountUnread, Parameters(key),
          [&](const Answer& answer) { unread = static_cast<std::uint64_t>(answer.integer(0, 0)); });
  set.ask(sql::kCountChildren, Parameters(key),
          [&](const Answer& answer) { children = static_cast<std::uint64_t>(answer.integer(0, 0)); });
  set.ask(sql::kValueKeys, Parameters(key), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) value_keys.emplace_back(answer.bytes(i, 0));
  });
  set.ask(sql::kReadChildren, Parameters(key, static_cast<std::int32_t>(store::InstanceDetail::kMaxChildren)),
          [&](const Answer& answer) { set.take_instances(answer); });
  set.bring();
  set.want_custom_status(keys_in(set));
  set.bring();
  StoreResult<store::InstanceDetail> detail = rules::describe(set.tx(), id);
  if (!detail) return detail;
  rules::add_counts(*detail, unread, children, std::move(value_keys));
  return detail;
}

StoreResult<std::vector<store::ExecutionView>> executions(WorkingSet& set, InstanceKey key) {
  std::vector<store::ExecutionView> views;
  set.want_instances({key});
  set.ask(sql::kExecutions, Parameters(key), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      store::ExecutionView& view = views.emplace_back();
      view.execution = row.next<ExecutionNumber>();
      view.segments = row.next<std::uint64_t>();
      view.bytes = row.next<std::uint64_t>();
    }
  });
  set.bring();
  const rules::Instance* const instance = rules::find_instance(set.tx(), key);
  if (instance == nullptr) return rules::no_instance(key);
  return rules::with_current(std::move(views), *instance);
}

std::vector<store::SetAsideRow> view_set_aside(WorkingSet& set, std::uint64_t after, std::size_t limit) {
  std::vector<store::SetAsideRow> rows;
  set.ask(sql::kSetAside, Parameters(set.ns(), after, limit_of(limit)), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      ColumnReader row(answer, i);
      store::SetAsideRow& aside = rows.emplace_back();
      aside.number = row.next<std::uint64_t>();
      aside_columns(aside, row);
    }
  });
  set.bring();
  return rows;
}

// ---- history that goes ---------------------------------------------------------------------------

namespace {

/// Answers how many.
StoreResult<std::uint64_t> prune(WorkingSet& set, const StoreResult<rules::Pruned>& pruned) {
  if (!pruned) return Unexpected(pruned.error());
  std::uint64_t count = 0;
  set.ask(sql::kPruneHistory, Parameters(pruned->instance->view.key, pruned->first, pruned->end),
          [&](const Answer& answer) { count = static_cast<std::uint64_t>(answer.integer(0, 0)); });
  set.bring();
  return count;
}

}  // namespace

StoreResult<std::uint64_t> prune_executions(WorkingSet& set, std::string_view instance, std::uint64_t keep) {
  return prune(set, rules::to_prune(set.tx(), instance, keep));
}

StoreResult<bool> prune_execution(WorkingSet& set, std::string_view instance, ExecutionNumber execution) {
  const auto count = prune(set, rules::to_prune(set.tx(), instance, execution));
  if (!count) return Unexpected(count.error());
  return *count > 0;
}

// ---- the whole -----------------------------------------------------------------------------------

store::StoreState state(WorkingSet& set) {
  set.want_everything();
  set.bring();
  std::vector<std::string> sessions;
  for (const auto& [id, session] : set.tx().space.sessions) sessions.push_back(id);
  set.want_saved(sessions);
  if (set.asked()) set.bring();
  store::StoreState state = rules::state(set.tx());
  state.session_log = view_session_log(set, "", 0, static_cast<std::size_t>(kAll));
  state.set_aside = view_set_aside(set, 0, static_cast<std::size_t>(kAll));
  state.asks = rules::view(AskRows(set, Access::reads).rows(), set.tx().now);
  state.counts = count_by_status(set);
  return state;
}

}  // namespace holdfast::postgres_store
