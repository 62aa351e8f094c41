// Event<T> and Mailbox<T>: typed names for messages to an instance, shared by the senders and the code that
// waits for them.
//
//   inline constexpr Event<Decision> decision{"decision"};
//   inline constexpr Mailbox<Order> orders{"orders"};
//
//   run.raise(decision, {.approved = true});       Decision made = co_await ctx.event(decision);
//   run.send(orders, order);                       Order next = co_await ctx.mailbox(orders).receive();
#pragma once

#include <holdfast/activity.hpp>

#include <string_view>

namespace holdfast {

/// A named value that is raised for an instance (a signal). `Event<void>` has no value.
template <class T>
struct Event {
  static_assert(
      detail::OwnsItsValue<T>,
      "holdfast: the value of an event is stored; write std::string instead of std::string_view, and "
      "values instead of references and pointers");
  std::string_view name{};
};

/// A queue of messages, received in the order in which they were sent.
template <class T>
struct Mailbox {
  static_assert(
      detail::OwnsItsValue<T>,
      "holdfast: messages are stored; write std::string instead of std::string_view, and values instead of "
      "references and pointers");
  std::string_view name{};
};

}  // namespace holdfast
