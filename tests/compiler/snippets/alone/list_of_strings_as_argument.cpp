// expect: array used as initializer
#include "tests/compiler/harness.hpp"

namespace holdfast::battery {
namespace {

Task<std::string> list(std::vector<std::string> names) {
  std::string text;
  for (const std::string& name : names) text += co_await call(name) + ";";
  co_return text;
}

// A short list as the input. On g++ 12 name it first.
SNIPPET(list_of_strings_as_argument, "a lighthouse, painted red;a bell buoy;") {
  co_return co_await list({"a lighthouse, painted red", "a bell buoy"});
}

}  // namespace
}  // namespace holdfast::battery
