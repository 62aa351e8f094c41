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

namespace holdfast::sqlite {

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
  std::string name{};
  std::int64_t route = 0;
  ExecutionNumber execution{};
  store::InstanceStatus status{};
  std::uint32_t delivery = 0;  ///< of no meaning while it is held
  std::optional<LeaseTime> ready_at{};
  TurnStamp stamp{};    ///< empty when the last segment has it
  std::string waits{};  ///< encoded
  CalendarTime updated_at{};
  std::optional<Held> held{};

  /// Whether `ready_at` says where it stands in `ready`.
  [[nodiscard]] bool is_free() const noexcept { return !held || held->lapsed; }
};

std::optional<Instance> load_instance(Transaction& tx, InstanceKey key);
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
  [[nodiscard]] bool contains(store::Address::Kind kind, std::string_view name) const;
  [[nodiscard]] bool empty() const noexcept { return addresses_.empty(); }

 private:
  std::vector<Address> addresses_;
};

/// Whether a message that is no delivery makes it ready.
[[nodiscard]] constexpr bool wakes(store::InstanceStatus status, store::MessageKind kind) noexcept {
  if (store::has_ended(status)) return kind == store::MessageKind::start;
  return status == store::InstanceStatus::running || kind == store::MessageKind::control;
}

/// Whether it has a message that makes it ready. Deliveries up to `seen` don't count.
bool has_work(Transaction& tx, const Instance& instance, MessageId seen);

/// It is in nobody's hands from now on, and in `ready` if there is work for it. Changes `instance` only; true
/// when the row has to be saved.
bool set_free(Transaction& tx, Instance& instance, bool ready, LeaseTime at);
/// Takes it out of `ready`, if it stands there.
void take_out(Transaction& tx, const Instance& instance);

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

/// Inserts the message, and makes the instance ready if it does. False, and nothing done, when the instance
/// has ended and takes no such message.
bool deliver(Transaction& tx, Instance& instance, const Letter& letter);
/// The same for a key; false also when there is no such instance.
bool deliver(Transaction& tx, InstanceKey key, const Letter& letter);

/// Messages of an instance after `seen`, by id. What can't be decoded is set aside.
std::vector<store::Message> read_messages(Transaction& tx, InstanceKey key, MessageId seen);

void set_aside(Transaction& tx, InstanceKey key, std::string_view what, std::string_view problem,
               std::string_view bytes);
std::string describe_message(MessageId id, store::MessageKind kind);

}  // namespace holdfast::sqlite
