// Conditions and awaits in one expression.
#include "tests/compiler/harness.hpp"

#include <optional>
#include <stdexcept>

namespace holdfast::battery {
namespace {

// One of two operations, as the case may be. On g++ 12 use if and else.
SNIPPET(ternary_of_awaits, "the parcel is on its way") {
  std::string news = in_stock() ? co_await call(std::string("the parcel is on its way"))
                                : co_await call(std::string("sold out"));
  co_return news;
}

// What to write instead.
SNIPPET(if_else_of_awaits, "the parcel is on its way") {
  std::string news;
  if (in_stock()) {
    news = co_await call(std::string("the parcel is on its way"));
  } else {
    news = co_await call(std::string("sold out"));
  }
  co_return news;
}

Task<std::string> place(Order order) { co_return co_await call(order.customer); }

// The same with aggregates as arguments. On g++ 12 use if and else, and name the aggregates.
SNIPPET(ternary_of_awaits_with_aggregates, "Ada Lovelace, London") {
  std::string name =
      in_stock() ? co_await place(Order{1, "Ada Lovelace, London", {}, {}}) : co_await place(Order{});
  co_return name;
}

// An operation, or an exception. On g++ 12 throw from an if before it.
SNIPPET(ternary_of_await_and_throw, "the parcel is on its way") {
  std::string news = in_stock() ? co_await call(std::string("the parcel is on its way"))
                                : throw std::runtime_error("sold out");
  co_return news;
}

Task<std::string> notify(std::optional<Order> order) {
  co_await later(0);
  co_return order ? order->customer : "nobody";
}

// An input that is there or not. On g++ 12 name it first.
SNIPPET(ternary_of_optionals_as_argument, "Ada Lovelace, London") {
  co_return co_await notify(in_stock() ? std::optional<Order>(Order{1, "Ada Lovelace, London", {}, {}})
                                       : std::nullopt);
}

// One of two strings as the input. On g++ 12 name it first.
SNIPPET(ternary_of_strings_as_argument, "the parcel is on its way") {
  co_return co_await call(in_stock() ? std::string("the parcel is on its way") : std::string("sold out"));
}

// What to write instead.
SNIPPET(ternary_of_strings_named_first, "the parcel is on its way") {
  const std::string news = in_stock() ? std::string("the parcel is on its way") : std::string("sold out");
  co_return co_await call(news);
}

// One of two literals as the input.
SNIPPET(ternary_of_literals_as_argument, "the parcel is on its way") {
  co_return co_await call(in_stock() ? "the parcel is on its way" : "sold out");
}

// Numbers have nothing to destroy.
SNIPPET(ternary_of_numbers, "3") {
  const int count = in_stock() ? co_await later(3) : 5;
  co_return std::to_string(count);
}

// The await in one statement, the choice in the next.
SNIPPET(ternary_of_strings_after_await, "the parcel is on its way") {
  auto count = co_await later(1);
  co_return count > 0 ? std::string("the parcel is on its way") : std::string("sold out");
}

// Ask the second only when the first says yes.
SNIPPET(awaits_joined_by_and, "both") {
  const bool both = (co_await call(std::string("a lighthouse, painted red"))).size() > 3 &&
                    (co_await call(std::string("a bell buoy, painted green"))).size() > 3;
  co_return both ? "both" : "not both";
}

}  // namespace
}  // namespace holdfast::battery
