#include "messages.hpp"

#include "contract/rows.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace holdfast::sqlite_store {

using store::InstanceStatus;
using store::MessageKind;

namespace {

// What is kept in memory of an instance stays small.
constexpr std::size_t kMaxKnown = 16;
constexpr std::size_t kMaxKnownBytes = 4096;

/// What an instance waits for, sorted. When that can't be read it is everything: a turn that was not needed
/// does no harm, and says anew what the instance waits for.
class Waits {
 public:
  explicit Waits(const Instance& instance)
      : readable_(instance.waits.empty() || store::from_bytes(instance.waits, addresses_)) {}

  [[nodiscard]] bool contains(Address::Kind kind, std::string_view name) const {
    if (!readable_) return true;
    const auto before = [](const Address& address, const std::pair<Address::Kind, std::string_view>& wanted) {
      return std::pair(address.kind, std::string_view(address.name)) < wanted;
    };
    const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), std::pair(kind, name), before);
    return found != addresses_.end() && found->kind == kind && found->name == name;
  }

 private:
  std::vector<Address> addresses_{};
  bool readable_;
};

void insert_row(Transaction& tx, InstanceKey key, MessageId id, const Letter& letter) {
  const auto address = letter.address.empty() ? std::nullopt : std::optional(letter.address);
  tx.run(tx.sql.insert_message, key, store::waits_for_code(letter.kind), id, to_row(letter.kind),
         letter.execution, letter.source, to_row(letter.address_kind), address, Blob{letter.body});
}

Letter start_letter(std::string_view body) {
  return {.kind = MessageKind::start, .execution = ExecutionNumber{1}, .body = body};
}

void note(Instance& instance, MessageId id, const Letter& letter) {
  if (!instance.messages) return;
  std::optional<store::MessageBody> body;
  if (instance.messages->size() < kMaxKnown && letter.body.size() <= kMaxKnownBytes) {
    body = store::decode_body(letter.kind, letter.body);
  }
  if (!body) {
    instance.messages.reset();
    return;
  }
  instance.messages->push_back({.id = id,
                                .kind = letter.kind,
                                .execution = letter.execution,
                                .source = letter.source,
                                .address = {letter.address_kind, std::string(letter.address)},
                                .body = *std::move(body)});
}

bool makes_ready(const Instance& instance, MessageId id, const Letter& letter) {
  if (!store::waits_for_code(letter.kind)) return wakes(instance.status, letter.kind);
  return instance.status == InstanceStatus::running && id > instance.seen && !instance.waits.empty() &&
         Waits(instance).contains(letter.address_kind, letter.address);
}

/// Of a release: whoever asks an instance to end need not wait for it.
void end_delay(Transaction& tx, Instance& instance) {
  take_out(tx, instance);
  instance.not_before = 0;
  instance.ready_at.reset();
  place(tx, instance, true);
  save_instance(tx, instance);
}

}  // namespace

// ---- coming in ----------------------------------------------------------------------------------

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
  if (has_ended(instance.status) && letter.kind != MessageKind::start) return false;
  const MessageId id = tx.next_message();
  insert_row(tx, instance.key, id, letter);
  note(instance, id, letter);
  if (!makes_ready(instance, id, letter)) return true;
  // Also when it is locked: whoever keeps the lock between turns may fetch what has come.
  tx.wake(store::kTurns);
  if (!instance.is_free()) return true;
  if (letter.kind == MessageKind::control && instance.not_before > tx.now) {
    end_delay(tx, instance);
  } else if (!instance.ready_at) {
    place(tx, instance, true);
    tx.run(tx.sql.set_ready_at, instance.key, instance.ready_at);
  }
  return true;
}

void deliver_start(Transaction& tx, Instance& instance, MessageId id, std::string_view body) {
  if (fits_row(body)) {
    instance.start = id;
  } else {
    insert_row(tx, instance.key, id, start_letter(body));
  }
  note(instance, id, start_letter(body));
  tx.wake(store::kTurns);
}

bool deliver(Transaction& tx, InstanceKey key, const Letter& letter) {
  Instance* instance = load_instance(tx, key);
  return instance != nullptr && deliver(tx, *instance, letter);
}

