// What clients ask for: instances are started, sent to, looked at and deleted.
#include "calls.hpp"
#include "instances.hpp"
#include "messages.hpp"
#include "views.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rules {

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
                                   .fingerprint = request.fingerprint,
                                   .attributes = request.attributes});
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

// ---- sending -------------------------------------------------------------------------------------

StoreResult<InstanceKey> send_early(Transaction& tx, const ClientMessage& item) {
  if (item.message.kind != MessageKind::delivery || item.keep_early <= Duration{}) {
    return no_instance(item.instance);
  }
  keep_early(tx, item.instance, item.message, item.keep_early, item.delay);
  return InstanceKey{};
}

StoreResult<InstanceKey> send_anew(Transaction& tx, Instance* instance, const ClientMessage& item) {
  if (!asks_to_stop(item.message.kind) && item.message.kind != MessageKind::delivery) {
    return refuse(StoreError::Kind::invalid,
                  "clients send requests to cancel, control messages and deliveries only");
  }
  if (instance == nullptr)
    return item.life == InstanceKey{} ? send_early(tx, item) : no_instance(item.instance);
  if (auto refused = refusal(*instance, item.life)) return Unexpected(*std::move(refused));
  if (item.cancels) note_cancel_request(tx, *instance);
  if (item.delay > Duration{}) {
    deliver_at(tx, *instance, after(tx.now, item.delay), item.message);
  } else {
    deliver(tx, *instance, item.message);
  }
  return instance->view.key;
}

// ---- looking -------------------------------------------------------------------------------------

std::vector<ExecutionView> executions_of(const Instance& instance) {
  std::vector<ExecutionView> views;
  for (const auto& [execution, segments] : instance.history) {
    ExecutionView& view = views.emplace_back(ExecutionView{.execution = execution});
    view.segments = segments.size();
    for (const auto& [event, bytes] : segments) view.bytes += bytes.size();
  }
  return with_current(std::move(views), instance);
}

}  // namespace

StoreResult<StartAnswer> start(Transaction& tx, const StartRequest& request) {
  tx.rows.reserve(request.instance);
  Instance* const former = find_instance(tx, request.instance);
  if (const auto key = answer_of(tx, request.request)) return StartAnswer{.key = *key, .is_new = false};
  if (former == nullptr) return begin_life(tx, request);
  const StartAnswer there{.key = former->view.key, .is_new = false};
  if (!request.request.empty() && request.request == former->request) return there;
  if (may_begin_anew(former->view, request.reuse)) {
    remove(tx, *former);
    return begin_life(tx, request);
  }
  if (request.fingerprint == former->fingerprint) {
    remember(tx, request.request, there.key);
    return there;
  }
  return refuse(StoreError::Kind::conflict,
                "instance '" + request.instance +
                    "' exists, and was started with another orchestration, version or input");
}

StoreResult<InstanceKey> send(Transaction& tx, const ClientMessage& item) {
  Instance* const instance = find_or_reserve(tx, item.instance);
  if (const auto answer = answer_of(tx, item.request)) return *answer;
  StoreResult<InstanceKey> sent = send_anew(tx, instance, item);
  if (sent) remember(tx, item.request, *sent);
  return sent;
}

StoreResult<InstanceView> find(Transaction& tx, std::string_view instance) {
  const Instance* const found = find_instance(tx, instance);
  if (found == nullptr) return no_instance(instance);
  return found->view;
}

std::optional<InstanceView> look(Transaction& tx, InstanceKey key) {
  const Instance* const found = find_instance(tx, key);
  return found == nullptr ? std::nullopt : std::optional(found->view);
}

StoreResult<InstanceDetail> describe(Transaction& tx, std::string_view instance) {
  const Instance* const found = find_instance(tx, instance);
  if (found == nullptr) return no_instance(instance);
  return detail_of(tx, *found);
}

StoreResult<std::vector<ExecutionView>> executions(Transaction& tx, InstanceKey key) {
  const Instance* const found = find_instance(tx, key);
  if (found == nullptr) return no_instance(key);
  return executions_of(*found);
}

StoreResult<std::optional<std::string>> value(Transaction& tx, std::string_view instance,
                                              std::string_view key) {
  Instance* const found = find_instance(tx, instance);
  if (found == nullptr) return no_instance(instance);
  return find_value(tx, *found, std::string(key));
}

StoreResult<void> delete_instance(Transaction& tx, const Deletion& deletion) {
  Instance* const found = find_instance(tx, deletion.instance);
  const bool is_meant =
      found != nullptr && (deletion.life == InstanceKey{} || found->view.key == deletion.life);
  if (!is_meant) return no_instance(deletion.instance);
  if (!deletion.force && !has_ended(found->view.status)) {
    return refuse(StoreError::Kind::conflict,
                  "instance '" + deletion.instance + "' has not ended: end it first, or set force");
  }
  remove(tx, *found);
  return {};
}

StoreResult<Pruned> to_prune(Transaction& tx, std::string_view instance, std::uint64_t keep) {
  Instance* const found = find_instance(tx, instance);
  if (found == nullptr) return no_instance(instance);
  const std::uint64_t current = found->view.execution.value;
  return Pruned{found, {}, {current - std::clamp<std::uint64_t>(keep, 1, current) + 1}};
}

StoreResult<Pruned> to_prune(Transaction& tx, std::string_view instance, ExecutionNumber execution) {
  Instance* const found = find_instance(tx, instance);
  if (found == nullptr) return no_instance(instance);
  const ExecutionNumber current = found->view.execution;
  if (execution == ExecutionNumber{} || execution > current) {
    return refuse(StoreError::Kind::not_found, "instance '" + found->view.instance + "' has no execution " +
                                                   to_string(execution) + ": it is at " + to_string(current));
  }
  if (execution == current) {
    return refuse(StoreError::Kind::conflict, "execution " + to_string(execution) + " of instance '" +
                                                  found->view.instance +
                                                  "' is not over: its history is needed");
  }
  return Pruned{found, execution, {execution.value + 1}};
}

}  // namespace holdfast::rules
