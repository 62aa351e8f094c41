// expect: holdfast: an orchestration is a function, or a lambda without captures and auto parameters
#include <holdfast/detail/orchestration.hpp>

auto code = holdfast::detail::make_orchestration(
    [](holdfast::Context&, auto in) -> holdfast::Task<int> { co_return in; });
