// expect: holdfast: an orchestration takes its inputs by value
#include <holdfast/detail/orchestration.hpp>

struct Order {
  int id = 0;
};

holdfast::Task<> ship(holdfast::Context&, const Order&) { co_return; }

auto code = holdfast::detail::make_orchestration(ship);
