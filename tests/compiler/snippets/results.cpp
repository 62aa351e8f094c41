// What is made of the value that an await yields.
#include "tests/compiler/harness.hpp"

#include <tuple>
#include <variant>

namespace holdfast::battery {
namespace {

Task<Item> make_item() {
  co_await later(0);
  co_return Item{.count = co_await later(4), .name = co_await call(std::string("a lighthouse, painted red"))};
}

// Return an aggregate that is filled by awaits. On g++ 12 await each value in a statement of its own.
SNIPPET(co_return_of_aggregate_of_awaits, "4 a lighthouse, painted red") {
  const Item item = co_await make_item();
  co_return text_of(item);
}

Pending<Item> fetch_item(std::string name) { return later(Item{1, std::move(name)}); }

// The yielded value is an aggregate: kept, in parentheses, or for one of its members.
SNIPPET(aggregate_as_result,
        "1 a lighthouse, painted red1 a bell buoy, painted greena rope, ten fathoms long") {
  const Item first = co_await fetch_item("a lighthouse, painted red");
  const Item second = (co_await fetch_item("a bell buoy, painted green"));
  const auto name = (co_await fetch_item("a rope, ten fathoms long")).name;
  co_return text_of(first) + text_of(second) + name;
}

template <class First, class... Others>
Task<std::variant<typename First::value_type, typename Others::value_type...>> first_of(First first,
                                                                                        Others...) {
  co_return std::variant<typename First::value_type, typename Others::value_type...>(
      std::in_place_index<0>, co_await std::move(first));
}

// Race temporaries of all kinds; the losers go with the frame.
SNIPPET(first_of_several_temporaries, "0 a lighthouse, painted red") {
  auto winner = co_await first_of(call(std::string("a lighthouse, painted red")), later(1),
                                  call(std::string("a bell buoy, painted green")),
                                  []() -> Task<std::string> { co_return co_await call(2); }());
  co_return std::to_string(winner.index()) + " " + std::get<0>(winner);
}

// Build a text from awaits and temporaries.
SNIPPET(chain_of_concatenations, "first a lighthouse, then a bell buoy, painted green") {
  co_return "first " + std::string("a lighthouse, ") + co_await call(std::string("then ")) +
      std::string("a bell buoy, painted ") + (co_await call(std::string("dark green"))).substr(5);
}

// Bind the members of a tuple that is made of awaits.
SNIPPET(structured_binding_of_tuple_of_awaits, "a lighthouse, painted red, a bell buoy") {
  auto [first, second] = std::make_tuple(co_await call(std::string("a lighthouse, painted red")),
                                         co_await call(std::string(", a bell buoy")));
  co_return first + second;
}

Task<std::tuple<std::string, Tracer>> fetch_both() {
  std::string name = co_await call(std::string("a lighthouse, painted red"));
  co_return std::tuple<std::string, Tracer>(std::move(name), Tracer());
}

// Bind the members of what an await yields, and wait again. Newer g++ leak it when the frame is destroyed
// there.
SNIPPET(structured_binding_of_await, "a lighthouse, painted red, traced, and on the heap") {
  auto [name, tracer] = co_await fetch_both();
  co_await later(0);
  co_return name + ", " + tracer.text();
}

// What is safe on those too.
SNIPPET(structured_binding_of_named_result, "a lighthouse, painted red, traced, and on the heap") {
  const auto result = co_await fetch_both();
  const auto& [name, tracer] = result;
  co_await later(0);
  co_return name + ", " + tracer.text();
}

}  // namespace
}  // namespace holdfast::battery
