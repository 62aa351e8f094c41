#include "instances.hpp"

#include "contract/rows.hpp"
#include "damaged_row.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::sqlite_store {

using store::InstanceStatus;
using store::MessageKind;

std::optional<Instance> load_instance(Transaction& tx, InstanceKey key) {
  std::optional<Instance> found = load_instance_anywhere(tx, key);
  if (found && found->ns != tx.ns) found.reset();
  return found;
}

std::optional<Instance> load_instance_anywhere(Transaction& tx, InstanceKey key) {
  Cursor row = tx.rows(tx.sql.instance, key);
  if (!row.next()) return std::nullopt;
  std::optional<Instance> found(std::in_place);
  Instance& instance = *found;
  instance.key = key;
  instance.name = row->text(0);
  instance.route = row->int64(1);
  instance.execution = row->number<ExecutionNumber>(2);
  instance.status = static_cast<InstanceStatus>(row->integer(3));
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
  return found;
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

TurnStamp stamp_of(Transaction& tx, const Instance& instance) {
  if (!instance.stamp.empty()) return instance.stamp;
  Cursor row = tx.rows(tx.sql.last_stamp, instance.key);
  return row.next() ? row->token<TurnStamp>(0) : TurnStamp{};
}

std::uint32_t delivery_of(const Instance& instance, TurnStamp stamp) noexcept {
  if (!instance.held) return instance.delivery;
  return instance.held->stamp == stamp ? instance.held->delivery : 0;
}

Waits::Waits(const Instance& instance) {
  if (instance.waits.empty()) return;
  if (!store::from_bytes(instance.waits, addresses_)) {
    throw DamagedRow("instance", static_cast<std::int64_t>(instance.key.value));
  }
}

bool Waits::contains(Address::Kind kind, std::string_view name) const {
  const auto before = [](const Address& address, const std::pair<Address::Kind, std::string_view>& wanted) {
    return std::pair(address.kind, std::string_view(address.name)) < wanted;
  };
  const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), std::pair(kind, name), before);
  return found != addresses_.end() && found->kind == kind && found->name == name;
}

bool has_awaited_delivery(Transaction& tx, const Instance& instance, MessageId seen) {
  if (instance.status != InstanceStatus::running || instance.waits.empty()) return false;
  const Waits waits(instance);
  for (Cursor row = tx.rows(tx.sql.message_heads, instance.key, 1, seen); row.next();) {
    if (waits.contains(static_cast<Address::Kind>(row->integer(1)), row->text(2))) return true;
  }
  return false;
}

bool needs_turn(Transaction& tx, const Instance& instance, MessageId seen) {
  if (instance.woken) return true;
  for (Cursor row = tx.rows(tx.sql.message_heads, instance.key, 0, 0); row.next();) {
    if (wakes(instance.status, static_cast<MessageKind>(row->integer(0)))) return true;
  }
  return has_awaited_delivery(tx, instance, seen);
}

void take_out(Transaction& tx, const Instance& instance) {
  if (instance.is_free() && instance.ready_at) {
    tx.run(tx.sql.delete_ready, instance.route, *instance.ready_at, instance.key);
  }
}

bool place(Transaction& tx, Instance& instance, bool needs_turn) {
  if (!needs_turn) return std::exchange(instance.ready_at, std::nullopt).has_value();
  const bool had_place = instance.ready_at.has_value();
  if (!had_place) instance.ready_at = std::max(tx.now, instance.not_before);
  tx.run(tx.sql.insert_ready, instance.route, *instance.ready_at, instance.key);
  tx.wake(store::kTurns);
  return !had_place;
}

Letter letter(const store::NewMessage& message) noexcept {
  return {.kind = message.kind,
          .execution = message.execution,
          .source = message.source,
          .address_kind = message.address.kind,
          .address = message.address.name,
          .body = message.body};
}

