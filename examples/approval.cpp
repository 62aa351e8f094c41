// Waiting for a person, but not for ever.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <optional>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet approval]
struct Expense {
  std::string id;
  int amount = 0;
};

struct Decision {
  bool approved = false;
  std::string by;
};

Task<std::string> approve(Context& ctx, Expense expense) {
  co_await ctx.activity<void>("notify_manager", expense);
  const std::optional<Decision> decision = co_await with_timeout(ctx.event<Decision>("decision"), 24h);
  if (!decision) co_return "escalated";
  co_return (decision->approved ? "approved by " : "rejected by ") + decision->by;
}
// [/snippet]

}  // namespace

int main() {
  const Expense expense{.id = "e-1", .amount = 250};

  testing::ReplayHarness approved;
  approved.start(approve, expense);
  approved.complete("notify_manager");
  approved.advance(23h);
  approved.forget();
  approved.raise("decision", Decision{.approved = true, .by = "Ada"});
  std::cout << "a decision after 23 hours:  " << approved.result<std::string>().value() << "\n";

  testing::ReplayHarness escalated;
  escalated.start(approve, expense);
  escalated.complete("notify_manager");
  escalated.advance(24h);
  std::cout << "none after 24 hours:        " << escalated.result<std::string>().value() << "\n";

  testing::ReplayHarness early;
  early.start(approve, expense);
  early.raise("decision", Decision{.approved = false, .by = "Bob"});  // nobody waits for it yet
  early.complete("notify_manager");
  std::cout << "a decision that came early: " << early.result<std::string>().value() << "\n";
}
