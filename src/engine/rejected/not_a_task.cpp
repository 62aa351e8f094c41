// expect: holdfast: an orchestration looks like Task<R> name(Context& ctx, Inputs... in)
#include <holdfast/detail/orchestration.hpp>

int ship(holdfast::Context&, int id) { return id; }

auto code = holdfast::detail::make_orchestration(ship);