void deliver_at(Transaction& tx, InstanceKey key, LeaseTime visible, const Letter& letter) {
  const auto address = letter.address.empty() ? std::nullopt : std::optional(letter.address);
  tx.run(tx.sql.insert_delayed, key, tx.ns, visible, to_row(letter.kind), letter.execution, letter.source,
         to_row(letter.address_kind), address, Blob{letter.body});
  if (Instance* known = tx.memo.instances.find(key)) known->bare = false;
  tx.wake(store::kTurns);
}

void keep_early(Transaction& tx, std::string_view instance, const store::NewMessage& message, Duration keep,
                Duration delay) {
  const LeaseTime until = later(tx.now, keep);
  const Letter kept = letter(message);
  tx.run(tx.sql.insert_early, tx.ns, instance, until, later(tx.now, delay), to_row(kept.kind), kept.execution,
         kept.source, to_row(kept.address_kind), kept.address, Blob{kept.body});
  tx.memo.nothing_early = false;
  tx.sweep_by(until);
}

// ---- what makes it ready ------------------------------------------------------------------------

namespace {

/// Whether a message after `seen` that is no delivery wakes it.
bool has_waking_message(Transaction& tx, const Instance& instance, MessageId seen) {
  if (instance.messages) {
    return std::ranges::any_of(*instance.messages, [&](const store::Message& message) {
      return message.id > seen && !store::waits_for_code(message.kind) &&
             wakes(instance.status, message.kind);
    });
  }
  if (instance.start > seen && wakes(instance.status, MessageKind::start)) return true;
  for (Cursor row = tx.rows(tx.sql.message_heads, instance.key, 0, seen); row.next();) {
    if (wakes(instance.status, static_cast<MessageKind>(row->integer(0)))) return true;
  }
  return false;
}

}  // namespace

bool has_awaited_delivery(Transaction& tx, const Instance& instance, MessageId seen) {
  if (instance.status != InstanceStatus::running || instance.waits.empty()) return false;
  const Waits waits(instance);
  if (instance.messages) {
    return std::ranges::any_of(*instance.messages, [&](const store::Message& message) {
      return message.id > seen && store::waits_for_code(message.kind) &&
             waits.contains(message.address.kind, message.address.name);
    });
  }
  for (Cursor row = tx.rows(tx.sql.message_heads, instance.key, 1, seen); row.next();) {
    if (waits.contains(static_cast<Address::Kind>(row->integer(1)), row->text(2))) return true;
  }
  return false;
}

bool needs_turn(Transaction& tx, const Instance& instance, MessageId seen) {
  return instance.woken || has_waking_message(tx, instance, {}) || has_awaited_delivery(tx, instance, seen);
}

bool has_news(Transaction& tx, const Instance& instance, MessageId seen) {
  return has_waking_message(tx, instance, seen) || has_awaited_delivery(tx, instance, seen);
}

bool has_control_after(Transaction& tx, const Instance& instance, MessageId seen) {
  if (instance.messages) {
    return std::ranges::any_of(*instance.messages, [&](const store::Message& message) {
      return message.id > seen && message.kind == MessageKind::control;
    });
  }
  for (Cursor row = tx.rows(tx.sql.message_heads, instance.key, 0, seen); row.next();) {
    if (static_cast<MessageKind>(row->integer(0)) == MessageKind::control) return true;
  }
  return false;
}

// ---- reading ------------------------------------------------------------------------------------

