// The simulator finds what goes wrong once in a hundred crashes, and finds it again.
#include <holdfast/context.hpp>
#include <holdfast/testing/simulator.hpp>

#include <iostream>
#include <memory>
#include <set>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet shop]
struct Bank {
  int charges = 0;
  std::set<std::string> keys;
};

Task<std::string> order(Context& ctx, int cents) {
  co_await ctx.activity<void>("charge", cents);
  co_await ctx.sleep(5s);
  co_return "shipped";
}

void careless_shop(testing::Simulation& sim) {
  const auto bank = std::make_shared<Bank>();
  sim.activity("charge", [bank](ActivityContext&, int) { ++bank->charges; });
  sim.orchestration("order", order);
  sim.at(1s, "Ada orders", [](Client& client) { client.start("order", {.id = "order-1"}, 500); });
  sim.at_end([&sim, bank] {
    if (sim.result<std::string>("order-1").value() != "shipped") sim.fail("the order was not shipped");
    if (bank->charges != 1) sim.fail("Ada was charged more than once");
  });
}
// [/snippet]

// [snippet careful]
void careful_shop(testing::Simulation& sim) {
  const auto bank = std::make_shared<Bank>();
  sim.activity("charge", [bank](ActivityContext& ctx, int) {
    if (bank->keys.insert(ctx.idempotency_key()).second) ++bank->charges;
  });
  // [/snippet]
  sim.orchestration("order", order);
  sim.at(1s, "Ada orders", [](Client& client) { client.start("order", {.id = "order-1"}, 500); });
  sim.at_end([&sim, bank] {
    if (sim.result<std::string>("order-1").value() != "shipped") sim.fail("the order was not shipped");
    if (bank->charges != 1) sim.fail("Ada was charged more than once");
  });
}

}  // namespace

int main() {
  // [snippet run]
  const auto failure = testing::simulate_seeds(careless_shop, {.first = 1, .count = 300});
  if (failure) std::cout << "careless: " << failure->what << "\n";  // failure->text() tells all of it
  // [/snippet]
  const auto none = testing::simulate_seeds(careful_shop, {.first = 1, .count = 300});
  std::cout << "careful: " << (none ? none->text() : "300 seeds held") << "\n";
}
