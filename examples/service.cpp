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
  // [snippet service]
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread is there: this one waits for them

  Runtime rt(sqlite("app.db"), {.node_id = "worker-1", .build = 7, .activity_slots = 16});
  add_code(rt);
  rt.start();
  // [/snippet]
  std::cout << greet("Ada") << "\n";
  kill(getpid(), SIGTERM);  // what a service manager does

  // [snippet drain]
  int signal = 0;
  sigwait(&signals, &signal);
  const bool all_done = rt.drain(20s);  // what runs may finish; nothing new is taken
  std::cout << (all_done ? "everything finished" : "some activities were put back for others") << "\n";
  // [/snippet]
}
