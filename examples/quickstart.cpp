// The first program: an orchestration, an activity, a worker and a client in one process, on one file.
// [snippet quickstart]
#include <holdfast/holdfast.hpp>

#include <iostream>

using namespace holdfast;

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

int main() {
  Runtime rt(sqlite("app.db"), {.logger = null_logger()});
  rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
  rt.orchestration("hello", hello);
  rt.start();
  const Run run = rt.client().start("hello", {.id = "run-1"}, "Ada");
  std::cout << run.wait<std::string>(std::chrono::seconds(5)) << "\n";
}
// [/snippet]
