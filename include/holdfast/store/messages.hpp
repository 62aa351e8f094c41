// Messages: what wakes an instance. A store keeps them as rows until a turn consumes them.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/cancel_reason.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::store {

/// What a message is, as far as a store has to know: it decides what makes an instance ready.
enum class MessageKind : std::uint8_t {
  start,     ///< begins an execution; the only kind that an instance takes after its end
  outcome,   ///< of an activity, a child, ...; made by a caller
  timer,     ///< a timer of the instance came due; made by the store
  taken,     ///< an activity was taken away by others than its own turn; made by the store
  value,     ///< the answer to a read of another instance's value; made by the store
  session,   ///< the answer to opening or closing a session; made by the store
  control,   ///< cancel, terminate, resume, ...: reaches an instance also while suspended or parked
  delivery,  ///< for an address; makes the instance ready only while it waits for that address
  news,      ///< a delivery about a session; made by the store
};

/// Whether a message waits for code to receive it, instead of waking the instance by itself.
[[nodiscard]] constexpr bool waits_for_code(MessageKind kind) noexcept {
  return kind == MessageKind::delivery || kind == MessageKind::news;
}

/// A message as its sender makes it. A store never looks into `body`.
struct NewMessage {
  MessageKind kind = MessageKind::outcome;  ///< start, outcome, control or delivery
  ExecutionNumber execution{};              ///< of an outcome: whose operation it answers
  EventId source{};                         ///< of an outcome: the operation
  Address address{};                        ///< of a delivery
  std::string body{};
  friend bool operator==(const NewMessage&, const NewMessage&) = default;
};

/// An activity was taken away; its instance is told in the same transaction.
struct ActivityTaken {
  CancelReason reason = CancelReason::dropped;
  std::string session{};       ///< when a session was the reason
  std::string last_failure{};  ///< bytes of the last attempt that failed, if any
  std::uint32_t attempt = 0;   ///< attempts begun so far
  /// When a session was the reason that has ended, as its record says: the node that held it, if any; why it
  /// ended; what an activity said when it aborted it.
  std::string owner{};
  SessionReason session_reason = SessionReason::none;
  std::string note{};
  friend bool operator==(const ActivityTaken&, const ActivityTaken&) = default;
};

/// What a read of another instance's value found.
struct ValueAnswer {
  bool instance_found = false;
  std::optional<std::string> value{};
  friend bool operator==(const ValueAnswer&, const ValueAnswer&) = default;
};

/// What opening or closing a session did.
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

/// A session changed hands, or has ended; for Address{session, id}.
struct SessionNews {
  enum class Kind : std::uint8_t {
    claimed,
    moved,
    lost,
    restored,
    closed,
    expired,  ///< its time to live is over, or its record was removed since nobody needed it
  };
  Kind kind = Kind::claimed;
  std::string from{};    ///< the node that held it before, if any
  std::string to{};      ///< the node that holds it now, if any
  std::string reason{};  ///< a SessionReason: why its owner gave it up, if it did; else why it changed
  Generation generation{};
  friend bool operator==(const SessionNews&, const SessionNews&) = default;
};

/// Bytes of a caller, or what the store itself has to say.
using MessageBody = std::variant<std::string, ActivityTaken, ValueAnswer, SessionAnswer, SessionNews>;

/// A message as a turn gets it.
struct Message {
  MessageId id{};  ///< grows with each message that becomes visible; a delayed one has none before
  MessageKind kind = MessageKind::outcome;
  /// As its sender said; of timer, taken, value and session: the operation's; of a start: the execution that
  /// it begins, or 0 when the id was taken already.
  ExecutionNumber execution{};
  EventId source{};
  Address address{};
  MessageBody body{};
  friend bool operator==(const Message&, const Message&) = default;
};

/// The bytes in which stores keep what they say themselves, and back; nothing when they are damaged. Bytes of
/// a caller (std::string) are kept as they are and don't come here.
std::string encode_body(const MessageBody& body);
std::optional<MessageBody> decode_body(MessageKind kind, std::string_view bytes);

}  // namespace holdfast::store
