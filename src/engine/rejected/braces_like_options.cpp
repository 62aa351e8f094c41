// Texts only, as the first options are.
// expect: holdfast: braces alone don't say what type an input has
#include <holdfast/context.hpp>

holdfast::Task<> ship(holdfast::Context& ctx) {
  co_await ctx.activity<int>("charge", {"o1", "eur"});  // rejected here
}
