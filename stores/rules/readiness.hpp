// What makes an instance ready for a turn.
#pragma once

#include "transaction.hpp"

#include <cstdint>
#include <map>

namespace holdfast::rules {

/// Whether this message makes its instance ready, which was given deliveries up to `seen` already.
[[nodiscard]] bool makes_ready(const Instance& instance, const Message& message, MessageId seen);

/// Whether any of its messages does, or somebody woke it.
[[nodiscard]] bool needs_turn(const Transaction& tx, Instance& instance);
/// The same once its lock is over: nobody is left then who was given anything. Of the messages in the space.
[[nodiscard]] bool needs_turn_once_unlocked(const Instance& instance);

/// Whether somebody has asked to terminate it, which it was not told yet.
[[nodiscard]] bool has_unread_control(const Transaction& tx, Instance& instance);

/// Whether a worker that has `code` may run instances of this route.
[[nodiscard]] bool suits(const Code& code, const Route& route);

/// suits() for many instances: a range of versions is matched once, however many ask for it.
class SuitingCode {
 public:
  explicit SuitingCode(const Code& code) : code_(code) {}
  [[nodiscard]] bool operator()(const Instance& instance);
  /// Whether it is the code of the instance, which may be needed for no turn.
  [[nodiscard]] bool is_for(const Instance& instance);

 private:
  const Code& code_;
  std::map<CodeVersion, bool> ranges_{};
};

}  // namespace holdfast::rules
