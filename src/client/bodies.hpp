// What clients and runtimes write into messages and rows. Stores carry these bytes and never look inside. A
// start message holds history::Started; a value and a custom status hold a Payload.
#pragma once

#include "codec/history.hpp"
#include "contract/rows.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store/messages.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::bodies {

using store::from_bytes;
using store::to_bytes;

/// How an activity, a child or an instance ended.
struct Outcome {
  std::optional<Failure> failure{};
  Payload value{kJsonEncoding, "null"};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
Outcome outcome_of(Result<Payload> result);

/// The body of an activity's row.
struct Activity {
  history::ActivityScheduled scheduled{};
  OperationKey key{};  ///< its idempotency key: the same for all attempts, on every worker
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// A start message.
struct Start {
  history::Started started{};
  /// Who wants to hear whether it began: the one that started it without waiting for its end.
  std::optional<history::Parent> announce{};
  /// The instance that launched it, and does not want to hear of it. For people.
  std::string launched_by{};
  friend bool operator==(const Start&, const Start&) = default;
};

/// A control message, or a request to cancel.
struct Control {
  enum class Kind : std::uint8_t { cancel, terminate };
  Kind kind = Kind::cancel;
  std::string reason{};
  /// Set when a parent sends it by its child's id: whoever lives there by then may be another's child.
  std::optional<history::Parent> parent{};
  friend bool operator==(const Control&, const Control&) = default;
};
[[nodiscard]] constexpr store::MessageKind kind_of(Control::Kind kind) noexcept {
  return kind == Control::Kind::cancel ? store::MessageKind::cancel : store::MessageKind::control;
}

/// The answer to a query: the value, or why there is none.
struct Answer {
  std::optional<Failure> failure{};
  Payload value{kJsonEncoding, "null"};
  ExecutionNumber execution{};
  EventId event{};      ///< the last one of history that it knows
  bool behind = false;  ///< history goes on after that event, and the code does not fit it
  friend bool operator==(const Answer&, const Answer&) = default;
};

/// Decodes a T, or nothing when the bytes are damaged.
template <class T>
std::optional<T> read(std::string_view bytes) {
  T value{};
  if (!from_bytes(bytes, value)) return std::nullopt;
  return value;
}

}  // namespace holdfast::bodies
