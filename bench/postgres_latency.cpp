#include "bench/postgres_latency.hpp"

#include <holdfast/holdfast.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

Task<int> watches(Context& ctx) { co_return co_await ctx.activity<int>("watch"); }

}  // namespace

std::vector<double> cancel_ms(const std::function<std::shared_ptr<Store>()>& open, int rounds) {
  std::atomic<int> watching{0};
  std::atomic<std::chrono::steady_clock::duration> stopped{};
  Runtime worker(open(), {.activity_slots = 2, .logger = stderr_logger(LogLevel::error)});
  worker.orchestration("watches", watches);
  worker.activity("watch", [&](ActivityContext& ctx) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    ++watching;
    changed.wait(lock, ctx.stop_token(), [] { return false; });
    stopped = std::chrono::steady_clock::now().time_since_epoch();
    --watching;
    return 0;
  });
  worker.start();
  Client client(open());
  std::vector<double> ms;
  for (int round = 0; round < rounds; ++round) {
    const Run run = client.start("watches", {.id = "w" + std::to_string(round)});
    while (watching == 0) std::this_thread::sleep_for(1ms);
    const auto asked = std::chrono::steady_clock::now().time_since_epoch();
    run.cancel("enough");
    static_cast<void>(run.result<int>(60s));
    while (watching > 0) std::this_thread::sleep_for(1ms);
    ms.push_back(std::chrono::duration<double, std::milli>(stopped.load() - asked).count());
  }
  return ms;
}

}  // namespace holdfast::bench
