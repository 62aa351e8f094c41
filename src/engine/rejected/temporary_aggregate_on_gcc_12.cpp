// expect: holdfast: GCC 12 destroys a temporary aggregate twice in an expression with co_await
#include <holdfast/context.hpp>

struct Order {
  std::string id{};
};

holdfast::Task<> ship(holdfast::Context& ctx) { co_await ctx.activity<void>("pack", Order{"o1"}); }
