// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

// Fill the input of one operation by others. On g++ 12 await each value, then name the aggregate.
SNIPPET(awaits_inside_argument_aggregate, "7 Ada Lovelace, London, a rope, ten fathoms long") {
  co_return co_await call(Order{.id = co_await later(7),
                                .customer = co_await call(std::string("Ada Lovelace, London")),
                                .lines = {co_await call(std::string("a rope, ten fathoms long"))}});
}

}  // namespace
}  // namespace holdfast::battery
