// What people see of instances and activities, and everything that there is.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::testing::oracle {

using store::MessageKind;

namespace {

std::vector<store::NewTimer> by_event(std::vector<store::NewTimer> timers) {
  std::sort(timers.begin(), timers.end(), [](const auto& a, const auto& b) { return a.event < b.event; });
  return timers;
}

// The attribute that a condition is about is the one of its own type; `has` is about keywords.
bool has(const Instance& instance, const AttributeCondition& condition) {
  using Is = AttributeCondition::Is;
  const bool of_list = condition.is == Is::has;
  const AttributeType type = of_list ? AttributeType::keywords : type_of(condition.value);
  const auto found = instance.attributes.find({condition.name, type});
  if (found == instance.attributes.end()) return false;
  const AttributeValue& value = found->second;
  switch (condition.is) {
    case Is::equal:
      return value == condition.value;
    case Is::has:
      return std::ranges::count(std::get<Keywords>(value), std::get<std::string>(condition.value)) > 0;
    case Is::starts_with:
      return std::get<std::string>(value).starts_with(std::get<std::string>(condition.value));
    case Is::below:
      return value < condition.value;
    case Is::at_most:
      return value <= condition.value;
    case Is::above:
      return value > condition.value;
    case Is::at_least:
      return value >= condition.value;
  }
  return false;
}

bool takes(const store::InstanceFilter& filter, const Instance& instance) {
  if (!filter.statuses.empty() && !filter.statuses.contains(instance.status)) return false;
  if (!filter.orchestration.empty() && filter.orchestration != instance.code.name) return false;
  if (!filter.version.empty() && filter.version != instance.code.version) return false;
  if (!instance.id.starts_with(filter.prefix)) return false;
  if (filter.parent && *filter.parent != instance.parent) return false;
  if (filter.created_from && instance.created_at < *filter.created_from) return false;
  if (filter.created_before && instance.created_at >= *filter.created_before) return false;
  return std::ranges::all_of(filter.attributes,
                             [&](const AttributeCondition& condition) { return has(instance, condition); });
}

// What a list is ordered by; none when the instance is not in it.
const AttributeValue* ordered_by(const store::InstanceFilter& filter, const Instance& instance) {
  const auto found = instance.attributes.find({filter.order.attribute, filter.order.type});
  return found == instance.attributes.end() ? nullptr : &found->second;
}

// Equal values: the newest first when it ascends, the oldest first when it descends.
bool comes_before(const store::InstanceFilter& filter, const AttributeValue& a, InstanceKey a_key,
                  const AttributeValue& b, InstanceKey b_key) {
  if (filter.order.descending) return a != b ? b < a : a_key < b_key;
  return a != b ? a < b : b_key < a_key;
}

}  // namespace

store::InstanceView Oracle::view_of(const Instance& instance) const {
  std::vector<Attribute> attributes;
  for (const auto& [key, value] : instance.attributes) attributes.push_back({key.first, value});
  return {.key = instance.key,
          .instance = instance.id,
          .code = instance.code,
          .execution = instance.execution,
          .status = instance.status,
          .output = instance.output,
          .parked_because = instance.parked_because,
          .custom_status = instance.custom_status,
          .custom_status_version = instance.custom_status_version,
          .parent = instance.parent,
          .build = instance.build,
          .created_at = instance.created_at,
          .updated_at = instance.updated_at,
          .cancel_requested_at = instance.cancel_requested_at,
          .attributes = std::move(attributes)};
}

store::ActivityView Oracle::view_of(const Activity& activity) const {
  store::ActivityView view{.id = activity.id,
                           .name = activity.name,
                           .queue = activity.queue,
                           .session = activity.session,
                           .priority = activity.priority,
                           .running = is_running(activity),
                           .attempt = activity.attempt,
                           .delivery = activity.delivery,
                           .last_failure = activity.last_failure,
                           .progress = activity.progress};
  if (view.running) {
    view.owner = node_of(activity.worker);
  } else {
    view.due_in = left(waits_since(activity));
  }
  return view;
}

// Live ones that have its code and serve its queue.
std::uint32_t Oracle::workers_for(const Activity& activity) const {
  return static_cast<std::uint32_t>(
      std::count_if(rows().workers.begin(), rows().workers.end(), [&](const WorkerRow& worker) {
        return is_at_work(worker) && has_code(worker.info.abilities, activity);
      }));
}

StoreResult<store::InstanceView> Oracle::find(std::string_view id) {
  const Instance* const instance = find_instance(id);
  if (instance == nullptr) return error(Kind::not_found);
  return view_of(*instance);
}

