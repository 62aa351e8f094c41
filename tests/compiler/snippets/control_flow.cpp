// Awaits in the heads of statements.
#include "tests/compiler/harness.hpp"

#include <optional>

namespace holdfast::battery {
namespace {

Task<std::optional<std::string>> next_page(int number) {
  if (number > 2) co_return std::nullopt;
  co_return co_await call(number);
}

// Read until there is no more; decide by what came.
SNIPPET(awaits_in_conditions, "012, the last page, two") {
  std::string text;
  int number = 0;
  while (auto page = co_await next_page(number++)) text += *page;
  if (auto tail = co_await call(std::string(", the last page")); !tail.empty()) text += tail;
  switch (const int choice = co_await later(2); choice) {
    case 2:
      text += co_await call(std::string(", two"));
      break;
    default:
      co_return "another number than two";
  }
  co_return text;
}

Task<std::vector<std::string>> names() {
  co_await later(0);
  co_return std::vector<std::string>{"a lighthouse, painted red", ", a bell buoy"};
}

// Loop over what an await brings, or over a list, and await within.
SNIPPET(awaits_around_range_for, "a lighthouse, painted red, a bell buoy12a rope, ten fathoms long, a sail") {
  std::string text;
  for (const auto& name : co_await names()) text += co_await call(name);
  for (const int number : {1, 2}) text += co_await call(number);
  for (const auto& name : {std::string("a rope, ten fathoms long"), std::string(", a sail")}) {
    text += co_await call(name);
  }
  co_return text;
}

}  // namespace
}  // namespace holdfast::battery
