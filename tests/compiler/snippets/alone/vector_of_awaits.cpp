// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

// Collect two answers. On g++ 12 await each one in a statement of its own.
SNIPPET(vector_of_awaits, "a lighthouse, painted red, a bell buoy") {
  const std::vector<std::string> names{co_await call(std::string("a lighthouse, painted red")),
                                       co_await call(std::string(", a bell buoy"))};
  co_return names[0] + names[1];
}

}  // namespace
}  // namespace holdfast::battery
