// Being asked to stop: what is open is cancelled, and the code may tidy up.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet shield]
Task<std::string> export_data(Context& ctx) {
  co_await ctx.activity<void>("lock_table");
  const Result<std::string> file = co_await ctx.activity<std::string>("export").settled();
  // A request to cancel does not reach what runs in a shield.
  co_await ctx.shield(ctx.activity<void>("unlock_table"));
  co_return file.value();  // throws what went wrong: here Cancelled goes on its way
}
// [/snippet]

// [snippet catch]
Task<std::string> stop_politely(Context& ctx) {
  std::string reason;
  try {
    co_await ctx.sleep(24h);
  } catch (const Cancelled& e) {  // neither an Error nor a std::exception
    reason = e.failure().message;
  }
  if (reason.empty()) co_return "slept";
  co_await ctx.shield(ctx.activity<void>("say_goodbye"));
  co_return "stopped: " + reason;
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness run;
  run.start(export_data);
  run.complete("lock_table");
  run.cancel("the user closed the window");
  std::cout << "cancelled: " << run.cancelled().at(0).name << "; open: " << run.open().at(0).name << "\n";
  run.forget();
  run.complete("unlock_table");
  std::cout << "ended as cancelled: " << std::boolalpha
            << (run.state() == testing::ReplayHarness::State::cancelled) << "\n";

  testing::ReplayHarness polite;
  polite.start(stop_politely);
  polite.cancel("maintenance");
  polite.complete("say_goodbye");
  std::cout << polite.result<std::string>().value() << "\n";
}
