// Typed names: what two programs must agree on stands in one header, and the compiler checks both sides.
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet names]
struct Expense {
  std::string id;
  int amount = 0;
};
struct Decision {
  bool approved = false;
  std::string by;
};

inline constexpr Orchestration<std::string(Expense)> approve{"approve"};
inline constexpr Activity<void(Expense)> notify_manager{"notify_manager", {.timeout = 30s}};
inline constexpr Event<Decision> decision{"decision"};
inline constexpr Mailbox<std::string> remarks{"remarks"};
// [/snippet]

// [snippet code]
Task<std::string> approve_code(Context& ctx, Expense expense) {
  co_await ctx.activity(notify_manager, expense);
  const Decision made = co_await ctx.event(decision);
  std::string text = (made.approved ? "approved by " : "rejected by ") + made.by;
  for (const std::string& remark : co_await ctx.mailbox(remarks).drain()) text += "; " + remark;
  co_return text;
}
// [/snippet]

}  // namespace

int main() {
  Runtime rt(memory(), {.logger = null_logger()});
  // [snippet worker]
  rt.activity(notify_manager, [](ActivityContext&, Expense expense) { std::cout << expense.id << "?\n"; });
  rt.orchestration(approve, approve_code);
  // [/snippet]
  rt.start();

  Client client = rt.client();
  // [snippet client]
  const Expense expense{.id = "e-1", .amount = 250};
  const TypedRun<std::string> run = client.start(approve, {.id = expense.id}, expense);
  run.send(remarks, "not before Monday");
  run.raise(decision, {.approved = true, .by = "Ada"});
  try {
    std::cout << run.wait(30s) << "\n";
  } catch (const RunTimedOut&) {
    std::cout << "nobody has decided yet; it goes on\n";
  } catch (const RunError& e) {  // RunFailed or RunCancelled
    std::cout << e.what() << "\n";
  }
  // [/snippet]
}
