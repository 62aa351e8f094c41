// Messages that wait for code, and code that waits for messages.
#pragma once

#include "engine/turn.hpp"

#include <holdfast/detail/core.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

namespace holdfast::detail {

/// One address: either messages are left over, or waits are, unless both wait for their turn to be revealed.
struct Channel {
  struct Unread {
    std::uint64_t order = 0;  // among all messages of the execution
    MessageId id{};
    Payload value{};
  };
  const Address* address = nullptr;
  std::list<Unread> messages{};
  std::map<EventId, OpState*> waiting{};  // so in the order in which they were started
};

}  // namespace holdfast::detail

namespace holdfast::engine {

/// All addresses of one execution that a message or a wait is left for. Both sides are served first in, first
/// out; each call takes the same time however many there are, to within a logarithm.
class Channels {
 public:
  using Unread = detail::Channel::Unread;

  void add_message(const Address& address, Unread message);
  /// `state` waits here from now on.
  void add_wait(const Address& address, detail::OpState& state);
  /// `state` has an outcome, or nobody wants it any more. No effect when it waits nowhere.
  void remove_wait(detail::OpState& state) noexcept;

  /// A message, and the wait that is over by it: the first that can read it. Without one nobody who waits
  /// can, and `unreadable` says why the first of them can't.
  struct Match {
    detail::OpState* state = nullptr;
    Unread message{};
    Address address{};
    Failure unreadable{};
  };
  /// The next message that somebody waits for, if it came before `before`.
  std::optional<Match> take_match(std::uint64_t before);
  /// The next message of a mailbox that nobody waits for.
  std::optional<Unread> take_unread(const Address& address);

  /// The addresses that are waited for, sorted.
  [[nodiscard]] std::vector<Address> waits() const;

 private:
  detail::Channel& channel_at(const Address& address);
  static Match match_of(detail::Channel& channel);
  void drop_if_empty(const detail::Channel& channel) noexcept;

  std::map<Address, detail::Channel> channels_;
  std::map<std::uint64_t, detail::Channel*> matches_;  // those with both sides, by their first message
};

}  // namespace holdfast::engine
