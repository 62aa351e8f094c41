// A test of somebody who writes orchestrations.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>

namespace {

holdfast::Task<std::string> hello(holdfast::Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

}  // namespace

int main() {
  holdfast::testing::ReplayHarness run;
  run.start(hello, "Ada");
  run.forget();
  run.complete("greet", "Hello, Ada!");
  std::cout << run.result<std::string>().value() << "\n";
}
