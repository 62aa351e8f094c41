#include "messages.hpp"

#include "in_sql.hpp"
#include "placing.hpp"
#include "readiness.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rules {

namespace {

/// Of a release: whoever asks an instance to end need not wait for it.
void end_delay(Transaction& tx, Instance& instance) {
  if (instance.not_before <= tx.now) return;
  unplace(tx, instance);
  instance.not_before = {};
  instance.ready_since.reset();
}

}  // namespace

bool deliver(Transaction& tx, Instance& instance, Message message) {
  if (has_ended(instance.view.status) && message.kind != MessageKind::start) return false;
  if (message.kind == MessageKind::control) instance.terminating = true;
  message.id = tx.numbers.next_message();
  const auto inserted = instance.messages.emplace(message.id, std::move(message)).first;
  if (!makes_ready(instance, inserted->second, instance.seen)) return true;
  // Also when it is locked: whoever keeps the lock between turns may fetch what has come.
  tx.news.work |= kTurns;
  if (instance.lock.live) return true;
  if (asks_to_stop(inserted->second.kind)) end_delay(tx, instance);
  if (!instance.ready_since) place(tx, instance);
  return true;
}

bool deliver(Transaction& tx, Instance& instance, const NewMessage& message) {
  return deliver(tx, instance,
                 Message{.kind = message.kind,
                         .execution = message.execution,
                         .source = message.source,
                         .address = message.address,
                         .body = message.body});
}

void deliver_at(Transaction& tx, Instance& instance, BootTime visible, const NewMessage& message) {
  const DelayedKey key{visible, tx.numbers.next_delayed()};
  tx.space.delayed.emplace(key, DelayedMessage{.key = instance.view.key, .message = message});
  instance.delayed.insert(key);
  // Nobody who fetched before knows of it, unless another one is due sooner.
  if (tx.space.delayed.begin()->first == key) tx.news.work |= kTurns;
}

Instance* find_or_reserve(Transaction& tx, const std::string& id) {
  if (Instance* const found = find_instance(tx, id)) return found;
  tx.rows.reserve(id);
  return find_instance(tx, id);
}

void keep_early(Transaction& tx, const std::string& id, const NewMessage& message, Duration keep,
                Duration delay) {
  const BootTime until = after(tx.now, keep);
  tx.space.early[id].push_back({.message = message, .visible = after(tx.now, delay), .until = until});
  tx.sweep_by(until);
}

void note_cancel_request(const Transaction& tx, Instance& instance) {
  if (!instance.view.cancel_requested_at) instance.view.cancel_requested_at = tx.calendar;
}

void set_timer(Transaction& tx, Instance& instance, const NewTimer& timer) {
  cancel_timer(tx, instance, timer.event);
  instance.timers.emplace(timer.event, timer.due);
  const auto inserted = tx.space.timers.emplace(timer.due, std::pair(instance.view.key, timer.event)).first;
  if (inserted == tx.space.timers.begin()) tx.news.work |= kTurns;
}

void cancel_timer(Transaction& tx, Instance& instance, EventId timer) {
  tx.rows.timers(instance);
  const auto found = instance.timers.find(timer);
  if (found == instance.timers.end()) return;
  tx.space.timers.erase({found->second, {instance.view.key, timer}});
  instance.timers.erase(found);
}

void cancel_timers(Transaction& tx, Instance& instance) {
  tx.rows.timers(instance);
  while (!instance.timers.empty()) cancel_timer(tx, instance, instance.timers.begin()->first);
}

void drop_all_but_starts(Transaction& tx, Instance& instance) {
  tx.rows.drops(instance, Source::Dropped::all_but_starts);
  std::erase_if(instance.messages, [](const auto& entry) { return ends_with_instance(entry.second.kind); });
  std::erase_if(instance.delayed, [&](const DelayedKey& key) {
    const auto found = tx.space.delayed.find(key);
    if (!ends_with_instance(found->second.message.kind)) return false;
    tx.space.delayed.erase(found);
    return true;
  });
}

void drop_delayed(Transaction& tx, Instance& instance) {
  for (const DelayedKey& key : instance.delayed) tx.space.delayed.erase(key);
  instance.delayed.clear();
}

namespace {

void deliver_due_timers(Transaction& tx) {
  while (!tx.space.timers.empty() && tx.space.timers.begin()->first <= tx.calendar) {
    const auto [key, event] = tx.space.timers.begin()->second;
    Instance& instance = *find_instance(tx, key);
    cancel_timer(tx, instance, event);
    deliver(tx, instance,
            Message{.kind = MessageKind::timer, .execution = instance.view.execution, .source = event});
  }
}

void deliver_due_messages(Transaction& tx) {
  while (!tx.space.delayed.empty() && tx.space.delayed.begin()->first.first <= tx.now) {
    const auto due = tx.space.delayed.extract(tx.space.delayed.begin());
    Instance& instance = *find_instance(tx, due.mapped().key);
    instance.delayed.erase(due.key());
    deliver(tx, instance, due.mapped().message);
  }
}

}  // namespace

void deliver_due(Transaction& tx) {
  deliver_due_timers(tx);
  deliver_due_messages(tx);
}

Duration next_delivery(const Transaction& tx) {
  Duration due = never;
  if (!tx.space.timers.empty()) due = left(tx.space.timers.begin()->first, tx.calendar);
  if (!tx.space.delayed.empty()) due = std::min(due, left(tx.space.delayed.begin()->first.first, tx.now));
  return due;
}

}  // namespace holdfast::rules
