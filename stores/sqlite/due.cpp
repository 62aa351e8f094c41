// What comes due: timers, delayed messages, and the locks of instances that nobody kept.
#include "turns.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

// The rest waits for the next fetch: a transaction stays short, however many timers end at once.
constexpr std::size_t kMaxDue = 1000;

struct DueTimer {
  InstanceKey key{};
  ExecutionNumber execution{};
  EventId event{};
};

void deliver_timers(Transaction& tx) {
  std::vector<DueTimer> due;
  for (Cursor row = tx.rows(tx.sql.due_timers, tx.ns, to_row(tx.calendar_now), kMaxDue); row.next();) {
    due.push_back({row->number<InstanceKey>(0), row->number<ExecutionNumber>(1), row->number<EventId>(2)});
  }
  for (const DueTimer& timer : due) {
    tx.run(tx.sql.delete_timer, timer.key, timer.execution, timer.event);
    deliver(tx, timer.key,
            {.kind = store::MessageKind::timer, .execution = timer.execution, .source = timer.event});
  }
}

void deliver_delayed(Transaction& tx) {
  std::vector<std::pair<std::int64_t, InstanceKey>> due;
  std::vector<store::NewMessage> messages;
  for (Cursor row = tx.rows(tx.sql.due_delayed, tx.ns, tx.now, kMaxDue); row.next();) {
    due.emplace_back(row->int64(0), row->number<InstanceKey>(1));
    messages.push_back(read_new_message(row, 2));
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    tx.run(tx.sql.delete_delayed, due[i].first);
    deliver(tx, due[i].second, letter(messages[i]));
  }
}

Duration until_next(Transaction& tx) {
  Duration next = never;
  if (Cursor row = tx.rows(tx.sql.first_timer, tx.ns); row.next()) {
    next = std::min(next, left(calendar_from_row(row->int64(0)), tx.calendar_now));
  }
  if (Cursor row = tx.rows(tx.sql.first_delayed, tx.ns); row.next()) {
    next = std::min(next, left_until(row->int64(0), tx.now));
  }
  return next;
}

}  // namespace

Duration deliver_due(Transaction& tx) {
  const Duration next = until_next(tx);
  if (next > Duration::zero()) return next;
  deliver_timers(tx);
  deliver_delayed(tx);
  return until_next(tx);
}

Duration let_turns_lapse(Transaction& tx) {
  if (tx.now < tx.counters().turn_horizon) return left_until(tx.counters().turn_horizon, tx.now);
  LeaseTime horizon = kNoTime;
  std::vector<InstanceKey> over;
  for (Cursor row = tx.rows(tx.sql.held_locks); row.next();) {
    if (row->truth(2)) continue;
    if (const LeaseTime until = row->int64(1); until > tx.now) {
      horizon = std::min(horizon, until);
    } else {
      over.push_back(row->number<InstanceKey>(0));
    }
  }
  for (const InstanceKey key : over) {
    Instance* instance = load_instance_anywhere(tx, key);
    if (instance == nullptr) continue;
    tx.run(tx.sql.mark_lapsed, key);
    const std::optional<LeaseTime> known_place = instance->ready_at;
    instance->held->lapsed = true;
    instance->ready_at = instance->held->until;
    place(tx, *instance, needs_turn(tx, *instance, {}));
    // The frame that was given deliveries is gone, or may be.
    if (std::exchange(instance->seen, {}) != MessageId{}) {
      save_instance(tx, *instance);
    } else if (instance->ready_at != known_place) {
      tx.run(tx.sql.set_ready_at, key, instance->ready_at);
    }
  }
  tx.counters().turn_horizon = horizon;
  return left_until(horizon, tx.now);
}

}  // namespace holdfast::sqlite_store
