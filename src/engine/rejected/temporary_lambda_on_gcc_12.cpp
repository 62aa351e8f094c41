// expect: holdfast: GCC 12 destroys a temporary lambda with captures twice in an expression with co_await
#include <holdfast/context.hpp>

holdfast::Task<> ship(holdfast::Context& ctx, std::string id) {
  co_await ctx.side_effect([id] { return id.size(); });
}
