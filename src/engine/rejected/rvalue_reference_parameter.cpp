// expect: holdfast: an orchestration takes its inputs by value
#include <holdfast/detail/orchestration.hpp>

holdfast::Task<> ship(holdfast::Context&, std::string&&) { co_return; }

auto code = holdfast::detail::make_orchestration(ship);
