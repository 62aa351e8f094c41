// Queries: a client asks a running instance, and its code answers from what it knows.
#include <holdfast/holdfast.hpp>
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet handlers]
struct Cart {
  std::vector<std::string> items{};
  int total = 0;
};
struct Item {
  std::string name{};
  int price = 0;
};

Task<int> shop(Context& ctx) {
  auto& cart = ctx.state<Cart>();
  ctx.on_query(cart, "items", [](const Cart& now) { return now.items; });
  ctx.on_query(cart, "costs_more_than", [](const Cart& now, int limit) { return now.total > limit; });

  std::string stage = "shopping";
  const auto guard = ctx.on_query("stage", [&stage] { return stage; });
  auto items = ctx.mailbox<Item>("items");
  for (;;) {
    const Item item = co_await items.receive();
    if (item.name.empty()) break;
    cart.items.push_back(item.name);
    cart.total += item.price;
  }
  stage = "paying";
  co_await ctx.event<std::string>("paid");
  co_return cart.total;
}
// [/snippet]

void ask_in_memory() {
  // [snippet harness]
  testing::ReplayHarness run;
  run.start(shop);
  run.send("items", Item{"cup", 5});
  std::cout << "in a test: " << run.query<std::vector<std::string>>("items").size() << " item\n";
  // [/snippet]
}

}  // namespace

int main() {
  Runtime rt(memory(), {.logger = null_logger()});
  rt.orchestration("shop", shop);
  rt.start();

  // [snippet ask]
  const Run run = rt.client().start("shop", {.id = "cart-7"});
  run.send("items", Item{"cup", 5});
  run.send("items", Item{"tea", 12});
  run.send("items", Item{});
  while (run.query<std::string>("stage") != "paying") {
  }
  for (const std::string& item : run.query<std::vector<std::string>>("items")) std::cout << item << "\n";
  std::cout << std::boolalpha << run.query<bool>("costs_more_than", {.timeout = 5s}, 20) << "\n";
  // [/snippet]

  // [snippet built_in]
  for (const QueryWait& wait : run.query<std::vector<QueryWait>>("holdfast.waits"))
    std::cout << "waits for " << wait.what << "\n";
  // [/snippet]

  // [snippet after_the_end]
  run.raise("paid", "by card");
  std::cout << run.wait<int>(30s) << "\n";
  std::cout << run.query<std::vector<std::string>>("items").size() << " items\n";
  try {
    std::cout << run.query<std::string>("stage") << "\n";
  } catch (const QueryError& e) {
    std::cout << e.failure().type << "\n";
  }
  // [/snippet]
  ask_in_memory();
}
