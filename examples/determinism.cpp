// What an orchestration may ask without an activity, and what happens when its code changes.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <optional>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

int reads = 0;

int read_setting() {
  ++reads;
  return 7;
}

// [snippet inside]
Task<std::string> invoice(Context& ctx) {
  const CalendarTime now = ctx.now();                                        // the time of this turn
  const std::string number = ctx.uuid();                                     // from the execution's seed
  const int days = co_await ctx.side_effect([] { return read_setting(); });  // called once, recorded
  co_await ctx.sleep_until(now + days * 24h);
  co_await ctx.activity<void>("send_reminder", number);
  co_return "reminded";
}
// [/snippet]

// [snippet changed]
Task<std::string> changed_invoice(Context& ctx) {
  const std::string number = ctx.uuid();
  const int days = co_await ctx.side_effect([] { return read_setting(); });
  co_await ctx.activity<void>("send_invoice", number);  // new, and not in the history of those that run
  co_await ctx.sleep_until(ctx.now() + days * 24h);
  co_await ctx.activity<void>("send_reminder", number);
  co_return "reminded";
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness run;
  run.start(invoice);
  run.forget();
  run.forget();
  std::cout << "replayed, and the setting was read " << reads << " time\n";
  run.fire_timer();

  // [snippet report]
  const std::optional<testing::Divergence> divergence = run.replay_with(changed_invoice);
  std::cout << "event " << to_string(divergence->event) << "\n"
            << "history says " << divergence->history_says << "\n"
            << "the code     " << divergence->code_did << "\n";
  // [/snippet]
}
