#include "views.hpp"

#include "contract/rows.hpp"
#include "pack.hpp"
#include "turns.hpp"
#include "workers.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

store::InstanceView read_view(Transaction& tx, const Cursor& row) {
  const Route& route = tx.route(row->int64(2));
  store::InstanceView view{.key = row->number<InstanceKey>(0),
                           .instance = std::string(row->text(1)),
                           .code = route.code,
                           .execution = row->number<ExecutionNumber>(3),
                           .status = static_cast<store::InstanceStatus>(row->integer(4)),
                           .output = std::string(row->blob(5)),
                           .parked_because = std::string(row->text(6)),
                           .custom_status_version = row->uint64(12),
                           .parent = row->number<InstanceKey>(7),
                           .build = route.build,
                           .created_at = calendar_from_row(row->int64(8)),
                           .updated_at = calendar_from_row(row->int64(9))};
  if (!row->is_null(10)) view.cancel_requested_at = calendar_from_row(row->int64(10));
  if (!row->is_null(11)) view.custom_status = row->blob(11);
  return view;
}

bool matches(Transaction& tx, const Cursor& row, const store::InstanceFilter& filter) {
  if (!row->text(1).starts_with(filter.prefix)) return false;
  if (!filter.orchestration.empty() || !filter.version.empty()) {
    const store::CodeVersion& code = tx.route(row->int64(2)).code;
    if (!filter.orchestration.empty() && filter.orchestration != code.name) return false;
    if (!filter.version.empty() && filter.version != code.version) return false;
  }
  const CalendarTime created_at = calendar_from_row(row->int64(5));
  return (filter.statuses.empty() ||
          filter.statuses.contains(static_cast<store::InstanceStatus>(row->integer(3)))) &&
         (!filter.parent || *filter.parent == row->number<InstanceKey>(4)) &&
         (!filter.created_from || created_at >= *filter.created_from) &&
         (!filter.created_before || created_at < *filter.created_before);
}

/// The first `limit` of these rows that match.
void add_matching(Transaction& tx, Cursor row, const store::InstanceFilter& filter, std::size_t limit,
                  std::vector<InstanceKey>& keys) {
  for (std::size_t count = 0; count < limit && row.next();) {
    if (!matches(tx, row, filter)) continue;
    keys.push_back(row->number<InstanceKey>(0));
    ++count;
  }
}

/// Those that match, newest first, and no less than the first `limit` of them.
std::vector<InstanceKey> listed_keys(Transaction& tx, const store::InstanceFilter& filter,
                                     std::size_t limit) {
  constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t before =
      filter.after == InstanceKey{} ? kNewest : static_cast<std::int64_t>(filter.after.value);
  std::vector<InstanceKey> keys;
  if (filter.parent && *filter.parent != InstanceKey{}) {
    add_matching(tx, tx.rows(tx.sql.listed_by_parent, tx.ns, before, *filter.parent), filter, limit, keys);
  } else if (filter.statuses.empty()) {
    add_matching(tx, tx.rows(tx.sql.listed, tx.ns, before), filter, limit, keys);
  } else {
    for (const store::InstanceStatus status : filter.statuses) {
      add_matching(tx, tx.rows(tx.sql.listed_by_status, tx.ns, before, to_row(status)), filter, limit, keys);
    }
    std::ranges::sort(keys, std::greater());
  }
  return keys;
}

/// A lock is live by the time that it ends, whether somebody has seen its end or not.
bool is_live(const Transaction& tx, const Activity& activity) {
  return !activity.is_queued() && activity.until > tx.now;
}

LeaseTime ready_since(const Activity& activity) {
  return activity.is_queued() ? activity.at : activity.until;
}

}  // namespace

Unexpected<StoreError> no_instance(std::string_view id) {
  return Unexpected(
      store_error(StoreError::Kind::not_found, "there is no instance '" + std::string(id) + "'"));
}
Unexpected<StoreError> no_instance(InstanceKey key) {
  return Unexpected(
      store_error(StoreError::Kind::not_found, "there is no instance with the key " + to_string(key)));
}

// ---- instances ----------------------------------------------------------------------------------

std::optional<store::InstanceView> view_instance(Transaction& tx, InstanceKey key) {
  Cursor row = tx.rows(tx.sql.view_by_key, key, tx.ns);
  if (!row.next()) return std::nullopt;
  return read_view(tx, row);
}

StoreResult<store::InstanceView> find(Transaction& tx, std::string_view instance) {
  Cursor row = tx.rows(tx.sql.view_by_name, tx.ns, instance);
  if (!row.next()) return no_instance(instance);
  return read_view(tx, row);
}

