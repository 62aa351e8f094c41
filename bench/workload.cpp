#include "bench/workload.hpp"

#include "bench/costs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::bench {

namespace {

// Events and sizes are those that the engine writes for these orchestrations with inputs and results of about
// 30 bytes.
constexpr std::array<TurnPlan, 2> kParallel{
    TurnPlan{.first_event = 1, .segment_bytes = 330, .first_activity = 3, .completes = 0, .schedules = 5},
    TurnPlan{.first_event = 8, .segment_bytes = 234, .completes = 5}};

constexpr std::array<TurnPlan, 6> kSequence{
    TurnPlan{.first_event = 1, .segment_bytes = 130, .first_activity = 3, .completes = 0, .schedules = 1},
    TurnPlan{.first_event = 4, .segment_bytes = 118, .first_activity = 6, .completes = 1, .schedules = 1},
    TurnPlan{.first_event = 7, .segment_bytes = 118, .first_activity = 9, .completes = 1, .schedules = 1},
    TurnPlan{.first_event = 10, .segment_bytes = 118, .first_activity = 12, .completes = 1, .schedules = 1},
    TurnPlan{.first_event = 13, .segment_bytes = 118, .first_activity = 15, .completes = 1, .schedules = 1},
    TurnPlan{.first_event = 16, .segment_bytes = 78, .completes = 1}};

}  // namespace

std::string_view to_string(Shape shape) noexcept { return shape == Shape::p5 ? "p5" : "s5"; }

std::span<const TurnPlan> turns_of(Shape shape) noexcept {
  if (shape == Shape::p5) return kParallel;
  return kSequence;
}

std::string instance_id(std::uint64_t number) { return "order-20300101-" + std::to_string(number); }

double Measured::latency(double quantile) const {
  if (latencies.empty()) return 0;
  std::vector<double> sorted = latencies;
  const auto place = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
  return sorted[static_cast<std::size_t>(place)];
}

std::vector<Measured> contest(std::span<Contender* const> contenders, const Rounds& rounds) {
  for (Contender* contender : contenders) contender->run(rounds.length / 2);
  std::vector<Measured> measured(contenders.size());
  for (int round = 0; round < rounds.count; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const Round result = contenders[i]->run(rounds.length);
      measured[i].step_time.rounds.push_back(1e9 / result.steps_per_s());
      measured[i].latencies.insert(measured[i].latencies.end(), result.latencies.begin(),
                                   result.latencies.end());
    }
  }
  return measured;
}

void run_alone(const Suite& suite, Contender& load, std::string_view name) {
  const auto seconds = std::chrono::seconds(suite.number_of("--seconds", 10));
  load.run(seconds / 5);  // warms it up
  const Costs before = costs_so_far();
  const Round round = load.run(seconds);
  const Costs costs = costs_so_far() - before;
  const Measured measured{.latencies = round.latencies};
  std::printf("%s: %.0f steps/s, p50 %.0f us, p99 %.0f us\n", std::string(name).c_str(), round.steps_per_s(),
              measured.latency(0.5), measured.latency(0.99));
  const auto per_step = [&](auto cost) {
    return static_cast<double>(cost) / static_cast<double>(round.steps);
  };
  std::printf(
      "per step: %.2f us of processors (%.2f in the kernel), %.2f switches of threads, %.1f allocations\n",
      per_step(costs.cpu_us), per_step(costs.kernel_us), per_step(costs.switches),
      per_step(costs.allocations));
}

}  // namespace holdfast::bench
