// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

Task<int> sum(std::vector<int> numbers) {
  co_await later(0);
  co_return numbers[0] + numbers[1];
}

// Not even numbers help: the list itself is what is rejected. On g++ 12 name it first.
SNIPPET(list_of_numbers_as_argument, "3") {
  auto total = co_await sum({1, 2});
  co_return std::to_string(total);
}

}  // namespace
}  // namespace holdfast::battery
