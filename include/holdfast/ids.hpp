// Strong types for numbers and tokens: they can't be mixed up, and cost nothing.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// A number of one kind. Numbers of different kinds neither compare nor convert.
template <class Tag>
struct Number {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Number, Number) = default;
};

/// One life of an instance id: never reused, also when the id is.
using InstanceKey = Number<struct InstanceKeyTag>;
/// The position of an event in the history of one execution, from 1.
using EventId = Number<struct EventIdTag>;
/// The n-th execution of an instance, from 1; one more at each continue-as-new.
using ExecutionNumber = Number<struct ExecutionNumberTag>;
/// The fencing token of a session: grows with each claim.
using Generation = Number<struct GenerationTag>;
/// One message of an instance, numbered by the store in growing order.
using MessageId = Number<struct MessageIdTag>;
/// One started runtime, numbered by the store in the order of starts: the incarnation of its node.
using WorkerKey = Number<struct WorkerKeyTag>;

/// 128 unguessable, unique bits.
template <class Tag>
struct Token {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] constexpr bool empty() const noexcept { return high == 0 && low == 0; }
  friend constexpr auto operator<=>(Token, Token) = default;
};

/// Proves that the holder still owns the lock of an instance or an activity.
using LockToken = Token<struct LockTokenTag>;
/// Written by each commit of a turn: a frame in memory is valid only while its stamp is the store's.
using TurnStamp = Token<struct TurnStampTag>;
/// Names a client's request, so that a repeated one takes effect once.
using RequestId = Token<struct RequestIdTag>;
/// A hash of what a client asked for: equal requests have equal ones.
using Fingerprint = Token<struct FingerprintTag>;
/// A globally unique name for an operation of an execution: the idempotency key of an activity.
using OperationKey = Token<struct OperationKeyTag>;
/// The seed of all randomness in an execution.
using Seed = Token<struct SeedTag>;
/// The random name of a worker without a node id.
using NodeToken = Token<struct NodeTokenTag>;

namespace detail {
std::string to_hex(std::uint64_t high, std::uint64_t low);
std::optional<std::array<std::uint64_t, 2>> from_hex(std::string_view text) noexcept;
}  // namespace detail

/// 32 lower-case hexadecimal digits.
template <class Tag>
std::string to_string(Token<Tag> token) {
  return detail::to_hex(token.high, token.low);
}

template <class Tag>
std::string to_string(Number<Tag> number) {
  return std::to_string(number.value);
}

/// The inverse of to_string: `parse_token<LockToken>("...")`; nothing when `text` isn't 32 hexadecimal
/// digits.
template <class TokenType>
std::optional<TokenType> parse_token(std::string_view text) noexcept {
  const auto halves = detail::from_hex(text);
  if (!halves) return std::nullopt;
  return TokenType{(*halves)[0], (*halves)[1]};
}

}  // namespace holdfast

template <class Tag>
struct std::hash<holdfast::Number<Tag>> {
  std::size_t operator()(holdfast::Number<Tag> number) const noexcept {
    return std::hash<std::uint64_t>{}(number.value);
  }
};

template <class Tag>
struct std::hash<holdfast::Token<Tag>> {
  // The bits are random already: any 64 of them are a good hash.
  std::size_t operator()(holdfast::Token<Tag> token) const noexcept {
    return static_cast<std::size_t>(token.high ^ token.low);
  }
};
