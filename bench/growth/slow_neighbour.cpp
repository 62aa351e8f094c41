// A fast type of activity beside a slow one, in a worker with the default number of slots: how long the fast
// one takes when more and more instances want the slow one, and what queues, priorities and a worker of its
// own change about that.
#include "bench/growth/parts.hpp"
#include "bench/workload.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kSlow = 200ms;
constexpr std::size_t kFastInFlight = 8;
constexpr int kForever = 1'000'000;
constexpr std::string_view kSlowQueue = "slow";

/// How the two types share what there is.
struct Arrangement {
  std::string name{};
  std::string title{};
  std::string_view slow_queue{};  ///< of the slow type; empty: that of the fast one
  int fast_priority = 0;
  bool own_worker = false;  ///< another worker serves the queue of the slow type
};

Task<> run_slow_ones(Context& ctx, std::string queue) {
  for (int i = 0; i < kForever; ++i) co_await ctx.activity<void>("slow", {.queue = queue});
}

Task<int> run_fast_one(Context& ctx, int priority) {
  co_return co_await ctx.activity<int>("fast", {.priority = priority}, 1);
}

/// What serves both types.
class Workers {
 public:
  Workers(const std::shared_ptr<Store>& store, const Arrangement& arrangement) {
    std::vector<std::string> queues{""};
    if (arrangement.own_worker) {
      start(store, {std::string(kSlowQueue)}, false);
    } else if (!arrangement.slow_queue.empty()) {
      queues.emplace_back(kSlowQueue);
    }
    start(store, std::move(queues), true);
  }
  [[nodiscard]] Client client() const { return runtimes_.back()->client(); }

 private:
  void start(const std::shared_ptr<Store>& store, std::vector<std::string> queues, bool orchestrates) {
    auto runtime = std::make_unique<Runtime>(
        store, RuntimeOptions{.queues = std::move(queues), .logger = stderr_logger(LogLevel::warn)});
    runtime->activity("slow", [](ActivityContext&) { std::this_thread::sleep_for(kSlow); });
    runtime->activity("fast", [](ActivityContext&, int value) { return value; });
    if (orchestrates) {
      runtime->orchestration("run_slow_ones", run_slow_ones);
      runtime->orchestration("run_fast_one", run_fast_one);
    }
    runtime->start();
    runtimes_.push_back(std::move(runtime));
  }

  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

/// Milliseconds from the start of a fast instance to its result, of all that were started in this time.
Measured fast_ones(const Client& client, int priority, std::chrono::milliseconds length) {
  Measured measured;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto end = Clock::now() + length;
  for (std::size_t i = 0; i < kFastInFlight; ++i) {
    threads.emplace_back([&, own = client]() mutable {
      while (Clock::now() < end) {
        const auto began = Clock::now();
        own.start("run_fast_one", priority).wait<int>(60s);
        const double ms = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
        const std::lock_guard lock(mutex);
        measured.latencies.push_back(ms);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return measured;
}

Measured fast_beside_slow(std::shared_ptr<Store> store, const Arrangement& arrangement, std::size_t slow,
                          std::chrono::milliseconds length) {
  const Workers workers(store, arrangement);
  Client client = workers.client();
  fast_ones(client, arrangement.fast_priority, length / 10);
  for (std::size_t i = 0; i < slow; ++i) client.start("run_slow_ones", std::string(arrangement.slow_queue));
  std::this_thread::sleep_for(2 * kSlow);  // until the slow ones have all slots that they get
  return fast_ones(client, arrangement.fast_priority, length);
}

}  // namespace

void slow_neighbour(Workbench& bench) {
  const std::vector<std::size_t> counts =
      bench.quick() ? std::vector<std::size_t>{0, 4, 16} : std::vector<std::size_t>{0, 2, 4, 8, 16, 64};
  const std::chrono::milliseconds length = bench.quick() ? 300ms : 2s;
  const int rounds = bench.quick() ? 1 : 3;
  const std::vector<Arrangement> arrangements{
      {.name = "one_queue", .title = "one queue"},
      {.name = "two_queues", .title = "two queues, one worker", .slow_queue = kSlowQueue},
      {.name = "priority", .title = "priority", .fast_priority = 1},
      {.name = "two_workers", .title = "two workers", .slow_queue = kSlowQueue, .own_worker = true}};

  // By arrangement and count: of each round.
  std::vector p50(arrangements.size(), std::vector<Times>(counts.size()));
  std::vector p99 = p50;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t count = 0; count < counts.size(); ++count) {
      for (std::size_t i = 0; i < arrangements.size(); ++i) {
        const Measured fast = fast_beside_slow(bench.new_store(), arrangements[i], counts[count], length);
        p50[i][count].rounds.push_back(fast.latency(0.5));
        p99[i][count].rounds.push_back(fast.latency(0.99));
      }
    }
  }

  Chart chart{.title = "a fast activity beside slow ones of 200 ms, default slots",
              .x = {"instances that run slow activities", Scale::logarithmic},
              .y = {"p99 of the fast one, start to result (ms)", Scale::logarithmic}};
  for (std::size_t i = 0; i < arrangements.size(); ++i) {
    Line line{.name = arrangements[i].title};
    for (std::size_t count = 0; count < counts.size(); ++count) {
      const std::string name =
          "fast_beside_" + std::to_string(counts[count]) + "_slow_" + arrangements[i].name;
      bench.add({.name = name + "_p50_ms", .value = p50[i][count].median(), .unit = "ms"});
      bench.add({.name = name + "_p99_ms",
                 .value = p99[i][count].median(),
                 .unit = "ms",
                 .ratio = speedup(p99[i][0], p99[i][count]),
                 .ratio_to = "the fast one alone"});
      line.points.push_back({static_cast<double>(counts[count]), p99[i][count].median()});
    }
    chart.lines.push_back(std::move(line));
  }
  bench.draw("slow-neighbour", std::move(chart));
}

}  // namespace holdfast::bench