std::vector<store::NewTimer> timers_of(Transaction& tx, InstanceKey key) {
  std::vector<store::NewTimer> timers;
  for (Cursor row = tx.rows(tx.sql.timers_of, key); row.next();) {
    timers.push_back({row->number<EventId>(0), calendar_from_row(row->int64(1))});
  }
  return timers;
}

std::vector<Address> waits_of(const Instance& instance) {
  std::vector<Address> waits;
  if (instance.waits.empty() || store::from_bytes(instance.waits, waits)) return waits;
  return {};  // a call that writes sets it aside
}

StoreResult<store::InstanceDetail> describe(Transaction& tx, std::string_view name) {
  const std::optional<InstanceKey> key = key_of(tx, name);
  if (!key) return no_instance(name);
  Instance* instance = load_instance(tx, *key);
  store::InstanceDetail detail{.view = *view_instance(tx, *key),
                               .delivery = delivery_of(tx, *instance),
                               .waits = waits_of(*instance),
                               .timers = timers_of(tx, *key)};
  if (instance->held && instance->held->until > tx.now) {
    detail.locked_by = tx.node_of(instance->held->worker);
  }
  const std::vector<LiveWorker> workers = present_workers(tx);
  const auto count = [&](const auto& predicate) {
    return static_cast<std::uint32_t>(std::ranges::count_if(workers, predicate));
  };
  for (Activity& activity : all_activities(tx, *key)) {
    store::ActivityView& shown = detail.activities.emplace_back(view_activity(tx, activity));
    const Kind& kind = tx.kind(activity.kind);
    shown.workers = count([&](const LiveWorker& worker) { return serves(worker.info.abilities, kind); });
    activity.at = ready_since(activity);
    if (!shown.running && activity.deadline() != kNoTime)
      shown.gives_up_in = left_until(activity.deadline(), tx.now);
  }
  for (Cursor row = tx.rows(tx.sql.cancels_of_instance, *key); row.next();) {
    detail.cancels.push_back(read_cancel(tx, row));
  }
  const Route& route = tx.route(instance->route);
  detail.workers = count([&](const LiveWorker& worker) { return serves(worker.info.code, route); });
  for (Cursor row = tx.rows(tx.sql.open_children, *key, store::InstanceDetail::kMaxChildren); row.next();) {
    detail.children.push_back(read_view(tx, row));
  }
  if (detail.children.size() == store::InstanceDetail::kMaxChildren) {
    Cursor row = tx.rows(tx.sql.count_open_children, *key);
    if (row.next()) detail.more_children = row->uint64(0) - detail.children.size();
  }
  for (Cursor row = tx.rows(tx.sql.value_keys, *key); row.next();) {
    detail.value_keys.emplace_back(row->text(0));
  }
  if (Cursor row = tx.rows(tx.sql.request_of, *key); row.next()) {
    detail.fingerprint = row->token<Fingerprint>(1);
  }
  if (Cursor row = tx.rows(tx.sql.count_unread, *key); row.next()) detail.unread = row->uint64(0);
  if (Cursor row = tx.rows(tx.sql.delayed_start, *key); row.next()) {
    detail.starts_in = left_until(row->int64(0), tx.now);
  }
  return detail;
}

StoreResult<store::InstancePage> list(Transaction& tx, const store::InstanceFilter& filter) {
  store::InstancePage page;
  if (filter.limit == 0) return page;
  const std::size_t limit = std::min<std::size_t>(filter.limit, std::numeric_limits<std::uint32_t>::max());
  std::vector<InstanceKey> keys = listed_keys(tx, filter, limit + 1);
  if (keys.size() > limit) {
    keys.resize(limit);
    page.next = keys.back();
  }
  for (const InstanceKey key : keys) page.instances.push_back(*view_instance(tx, key));
  return page;
}

StoreResult<std::vector<store::ExecutionView>> executions(Transaction& tx, InstanceKey key) {
  const Instance* instance = load_instance(tx, key);
  if (instance == nullptr) return no_instance(key);
  std::vector<store::ExecutionView> views;
  for (Cursor row = tx.rows(tx.sql.executions, key); row.next();) {
    views.push_back(
        {.execution = row->number<ExecutionNumber>(0), .segments = row->uint64(1), .bytes = row->uint64(2)});
  }
  // The current one is there from its first moment on.
  if (views.empty() || views.back().execution != instance->execution) {
    views.push_back({.execution = instance->execution});
  }
  return views;
}

StoreResult<std::optional<std::string>> value(Transaction& tx, std::string_view instance,
                                              std::string_view name) {
  const std::optional<InstanceKey> key = key_of(tx, instance);
  if (!key) return no_instance(instance);
  Cursor row = tx.rows(tx.sql.value, *key, name);
  return row.next() ? std::optional<std::string>(row->blob(0)) : std::nullopt;
}

