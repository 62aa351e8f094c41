// Address: the event, mailbox or session inside an instance that a message is for.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

/// An event by name, a mailbox by name, or the events of a session by its id. Messages for an address are
/// kept until code receives them.
struct Address {
  enum class Kind : std::uint8_t { event, mailbox, session };
  Kind kind = Kind::event;
  std::string name{};
  friend auto operator<=>(const Address&, const Address&) = default;
};
std::string_view to_string(Address::Kind kind) noexcept;

}  // namespace holdfast