StoreResult<std::vector<std::optional<store::InstanceView>>> Oracle::look(std::span<const InstanceKey> keys) {
  std::vector<std::optional<store::InstanceView>> views;
  for (const InstanceKey key : keys) {
    const Instance* const instance = find_instance(key);
    views.push_back(instance == nullptr ? std::nullopt : std::optional(view_of(*instance)));
  }
  return views;
}

StoreResult<store::InstanceDetail> Oracle::describe(std::string_view id) {
  const Instance* const found = find_instance(id);
  if (found == nullptr) return error(Kind::not_found);
  const Instance& instance = *found;
  store::InstanceDetail detail{.view = view_of(instance),
                               .delivery = instance.delivery,
                               .waits = instance.waits,
                               .timers = by_event(instance.timers),
                               .fingerprint = instance.fingerprint};
  if (instance.locked_by && !lock_is_over(instance)) detail.locked_by = node_of(*instance.locked_by);
  for (const Activity& activity : rows().activities) {
    if (activity.id.instance != instance.key) continue;
    store::ActivityView view = view_of(activity);
    view.workers = workers_for(activity);
    // Until it fails because no worker took it.
    if (!view.running) view.gives_up_in = left(deadline(activity));
    detail.activities.push_back(std::move(view));
  }
  for (const Cancel& cancel : rows().cancels) {
    if (cancel.id.instance == instance.key) detail.cancels.push_back(record_of(cancel));
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(detail.activities.begin(), detail.activities.end(), by_id);
  std::sort(detail.cancels.begin(), detail.cancels.end(), by_id);
  // Messages that no turn has consumed, starts aside.
  for (const store::Message& message : instance.messages) {
    if (message.kind != MessageKind::start) ++detail.unread;
  }
  for (const Delayed& delayed : instance.delayed) {
    if (delayed.message.kind == MessageKind::start) detail.starts_in = left(delayed.due);
  }
  for (const WorkerRow& worker : rows().workers) {
    if (is_at_work(worker) && may_run(worker.info.code, instance)) ++detail.workers;
  }
  // Those that have not ended, oldest first, at most kMaxChildren.
  for (const Instance& child : rows().instances) {
    if (child.parent != instance.key || has_ended(child.status)) continue;
    if (detail.children.size() < store::InstanceDetail::kMaxChildren) {
      detail.children.push_back(view_of(child));
    } else {
      ++detail.more_children;
    }
  }
  for (const auto& [key, value] : instance.values) detail.value_keys.push_back(key);
  return detail;
}

// Without an order by key, the highest (newest) first. There is more if, and only if, `next` is set.
StoreResult<store::InstancePage> Oracle::list(const store::InstanceFilter& filter) {
  const bool ordered = !filter.order.attribute.empty();
  std::vector<const Instance*> all;
  for (auto instance = rows().instances.rbegin(); instance != rows().instances.rend(); ++instance) {
    if (!takes(filter, *instance)) continue;
    if (!ordered) {
      if (filter.after.key == InstanceKey{} || instance->key < filter.after.key) all.push_back(&*instance);
      continue;
    }
    const AttributeValue* const value = ordered_by(filter, *instance);
    if (value == nullptr) continue;
    if (!filter.after.value ||
        comes_before(filter, *filter.after.value, filter.after.key, *value, instance->key))
      all.push_back(&*instance);
  }
  if (ordered) {
    std::ranges::sort(all, [&](const Instance* a, const Instance* b) {
      return comes_before(filter, *ordered_by(filter, *a), a->key, *ordered_by(filter, *b), b->key);
    });
  }
  store::InstancePage page;
  for (const Instance* const instance : all) {
    if (page.instances.size() == filter.limit) {
      if (filter.limit == 0) break;
      const Instance& last = *all[filter.limit - 1];
      page.next = last.key;
      if (ordered) page.next->value = *ordered_by(filter, last);
      break;
    }
    page.instances.push_back(view_of(*instance));
  }
  return page;
}

StoreResult<store::InstanceCount> Oracle::count(const store::InstanceFilter& filter) {
  const bool of_statuses = filter.orchestration.empty() && filter.version.empty() && filter.prefix.empty() &&
                           !filter.parent && !filter.created_from && !filter.created_before &&
                           filter.attributes.empty();
  store::InstanceCount counted;
  for (const Instance& instance : rows().instances) counted.count += takes(filter, instance) ? 1U : 0U;
  if (of_statuses || counted.count <= store::InstanceCount::kMost) return counted;
  return store::InstanceCount{store::InstanceCount::kMost, true};
}

StoreResult<store::StatusCounts> Oracle::count_by_status() {
  store::StatusCounts counts;
  for (const Instance& instance : rows().instances) ++counts[instance.status];
  return counts;
}

StoreResult<std::vector<store::ExecutionView>> Oracle::executions(InstanceKey key) {
  const Instance* const instance = find_instance(key);
  if (instance == nullptr) return error(Kind::not_found);
  std::vector<store::ExecutionView> views;
  for (const auto& [number, segments] : instance->history) {
    store::ExecutionView view{.execution = ExecutionNumber{number}, .segments = segments.size()};
    for (const store::Segment& segment : segments) view.bytes += segment.bytes.size();
    views.push_back(view);
  }
  // The current one is there from its first moment on.
  if (!instance->history.contains(instance->execution.value))
    views.push_back({.execution = instance->execution});
  return views;
}

StoreResult<std::optional<std::string>> Oracle::value(std::string_view id, std::string_view key) {
  const Instance* const instance = find_instance(id);
  if (instance == nullptr) return error(Kind::not_found);
  const auto value = instance->values.find(std::string(key));
  return value == instance->values.end() ? std::nullopt : std::optional(value->second);
}

StoreResult<std::vector<store::SetAsideRow>> Oracle::set_aside(std::uint64_t after, std::size_t limit) {
  std::vector<store::SetAsideRow> page;
  for (const store::SetAsideRow& row : rows().set_aside) {
    if (row.number > after && page.size() < limit) page.push_back(row);
  }
  return page;
}

StoreResult<std::vector<store::QueueDepth>> Oracle::queue_depths() {
  std::map<std::pair<std::string, std::string>, store::QueueDepth> depths;
  for (const Activity& activity : rows().activities) {
    store::QueueDepth& depth = depths[{activity.queue, activity.name}];
    depth.queue = activity.queue;
    depth.name = activity.name;
    depth.workers = workers_for(activity);
    if (is_running(activity)) {
      ++depth.running;
    } else if (waits_since(activity) > now()) {
      ++depth.delayed;
    } else {
      ++depth.ready;
      depth.oldest_wait = std::max(depth.oldest_wait, now() - waits_since(activity));
    }
  }
  std::vector<store::QueueDepth> all;
  for (const auto& [key, depth] : depths) all.push_back(depth);
  return all;
}

StoreResult<store::StoreState> Oracle::state() {
  store::StoreState state;
  for (const Instance& instance : rows().instances) {
    store::InstanceRow& row = state.instances.emplace_back();
    row.view = view_of(instance);
    row.request = instance.request;
    row.fingerprint = instance.fingerprint;
    row.stamp = instance.stamp;
    row.delivery = instance.delivery;
    row.locked_by = instance.locked_by;
    row.token = instance.token;
    if (instance.locked_by) row.lease_left = left(instance.lease_until);
    // A fetch would return it, once it is not locked: nobody has its frame then.
    row.ready = instance.not_before <= now() &&
                needs_turn(instance, instance.locked_by ? MessageId{} : instance.seen);
    row.waits = instance.waits;
    row.messages = instance.messages;
    std::map<std::pair<BootTime, std::uint64_t>, store::Message> delayed;
    for (const Delayed& one : instance.delayed) delayed[{one.due, one.order}] = one.message;
    for (const auto& [due, message] : delayed) row.delayed_messages.push_back(message);
    row.timers = by_event(instance.timers);
    row.values = instance.values;
    row.history = instance.history;
    row.watched_sessions.assign(instance.watches.begin(), instance.watches.end());
    row.end_watchers = instance.end_watchers;
  }
  for (const Activity& activity : rows().activities) {
    store::ActivityRow& row = state.activities.emplace_back();
    row.view = view_of(activity);
    row.token = activity.token;
    if (!activity.token.empty()) row.lease_left = left(activity.lease_until);
    row.start_within = activity.start_within;
    row.total_left = left(activity.total_until);
    row.body = activity.body;
    row.generation = activity.generation;
  }
  std::sort(state.activities.begin(), state.activities.end(),
            [](const auto& a, const auto& b) { return a.view.id < b.view.id; });
  for (const auto& [id, session] : rows().sessions) {
    state.sessions.push_back(view_of(session, store::Saved::bytes));
  }
  state.session_log = rows().log;
  state.workers = workers().value();
  for (const Cancel& cancel : rows().cancels) state.cancels.push_back(record_of(cancel));
  std::sort(state.cancels.begin(), state.cancels.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.id, a.token) < std::tuple(b.id, b.token);
  });
  std::list<Early> by_instance = rows().early;
  by_instance.sort([](const Early& a, const Early& b) { return a.instance < b.instance; });
  for (const Early& early : by_instance) {
    state.early.push_back({early.instance, early.message, left(early.until)});
  }
  state.set_aside = rows().set_aside;
  state.asks = view_of_questions();
  state.counts = count_by_status().value();
  return state;
}

}  // namespace holdfast::testing::oracle