store::NewMessage read_new_message(const Cursor& row, int first_column) {
  return {.kind = static_cast<MessageKind>(row->integer(first_column)),
          .execution = row->number<ExecutionNumber>(first_column + 1),
          .source = row->number<EventId>(first_column + 2),
          .address = {static_cast<Address::Kind>(row->integer(first_column + 3)),
                      std::string(row->text(first_column + 4))},
          .body = std::string(row->blob(first_column + 5))};
}

bool deliver(Transaction& tx, Instance& instance, const Letter& letter) {
  if (store::has_ended(instance.status) && letter.kind != MessageKind::start) return false;
  const bool waits_for_code = store::waits_for_code(letter.kind);
  const auto address = letter.address.empty() ? std::nullopt : std::optional(letter.address);
  const MessageId id = tx.next_message();
  tx.run(tx.sql.insert_message, instance.key, waits_for_code, id, to_row(letter.kind), letter.execution,
         letter.source, to_row(letter.address_kind), address, Blob{letter.body});
  const bool ready = waits_for_code ? instance.status == InstanceStatus::running && id > instance.seen &&
                                          Waits(instance).contains(letter.address_kind, letter.address)
                                    : wakes(instance.status, letter.kind);
  if (!ready) return true;
  // Also when it is locked: whoever keeps the lock between turns may fetch what has come.
  tx.wake(store::kTurns);
  if (instance.is_free() && !instance.ready_at) {
    place(tx, instance, true);
    tx.run(tx.sql.set_ready_at, instance.key, instance.ready_at);
  }
  return true;
}

bool deliver(Transaction& tx, InstanceKey key, const Letter& letter) {
  std::optional<Instance> instance = load_instance(tx, key);
  return instance && deliver(tx, *instance, letter);
}

namespace {

using DamagedMessage = std::tuple<MessageId, MessageKind, std::string>;

std::vector<store::Message> decode_messages(Transaction& tx, InstanceKey key, MessageId seen,
                                            std::vector<DamagedMessage>& damaged) {
  std::vector<store::Message> messages;
  for (const int waits : {0, 1}) {
    for (Cursor row = tx.rows(tx.sql.messages_after, key, waits, seen); row.next();) {
      const auto id = row->number<MessageId>(0);
      const auto kind = static_cast<MessageKind>(row->integer(1));
      auto body = store::decode_body(kind, row->blob(6));
      if (!body) {
        damaged.emplace_back(id, kind, row->blob(6));
        continue;
      }
      messages.push_back({.id = id,
                          .kind = kind,
                          .execution = row->number<ExecutionNumber>(2),
                          .source = row->number<EventId>(3),
                          .address = {static_cast<Address::Kind>(row->integer(4)), std::string(row->text(5))},
                          .body = *std::move(body)});
    }
  }
  std::sort(messages.begin(), messages.end(),
            [](const store::Message& a, const store::Message& b) { return a.id < b.id; });
  return messages;
}

}  // namespace

std::vector<store::Message> peek_messages(Transaction& tx, InstanceKey key) {
  std::vector<DamagedMessage> damaged;
  return decode_messages(tx, key, {}, damaged);
}

std::vector<store::Message> read_messages(Transaction& tx, InstanceKey key, MessageId seen) {
  std::vector<DamagedMessage> damaged;
  std::vector<store::Message> messages = decode_messages(tx, key, seen, damaged);
  for (const auto& [id, kind, bytes] : damaged) {
    tx.run(tx.sql.delete_message, key, store::waits_for_code(kind), id);
    set_aside(tx, key, describe_message(id, kind), "can't be decoded", bytes);
  }
  return messages;
}

void set_aside(Transaction& tx, InstanceKey key, std::string_view what, std::string_view problem,
               std::string_view bytes) {
  tx.run(tx.sql.insert_set_aside, ++tx.counters().set_aside, tx.ns, key, what, problem, Blob{bytes},
         to_row(tx.calendar_now));
}

std::string describe_message(MessageId id, MessageKind kind) {
  return "message " + to_string(id) + " (" + std::string(holdfast::detail::enum_name(kind)) + ")";
}

}  // namespace holdfast::sqlite_store
