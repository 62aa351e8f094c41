// StoreError: why a store refused a call, or could not answer it.
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
    lost,         ///< the token is not the lock, or the stamp is another: drop the frame, fetch again
    gone,         ///< the activity was cancelled or the session has ended; `reason` says why. Stop its code
    superseded,   ///< a newer incarnation of this node has joined: stop fetching and claiming
    conflict,     ///< the id is taken by something else
    not_found,    ///< there is nothing with that id
    invalid,      ///< the request itself is wrong; repeating it can't help
    damaged,      ///< a row that it needs can't be read; nothing happened, and repeating it can't help
    busy,         ///< another transaction has locked a row that it needs; nothing happened. Repeat later
    unavailable,  ///< the outcome is unknown: it may have happened. Repeat later, or read again
  };
  Kind kind = Kind::unavailable;
  std::string message{};
  CancelReason reason = CancelReason::dropped;  ///< of `gone`

  friend bool operator==(const StoreError& a, const StoreError& b) {
    return a.kind == b.kind && (a.kind != Kind::gone || a.reason == b.reason);
  }
};

/// Whether the same call may succeed later.
constexpr bool may_pass(const StoreError& error) noexcept {
  return error.kind == StoreError::Kind::unavailable || error.kind == StoreError::Kind::busy;
}

std::string_view to_string(StoreError::Kind kind) noexcept;

template <class T>
using StoreResult = Result<T, StoreError>;

}  // namespace holdfast
