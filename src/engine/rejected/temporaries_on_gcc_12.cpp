// expect: holdfast: GCC 12 destroys a temporary aggregate twice in an expression with co_await; pass a named
// variable expect: holdfast: GCC 12 destroys a temporary lambda with captures twice in an expression with
// co_await
#include <holdfast/context.hpp>

using namespace holdfast;

struct Order {
  std::string id{};
};
struct Parcel {
  std::string id{};
};

inline constexpr Activity<int(Parcel)> kCharge{"charge"};

Task<> ship(Context& ctx, Parcel parcel) {
  co_await ctx.activity<void>("pack", Order{"o1"});                          // rejected here
  co_await ctx.activity(kCharge, std::move(parcel));                         // rejected here
  co_await ctx.side_effect([id = std::string("o1")] { return id.size(); });  // rejected here
}
