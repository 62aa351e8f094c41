// Messages: what wakes an instance. A store keeps them as rows until a turn consumes them.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/status.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::store {

/// The kind of a message, as far as a store has to know it: it decides what makes an instance ready.
enum class MessageKind : std::uint8_t {
  start,     ///< begins an execution; the only kind that an instance takes after its end
  outcome,   ///< of an activity, a child, ...; made by a caller
  timer,     ///< a timer of the instance came due; made by the store
  taken,     ///< an activity was cancelled by another call than its instance's turn; made by the store
  value,     ///< the answer to a read of another instance's value; made by the store
  session,   ///< the answer to opening or closing a session; made by the store
  control,   ///< terminate: reaches an instance also while it is suspended or parked
  delivery,  ///< for an address; makes the instance ready only while it waits for that address
  news,      ///< an event of a session; like a delivery; made by the store
  cancel,    ///< a request to cancel: like a control message, but it waits while the instance is suspended
  ended,     ///< the answer to an EndRequest; made by the store
};

/// Whether somebody wants the instance to stop: that ends the delay of a release.
[[nodiscard]] constexpr bool asks_to_stop(MessageKind kind) noexcept {
  return kind == MessageKind::control || kind == MessageKind::cancel;
}

/// Whether a message waits until code receives it, instead of making the instance ready by itself.
[[nodiscard]] constexpr bool waits_for_code(MessageKind kind) noexcept {
  return kind == MessageKind::delivery || kind == MessageKind::news;
}

/// A message as its sender makes it. A store never looks into `body`.
struct NewMessage {
  MessageKind kind = MessageKind::outcome;  ///< start, outcome, control, cancel or delivery
  ExecutionNumber execution{};              ///< of an outcome: the execution whose operation has ended
  EventId source{};                         ///< of an outcome: the scheduling event of the operation
  Address address{};                        ///< of a delivery
  std::string body{};
  friend bool operator==(const NewMessage&, const NewMessage&) = default;
};

/// An activity was cancelled; its instance is told in the same transaction.
struct ActivityTaken {
  CancelReason reason = CancelReason::dropped;
  std::string session{};       ///< when a session was the reason
  std::string last_failure{};  ///< bytes of the last attempt that failed, if any
  std::uint32_t attempt = 0;   ///< attempts begun so far
  /// If the reason is a session that has ended, from its record: the node that held it, if any; why it ended;
  /// the reason that an activity gave to abort_session().
  std::string owner{};
  SessionReason session_reason = SessionReason::none;
  std::string note{};
  friend bool operator==(const ActivityTaken&, const ActivityTaken&) = default;
};

/// The answer to a read of another instance's value.
struct ValueAnswer {
  bool instance_found = false;
  std::optional<std::string> value{};
  friend bool operator==(const ValueAnswer&, const ValueAnswer&) = default;
};

/// The answer to opening or closing a session.
struct SessionAnswer {
  enum class Kind : std::uint8_t {
    opened,   ///< a new generation
    existed,  ///< a live session of that id was there, and stays as it is
    closed,   ///< ended now
    missing,  ///< there was nothing to close
  };
  Kind kind = Kind::opened;
  friend bool operator==(const SessionAnswer&, const SessionAnswer&) = default;
};

/// A session was claimed by a worker, or has ended; for Address{session, id}.
struct SessionNews {
  enum class Kind : std::uint8_t {
    claimed,
    moved,
    lost,
    restored,
    closed,
    expired,  ///< its time to live is over, or its record was removed because it was not used any more
  };
  Kind kind = Kind::claimed;
  std::string from{};    ///< the node that held it before, if any
  std::string to{};      ///< the node that holds it now, if any
  std::string reason{};  ///< a SessionReason: why its last owner released it, if it did; else why it changed
  Generation generation{};
  friend bool operator==(const SessionNews&, const SessionNews&) = default;
};

/// The answer to a question how another instance ended.
struct EndAnswer {
  enum class Kind : std::uint8_t {
    ended,
    not_found,  ///< nobody has the id
    deleted,    ///< it was removed before it ended
    too_many,   ///< kMaxEndRequests wait for its end already
    itself,     ///< who asks is the instance: it would never hear of it
  };
  Kind kind = Kind::ended;
  Status status = Status::completed;
  std::string output{};  ///< as its InstanceEnd gave it
  friend bool operator==(const EndAnswer&, const EndAnswer&) = default;
};

/// Bytes of a caller, or an answer of the store itself.
using MessageBody =
    std::variant<std::string, ActivityTaken, ValueAnswer, SessionAnswer, SessionNews, EndAnswer>;

/// A message as a turn gets it.
struct Message {
  MessageId id{};  ///< grows with each message that becomes visible; a delayed message has none until then
  MessageKind kind = MessageKind::outcome;
  /// Of an outcome: as its sender gave it; of timer, taken, value, session and ended: that of the operation;
  /// of a start: the execution that it begins, or 0 when the id was taken already.
  ExecutionNumber execution{};
  EventId source{};
  Address address{};
  MessageBody body{};
  friend bool operator==(const Message&, const Message&) = default;
};

/// Encode and decode the bodies that stores make themselves; nothing when the bytes are damaged. Bytes of a
/// caller (std::string) are kept as they are and need neither.
std::string encode_body(const MessageBody& body);
std::optional<MessageBody> decode_body(MessageKind kind, std::string_view bytes);

}  // namespace holdfast::store
