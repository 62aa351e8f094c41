// Instances are suspended and resumed.
#include "calls.hpp"
#include "instances.hpp"
#include "placing.hpp"

#include <algorithm>
#include <string>

namespace holdfast::rules {

namespace {

/// Under another status its place may be another, too.
void change_status(Transaction& tx, Instance& instance, InstanceStatus status) {
  unplace(tx, instance);
  set_status(tx, instance, status);
  instance.view.parked_because.clear();
  instance.not_before = {};
  instance.ready_since.reset();
}

void settle_under_status(Transaction& tx, Instance& instance) {
  place(tx, instance);
  if (instance.ready_since) tx.news.work |= kTurns;
  touch(tx, instance);
}

// A turn under way is lost, and is no hand-out that went wrong.
void suspend(Transaction& tx, Instance& instance) {
  const bool was_locked = instance.lock.live;
  change_status(tx, instance, InstanceStatus::suspended);
  instance.lock = {};
  if (was_locked && instance.delivery > 0) --instance.delivery;
  instance.seen = {};
  settle_under_status(tx, instance);
}

void resume(Transaction& tx, Instance& instance) {
  change_status(tx, instance, InstanceStatus::running);
  settle_under_status(tx, instance);
}

std::string words(InstanceStatus status) { return std::string(to_string(status)); }

std::optional<StoreError> refusal(const Instance& instance, const Suspension& wish) {
  if (auto refused = rules::refusal(instance, wish.life)) return refused;
  const InstanceStatus status = instance.view.status;
  const std::string who = "instance '" + wish.instance + "'";
  if (!wish.resume && status == InstanceStatus::suspended) {
    return StoreError{.kind = StoreError::Kind::conflict, .message = who + " is suspended already"};
  }
  if (!wish.resume || status == InstanceStatus::suspended) return std::nullopt;
  const std::string hint = status == InstanceStatus::parked ? ": workers that start try it again" : "";
  return StoreError{.kind = StoreError::Kind::conflict,
                    .message = who + " is not suspended: it is " + words(status) + hint};
}

}  // namespace

StoreResult<InstanceKey> set_suspended(Transaction& tx, const Suspension& wish) {
  Instance* const instance = find_instance(tx, wish.instance);
  if (const auto answer = answer_of(tx, wish.request)) return *answer;
  if (instance == nullptr) return no_instance(wish.instance);
  if (auto refused = refusal(*instance, wish)) return Unexpected(*std::move(refused));
  wish.resume ? resume(tx, *instance) : suspend(tx, *instance);
  remember(tx, wish.request, instance->view.key);
  return instance->view.key;
}

}  // namespace holdfast::rules
