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

/// Whether a worker that has `code` may run it.
[[nodiscard]] bool suits(const Code& code, const Instance& instance);
/// The same for instances of that version, which were begun by that build (0: any).
[[nodiscard]] bool suits(const Code& code, const CodeVersion& version, std::uint64_t build);

/// suits() for many instances: a range of versions is matched once, however many ask for it.
class SuitingCode {
 public:
  explicit SuitingCode(const Code& code) : code_(code) {}
  [[nodiscard]] bool operator()(const Instance& instance);

 private:
  const Code& code_;
  std::map<CodeVersion, bool> ranges_{};
};

}  // namespace holdfast::rules
