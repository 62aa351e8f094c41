// expect: holdfast: an orchestration looks like Task<R> name(Context& ctx, Inputs... in)
#include <holdfast/detail/orchestration.hpp>

holdfast::Task<> ship(const holdfast::Context&) { co_return; }

auto code = holdfast::detail::make_orchestration(ship);
