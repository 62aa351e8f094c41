// Messages that wait for code, and code that waits for messages.
#pragma once

#include "engine/turn.hpp"

#include <holdfast/detail/core.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace holdfast::detail {

/// One address: either messages are left over, or waits are, unless both wait for their turn to be revealed.
struct Channel {
  struct Unread {
    std::uint64_t order = 0;  // among all messages of the execution
    engine::MessageId id{};
    Payload value{};
  };
  std::deque<Unread> messages;
  std::deque<OpState*> waiting;  // in the order in which they were started
};

}  // namespace holdfast::detail

namespace holdfast::engine {

/// All addresses of one execution. Both sides are served first in, first out.
class Channels {
 public:
  using Unread = detail::Channel::Unread;

  void add_message(const Address& address, Unread message);
  /// `state` waits here from now on.
  void add_wait(const Address& address, detail::OpState& state);
  /// `state` has an outcome, or nobody wants it any more.
  static void remove_wait(detail::OpState& state) noexcept;

  /// The next message that somebody waits for, if it came before `before`.
  struct Match {
    detail::OpState* state = nullptr;
    Unread message{};
  };
  std::optional<Match> take_match(std::uint64_t before);
  /// The next message of a mailbox that nobody waits for.
  std::optional<Unread> take_unread(const Address& address);

  /// The addresses that are waited for, sorted.
  [[nodiscard]] std::vector<Address> waits() const;

 private:
  std::map<Address, detail::Channel> channels_;
};

}  // namespace holdfast::engine
