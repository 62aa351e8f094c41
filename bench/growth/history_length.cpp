// What a turn costs in an instance that has come far: its frame is in memory, so the length of its history
// must not matter. Instances of all lengths take turns; each grows, and is then timed for some turns, in each
// of which one activity ends and the next one is scheduled.
#include "bench/growth/parts.hpp"
#include "bench/laps.hpp"

#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::uint64_t, 4> kLengths{10, 100, 1'000, 10'000};
constexpr std::uint64_t kAtOnce = 50;  // activities, to make a history long soon
constexpr int kTurns = 10;

Laps laps;

Op<int> step(Context& ctx) { return ctx.activity<int>("step", 1); }

Task<int> grow_then_step(Context& ctx, std::uint64_t length) {
  while (ctx.history_size() + 3 * kAtOnce < length) {
    std::vector<Op<int>> parts;
    for (std::uint64_t i = 0; i < kAtOnce; ++i) parts.push_back(step(ctx));
    co_await when_all(std::move(parts));
  }
  while (ctx.history_size() < length) co_await step(ctx);
  laps.begin();
  for (int i = 0; i < kTurns; ++i) {
    co_await step(ctx);
    laps.note(ctx);
  }
  co_return 0;
}

/// Nanoseconds per turn, a round for each instance.
std::map<std::uint64_t, Times> time_turns(std::shared_ptr<Store> store, int rounds) {
  Runtime runtime(std::move(store), {.activity_slots = kAtOnce, .logger = stderr_logger(LogLevel::warn)});
  runtime.orchestration("grow_then_step", grow_then_step);
  runtime.activity("step", [](ActivityContext&, int value) { return value; });
  runtime.start();
  std::map<std::uint64_t, Times> times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (const std::uint64_t length : kLengths) {
      runtime.client().start("grow_then_step", length).wait<int>(60s);
      const Times turns{laps.take()};
      if (round >= 0) times[length].rounds.push_back(turns.median() * 1e6);
    }
  }
  return times;
}

}  // namespace

void history_length(Workbench& bench) {
  const int rounds = bench.quick() ? 7 : 51;
  Chart chart{.title = "a turn of a warm instance, by the length of its history",
              .x = {"events in the history", Scale::logarithmic},
              .y = {"time of a turn (10 events = 1)"},
              .marks = {{1.2, "+20 %"}}};
  // Without a disk to wait for, the memory store shows more of what is our own.
  const StoreKind in_memory{.name = "memory", .title = "in memory", .make = [] { return memory(); }};
  for (const StoreKind* kind : {&bench.kind(), &in_memory}) {
    const std::map<std::uint64_t, Times> times = time_turns(kind->make(), rounds);
    const Times& shortest = times.begin()->second;
    Line line{.name = kind->title};
    for (const auto& [length, turns] : times) {
      const double ratio = speedup(shortest, turns);
      bench.add(kind->name, {.name = "turn_after_" + std::to_string(length) + "_events_us",
                             .value = turns.median() / 1000,
                             .unit = "us",
                             .ratio = ratio,
                             .ratio_to = "10 events"});
      line.points.push_back({static_cast<double>(length), ratio});
    }
    chart.lines.push_back(std::move(line));
  }
  bench.draw("history", std::move(chart));
}

}  // namespace holdfast::bench
