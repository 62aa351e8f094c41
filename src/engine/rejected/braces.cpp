// Braces of different types each, as a compiler says the same only once.
// expect: holdfast: braces alone don't say what type an input has
#include <holdfast/saga.hpp>

using namespace holdfast;

struct Order {
  std::string id{};
  int count = 0;
};

inline constexpr Activity<int(Order)> kCharge{"charge"};

Task<> ship(Context& ctx) {
  co_await ctx.activity(kCharge, {"o", 5});                           // rejected here
  co_await ctx.activity<int>("charge", {"o1", 5});                    // rejected here
  co_await ctx.activity<int>("charge", {"o12", "eur", 5});            // rejected here
  co_await ctx.child<int>("pack", {"o1234", 5});                      // rejected here
  co_await ctx.start_detached("pack", {"o12345", 5});                 // rejected here
  co_await ctx.session("s").activity<int>("charge", {"o123456", 5});  // rejected here
  co_await ctx.session("s").activity(kCharge, {"o1234567", 5});       // rejected here
  co_await ctx.continue_as_new({"o12345678", 5});                     // rejected here
}

void undo(Saga& saga) {
  saga.undo_with("refund", {"o123456789", 5});  // rejected here
}
