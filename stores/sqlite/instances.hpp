// Rows of instances: what a turn has to know of one, when it is ready, and how messages reach it.
#pragma once

#include "transaction.hpp"

#include <holdfast/address.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/turns.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sqlite_store {

/// The lock of an instance.
struct Held {
  WorkerKey worker{};
  LockToken token{};
  LeaseTime until = 0;
  std::uint32_t delivery = 0;  ///< counts only while `stamp` is the instance's
  TurnStamp stamp{};
  bool lapsed = false;  ///< a scan has seen it past its lease
};

struct Instance {
  InstanceKey key{};
  std::int64_t ns = 0;
  std::string name{};
  std::int64_t route = 0;
  ExecutionNumber execution{};
  store::InstanceStatus status{};
  std::uint32_t delivery = 0;  ///< of no meaning while it is held
  std::optional<LeaseTime> ready_at{};
  TurnStamp stamp{};    ///< empty when the last segment has it
  std::string waits{};  ///< encoded
  MessageId seen{};     ///< deliveries up to this don't make it ready
  bool woken = false;   ///< ready, whatever its messages are
  LeaseTime not_before = 0;
  CalendarTime updated_at{};
  std::optional<Held> held{};

  /// Whether `ready_at` says where it stands in `ready`.
  [[nodiscard]] bool is_free() const noexcept { return !held || held->lapsed; }
};

/// Of this namespace.
std::optional<Instance> load_instance(Transaction& tx, InstanceKey key);
/// Of any: for what is due whoever looks.
std::optional<Instance> load_instance_anywhere(Transaction& tx, InstanceKey key);
std::optional<InstanceKey> key_of(Transaction& tx, std::string_view name);
/// Writes what a turn or a lock may change.
void save_instance(Transaction& tx, const Instance& instance);

TurnStamp stamp_of(Transaction& tx, const Instance& instance);
/// How often it was handed out since its last commit.
std::uint32_t delivery_of(const Instance& instance, TurnStamp stamp) noexcept;

/// What an instance waits for, sorted.
class Waits {
 public:
  explicit Waits(const Instance& instance);
  [[nodiscard]] bool contains(Address::Kind kind, std::string_view name) const;
  [[nodiscard]] bool empty() const noexcept { return addresses_.empty(); }

 private:
  std::vector<Address> addresses_;
};

/// Whether a message that is no delivery makes it ready.
[[nodiscard]] constexpr bool wakes(store::InstanceStatus status, store::MessageKind kind) noexcept {
  if (store::has_ended(status)) return kind == store::MessageKind::start;
  return status == store::InstanceStatus::running || kind == store::MessageKind::control;
}

/// Whether it runs and has a delivery after `seen` for an address that it waits for.
bool has_awaited_delivery(Transaction& tx, const Instance& instance, MessageId seen);
/// Whether it was woken or has a message that makes it ready. Deliveries up to `seen` don't count.
bool needs_turn(Transaction& tx, const Instance& instance, MessageId seen);

/// Takes it out of `ready`, if it stands there. `ready_at` stays.
void take_out(Transaction& tx, const Instance& instance);
/// Puts one that is free and not in `ready` there if it needs a turn: where `ready_at` says, else at the end.
/// Changes `ready_at`, whose row is to be saved by the caller; true when it changed.
bool place(Transaction& tx, Instance& instance, bool needs_turn);

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
/// The same for a key; false also when there is no such instance.
bool deliver(Transaction& tx, InstanceKey key, const Letter& letter);

/// All messages of an instance, by id, but those that can't be decoded.
std::vector<store::Message> peek_messages(Transaction& tx, InstanceKey key);
/// Messages of an instance after `seen`, by id. What can't be decoded is set aside.
std::vector<store::Message> read_messages(Transaction& tx, InstanceKey key, MessageId seen);

void set_aside(Transaction& tx, InstanceKey key, std::string_view what, std::string_view problem,
               std::string_view bytes);
std::string describe_message(MessageId id, store::MessageKind kind);

}  // namespace holdfast::sqlite_store
