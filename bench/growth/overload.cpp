// Clients that start far more than the worker can do, for some time, and the time after it: whether they wait
// or are refused, how much memory that takes, and whether the worker gets as much done as before. An instance
// runs one activity that does nothing.
#include "bench/growth/latencies.hpp"
#include "bench/growth/parts.hpp"
#include "bench/growth/resident.hpp"
#include "bench/growth/sampler.hpp"
#include "bench/workload.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

/// What happens to starts, and what the worker gets done. Several threads count.
struct Tally {
  std::atomic<std::uint64_t> started{0};  ///< the store has it
  std::atomic<std::uint64_t> refused{0};  ///< the client did not take it
  std::atomic<std::uint64_t> failed{0};   ///< the store did not
  std::atomic<std::uint64_t> ended{0};
  Latencies latencies{};  ///< from a start to its answer

  void note_error(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (error_.empty()) error_ = what;
  }
  /// The first one.
  [[nodiscard]] std::string error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::string error_;
};

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

/// One thread that begins a start after the other without waiting for any; when it is refused one, it tries
/// again a millisecond later.
void start_without_waiting(Client client, Tally& tally, Clock::time_point end) {
  while (Clock::now() < end) {
    const auto began = Clock::now();
    try {
      client.start_async(kOrchestrationName, 1).then([&tally, began](ClientAnswer<Run> answer) {
        ++(answer ? tally.started : tally.failed);
        tally.latencies.note(us_since(began));
      });
    } catch (const ClientError& error) {
      ++tally.refused;
      tally.note_error(error.what());
      std::this_thread::sleep_for(1ms);
    }
  }
  client.close();  // when everything that was begun is answered
}

