#include "bench/runtime_load.hpp"

#include <holdfast/client.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr int kActivities = 5;
// Before the clock runs: until then instances are in flight at all stages.
constexpr auto kRunUp = 50ms;

// About as many bytes as the segments of the ceilings hold for each activity.
Task<std::string> in_parallel(Context& ctx, std::string order) {
  std::vector<Op<std::string>> parts;
  for (int i = 0; i < kActivities; ++i) parts.push_back(ctx.activity<std::string>(kActivityName, order));
  const std::vector<std::string> receipts = co_await when_all(std::move(parts));
  co_return receipts.back();
}

Task<std::string> in_sequence(Context& ctx, std::string order) {
  std::string receipt;
  for (int i = 0; i < kActivities; ++i) {
    receipt = co_await ctx.activity<std::string>(kActivityName, order);
  }
  co_return receipt;
}

class RuntimeLoad final : public Contender {
 public:
  RuntimeLoad(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
              std::shared_ptr<Metrics> metrics)
      : in_flight_(in_flight),
        runtime_(std::move(store), {.activity_slots = in_flight * kActivities,
                                    .logger = stderr_logger(LogLevel::warn),
                                    .metrics = std::move(metrics)}) {
    runtime_.activity(kActivityName, [](ActivityContext&, std::string order) { return order; });
    runtime_.orchestration(kOrchestrationName, shape == Shape::p5 ? in_parallel : in_sequence);
    runtime_.start();
  }

  Round run(std::chrono::nanoseconds length) override {
    Round round{.seconds = std::chrono::duration<double>(length).count()};
    const auto begin = Clock::now() + kRunUp;
    const auto end = begin + length;
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < in_flight_; ++i) {
      clients.emplace_back([&] {
        std::vector<double> latencies = be_client(begin, end);
        const std::lock_guard lock(mutex_);
        round.steps += kActivities * latencies.size();
        round.latencies.insert(round.latencies.end(), latencies.begin(), latencies.end());
      });
    }
    for (std::thread& client : clients) client.join();
    return round;
  }

 private:
  // What ended while the clock ran.
  std::vector<double> be_client(Clock::time_point begin, Clock::time_point end) {
    std::vector<double> latencies;
    Client client = runtime_.client();
    for (;;) {
      const std::string id = instance_id(++last_id_);
      const auto started = Clock::now();
      const auto output = client.start(kOrchestrationName, id, id).wait<std::string>(60s);
      const auto now = Clock::now();
      if (output != id) throw std::runtime_error("instance " + id + " gave '" + output + "'");
      if (now >= end) return latencies;
      if (now >= begin) {
        latencies.push_back(std::chrono::duration<double, std::micro>(now - started).count());
      }
    }
  }

  std::size_t in_flight_;
  std::atomic<std::uint64_t> last_id_{0};
  std::mutex mutex_;
  Runtime runtime_;
};

}  // namespace

std::unique_ptr<Contender> runtime_load(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
                                        std::shared_ptr<Metrics> metrics) {
  return std::make_unique<RuntimeLoad>(std::move(store), shape, in_flight, std::move(metrics));
}

}  // namespace holdfast::bench