namespace {

using DamagedMessage = std::tuple<MessageId, MessageKind, std::string>;

std::string start_body(Transaction& tx, InstanceKey key) {
  Cursor row = tx.rows(tx.sql.start_body, key);
  return row.next() ? std::string(row->blob(0)) : std::string();
}

std::vector<store::Message> decode_messages(Transaction& tx, const Instance& instance, MessageId seen,
                                            std::vector<DamagedMessage>& damaged) {
  std::vector<store::Message> messages;
  if (instance.start > seen) {
    messages.push_back({.id = instance.start,
                        .kind = MessageKind::start,
                        .execution = ExecutionNumber{1},
                        .body = start_body(tx, instance.key)});
  }
  for (const int waits : {0, 1}) {
    for (Cursor row = tx.rows(tx.sql.messages_after, instance.key, waits, seen); row.next();) {
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

std::string describe_message(MessageId id, MessageKind kind) {
  return "message " + to_string(id) + " (" + std::string(holdfast::detail::enum_name(kind)) + ")";
}

bool is_small(const std::vector<store::Message>& messages) {
  if (messages.size() > kMaxKnown) return false;
  return std::ranges::all_of(messages, [](const store::Message& message) {
    const auto* bytes = std::get_if<std::string>(&message.body);
    return bytes == nullptr || bytes->size() <= kMaxKnownBytes;
  });
}

std::vector<store::Message> after(const std::vector<store::Message>& messages, MessageId seen) {
  const auto first = std::ranges::find_if(messages, [&](const store::Message& m) { return m.id > seen; });
  return {first, messages.end()};
}

}  // namespace

std::vector<store::Message> peek_messages(Transaction& tx, const Instance& instance) {
  std::vector<DamagedMessage> damaged;
  return decode_messages(tx, instance, {}, damaged);
}

std::vector<store::Message> read_messages(Transaction& tx, Instance& instance, MessageId seen) {
  if (instance.messages) return after(*instance.messages, seen);
  std::vector<DamagedMessage> damaged;
  std::vector<store::Message> messages = decode_messages(tx, instance, seen, damaged);
  for (const auto& [id, kind, bytes] : damaged) {
    tx.run(tx.sql.delete_message, instance.key, store::waits_for_code(kind), id);
    set_aside(tx, instance.ns, instance.key, describe_message(id, kind), "can't be decoded", bytes);
  }
  if (seen == MessageId{} && is_small(messages)) instance.messages = messages;
  return messages;
}

// ---- removing -----------------------------------------------------------------------------------

namespace {

void forget(Instance& instance, MessageId id) {
  if (!instance.messages) return;
  std::erase_if(*instance.messages, [&](const store::Message& message) { return message.id == id; });
}

}  // namespace

void settle_start(Transaction& tx, Instance& instance, const store::TurnCommit& commit) {
  const MessageId id = std::exchange(instance.start, {});
  if (id == MessageId{}) return;
  const bool consumed = std::ranges::find(commit.consumed, id) != commit.consumed.end();
  if (consumed && !commit.stamp.empty()) return forget(instance, id);
  insert_row(tx, instance.key, id, start_letter(start_body(tx, instance.key)));
  tx.run(tx.sql.forget_start, instance.key);
}

void consume(Transaction& tx, Instance& instance, MessageId id) {
  if (instance.messages) {
    const auto found = std::ranges::find(*instance.messages, id, &store::Message::id);
    if (found == instance.messages->end()) return;
    tx.run(tx.sql.delete_message, instance.key, store::waits_for_code(found->kind), id);
    instance.messages->erase(found);
    return;
  }
  if (tx.change(tx.sql.delete_message, instance.key, 0, id) == 0) {
    tx.run(tx.sql.delete_message, instance.key, 1, id);
  }
}

void put_aside(Transaction& tx, Instance& instance, MessageId id) {
  forget(instance, id);
  for (const int waits : {0, 1}) {
    MessageKind kind{};
    std::string body;
    {
      Cursor row = tx.rows(tx.sql.message, instance.key, waits, id);
      if (!row.next()) continue;
      kind = static_cast<MessageKind>(row->integer(0));
      body = row->blob(1);
    }
    tx.run(tx.sql.delete_message, instance.key, waits, id);
    set_aside(tx, instance.ns, instance.key, describe_message(id, kind), "can't be decoded", body);
  }
}

void drop_unread(Transaction& tx, Instance& instance) {
  if (instance.messages) {
    if (std::erase_if(*instance.messages, [](const auto& m) { return m.kind != MessageKind::start; }) == 0)
      return;
  }
  tx.run(tx.sql.drop_unread, instance.key);
}

void drop_answers(Transaction& tx, Instance& instance) {
  const auto belongs_to_execution = [](const store::Message& message) {
    return message.kind >= MessageKind::outcome && message.kind <= MessageKind::session;
  };
  if (instance.messages && std::erase_if(*instance.messages, belongs_to_execution) == 0) return;
  tx.run(tx.sql.drop_answers, instance.key);
}

}  // namespace holdfast::sqlite_store
