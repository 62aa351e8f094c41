// What clients ask for: instances are started, sent to, looked at and deleted.
#include "instances.hpp"
#include "messages.hpp"
#include "store.hpp"
#include "views.hpp"

#include <algorithm>

namespace holdfast::memory_store {

namespace {

// ---- starting ------------------------------------------------------------------------------------

bool may_begin_anew(const InstanceView& former, Reuse reuse) {
  if (reuse == Reuse::never || !has_ended(former.status)) return false;
  return reuse == Reuse::after_end || former.status != InstanceStatus::completed;
}

StartAnswer begin_life(Transaction& tx, const StartRequest& request) {
  Instance& instance = create(tx, {.id = request.instance,
                                   .code = request.code,
                                   .request = request.request,
                                   .fingerprint = request.fingerprint});
  const NewMessage message{
      .kind = MessageKind::start, .execution = instance.view.execution, .body = request.body};
  if (request.delay > Duration{}) {
    deliver_at(tx, instance, after(tx.now, request.delay), message);
  } else {
    deliver(tx, instance, message);
  }
  deliver_early(tx, instance);
  return {.key = instance.view.key, .is_new = true};
}

StoreResult<StartAnswer> start_one(Transaction& tx, const StartRequest& request) {
  Instance* const former = find_instance(tx.space, request.instance);
  if (former == nullptr) return begin_life(tx, request);
  const StartAnswer there{.key = former->view.key, .is_new = false};
  if (!request.request.empty() && request.request == former->request) return there;
  if (may_begin_anew(former->view, request.reuse)) {
    remove(tx, *former);
    return begin_life(tx, request);
  }
  if (request.fingerprint == former->fingerprint) return there;
  return refuse(StoreError::Kind::conflict,
                "instance '" + request.instance + "' exists, and was started with something else");
}

// ---- sending -------------------------------------------------------------------------------------

StoreResult<InstanceKey> keep_early(Transaction& tx, const ClientMessage& item) {
  if (item.message.kind != MessageKind::delivery || item.keep_early <= Duration{}) {
    return no_instance(item.instance);
  }
  const BootTime until = after(tx.now, item.keep_early);
  tx.space.early[item.instance].push_back(
      {.message = item.message, .visible = after(tx.now, item.delay), .until = until});
  tx.sweep_by(until);
  return InstanceKey{};
}

StoreResult<InstanceKey> send_anew(Transaction& tx, const ClientMessage& item) {
  if (item.message.kind != MessageKind::control && item.message.kind != MessageKind::delivery) {
    return refuse(StoreError::Kind::invalid, "clients send control messages and deliveries only");
  }
  Instance* const instance = find_instance(tx.space, item.instance);
  if (instance == nullptr) return keep_early(tx, item);
  if (has_ended(instance->view.status)) {
    return refuse(StoreError::Kind::conflict, "instance '" + item.instance + "' has ended");
  }
  if (item.cancels && !instance->view.cancel_requested_at) {
    instance->view.cancel_requested_at = tx.calendar;
  }
  if (item.delay > Duration{}) {
    deliver_at(tx, *instance, after(tx.now, item.delay), item.message);
  } else {
    deliver(tx, *instance, item.message);
  }
  return instance->view.key;
}

StoreResult<InstanceKey> send_one(Transaction& tx, const ClientMessage& item) {
  if (!item.request.empty()) {
    const auto known = tx.space.requests.find(item.request);
    if (known != tx.space.requests.end() && tx.now - known->second.at < Request::kKept) {
      return known->second.answer;
    }
  }
  StoreResult<InstanceKey> sent = send_anew(tx, item);
  if (sent && !item.request.empty()) {
    tx.space.requests.insert_or_assign(item.request, Request{.answer = *sent, .at = tx.now});
    tx.sweep_by(after(tx.now, Request::kKept));
  }
  return sent;
}

// ---- looking -------------------------------------------------------------------------------------

bool matches(const InstanceView& view, const InstanceFilter& filter) {
  return (filter.statuses.empty() || filter.statuses.contains(view.status)) &&
         (filter.orchestration.empty() || filter.orchestration == view.code.name) &&
         view.instance.starts_with(filter.prefix) && (!filter.parent || *filter.parent == view.parent) &&
         (!filter.created_from || view.created_at >= *filter.created_from) &&
         (!filter.created_before || view.created_at < *filter.created_before);
}

InstancePage page(const Space& space, const InstanceFilter& filter) {
  InstancePage page;
  for (auto next = space.instances.upper_bound(filter.after); next != space.instances.end(); ++next) {
    const InstanceView& view = next->second.view;
    if (!matches(view, filter)) continue;
    if (page.instances.size() == filter.limit) {
      if (!page.instances.empty()) page.next = page.instances.back().key;
      break;
    }
    page.instances.push_back(view);
  }
  return page;
}

std::vector<ExecutionView> executions_of(const Instance& instance) {
  std::vector<ExecutionView> views;
  for (const auto& [execution, segments] : instance.history) {
    ExecutionView& view = views.emplace_back(ExecutionView{.execution = execution});
    view.segments = segments.size();
    for (const auto& [event, bytes] : segments) view.bytes += bytes.size();
  }
  // The current one is there from its first moment on.
  if (!instance.history.contains(instance.view.execution)) {
    views.push_back({.execution = instance.view.execution});
  }
  return views;
}

}  // namespace

std::vector<StoreResult<StartAnswer>> MemoryStore::start(std::span<const StartRequest> requests) {
  return answer_each<StartAnswer>("memory.start", requests, start_one);
}

std::vector<StoreResult<InstanceKey>> MemoryStore::send(std::span<const ClientMessage> messages) {
  return answer_each<InstanceKey>("memory.send", messages, send_one);
}

StoreResult<InstanceView> MemoryStore::find(std::string_view instance) {
  return answer<InstanceView>("memory.find", [&](Transaction& tx) -> StoreResult<InstanceView> {
    const Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr) return no_instance(instance);
    return found->view;
  });
}

