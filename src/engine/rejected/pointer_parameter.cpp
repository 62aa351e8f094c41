// expect: holdfast: a pointer can't be the input of an orchestration
#include <holdfast/detail/orchestration.hpp>

holdfast::Task<> ship(holdfast::Context&, const char*) { co_return; }

auto code = holdfast::detail::make_orchestration(ship);
