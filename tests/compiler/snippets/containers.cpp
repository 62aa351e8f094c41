// Aggregates and containers that are filled by awaits. Those that some compiler rejects stand in alone/.
#include "tests/compiler/harness.hpp"

#include <array>
#include <utility>

namespace holdfast::battery {
namespace {

// Fill an aggregate by awaits. On g++ 12 await each value in a statement of its own.
SNIPPET(aggregate_of_awaits, "7 a lighthouse, painted red") {
  const Item item{co_await later(7), co_await call(std::string("a lighthouse, painted red"))};
  co_return text_of(item);
}

// What to write instead; it holds for vectors too.
SNIPPET(awaits_named_before_aggregate, "7 a lighthouse, painted reda lighthouse, painted red") {
  const int count = co_await later(7);
  const std::string name = co_await call(std::string("a lighthouse, painted red"));
  const Item item{count, name};
  const std::vector<std::string> names{name};
  co_return text_of(item) + names.front();
}

// A pair has a constructor, so its braces are a call.
SNIPPET(pair_of_awaits, "a lighthouse, painted red, a bell buoy") {
  const std::pair<std::string, std::string> pair{co_await call(std::string("a lighthouse, painted red")),
                                                 co_await call(std::string(", a bell buoy"))};
  co_return pair.first + pair.second;
}

// Arrays that live across awaits.
SNIPPET(array_of_operations, "a lighthouse, painted red, a bell buoy1, 2") {
  Pending<std::string> operations[] = {call(std::string("a lighthouse, painted red")),
                                       call(std::string(", a bell buoy"))};
  std::string text;
  for (auto& operation : operations) text += co_await operation;
  const std::array<Tracer, 2> tracers{Tracer("1, "), Tracer("2")};
  co_await later(0);
  co_return text + tracers[0].text() + tracers[1].text();
}

Task<std::string> list(std::vector<std::string> names) {
  std::string text;
  for (const std::string& name : names) text += co_await call(name) + ";";
  co_return text;
}

// What to write instead of a list in braces as an argument.
SNIPPET(list_named_first, "a lighthouse, painted red;a bell buoy;") {
  const std::vector<std::string> names{"a lighthouse, painted red", "a bell buoy"};
  co_return co_await list(names);
}

}  // namespace
}  // namespace holdfast::battery
