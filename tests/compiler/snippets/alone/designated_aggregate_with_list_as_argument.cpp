// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

// Give an operation an aggregate with a list in it. On g++ 12 name it first.
SNIPPET(designated_aggregate_with_list_as_argument, "3 Ada Lovelace, London, a rope, a sail") {
  auto answer =
      co_await call(Order{.id = 3, .customer = "Ada Lovelace, London", .lines = {"a rope", "a sail"}});
  co_return answer;
}

}  // namespace
}  // namespace holdfast::battery
