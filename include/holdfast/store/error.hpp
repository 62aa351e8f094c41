// StoreError: what a store says when it doesn't do what it was asked.
#pragma once

#include <holdfast/cancel_reason.hpp>
#include <holdfast/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

/// Callers decide by `kind` alone; `message` is for people.
struct StoreError {
  enum class Kind : std::uint8_t {
    lost,        ///< the lock is another's now, or the stamp is not the one expected: drop the frame, re-read
    gone,        ///< the activity or session was taken away; `reason` says why. Stop working on it
    superseded,  ///< a newer incarnation of this node has joined: stop fetching and claiming
    conflict,    ///< the id is taken by something else
    not_found,   ///< there is nothing with that id
    invalid,     ///< the request itself is wrong; repeating it can't help
    damaged,     ///< what it needs can't be read any more; nothing happened, and repeating it can't help
    busy,  ///< somebody else has what it needs locked; nothing happened. Repeat later, go on with the rest
    unavailable,  ///< nothing is known about the outcome: it may have happened. Repeat later, or re-read
  };
  Kind kind = Kind::unavailable;
  std::string message{};
  CancelReason reason = CancelReason::dropped;  ///< of `gone`

  friend bool operator==(const StoreError& a, const StoreError& b) {
    return a.kind == b.kind && (a.kind != Kind::gone || a.reason == b.reason);
  }
};

/// Whether the same call may be answered later.
constexpr bool may_pass(const StoreError& error) noexcept {
  return error.kind == StoreError::Kind::unavailable || error.kind == StoreError::Kind::busy;
}

std::string_view to_string(StoreError::Kind kind) noexcept;

template <class T>
using StoreResult = Result<T, StoreError>;

}  // namespace holdfast
