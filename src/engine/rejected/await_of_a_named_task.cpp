// expect: holdfast: an operation or Task is used up by awaiting it
#include <holdfast/context.hpp>

holdfast::Task<> pack(holdfast::Context& ctx) { co_await ctx.activity<void>("pack"); }

holdfast::Task<> ship(holdfast::Context& ctx) {
  auto packed = pack(ctx);
  co_await packed;
}
