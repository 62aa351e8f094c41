// The store by its address: one machine, or a PostgreSQL server for many. Without an argument it runs in
// memory.
#include <holdfast/holdfast.hpp>
#include <holdfast/open.hpp>
#include <holdfast/postgres.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet postgres]
std::shared_ptr<Store> on_the_server() {
  return postgres("postgresql://app@db.example/app?sslmode=verify-full", {.readers = 8, .timeout = 10s});
}
// [/snippet]

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

void serve(const std::string& address) {
  // [snippet open]
  // "sqlite:app.db", "postgresql://app@db.example/app" or "memory:", from your configuration.
  Runtime rt(open(address), {.logger = null_logger()});
  // [/snippet]
  rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
  rt.orchestration("hello", hello);
  rt.start();
  std::cout << rt.client().start("hello", "Ada").wait<std::string>(30s) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "memory:";
  if (address != "example") {
    serve(address);
  } else {
    Runtime rt(on_the_server());
  }
}
