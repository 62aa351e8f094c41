// What people and clients look at.
#include "stores/rules/views.hpp"

#include "calls.hpp"
#include "stores/rules/sessions.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace holdfast::sqlite_store {

using store::InstanceView;

namespace {

constexpr std::size_t kAll = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::vector<store::WorkerView> view_workers(WorkingSet& set) {
  set.bring_all_workers();
  return rules::workers(set.tx());
}

std::vector<store::CancelRecord> view_cancels(WorkingSet& set, WorkerKey worker) {
  set.take_cancels(set.link().rows(set.sql().cancels_of_worker, worker, set.ns()));
  return rules::cancel_records(set.tx(), worker);
}

std::vector<store::QueueDepth> view_queues(WorkingSet& set) {
  const rules::Transaction& tx = set.tx();
  set.bring_all_workers();
  std::map<std::pair<std::string, std::string>, store::QueueDepth> depths;
  const auto depth_of = [&](const std::string& queue, const std::string& name) -> store::QueueDepth& {
    const auto [entry, is_new] = depths.try_emplace({queue, name});
    if (is_new) {
      entry->second.queue = queue;
      entry->second.name = name;
      entry->second.workers = rules::workers_for(tx, queue, name);
    }
    return entry->second;
  };
  for (Query* const query : {&set.sql().queue_counts, &set.sql().running_counts}) {
    for (Cursor row = set.link().rows(*query, set.ns(), parameter(tx.now)); row.next();) {
      const Kind* const kind = set.link().interned.kind(row->int64(0));
      if (kind == nullptr) continue;
      store::QueueDepth& depth = depth_of(kind->queue, kind->name);
      depth.ready += row->uint64(1);
      depth.delayed += row->uint64(2);
      depth.running += row->uint64(3);
      if (row->uint64(1) > 0)
        depth.oldest_wait = std::max(depth.oldest_wait, tx.now - BootTime(Duration(row->int64(4))));
    }
  }
  for (Cursor row = set.link().rows(set.sql().all_packs, set.ns()); row.next();) {
    const BootTime until{Duration(row->int64(0))};
    for (const Pack::Item& item : Pack::decode(row->blob(1)).value_or(std::vector<Pack::Item>())) {
      const Kind* const kind = set.link().interned.kind(NumberRange(set.ns()).below + item.kind);
      if (kind == nullptr) continue;
      store::QueueDepth& depth = depth_of(kind->queue, kind->name);
      until > tx.now ? ++depth.running : ++depth.ready;
      if (until <= tx.now) depth.oldest_wait = std::max(depth.oldest_wait, tx.now - until);
    }
  }
  std::vector<store::QueueDepth> list;
  for (auto& [key, depth] : depths) list.push_back(std::move(depth));
  return list;
}

// ---- sessions ------------------------------------------------------------------------------------

std::vector<store::SessionView> view_sessions(WorkingSet& set, const store::SessionFilter& filter) {
  std::vector<store::SessionView> views;
  for (const std::string& id : texts_of(set.link().rows(set.sql().session_ids, set.ns(), filter.after))) {
    if (views.size() >= filter.limit) break;
    const rules::Session* const session = rules::find_session(set.tx(), id);
    if (rules::takes(set.tx(), filter, *session))
      views.push_back(view(set.tx(), *session, store::Saved::size));
  }
  return views;
}

store::SessionCounts count_sessions(WorkingSet& set) {
  store::SessionCounts counts;
  set.bring_all_workers();
  for (Cursor row = set.link().rows(set.sql().session_counts, set.ns(), parameter(set.tx().now));
       row.next();) {
    RowReader reader(row);
    const auto state = reader.next<store::SessionStatus>();
    const auto owner = reader.next<WorkerKey>();
    rules::count(set.tx(), counts, state, owner, reader.next<std::uint64_t>());
  }
  return counts;
}

std::vector<store::WantedSession> wanted_sessions(WorkingSet& set, WorkerKey worker) {
  for (const std::string& id : texts_of(set.link().rows(set.sql().sessions_wanted, worker, set.ns())))
    set.session(id);
  return rules::wanted_sessions(set.tx(), worker);
}

std::vector<store::SessionLogEntry> view_session_log(WorkingSet& set, std::string_view id,
                                                     std::uint64_t after, std::size_t limit) {
  std::vector<store::SessionLogEntry> entries;
  for (Cursor row = id.empty() ? set.link().rows(set.sql().log_of_all, after, set.ns(), limit)
                               : set.link().rows(set.sql().log_of_session, after, set.ns(), limit, id);
       row.next();) {
    numbered_log_columns(entries.emplace_back(), RowReader(row));
  }
  return entries;
}

// ---- instances -----------------------------------------------------------------------------------

namespace {

/// With all that its view shows.
InstanceView shown(WorkingSet& set, rules::Instance& instance) {
  set.bring_custom_status(instance);
  return instance.view;
}

/// The first `limit` of these rows that match.
void add_matching(WorkingSet& set, Cursor row, const store::InstanceFilter& filter, std::size_t limit,
                  std::vector<InstanceKey>& keys) {
  for (std::size_t count = 0; count < limit && row.next();) {
    RowReader reader(row);
    InstanceView view;
    view.key = reader.next<InstanceKey>();
    view.instance = reader.next<std::string>();
    const auto route = reader.next<std::int64_t>();
    view.status = reader.next<store::InstanceStatus>();
    view.parent = reader.next<InstanceKey>();
    view.created_at = reader.next<CalendarTime>();
    const bool by_code = !filter.orchestration.empty() || !filter.version.empty();
    const Route* const known = by_code ? set.link().interned.route(route) : nullptr;
    if (known != nullptr) view.code = known->code;
    if (!rules::matches(view, filter)) continue;
    keys.push_back(view.key);
    ++count;
  }
}

/// Those that match, newest first, and no less than the first `limit` of them.
std::vector<InstanceKey> listed_keys(WorkingSet& set, const store::InstanceFilter& filter,
                                     std::size_t limit) {
  constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t before =
      filter.after == InstanceKey{} ? kNewest : static_cast<std::int64_t>(filter.after.value);
  std::vector<InstanceKey> keys;
  if (filter.parent && *filter.parent != InstanceKey{}) {
    add_matching(set, set.link().rows(set.sql().listed_by_parent, set.ns(), before, *filter.parent), filter,
                 limit, keys);
  } else if (filter.statuses.empty()) {
    add_matching(set, set.link().rows(set.sql().listed, set.ns(), before), filter, limit, keys);
  } else {
    for (const store::InstanceStatus status : filter.statuses) {
      add_matching(set, set.link().rows(set.sql().listed_by_status, set.ns(), before, parameter(status)),
                   filter, limit, keys);
    }
    std::ranges::sort(keys, std::greater());
  }
  return keys;
}

}  // namespace

StoreResult<InstanceView> find(WorkingSet& set, std::string_view id) {
  rules::Instance* const instance = rules::find_instance(set.tx(), id);
  if (instance == nullptr) return rules::no_instance(id);
  return shown(set, *instance);
}

std::vector<std::optional<InstanceView>> look(WorkingSet& set, std::span<const InstanceKey> keys) {
  std::vector<std::optional<InstanceView>> views;
  views.reserve(keys.size());
  for (const InstanceKey key : keys) views.push_back(set.look_at(key));
  return views;
}

StoreResult<store::InstanceDetail> describe(WorkingSet& set, std::string_view id) {
  rules::Instance* const instance = rules::find_instance(set.tx(), id);
  if (instance == nullptr) return rules::no_instance(id);
  const InstanceKey key = instance->view.key;
  set.bring_all_workers();
  set.bring_custom_status(*instance);
  set.timers(*instance);
  set.delayed(*instance);
  set.activities_of(*instance);
  set.take_cancels(set.link().rows(set.sql().cancels_of_instance, key));
  for (const InstanceKey child :
       keys_of(set.link().rows(set.sql().open_children, key, store::InstanceDetail::kMaxChildren))) {
    if (rules::Instance* const other = rules::find_instance(set.tx(), child)) set.bring_custom_status(*other);
  }
  store::InstanceDetail detail = rules::detail_of(set.tx(), *instance);
  // There may be many of these: they are counted.
  rules::add_counts(detail, number_of(set.link().rows(set.sql().count_unread, key)),
                    number_of(set.link().rows(set.sql().count_open_children, key)),
                    texts_of(set.link().rows(set.sql().value_keys, key)));
  return detail;
}

store::InstancePage list(WorkingSet& set, const store::InstanceFilter& filter) {
  store::InstancePage page;
  if (filter.limit == 0) return page;
  const std::size_t limit = std::min<std::size_t>(filter.limit, std::numeric_limits<std::uint32_t>::max());
  std::vector<InstanceKey> keys = listed_keys(set, filter, limit + 1);
  if (keys.size() > limit) {
    keys.resize(limit);
    page.next = keys.back();
  }
  for (const auto& view : look(set, keys)) page.instances.push_back(*view);
  return page;
}

std::vector<store::SetAsideRow> view_set_aside(WorkingSet& set, std::uint64_t after, std::size_t limit) {
  std::vector<store::SetAsideRow> rows;
  for (Cursor row = set.link().rows(set.sql().set_aside_after, after, set.ns(), limit); row.next();) {
    store::SetAsideRow& aside = rows.emplace_back();
    numbered_set_aside_columns(aside, RowReader(row));
  }
  return rows;
}

// ---- history -------------------------------------------------------------------------------------

StoreResult<std::vector<store::Segment>> read_history(WorkingSet& set, InstanceKey key,
                                                      ExecutionNumber execution, EventId after,
                                                      std::size_t max_bytes) {
  if (set.name_of(key).empty()) return rules::no_instance(key);
  std::vector<store::Segment> segments;
  std::size_t bytes = 0;
  for (Cursor row = set.link().rows(set.sql().read_history, key, execution, after); row.next();) {
    const std::string_view segment = row->blob(1);
    bytes += segment.size();
    if (!segments.empty() && bytes > max_bytes) break;
    segments.push_back({row->number<EventId>(0), std::string(segment)});
  }
  return segments;
}

StoreResult<std::vector<store::ExecutionView>> executions(WorkingSet& set, InstanceKey key) {
  const rules::Instance* const instance = rules::find_instance(set.tx(), key);
  if (instance == nullptr) return rules::no_instance(key);
  std::vector<store::ExecutionView> views;
  for (Cursor row = set.link().rows(set.sql().executions, key); row.next();) {
    views.push_back(
        {.execution = row->number<ExecutionNumber>(0), .segments = row->uint64(1), .bytes = row->uint64(2)});
  }
  return rules::with_current(std::move(views), *instance);
}

namespace {

/// Answers how many.
StoreResult<std::uint64_t> prune(WorkingSet& set, const StoreResult<rules::Pruned>& pruned) {
  if (!pruned) return Unexpected(pruned.error());
  const InstanceKey key = pruned->instance->view.key;
  const std::uint64_t count =
      number_of(set.link().rows(set.sql().count_executions, key, pruned->first, pruned->end));
  if (count == 0) return count;
  set.link().run(set.sql().prune_history, key, pruned->first, pruned->end);
  set.history_has_changed(*pruned->instance);
  return count;
}

}  // namespace

StoreResult<std::uint64_t> prune_executions(WorkingSet& set, std::string_view id, std::uint64_t keep) {
  set.write_back();
  return prune(set, rules::to_prune(set.tx(), id, keep));
}

StoreResult<bool> prune_execution(WorkingSet& set, std::string_view id, ExecutionNumber execution) {
  set.write_back();
  const auto count = prune(set, rules::to_prune(set.tx(), id, execution));
  if (!count) return Unexpected(count.error());
  return *count > 0;
}

// ---- the whole -----------------------------------------------------------------------------------

store::StoreState state(WorkingSet& set) {
  set.bring_all_workers();
  for (const InstanceKey key : keys_of(set.link().rows(set.sql().all_keys, set.ns()))) {
    if (rules::Instance* const instance = rules::find_instance(set.tx(), key)) set.bring_all_of(*instance);
  }
  for (const std::string& id : texts_of(set.link().rows(set.sql().session_ids, set.ns(), std::string_view())))
    set.session(id);
  set.take_cancels(set.link().rows(set.sql().all_cancels, set.ns()));
  for (const std::string& name : texts_of(set.link().rows(set.sql().all_early, set.ns()))) set.early(name);
  store::StoreState state = rules::state(set.tx());
  state.session_log = view_session_log(set, {}, 0, kAll);
  state.set_aside = view_set_aside(set, 0, kAll);
  state.asks = rules::view(AskRows(set).rows(), set.tx().now);
  return state;
}

}  // namespace holdfast::sqlite_store
