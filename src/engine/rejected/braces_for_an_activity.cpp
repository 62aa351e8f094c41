// expect: holdfast: braces alone don't say what type an input has
#include <holdfast/saga.hpp>

struct Order {
  std::string id{};
  int count = 0;
};

inline constexpr holdfast::Activity<int(Order)> kCharge{"charge"};

holdfast::Task<> ship(holdfast::Context& ctx) { co_await ctx.activity<int>("charge", {"o1", 5}); }
