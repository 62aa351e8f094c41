// Turns are fetched, kept and given back.
#include "calls.hpp"
#include "instances.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "readiness.hpp"

#include <algorithm>

namespace holdfast::rules {

namespace {

/// Hands an instance out, with its messages after `seen`; or, when it is held already, what has come for it.
LockedTurn hand_out(Transaction& tx, Instance& instance, const TurnRequest& request, LockToken token,
                    MessageId seen, bool held) {
  unplace(tx, instance);
  const BootTime until = after(tx.now, request.lease);
  instance.lock = {.worker = request.worker, .token = token, .until = until, .live = until > tx.now};
  instance.woken = false;
  instance.not_before = {};
  // What comes while it is held already is no other hand-out.
  instance.delivery = held ? std::max(instance.delivery, 1U) : instance.delivery + 1;
  place(tx, instance);
  LockedTurn turn{.key = instance.view.key,
                  .instance = instance.view.instance,
                  .token = token,
                  .stamp = instance.stamp,
                  .code = instance.view.code,
                  .build = instance.view.build,
                  .execution = instance.view.execution,
                  .status = instance.view.status,
                  .delivery = instance.delivery};
  tx.rows.messages_after(instance, seen);
  for (auto next = instance.messages.upper_bound(seen); next != instance.messages.end(); ++next) {
    turn.messages.push_back(next->second);
  }
  return turn;
}

bool has_news(const Transaction& tx, Instance& instance, MessageId seen) {
  tx.rows.messages_after(instance, seen);
  return std::any_of(instance.messages.upper_bound(seen), instance.messages.end(),
                     [&](const auto& entry) { return makes_ready(instance, entry.second, seen); });
}

void fetch_held(Transaction& tx, const TurnRequest& request, FetchedTurns& fetched) {
  for (const HeldInstance& held : request.held) {
    tx.rows.instance(held.key);
    Instance* const instance = tx.space.instances.fill(held.key);
    if (instance == nullptr || !instance->lock.is(held.token) || !has_news(tx, *instance, held.seen))
      continue;  // as most have: they are not touched
    fetched.turns.push_back(
        hand_out(tx, tx.space.instances.at(held.key), request, held.token, held.seen, true));
    fetched.turns.back().held = true;
  }
}

void fetch_ready(Transaction& tx, const TurnRequest& request, FetchedTurns& fetched) {
  std::vector<Instance*> chosen;
  SuitingCode suits(*request.code);
  for (const auto& [since, key] : tx.space.ready) {
    if (since > tx.now) break;
    if (!suits(*tx.space.instances.peek(key))) continue;
    if (chosen.size() == request.max) {
      fetched.left_behind = true;
      break;
    }
    chosen.push_back(&tx.space.instances.at(key));
  }
  for (Instance* const instance : chosen) {
    fetched.turns.push_back(hand_out(tx, *instance, request, request.token, {}, false));
  }
}

Duration next_turn_due(const Transaction& tx, const Code& code) {
  Duration due = next_delivery(tx);
  SuitingCode suits(code);
  if (!tx.space.instance_locks.empty()) {
    due = std::min(due, left(tx.space.instance_locks.begin()->first, tx.now));
  }
  for (auto later = tx.space.ready.lower_bound({tx.now + Duration(1), InstanceKey{}});
       later != tx.space.ready.end(); ++later) {
    if (!suits(*tx.space.instances.peek(later->second))) continue;
    return std::min(due, left(later->first, tx.now));
  }
  return due;
}

StoreResult<Instance*> locked(Transaction& tx, InstanceKey key, LockToken token) {
  Instance* const instance = find_instance(tx, key);
  if (instance != nullptr && instance->lock.is(token)) return instance;
  return refuse(StoreError::Kind::lost,
                "instance " + to_string(key) + " is not locked by this token: read it again");
}

void park(Transaction& tx, Instance& instance, const std::string& why) {
  if (has_ended(instance.view.status)) return;
  set_status(tx, instance, InstanceStatus::parked);
  instance.view.parked_because = why;
  touch(tx, instance);
}

/// It came while the turn was under way, which knew nothing of it.
bool is_asked_to_stop_after(const Transaction& tx, Instance& instance, MessageId seen) {
  tx.rows.messages_after(instance, seen);
  return std::any_of(instance.messages.upper_bound(seen), instance.messages.end(),
                     [](const auto& entry) { return asks_to_stop(entry.second.kind); });
}

void release(Transaction& tx, Instance& instance, const TurnRelease& release) {
  unplace(tx, instance);
  instance.lock = {};
  if (!release.counts && instance.delivery > 0) --instance.delivery;
  if (release.park) park(tx, instance, *release.park);
  instance.seen = {};
  const bool waits = release.delay > Duration{} && !is_asked_to_stop_after(tx, instance, release.seen);
  instance.not_before = waits ? after(tx.now, release.delay) : BootTime{};
  instance.ready_since.reset();
  place(tx, instance);
  if (instance.ready_since) tx.news.work |= kTurns;
}

/// What a fetch has locked that was not answered.
void release_unanswered(Transaction& tx, LockToken token) {
  std::vector<Instance*> unanswered;
  for (const auto& [until, key] : tx.space.instance_locks) {
    if (tx.space.instances.peek(key)->lock.is(token)) unanswered.push_back(&tx.space.instances.at(key));
  }
  for (Instance* const instance : unanswered)
    release(tx, *instance, {.key = instance->view.key, .token = token});
}

}  // namespace

StoreResult<FetchedTurns> fetch_turns(Transaction& tx, const TurnRequest& request) {
  if (auto refused = refusal(tx, request.worker, Call::takes_work)) return Unexpected(*refused);
  if (request.repeated) release_unanswered(tx, request.token);
  deliver_due(tx);
  FetchedTurns fetched{.now = tx.calendar};
  fetch_held(tx, request, fetched);
  fetch_ready(tx, request, fetched);
  fetched.next_due = next_turn_due(tx, *request.code);
  return fetched;
}

StoreResult<void> release_turn(Transaction& tx, const TurnRelease& item) {
  const auto instance = locked(tx, item.key, item.token);
  if (!instance) return Unexpected(instance.error());
  release(tx, **instance, item);
  return {};
}

StoreResult<void> renew_turn(Transaction& tx, WorkerKey worker, Duration lease, const TurnRenewal& item) {
  if (auto refused = refusal(tx, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
  const auto found = locked(tx, item.key, item.token);
  if (!found) return Unexpected(found.error());
  Instance& instance = **found;
  unplace(tx, instance);
  instance.lock.until = after(tx.now, lease);
  instance.lock.live = instance.lock.until > tx.now;
  place(tx, instance);
  return {};
}

std::uint64_t wake_parked(Transaction& tx, const Code& code) {
  std::uint64_t woken = 0;
  SuitingCode suits(code);
  for (const auto& [key, row] : tx.space.instances) {
    if (row.view.status != InstanceStatus::parked || !suits.is_for(row)) continue;
    Instance& instance = tx.space.instances.at(key);
    unplace(tx, instance);
    set_status(tx, instance, InstanceStatus::running);
    instance.view.parked_because.clear();
    instance.woken = true;
    instance.not_before = {};
    instance.ready_since.reset();
    place(tx, instance);
    touch(tx, instance);
    tx.news.work |= kTurns;
    ++woken;
  }
  return woken;
}

}  // namespace holdfast::rules