StoreResult<std::vector<store::SetAsideRow>> view_set_aside(Transaction& tx, std::uint64_t after,
                                                            std::size_t limit) {
  std::vector<store::SetAsideRow> rows;
  for (Cursor row = tx.rows(tx.sql.set_aside_after, after, tx.ns, limit); row.next();) {
    rows.push_back({.number = row->uint64(0),
                    .key = row->number<InstanceKey>(1),
                    .what = std::string(row->text(2)),
                    .problem = std::string(row->text(3)),
                    .bytes = std::string(row->blob(4)),
                    .at = calendar_from_row(row->int64(5))});
  }
  return rows;
}

// ---- activities ---------------------------------------------------------------------------------

std::vector<Activity> all_activities(Transaction& tx, InstanceKey key) {
  const bool of_one = key != InstanceKey{};
  const NumberRange range(tx.ns);
  std::vector<Activity> all;
  for (Cursor row = of_one ? tx.rows(tx.sql.running_of, key)
                           : tx.rows(tx.sql.all_running, range.below, range.above);
       row.next();) {
    all.push_back(read_activity(row, ActivityTable::running));
  }
  for (Cursor row = of_one ? tx.rows(tx.sql.queued_of, key)
                           : tx.rows(tx.sql.all_queued, range.below, range.above);
       row.next();) {
    all.push_back(read_activity(row, ActivityTable::queued));
  }
  std::ranges::move(of_one ? packed_of(tx, key) : all_packed(tx), std::back_inserter(all));
  std::sort(all.begin(), all.end(), [](const Activity& a, const Activity& b) { return a.id < b.id; });
  return all;
}

store::ActivityView view_activity(Transaction& tx, const Activity& activity) {
  const bool running = is_live(tx, activity);
  const Kind& kind = tx.kind(activity.kind);
  store::ActivityView view{.id = activity.id,
                           .name = kind.name,
                           .queue = kind.queue,
                           .priority = activity.priority,
                           .running = running,
                           .owner = running ? tx.node_of(activity.worker) : "",
                           .attempt = activity.attempt,
                           .delivery = activity.delivery,
                           .due_in = running ? Duration{} : left_until(ready_since(activity), tx.now),
                           .last_failure = activity.last_failure,
                           .progress = activity.progress};
  if (activity.session != 0) {
    if (Cursor row = tx.rows(tx.sql.session_id, activity.session); row.next()) view.session = row->text(0);
  }
  return view;
}

StoreResult<std::vector<store::CancelRecord>> cancel_records(Transaction& tx, WorkerKey worker) {
  std::vector<store::CancelRecord> records;
  for (Cursor row = tx.rows(tx.sql.cancels_of_worker, worker, tx.ns); row.next();) {
    records.push_back(read_cancel(tx, row));
  }
  return records;
}

StoreResult<std::vector<store::QueueDepth>> queue_depths(Transaction& tx) {
  std::map<std::pair<std::string, std::string>, store::QueueDepth> depths;
  const std::vector<LiveWorker> workers = present_workers(tx);
  const auto depth_of = [&](std::int64_t number) -> store::QueueDepth& {
    const Kind& kind = tx.kind(number);
    const auto [entry, is_new] = depths.try_emplace({kind.queue, kind.name});
    store::QueueDepth& depth = entry->second;
    if (is_new) {
      depth.queue = kind.queue;
      depth.name = kind.name;
      depth.workers = static_cast<std::uint32_t>(std::ranges::count_if(
          workers, [&](const LiveWorker& worker) { return serves(worker.info.abilities, kind); }));
    }
    return depth;
  };
  const auto note_ready = [&](store::QueueDepth& depth, std::uint64_t count, LeaseTime since) {
    if (count == 0) return;
    depth.ready += count;
    depth.oldest_wait = std::max(depth.oldest_wait, Duration(tx.now - since));
  };
  const NumberRange range(tx.ns);
  for (Cursor row = tx.rows(tx.sql.queue_counts, range.below, range.above, tx.now); row.next();) {
    store::QueueDepth& depth = depth_of(row->int64(0));
    note_ready(depth, row->uint64(1), row->int64(2));
    depth.delayed += row->uint64(3);
  }
  for (Cursor row = tx.rows(tx.sql.running_counts, range.below, range.above, tx.now); row.next();) {
    store::QueueDepth& depth = depth_of(row->int64(0));
    note_ready(depth, row->uint64(1), row->int64(2));
    depth.running += row->uint64(3);
  }
  for (const Activity& activity : all_packed(tx)) {
    store::QueueDepth& depth = depth_of(activity.kind);
    const bool live = is_live(tx, activity);
    note_ready(depth, live ? 0 : 1, activity.until);
    depth.running += live ? 1 : 0;
  }
  std::vector<store::QueueDepth> list;
  for (auto& [key, depth] : depths) list.push_back(std::move(depth));
  return list;
}

}  // namespace holdfast::sqlite_store
