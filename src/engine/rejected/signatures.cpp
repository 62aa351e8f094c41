// expect: holdfast: an orchestration looks like Task<R> name(Context& ctx, Inputs... in)
// expect: holdfast: an orchestration is a function, or a lambda without captures and auto parameters
#include <holdfast/detail/orchestration.hpp>

using namespace holdfast;

Task<> without_context(int) { co_return; }
Task<> with_const_context(const Context&) { co_return; }
int without_task(Context&, int id) { return id; }

auto context = detail::make_orchestration(without_context);           // rejected here
auto const_context = detail::make_orchestration(with_const_context);  // rejected here
auto task = detail::make_orchestration(without_task);                 // rejected here

auto make(int price) {
  const auto with_captures = [price](Context&) -> Task<int> { co_return price; };
  return detail::make_orchestration(with_captures);  // rejected here
}
auto make_generic() {
  const auto generic = [](Context&, auto in) -> Task<int> { co_return in; };
  return detail::make_orchestration(generic);  // rejected here
}
