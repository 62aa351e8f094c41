// The smallest orchestration: one activity.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>

using namespace holdfast;

// [snippet hello]
Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}
// [/snippet]

int main() {
  // [snippet test]
  testing::ReplayHarness run;
  run.start(hello, "Ada");
  run.forget();                          // as after a crash: the code is replayed from its history
  run.complete("greet", "Hello, Ada!");  // the test plays the worker
  std::cout << run.result<std::string>().value() << "\n";
  // [/snippet]
  std::cout << run.history_text();
}