/// Threads that each wait for the answer to a start before the next one.
void start_from_threads(const Client& client, std::size_t count, Tally& tally, Clock::time_point end) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&tally, end, own = client]() mutable {
      while (Clock::now() < end) {
        const auto began = Clock::now();
        try {
          own.start(kOrchestrationName, 1);
          ++tally.started;
        } catch (const ClientError& error) {
          ++tally.failed;
          tally.note_error(error.what());
        }
        tally.latencies.note(us_since(began));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One way to start too many.
struct Way {
  std::string name{};
  std::string title{};
  /// Returns after `end`, when everything that was begun is answered.
  std::function<void(const Client&, Tally&, Clock::time_point end)> start{};
};

/// What was seen on the way.
struct Course {
  Line memory{};   ///< MiB
  Line started{};  ///< per second
  Line ended{};

  [[nodiscard]] double peak_mib() const { return std::ranges::max_element(memory.points, {}, &Point::y)->y; }
};

/// What the worker gets done while no more is started than it can do: 64 clients wait for each end.
void start_what_it_can_do(const Client& client, Clock::time_point end) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([end, own = client]() mutable {
      while (Clock::now() < end) own.start(kOrchestrationName, 1).wait<int>(60s);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Task<int> one_activity(Context& ctx, int value) {
  co_return co_await ctx.activity<int>(kActivityName, value);
}

double per_s(std::uint64_t count, Clock::duration time) {
  return static_cast<double>(count) / std::chrono::duration<double>(time).count();
}

class OverloadBench {
 public:
  explicit OverloadBench(Workbench& bench) : bench_(bench), length_(bench.quick() ? 1s : 10s) {
    if (bench.quick()) client_options_.max_queued = 10'000;
  }

  void flood(const Way& way) {
    return_freed_memory();
    const std::string name = "overload_" + way.name;
    bench_.add({.name = name + "_resident_before_mib", .value = resident_mib(), .unit = "MiB"});
    Tally tally;
    const std::shared_ptr<Store> store = bench_.new_store();
    Runtime runtime(store, {.logger = stderr_logger(LogLevel::warn)});
    runtime.activity(kActivityName, [&tally](ActivityContext&, int value) {
      ++tally.ended;
      return value;
    });
    runtime.orchestration(kOrchestrationName, one_activity);
    runtime.start();
    start_what_it_can_do(runtime.client(), Clock::now() + length_ / 2);
    bench_.add(
        {.name = name + "_ended_per_s_before", .value = per_s(tally.ended, length_ / 2), .unit = "1/s"});
    tally.ended = 0;

    Course course{
        .memory = {way.title}, .started = {way.title + ": started"}, .ended = {way.title + ": worked off"}};
    const auto began = Clock::now();
    {
      const Sampler sampler(length_ / 20, [&, last = Rates()](double seconds) mutable {
        course.memory.points.push_back({seconds, resident_mib()});
        const Rates now{seconds, tally.started, tally.ended};
        // Rates differ by orders of magnitude, and 0 has no place on that scale: it ends the line.
        if (now.started > last.started) course.started.points.push_back({seconds, now.started_since(last)});
        if (now.ended > last.ended) course.ended.points.push_back({seconds, now.ended_since(last)});
        last = now;
      });
      way.start(Client(store, client_options_), tally, began + length_);
      report(name, tally, Clock::now() - began);
      const std::uint64_t ended = tally.ended;
      std::this_thread::sleep_for(length_);
      bench_.add(
          {.name = name + "_ended_per_s_after", .value = per_s(tally.ended - ended, length_), .unit = "1/s"});
    }
    bench_.add({.name = name + "_resident_peak_mib", .value = course.peak_mib(), .unit = "MiB"});
    memory_.push_back(std::move(course.memory));
    rates_.push_back(std::move(course.started));
    rates_.push_back(std::move(course.ended));
  }

  void draw() {
    bench_.draw("overload-memory", {.title = "resident memory while clients start too much, and after it",
                                    .x = {"seconds"},
                                    .y = {"resident memory (MiB)"},
                                    .lines = std::move(memory_)});
    bench_.draw("overload-rates", {.title = "instances while clients start too much, and after it",
                                   .x = {"seconds"},
                                   .y = {"instances per second", Scale::logarithmic},
                                   .lines = std::move(rates_)});
  }

 private:
  struct Rates {
    double seconds = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;

    [[nodiscard]] double started_since(const Rates& last) const {
      return static_cast<double>(started - last.started) / (seconds - last.seconds);
    }
    [[nodiscard]] double ended_since(const Rates& last) const {
      return static_cast<double>(ended - last.ended) / (seconds - last.seconds);
    }
  };

  void report(const std::string& name, Tally& tally, Clock::duration time) {
    const auto add = [&](const std::string& what, double value, const std::string& unit) {
      bench_.add({.name = name + "_" + what, .value = value, .unit = unit});
    };
    const Spread answers = tally.latencies.take();
    add("started_per_s", per_s(tally.started, time), "1/s");
    add("start_p50_ms", answers.ms(0.5), "ms");
    add("start_p99_ms", answers.ms(0.99), "ms");
    add("refused_per_s", per_s(tally.refused, time), "1/s");
    add("failed", static_cast<double>(tally.failed), "");
    add("backlog", static_cast<double>(tally.started - tally.ended), "");
    add("ended_per_s", per_s(tally.ended, time), "1/s");
    if (!tally.error().empty()) bench_.suite().note(name + ", the first error: " + tally.error());
  }

  Workbench& bench_;
  std::chrono::milliseconds length_;
  ClientOptions client_options_;
  std::vector<Line> memory_;
  std::vector<Line> rates_;
};

}  // namespace

void overload(Workbench& bench) {
  OverloadBench overload(bench);
  overload.flood({.name = "async", .title = "start_async", .start = start_without_waiting});
  const std::size_t threads = bench.quick() ? 64 : 256;
  overload.flood({.name = "threads",
                  .title = std::to_string(threads) + " threads",
                  .start = [threads](const Client& client, Tally& tally, Clock::time_point end) {
                    start_from_threads(client, threads, tally, end);
                  }});
  overload.draw();
}

}  // namespace holdfast::bench
