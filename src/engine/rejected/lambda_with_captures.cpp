// expect: holdfast: an orchestration is a function, or a lambda without captures and auto parameters
#include <holdfast/detail/orchestration.hpp>

auto make(int price) {
  return holdfast::detail::make_orchestration(
      [price](holdfast::Context&) -> holdfast::Task<int> { co_return price; });
}
