// Messages of instances: how they come in, which of them make an instance ready, and how they go.
#pragma once

#include "instances.hpp"

#include <holdfast/store/messages.hpp>

#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

/// A message on its way into an instance.
struct Letter {
  store::MessageKind kind{};
  ExecutionNumber execution{};
  EventId source{};
  Address::Kind address_kind{};
  std::string_view address{};
  std::string_view body{};
};
Letter letter(const store::NewMessage& message) noexcept;
/// From six columns: kind, execution, source, kind of address, address, body.
store::NewMessage read_new_message(const Cursor& row, int first_column);

/// Inserts the message, and makes the instance ready if it does. False, and nothing done, when the instance
/// has ended and takes no such message.
bool deliver(Transaction& tx, Instance& instance, const Letter& letter);
/// The start of a new instance. A short one stands in the instance's row until the first commit, which leaves
/// it there or makes it a message like any other.
[[nodiscard]] constexpr bool fits_row(std::string_view start) noexcept { return start.size() <= 256; }
/// It is in the row already if it fits.
void deliver_start(Transaction& tx, Instance& instance, MessageId id, std::string_view body);
/// The same for a key; false also when there is no such instance.
bool deliver(Transaction& tx, InstanceKey key, const Letter& letter);
/// Keeps a message until lease time has come to `visible`.
void deliver_at(Transaction& tx, InstanceKey key, LeaseTime visible, const Letter& letter);
/// Keeps a delivery for an instance that doesn't exist yet. It counts from `delay` on.
void keep_early(Transaction& tx, std::string_view instance, const store::NewMessage& message, Duration keep,
                Duration delay = {});

// ---- what makes it ready ------------------------------------------------------------------------

/// Whether a message that is no delivery makes it ready.
[[nodiscard]] constexpr bool wakes(store::InstanceStatus status, store::MessageKind kind) noexcept {
  if (has_ended(status)) return kind == store::MessageKind::start;
  return status == store::InstanceStatus::running || kind == store::MessageKind::control;
}

/// Whether it was woken or has a message that makes it ready. Deliveries up to `seen` don't count.
bool needs_turn(Transaction& tx, const Instance& instance, MessageId seen);
/// Whether a message after `seen` makes it ready.
bool has_news(Transaction& tx, const Instance& instance, MessageId seen);
/// Whether it runs and has a delivery after `seen` for an address that it waits for.
bool has_awaited_delivery(Transaction& tx, const Instance& instance, MessageId seen);
/// Whether a control message came after `seen`.
bool has_control_after(Transaction& tx, const Instance& instance, MessageId seen);

// ---- reading and removing -----------------------------------------------------------------------

/// All messages, by id, but those that can't be decoded.
std::vector<store::Message> peek_messages(Transaction& tx, const Instance& instance);
/// Messages after `seen`, by id. What can't be decoded is set aside.
std::vector<store::Message> read_messages(Transaction& tx, Instance& instance, MessageId seen);

/// Before the first commit changes anything: a start in the instance's row that it doesn't consume becomes a
/// row of `messages`. From then on the instance has a stamp, and the start in its row counts no more.
void settle_start(Transaction& tx, Instance& instance, const store::TurnCommit& commit);
void consume(Transaction& tx, Instance& instance, MessageId id);
/// It could not be decoded: kept with its bytes, out of the way.
void put_aside(Transaction& tx, Instance& instance, MessageId id);
/// All but starts: those that an instance doesn't take after its end.
void drop_unread(Transaction& tx, Instance& instance);
/// Those that belong to an execution that is over.
void drop_answers(Transaction& tx, Instance& instance);

}  // namespace holdfast::sqlite_store