StoreResult<std::vector<std::optional<InstanceView>>> MemoryStore::look(std::span<const InstanceKey> keys) {
  using Views = std::vector<std::optional<InstanceView>>;
  return answer<Views>("memory.look", [&](Transaction& tx) -> StoreResult<Views> {
    Views views;
    for (const InstanceKey key : keys) {
      const Instance* const found = find_instance(tx.space, key);
      views.push_back(found == nullptr ? std::nullopt : std::optional(found->view));
    }
    return views;
  });
}

StoreResult<InstanceDetail> MemoryStore::describe(std::string_view instance) {
  return answer<InstanceDetail>("memory.describe", [&](Transaction& tx) -> StoreResult<InstanceDetail> {
    const Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr) return no_instance(instance);
    return detail_of(tx, *found);
  });
}

StoreResult<InstancePage> MemoryStore::list(const InstanceFilter& filter) {
  return answer<InstancePage>(
      "memory.list", [&](Transaction& tx) -> StoreResult<InstancePage> { return page(tx.space, filter); });
}

StoreResult<std::vector<ExecutionView>> MemoryStore::executions(InstanceKey key) {
  using Views = std::vector<ExecutionView>;
  return answer<Views>("memory.executions", [&](Transaction& tx) -> StoreResult<Views> {
    const Instance* const found = find_instance(tx.space, key);
    if (found == nullptr) return no_instance(key);
    return executions_of(*found);
  });
}

StoreResult<std::optional<std::string>> MemoryStore::value(std::string_view instance, std::string_view key) {
  using Value = std::optional<std::string>;
  return answer<Value>("memory.value", [&](Transaction& tx) -> StoreResult<Value> {
    const Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr) return no_instance(instance);
    const auto value = found->values.find(std::string(key));
    return value == found->values.end() ? Value() : Value(value->second);
  });
}

StoreResult<void> MemoryStore::delete_instance(std::string_view instance, bool force, InstanceKey life) {
  return answer<void>("memory.delete_instance", [&](Transaction& tx) -> StoreResult<void> {
    Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr || (life != InstanceKey{} && found->view.key != life)) return no_instance(instance);
    if (!force && !has_ended(found->view.status)) {
      return refuse(StoreError::Kind::conflict,
                    "instance '" + std::string(instance) + "' has not ended: end it first, or force it");
    }
    remove(tx, *found);
    return {};
  });
}

StoreResult<std::uint64_t> MemoryStore::prune_executions(std::string_view instance, std::uint64_t keep) {
  return answer<std::uint64_t>("memory.prune_executions", [&](Transaction& tx) -> StoreResult<std::uint64_t> {
    Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr) return no_instance(instance);
    const std::uint64_t current = found->view.execution.value;
    const std::uint64_t kept = std::clamp<std::uint64_t>(keep, 1, current);
    return std::erase_if(found->history,
                         [&](const auto& entry) { return entry.first.value + kept <= current; });
  });
}

StoreResult<bool> MemoryStore::prune_execution(std::string_view instance, ExecutionNumber execution) {
  return answer<bool>("memory.prune_execution", [&](Transaction& tx) -> StoreResult<bool> {
    Instance* const found = find_instance(tx.space, instance);
    if (found == nullptr) return no_instance(instance);
    if (execution >= found->view.execution) {
      return refuse(StoreError::Kind::conflict, "execution " + to_string(execution) + " of instance '" +
                                                    std::string(instance) + "' is not over: it stays");
    }
    return found->history.erase(execution) > 0;
  });
}

StoreResult<std::vector<SetAsideRow>> MemoryStore::set_aside(std::uint64_t after, std::size_t limit) {
  using Rows = std::vector<SetAsideRow>;
  return answer<Rows>("memory.set_aside", [&](Transaction& tx) -> StoreResult<Rows> {
    Rows rows;
    for (const SetAsideRow& row : tx.space.set_aside) {
      if (row.number > after && rows.size() < limit) rows.push_back(row);
    }
    return rows;
  });
}

}  // namespace holdfast::memory_store
