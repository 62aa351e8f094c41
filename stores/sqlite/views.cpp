// What people and clients look at.
#include "stores/rules/views.hpp"

#include "calls.hpp"
#include "contract/rows.hpp"
#include "stores/rules/listing.hpp"
#include "stores/rules/sessions.hpp"

#include <algorithm>
#include <iterator>
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

using Found = std::vector<InstanceView>;

/// What a row of a list says, if the filter takes it: enough of the view for the order.
std::optional<InstanceView> matching(WorkingSet& set, const Cursor& row,
                                     const store::InstanceFilter& filter) {
  RowReader reader(row);
  InstanceView view;
  view.key = reader.next<InstanceKey>();
  view.instance = reader.next<std::string>();
  const auto route = reader.next<std::int64_t>();
  view.status = reader.next<store::InstanceStatus>();
  view.parent = reader.next<InstanceKey>();
  view.created_at = reader.next<CalendarTime>();
  const std::string_view attributes = row->blob(reader.column());
  if (!attributes.empty() && !store::from_bytes(attributes, view.attributes)) view.attributes.clear();
  const bool by_code = !filter.orchestration.empty() || !filter.version.empty();
  const Route* const known = by_code ? set.link().interned.route(route) : nullptr;
  if (known != nullptr) view.code = known->code;
  if (!rules::matches(view, filter)) return std::nullopt;
  return view;
}

/// Adds those of these rows that match, until `found` has `limit`.
void add_matching(WorkingSet& set, Cursor row, const store::InstanceFilter& filter, std::size_t limit,
                  Found& found) {
  while (found.size() < limit && row.next()) {
    if (auto view = matching(set, row, filter)) found.push_back(*std::move(view));
  }
}

std::vector<rules::EntryRange> ranges_and_plan(WorkingSet& set, const store::InstanceFilter& filter,
                                               rules::ListPlan& plan) {
  std::vector<rules::EntryRange> ranges = rules::ranges_of(filter);
  std::vector<std::uint64_t> counts;
  counts.reserve(ranges.size());
  for (const rules::EntryRange& range : ranges) {
    counts.push_back(number_of(set.link().rows(set.sql().count_entries, set.ns(), Blob{range.from},
                                               Blob{range.before}, rules::kFewEntries)));
  }
  std::optional<std::uint64_t> of_statuses;
  if (!ranges.empty() && !filter.statuses.empty())
    of_statuses = rules::sum(count_by_status(set), filter.statuses);
  plan = rules::plan_of(filter, ranges, counts, of_statuses);
  return ranges;
}

/// In the order of the index, behind the place where the last page ended.
void add_in_order(WorkingSet& set, const store::InstanceFilter& filter, rules::EntryRange range,
                  std::size_t limit, Found& found) {
  const bool descends = filter.order.descending;
  if (filter.after.key != InstanceKey{} && filter.after.value) {
    // The rest of those that have the same value, then the other ones.
    const std::string last = rules::entry_of(filter.order.attribute, *filter.after.value);
    Query& same = descends ? set.sql().listed_by_entry_back : set.sql().listed_by_entry;
    if (last >= range.from && last < range.before)
      add_matching(set, set.link().rows(same, set.ns(), filter.after.key, true, Blob{last}), filter, limit,
                   found);
    if (descends) {
      range.before = std::min(range.before, last);
    } else {
      range.from = std::max(range.from, last + '\0');
    }
  }
  Query& rest = descends ? set.sql().listed_down : set.sql().listed_up;
  add_matching(set, set.link().rows(rest, set.ns(), nullptr, true, Blob{range.from}, Blob{range.before}),
               filter, limit, found);
}

/// Those that match: no less than the first `limit` of them behind `after`.
Found listed(WorkingSet& set, const store::InstanceFilter& filter, std::size_t limit) {
  using By = rules::ListPlan::By;
  constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t before =
      filter.after.key == InstanceKey{} ? kNewest : static_cast<std::int64_t>(filter.after.key.value);
  rules::ListPlan plan;
  ranges_and_plan(set, filter, plan);
  const bool asks = !filter.attributes.empty() || !filter.order.attribute.empty();
  Found found;
  const auto add = [&](Query& query, const auto&... values) {
    add_matching(set, set.link().rows(query, set.ns(), values...), filter, limit, found);
  };
  switch (plan.by) {
    case By::all:
      add(set.sql().listed, before, asks);
      break;
    case By::statuses:
      for (const store::InstanceStatus status : filter.statuses) {
        Found of_one;
        add_matching(set,
                     set.link().rows(set.sql().listed_by_status, set.ns(), before, asks, parameter(status)),
                     filter, limit, of_one);
        std::ranges::move(of_one, std::back_inserter(found));
      }
      break;
    case By::parent:
      add(set.sql().listed_by_parent, before, asks, *filter.parent);
      break;
    case By::entry:
      add(set.sql().listed_by_entry, before, asks, Blob{plan.range.from});
      break;
    case By::few:
      limit = kAll;
      add(set.sql().listed_in_range, kNewest, asks, Blob{plan.range.from}, Blob{plan.range.before});
      break;
    case By::order:
      add_in_order(set, filter, plan.range, limit, found);
      break;
  }
  // A list of keywords may have several entries in a range.
  std::ranges::sort(found, {}, &InstanceView::key);
  const auto twice = std::ranges::unique(found, {}, &InstanceView::key);
  found.erase(twice.begin(), twice.end());
  return found;
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
  if (filter.limit == 0) return {};
  store::InstanceFilter bounded = filter;
  bounded.limit = std::min<std::size_t>(filter.limit, std::numeric_limits<std::uint32_t>::max());
  const Found found = listed(set, bounded, bounded.limit + 1);
  std::vector<const InstanceView*> views;
  views.reserve(found.size());
  for (const InstanceView& view : found) views.push_back(&view);
  store::InstancePage page = rules::page_of(std::move(views), bounded);
  for (InstanceView& view : page.instances) {
    if (auto whole = set.look_at(view.key)) view = *std::move(whole);
  }
  return page;
}

store::StatusCounts count_by_status(WorkingSet& set) {
  store::StatusCounts counts;
  const rules::StatusChanges& all = set.statuses();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.at(i) > 0)
      counts.emplace(static_cast<store::InstanceStatus>(i), static_cast<std::uint64_t>(all.at(i)));
  }
  return counts;
}

store::InstanceCount count(WorkingSet& set, const store::InstanceFilter& filter) {
  if (rules::is_of_statuses(filter))
    return rules::counted(rules::sum(count_by_status(set), filter.statuses), filter);
  constexpr std::size_t kEnough = store::InstanceCount::kMost + 1;
  store::InstanceFilter all = filter;
  all.order = {};
  all.after = {};
  const std::vector<rules::EntryRange> ranges = rules::ranges_of(all);
  if (rules::is_in_index_alone(all)) {
    return rules::counted(
        number_of(set.link().rows(set.sql().count_entries, set.ns(), Blob{ranges.front().from},
                                  Blob{ranges.front().before}, std::uint64_t{kEnough})),
        filter);
  }
  return rules::counted(listed(set, all, kEnough).size(), filter);
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
  state.counts = count_by_status(set);
  return state;
}

}  // namespace holdfast::sqlite_store
