// A worker as it is deployed: it runs until it is asked to stop, and then lets go in an orderly way.
#include <holdfast/holdfast.hpp>

#include <signal.h>

#include <chrono>
#include <iostream>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

void add_code(Runtime& rt) {
  rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
  rt.orchestration("hello", hello);
}

// Somebody else, elsewhere on this machine.
// [snippet client]
std::string greet(const std::string& who) {
  Client client(sqlite("app.db"));  // the same file; the work is done wherever a Runtime has it open
  const Run run = client.start("hello", {.id = "greeting-of-" + who}, who);
  return run.wait<std::string>(30s);
}
// [/snippet]

}  // namespace

int main() {
  const auto tell_ready = [] {
    std::cout << greet("Ada") << "\n";
    kill(getpid(), SIGTERM);  // what a service manager does
  };
  // [snippet service]
  Runtime rt(sqlite("app.db"), {.node_id = "worker-1", .build = 7, .activity_slots = 16});
  add_code(rt);
  const bool all_done = rt.run_until_signal(20s, tell_ready);
  std::cout << (all_done ? "everything finished" : "some activities were put back for others") << "\n";
  // [/snippet]
}
