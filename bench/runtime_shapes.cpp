#include "bench/runtime_shapes.hpp"

#include "bench/workload.hpp"

#include <holdfast/client.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

Task<> sleep_long(Context& ctx) { co_await ctx.sleep(24h); }

Task<int> five_at_once(Context& ctx, int value) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < 5; ++i) parts.push_back(ctx.activity<int>("work", value));
  int sum = 0;
  for (const int part : co_await when_all(std::move(parts))) sum += part;
  co_return sum;
}

bool sleeps(const Run& run) {
  const RunDetail detail = run.describe();
  return detail.waits.size() == 1 && detail.waits.front().kind == RunWait::Kind::timer;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Keeps instances of five_at_once in flight until it is destroyed.
class Clients {
 public:
  Clients(const Runtime& runtime, std::size_t in_flight) {
    for (std::size_t i = 0; i < in_flight; ++i) {
      threads_.emplace_back([this, client = runtime.client()] { work(client); });
    }
  }
  ~Clients() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }

 private:
  void work(Client client) {
    while (!stopping_) {
      const std::string id = instance_id(++last_id_);
      if (client.start("five", {.id = id}, 1).wait<int>(60s) != 5)
        throw std::runtime_error(id + " went wrong");
      ++ended_;
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::vector<std::thread> threads_;
};

RuntimeOptions with_slots(std::size_t slots) {
  return {.activity_slots = slots, .logger = stderr_logger(LogLevel::warn)};
}

}  // namespace

double idle_cpu_percent(std::shared_ptr<Store> store, Duration length) {
  Runtime runtime(std::move(store), with_slots(4));
  runtime.orchestration("sleep", sleep_long);
  runtime.start();
  std::vector<StartItem> items;
  for (int i = 0; i < 100; ++i) items.push_back(start_item("sleeper-" + std::to_string(i)));
  const std::vector<Run> runs = runtime.client().start_all("sleep", items);
  for (const Run& run : runs) {
    while (!sleeps(run)) std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(500ms);  // locks that are kept between turns are given back by then

  const double before = cpu_seconds();
  const auto began = Clock::now();
  std::this_thread::sleep_for(length);
  const std::chrono::duration<double> taken = Clock::now() - began;
  return 100 * (cpu_seconds() - before) / taken.count();
}

double few_slots_per_s(std::shared_ptr<Store> store, Duration length) {
  Runtime runtime(std::move(store), with_slots(2));
  runtime.activity("work", [](ActivityContext&, int value) {
    std::this_thread::sleep_for(10ms);
    return value;
  });
  runtime.orchestration("five", five_at_once);
  runtime.start();
  const Clients clients(runtime, 20);
  std::this_thread::sleep_for(1s);  // until ends come evenly
  const std::uint64_t before = clients.ended();
  const auto began = Clock::now();
  std::this_thread::sleep_for(length);
  const std::uint64_t ended = clients.ended() - before;
  const std::chrono::duration<double> taken = Clock::now() - began;
  return static_cast<double>(ended) / taken.count();
}

Ages oldest_ready_row(std::shared_ptr<Store> store, Duration length) {
  Runtime runtime(store, with_slots(16));
  runtime.activity("work", [](ActivityContext&, int value) { return value; });
  runtime.orchestration("five", five_at_once);
  runtime.start();
  const Clients clients(runtime, 64);
  Measured ages;
  for (const auto end = Clock::now() + length; Clock::now() < end; std::this_thread::sleep_for(2ms)) {
    const auto depths = store->queue_depths();
    if (!depths) continue;
    Duration oldest{};
    for (const store::QueueDepth& depth : *depths) oldest = std::max(oldest, depth.oldest_wait);
    ages.latencies.push_back(std::chrono::duration<double, std::milli>(oldest).count());
  }
  return {.p50_ms = ages.latency(0.5), .p99_ms = ages.latency(0.99)};
}

}  // namespace holdfast::bench
