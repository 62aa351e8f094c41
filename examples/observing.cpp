// What a worker tells of itself: its metrics, and whether it is registered and alive.
#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

// [snippet health]
/// For a health check: the worker of this name is registered, gives signs of life and takes work.
bool is_alive(const Client& client, const std::string& node) {
  return std::ranges::any_of(client.workers(), [&](const WorkerInfo& worker) {
    return worker.node == node && worker.status == WorkerStatus::alive;
  });
}
// [/snippet]

}  // namespace

int main() {
  // [snippet metrics]
  const auto metrics = std::make_shared<Metrics>();  // shared with your own code, and with other runtimes
  Counter& visitors = metrics->counter("shop_visitors_total", "People who came in.");
  Runtime rt(memory(), {.node_id = "worker-1", .logger = null_logger(), .metrics = metrics});
  // [/snippet]
  rt.activity("greet", [&visitors](ActivityContext&, std::string who) {
    visitors.add();
    return "Hello, " + who + "!";
  });
  rt.orchestration("hello", hello);
  rt.start();
  std::cout << rt.client().start("hello", "Ada").wait<std::string>(30s) << "\n";

  // [snippet scrape]
  const std::string text = metrics->prometheus();  // the body of your answer to GET /metrics
  // [/snippet]
  const bool complete = text.find("shop_visitors_total 1\n") != std::string::npos &&
                        text.find("\nholdfast_turns_total ") != std::string::npos;
  std::cout << (complete ? "ours and yours" : text) << "\n";
  std::cout << (is_alive(rt.client(), "worker-1") ? "alive" : "not alive") << "\n";
}
