// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

Task<std::string> place(Order order) { co_return co_await call(order.customer + order.tracer.text()); }

// Let the parameter's type decide what the braces are. On g++ 12 name the aggregate first.
SNIPPET(braces_with_list_into_parameter, "Ada Lovelace, Londontraced, and on the heap") {
  co_return co_await place({3, "Ada Lovelace, London", {"a rope, ten fathoms long"}, {}});
}

}  // namespace
}  // namespace holdfast::battery
