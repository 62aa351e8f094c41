// An actor: it lives on its mailbox, one message after the other.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace holdfast;

namespace {

// [snippet inbox]
struct Change {
  std::string item;
  int by = 0;
};

using Stock = std::map<std::string, int>;

Task<Stock> stock_keeper(Context& ctx, Stock stock) {
  const Receiver<Change> changes = ctx.mailbox<Change>("changes");
  for (;;) {
    const Change change = co_await changes.receive();
    if (change.item.empty()) co_return stock;
    stock[change.item] += change.by;
    ctx.set_value("stock", stock);  // clients and other instances can read it
    // Unread messages are kept for the next execution.
    if (ctx.should_continue_as_new()) co_await ctx.continue_as_new(stock);
  }
}
// [/snippet]

// [snippet send]
Task<std::string> sell_lamp(Context& ctx, std::string order) {
  ctx.send("stock-keeper", "changes", Change{"lamp", -1});
  co_await ctx.activity<void>("pack", order);
  ctx.raise("customer-of-" + order, "packed", order);
  ctx.cancel("reminder-of-" + order, "it is packed");
  co_return "sold";
}
// [/snippet]

// [snippet drain]
Task<int> batch(Context& ctx) {
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  const int first = co_await numbers.receive();                    // waits
  const std::vector<int> rest = co_await numbers.drain();          // takes all that are there
  const std::optional<int> none = co_await numbers.try_receive();  // never waits
  int sum = first;
  for (const int number : rest) sum += number;
  co_return none ? -1 : sum;
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness run({.history_budget = 12});
  run.start(stock_keeper, Stock{});
  run.send("changes", Change{"lamp", 5});
  run.send("changes", Change{"chair", 2});
  run.send("changes", Change{"lamp", -1});
  std::cout << "lamps: " << run.value<Stock>("stock").value()["lamp"] << "\n";
  run.send("changes", Change{});  // sent between two executions
  run.next_execution();
  std::cout << "execution " << to_string(run.execution()) << " ends with "
            << encode(run.result<Stock>().value()).bytes << "\n";

  testing::ReplayHarness sale;
  sale.start(sell_lamp, "o1");
  sale.complete("pack");
  for (const auto& sent : sale.sent()) {
    std::cout << "to " << sent.instance << ": " << sent.name << " " << sent.value.bytes << "\n";
  }

  testing::ReplayHarness drained;
  for (int i = 1; i <= 4; ++i) drained.send("numbers", i);  // before the start
  drained.start(batch);
  std::cout << "drained: " << drained.result<int>().value() << "\n";
}
