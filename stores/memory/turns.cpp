// Turns are fetched, kept and given back.
#include "instances.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "readiness.hpp"
#include "store.hpp"

#include <algorithm>

namespace holdfast::memory_store {

namespace {

/// Hands an instance out, with its messages after `seen`.
LockedTurn hand_out(Transaction& tx, Instance& instance, const TurnRequest& request, LockToken token,
                    MessageId seen) {
  const bool held = instance.lock.is(token);
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
  for (auto next = instance.messages.upper_bound(seen); next != instance.messages.end(); ++next) {
    turn.messages.push_back(next->second);
  }
  return turn;
}

bool has_news(const Instance& instance, MessageId seen) {
  return std::any_of(instance.messages.upper_bound(seen), instance.messages.end(),
                     [&](const auto& entry) { return makes_ready(instance, entry.second, seen); });
}

void fetch_held(Transaction& tx, const TurnRequest& request, FetchedTurns& fetched) {
  for (const HeldInstance& held : request.held) {
    Instance* const instance = find_instance(tx.space, held.key);
    if (instance == nullptr || !instance->lock.is(held.token) || !has_news(*instance, held.seen)) continue;
    fetched.turns.push_back(hand_out(tx, *instance, request, held.token, held.seen));
    fetched.turns.back().held = true;
  }
}

void fetch_ready(Transaction& tx, const TurnRequest& request, FetchedTurns& fetched) {
  std::vector<Instance*> chosen;
  for (const auto& [since, key] : tx.space.ready) {
    if (since > tx.now) break;
    Instance& instance = tx.space.instances.at(key);
    if (!suits(*request.code, instance)) continue;
    if (chosen.size() == request.max) {
      fetched.left_behind = true;
      break;
    }
    chosen.push_back(&instance);
  }
  for (Instance* const instance : chosen) {
    fetched.turns.push_back(hand_out(tx, *instance, request, request.token, {}));
  }
}

Duration next_turn_due(const Transaction& tx, const Code& code) {
  Duration due = next_delivery(tx);
  if (!tx.space.instance_locks.empty()) {
    due = std::min(due, left(tx.space.instance_locks.begin()->first, tx.now));
  }
  for (auto later = tx.space.ready.lower_bound({tx.now + Duration(1), InstanceKey{}});
       later != tx.space.ready.end(); ++later) {
    if (!suits(code, tx.space.instances.at(later->second))) continue;
    return std::min(due, left(later->first, tx.now));
  }
  return due;
}

StoreResult<Instance*> locked(Transaction& tx, InstanceKey key, LockToken token) {
  Instance* const instance = find_instance(tx.space, key);
  if (instance != nullptr && instance->lock.is(token)) return instance;
  return refuse(StoreError::Kind::lost,
                "instance " + to_string(key) + " is not locked by this token: read it again");
}

void park(Transaction& tx, Instance& instance, const std::string& why) {
  if (has_ended(instance.view.status)) return;
  instance.view.status = InstanceStatus::parked;
  instance.view.parked_because = why;
  touch(tx, instance);
}

void release(Transaction& tx, Instance& instance, const TurnRelease& release) {
  unplace(tx, instance);
  instance.lock = {};
  if (!release.counts && instance.delivery > 0) --instance.delivery;
  if (release.park) park(tx, instance, *release.park);
  instance.seen = {};
  instance.not_before = after(tx.now, release.delay);
  instance.ready_since.reset();
  place(tx, instance);
  if (instance.ready_since) tx.news.work |= kTurns;
}

}  // namespace

StoreResult<FetchedTurns> MemoryStore::fetch_turns(const TurnRequest& request) {
  return answer<FetchedTurns>("memory.fetch_turns", [&](Transaction& tx) -> StoreResult<FetchedTurns> {
    if (auto refused = refusal(tx.space, request.worker, Call::takes_work)) return Unexpected(*refused);
    deliver_due(tx);
    FetchedTurns fetched{.now = tx.calendar};
    fetch_held(tx, request, fetched);
    fetch_ready(tx, request, fetched);
    fetched.next_due = next_turn_due(tx, *request.code);
    return fetched;
  });
}

std::vector<StoreResult<void>> MemoryStore::release_turns(std::span<const TurnRelease> releases) {
  return answer_each<void>("memory.release_turns", releases,
                           [](Transaction& tx, const TurnRelease& item) -> StoreResult<void> {
                             const auto instance = locked(tx, item.key, item.token);
                             if (!instance) return Unexpected(instance.error());
                             release(tx, **instance, item);
                             return {};
                           });
}

std::vector<StoreResult<void>> MemoryStore::renew_turns(WorkerKey worker, Duration lease,
                                                        std::span<const TurnRenewal> turns) {
  return answer_each<void>("memory.renew_turns", turns,
                           [&](Transaction& tx, const TurnRenewal& item) -> StoreResult<void> {
                             if (auto refused = refusal(tx.space, worker, Call::keeps_what_it_has))
                               return Unexpected(*refused);
                             const auto found = locked(tx, item.key, item.token);
                             if (!found) return Unexpected(found.error());
                             Instance& instance = **found;
                             unplace(tx, instance);
                             instance.lock.until = after(tx.now, lease);
                             instance.lock.live = instance.lock.until > tx.now;
                             place(tx, instance);
                             return {};
                           });
}

StoreResult<std::vector<Segment>> MemoryStore::read_history(InstanceKey key, ExecutionNumber execution,
                                                            EventId after, std::size_t max_bytes) {
  using Segments = std::vector<Segment>;
  return answer<Segments>("memory.read_history", [&](Transaction& tx) -> StoreResult<Segments> {
    const Instance* const instance = find_instance(tx.space, key);
    if (instance == nullptr) return no_instance(key);
    Segments segments;
    const auto history = instance->history.find(execution);
    if (history == instance->history.end()) return segments;
    std::size_t bytes = 0;
    for (auto next = history->second.upper_bound(after); next != history->second.end(); ++next) {
      bytes += next->second.size();
      if (!segments.empty() && bytes > max_bytes) break;
      segments.push_back({.first_event = next->first, .bytes = next->second});
    }
    return segments;
  });
}

StoreResult<std::uint64_t> MemoryStore::wake_parked(const Code& code) {
  return answer<std::uint64_t>("memory.wake_parked", [&](Transaction& tx) -> StoreResult<std::uint64_t> {
    std::uint64_t woken = 0;
    for (auto& [key, instance] : tx.space.instances) {
      if (instance.view.status != InstanceStatus::parked || !suits(code, instance)) continue;
      unplace(tx, instance);
      instance.view.status = InstanceStatus::running;
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
  });
}

}  // namespace holdfast::memory_store
