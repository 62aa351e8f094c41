// A change to an orchestration whose instances run for months, from its deploy to its last trace: patched(),
// deprecate_patch(), and neither.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <optional>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<std::string> order_before(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await ctx.sleep(30 * 24h);
  co_await ctx.activity<void>("charge", id);
  co_return "charged";
}

// [snippet patched]
Task<std::string> order(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  if (ctx.patched("check-risk")) {
    co_await ctx.activity<void>("check_risk", id);  // those that reserve from now on
  }
  co_await ctx.sleep(30 * 24h);
  co_await ctx.activity<void>("charge", id);
  co_return "charged";
}
// [/snippet]

// [snippet deprecated]
Task<std::string> order_later(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  ctx.deprecate_patch("check-risk");
  co_await ctx.activity<void>("check_risk", id);
  co_await ctx.sleep(30 * 24h);
  co_await ctx.activity<void>("charge", id);
  co_return "charged";
}
// [/snippet]

Task<std::string> order_at_last(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await ctx.activity<void>("check_risk", id);
  co_await ctx.sleep(30 * 24h);
  co_await ctx.activity<void>("charge", id);
  co_return "charged";
}

template <class Code>
void try_code(testing::ReplayHarness& run, const std::string& name, Code code) {
  const std::optional<testing::Divergence> divergence = run.replay_with(code);
  std::cout << name << ": "
            << (divergence ? "differs at event " + to_string(divergence->event) + ", " + divergence->code_did
                           : "replays")
            << "\n";
}

}  // namespace

int main() {
  // [snippet test]
  testing::ReplayHarness begun_before;
  begun_before.start(order_before, "o-1");
  begun_before.complete("reserve");
  std::cout << "an instance that reserved before the deploy\n";
  try_code(begun_before, "  patched()        ", order);
  try_code(begun_before, "  deprecate_patch()", order_later);  // too early for this one

  testing::ReplayHarness begun_after;
  begun_after.start(order, "o-2");
  begun_after.complete("reserve");
  std::cout << "one that reserved after it\n";
  try_code(begun_after, "  patched()        ", order);
  try_code(begun_after, "  deprecate_patch()", order_later);
  try_code(begun_after, "  neither          ", order_at_last);  // too early for this one
  // [/snippet]
  std::cout << "\n" << begun_after.history_text() << "\n";
  std::cout << begun_after.replay_with(order_at_last)->hint << "\n";
}
