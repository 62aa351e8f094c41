// What clients do: start instances, send to them, remove them and their histories.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

using store::Message;
using store::MessageKind;

namespace {

bool allows_new_life(Reuse reuse, Status status) {
  if (!has_ended(status)) return false;
  return reuse == Reuse::after_end || (reuse == Reuse::after_failure && status != Status::completed);
}

}  // namespace

// A request that took effect is answered with the key that it made, also when that life has ended or was
// deleted.
std::optional<InstanceKey> Oracle::answered(RequestId request) const {
  if (request.empty()) return std::nullopt;
  for (const Instance& instance : rows().instances) {
    if (instance.request == request) return instance.key;
  }
  for (const Request& one : rows().requests) {
    if (one.id == request) return one.key;
  }
  return std::nullopt;
}

void Oracle::remember(RequestId request, InstanceKey key) const {
  if (!request.empty()) rows().requests.push_back({.id = request, .key = key, .at = now()});
}

std::vector<StoreResult<store::StartAnswer>> Oracle::start(std::span<const store::StartRequest> requests) {
  std::vector<StoreResult<store::StartAnswer>> answers;
  for (const store::StartRequest& request : requests) answers.push_back(start(request));
  return answers;
}

StoreResult<store::StartAnswer> Oracle::start(const store::StartRequest& request) const {
  if (const auto key = answered(request.request)) return store::StartAnswer{*key, false};
  if (Instance* const existing = find_instance(request.instance)) {
    // If `reuse` allows it, a new life begins. Otherwise the same fingerprint gives the existing key, and
    // another one is a `conflict`.
    if (!allows_new_life(request.reuse, existing->status)) {
      if (existing->fingerprint != request.fingerprint) return error(Kind::conflict);
      remember(request.request, existing->key);
      return store::StartAnswer{existing->key, false};
    }
    remove_instance(*existing);
  }
  Instance& instance = new_instance(request.instance, request.code, request.attributes);
  instance.request = request.request;
  instance.fingerprint = request.fingerprint;
  Message message{.kind = MessageKind::start, .execution = instance.execution, .body = request.body};
  if (request.delay > Duration{}) {
    deliver_later(instance, later(request.delay), std::move(message));
  } else {
    deliver(instance, std::move(message));
  }
  give_early_deliveries(instance);
  return store::StartAnswer{instance.key, true};
}

std::vector<StoreResult<InstanceKey>> Oracle::send(std::span<const store::ClientMessage> messages) {
  std::vector<StoreResult<InstanceKey>> answers;
  for (const store::ClientMessage& message : messages) answers.push_back(send(message));
  return answers;
}

StoreResult<InstanceKey> Oracle::send(const store::ClientMessage& sent) const {
  if (const auto key = answered(sent.request)) return *key;
  Instance* const instance = find_instance(sent.instance);
  if (sent.life != InstanceKey{}) {
    if (instance == nullptr) return error(Kind::not_found);
    if (instance->key != sent.life) return error(Kind::gone);
  }
  if (instance == nullptr) {
    // Key 0: kept for an instance that doesn't exist yet.
    if (sent.message.kind != MessageKind::delivery || sent.keep_early <= Duration{}) {
      return error(Kind::not_found);
    }
    keep_early(sent.instance, sent.message, sent.keep_early, sent.delay);
    remember(sent.request, {});
    return InstanceKey{};
  }
  if (has_ended(instance->status)) return error(Kind::conflict);
  Message message{.kind = sent.message.kind, .address = sent.message.address, .body = sent.message.body};
  if (sent.delay > Duration{}) {
    deliver_later(*instance, later(sent.delay), std::move(message));
  } else {
    deliver(*instance, std::move(message));
  }
  // The instance shows "cancel requested" from the first one on.
  if (sent.cancels && !instance->cancel_requested_at) instance->cancel_requested_at = today();
  remember(sent.request, instance->key);
  return instance->key;
}

std::vector<StoreResult<InstanceKey>> Oracle::set_suspended(std::span<const store::Suspension> wishes) {
  std::vector<StoreResult<InstanceKey>> answers;
  for (const store::Suspension& wish : wishes) answers.push_back(set_suspended(wish));
  return answers;
}

// `conflict` when the instance has ended, is suspended already, or is to be resumed and is not suspended.
StoreResult<InstanceKey> Oracle::set_suspended(const store::Suspension& wish) const {
  if (const auto key = answered(wish.request)) return *key;
  Instance* const instance = find_instance(wish.instance);
  if (instance == nullptr) return error(Kind::not_found);
  if (wish.life != InstanceKey{} && instance->key != wish.life) return error(Kind::gone);
  const bool is_suspended = instance->status == Status::suspended;
  if (has_ended(instance->status) || is_suspended != wish.resume) return error(Kind::conflict);
  if (wish.resume) {
    instance->status = Status::running;
    instance->free_since = now();
  } else {
    // Its lock is released, as if by release_turns. One that has lapsed is a hand-out that went wrong.
    release_lock(*instance, !instance->locked_by || lock_is_over(*instance));
    instance->status = Status::suspended;
  }
  instance->not_before = {};
  instance->parked_because.clear();
  instance->updated_at = today();
  remember(wish.request, instance->key);
  return instance->key;
}

std::vector<StoreResult<void>> Oracle::delete_instances(std::span<const store::Deletion> deletions) {
  std::vector<StoreResult<void>> answers;
  for (const store::Deletion& deletion : deletions) answers.push_back(remove(deletion));
  return answers;
}

// `conflict` when it has not ended and `force` is false; `not_found` when another life than `life` has the
// id.
StoreResult<void> Oracle::remove(const store::Deletion& deletion) const {
  Instance* const instance = find_instance(deletion.instance);
  if (instance == nullptr || (deletion.life != InstanceKey{} && instance->key != deletion.life)) {
    return error(Kind::not_found);
  }
  if (!has_ended(instance->status) && !deletion.force) return error(Kind::conflict);
  remove_instance(*instance);
  return {};
}

// Removes the history of executions before the last `keep`. The current one stays.
StoreResult<std::uint64_t> Oracle::prune_executions(std::string_view id, std::uint64_t keep) {
  Instance* const instance = find_instance(id);
  if (instance == nullptr) return error(Kind::not_found);
  return std::erase_if(instance->history, [&](const auto& execution) {
    return execution.first + std::max<std::uint64_t>(keep, 1) <= instance->execution.value;
  });
}

// False when there is none. `conflict` for the current one.
StoreResult<bool> Oracle::prune_execution(std::string_view id, ExecutionNumber execution) {
  Instance* const instance = find_instance(id);
  if (instance == nullptr || execution.value == 0 || execution > instance->execution) {
    return error(Kind::not_found);
  }
  if (execution == instance->execution) return error(Kind::conflict);
  return instance->history.erase(execution.value) > 0;
}

}  // namespace holdfast::testing::oracle
