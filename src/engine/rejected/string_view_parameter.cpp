// expect: holdfast: a std::string_view can't be the input of an orchestration
#include <holdfast/detail/orchestration.hpp>

holdfast::Task<> ship(holdfast::Context&, std::string_view) { co_return; }

auto code = holdfast::detail::make_orchestration(ship);
