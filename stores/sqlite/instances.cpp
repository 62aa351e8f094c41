#include "instances.hpp"

#include "contract/rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

namespace {

/// What can't be decoded would be in everybody's way, again and again.
void set_unreadable_waits_aside(Transaction& tx, Instance& instance) {
  std::vector<Address> addresses;
  if (instance.waits.empty() || store::from_bytes(instance.waits, addresses)) return;
  if (instance.waits == kWaitsForAll) return;
  set_aside(tx, instance.ns, instance.key, "what the instance waits for", "can't be decoded", instance.waits);
  instance.waits = kWaitsForAll;
  save_instance(tx, instance);
}

}  // namespace

Instance* load_instance(Transaction& tx, InstanceKey key) {
  Instance* found = load_instance_anywhere(tx, key);
  return found != nullptr && found->ns == tx.ns ? found : nullptr;
}

Instance* load_instance_anywhere(Transaction& tx, InstanceKey key) {
  if (Instance* known = tx.memo.instances.find(key)) return known;
  Cursor row = tx.rows(tx.sql.instance, key);
  if (!row.next()) return nullptr;
  Instance instance;
  instance.key = key;
  instance.name = row->text(0);
  instance.route = row->int64(1);
  instance.execution = row->number<ExecutionNumber>(2);
  instance.status = static_cast<store::InstanceStatus>(row->integer(3));
  instance.delivery = static_cast<std::uint32_t>(row->int64(4));
  if (!row->is_null(5)) instance.ready_at = row->int64(5);
  instance.stamp = row->token<TurnStamp>(6);
  instance.waits = row->blob(7);
  instance.updated_at = calendar_from_row(row->int64(8));
  if (!row->is_null(9)) {
    instance.held = Held{.worker = row->number<WorkerKey>(9),
                         .token = row->token<LockToken>(10),
                         .until = row->int64(11),
                         .delivery = static_cast<std::uint32_t>(row->int64(12)),
                         .stamp = row->token<TurnStamp>(13),
                         .lapsed = row->truth(14)};
  }
  instance.ns = row->int64(15);
  instance.seen = row->number<MessageId>(16);
  instance.woken = row->truth(17);
  instance.not_before = row->int64(18);
  if (!row->is_null(19) && stamp_of(tx, instance).empty()) instance.start = row->number<MessageId>(19);
  if (tx.writes) set_unreadable_waits_aside(tx, instance);
  return &tx.memo.instances.put(std::move(instance));
}

std::optional<InstanceKey> key_of(Transaction& tx, std::string_view name) {
  Cursor row = tx.rows(tx.sql.key_by_name, tx.ns, name);
  if (!row.next()) return std::nullopt;
  return row->number<InstanceKey>(0);
}

void save_instance(Transaction& tx, const Instance& instance) {
  const auto stamp = instance.stamp.empty() ? std::nullopt : std::optional(instance.stamp);
  const auto waits = instance.waits.empty() ? std::nullopt : std::optional(Blob{instance.waits});
  tx.run(tx.sql.update_instance, instance.key, instance.route, instance.execution, to_row(instance.status),
         instance.delivery, instance.ready_at, stamp, waits, to_row(instance.updated_at), instance.seen,
         instance.woken, instance.not_before);
}

TurnStamp stamp_of(Transaction& tx, Instance& instance) {
  if (!instance.stamp.empty()) return instance.stamp;
  if (!instance.last_stamp) {
    Cursor row = tx.rows(tx.sql.last_stamp, instance.key);
    instance.last_stamp = row.next() ? row->token<TurnStamp>(0) : TurnStamp{};
  }
  return *instance.last_stamp;
}

std::uint32_t delivery_of(Transaction& tx, Instance& instance) {
  if (!instance.held) return instance.delivery;
  return instance.held->stamp == stamp_of(tx, instance) ? instance.held->delivery : 0;
}

void take_out(Transaction& tx, const Instance& instance) {
  if (instance.is_free() && instance.ready_at) {
    tx.run(tx.sql.delete_ready, instance.route, *instance.ready_at, instance.key);
  }
}

void place(Transaction& tx, Instance& instance, bool needs_turn) {
  if (!needs_turn) {
    instance.ready_at.reset();
    return;
  }
  if (!instance.ready_at) instance.ready_at = std::max(tx.now, instance.not_before);
  tx.run(tx.sql.insert_ready, instance.route, *instance.ready_at, instance.key);
  tx.wake(store::kTurns);
}

void set_aside(Transaction& tx, std::int64_t ns, InstanceKey key, std::string_view what,
               std::string_view problem, std::string_view bytes) {
  tx.run(tx.sql.insert_set_aside, ++tx.counters().set_aside, ns, key, what, problem, Blob{bytes},
         to_row(tx.calendar_now));
}

}  // namespace holdfast::sqlite_store
