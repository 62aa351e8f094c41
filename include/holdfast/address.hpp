// Address: what a message is meant for inside an instance.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace holdfast {

/// An event by name, a mailbox, or the news of a session. Messages for an address wait until code receives
/// them.
struct Address {
  enum class Kind : std::uint8_t { event, mailbox, session };
  Kind kind = Kind::event;
  std::string name{};
  friend auto operator<=>(const Address&, const Address&) = default;
};

}  // namespace holdfast
