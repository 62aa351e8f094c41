// expect: pass a named variable; inputs are encoded, not moved
#include <holdfast/context.hpp>

struct Order {
  std::string id{};
};

inline constexpr holdfast::Activity<int(Order)> kCharge{"charge"};

holdfast::Task<> ship(holdfast::Context& ctx, Order order) {
  co_await ctx.activity(kCharge, std::move(order));
}
