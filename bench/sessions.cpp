// What sessions cost, and how fast they move: the load of the runtime's suite with every activity in a
// session, and conversations whose worker drains or dies. On a SQLite file whose commits wait for the disk.
// docs/benchmarks.md says what each figure means.
//
//   bench_sessions [folder] [--quick]
//   bench_sessions --load=100 [--in-flight=64] [--seconds=10]   the load in so many sessions, for a profiler
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/runtime_load.hpp"
#include "bench/session_moves.hpp"
#include "bench/workload.hpp"

#include <holdfast/metrics.hpp>
#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kInFlight = 64;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(q * last + 0.5)];
}

void overhead(Suite& suite, const DiskFolder& folder, bool quick) {
  const std::array<std::size_t, 4> counts{0, 1, 100, 10'000};
  std::vector<std::unique_ptr<Contender>> loads;
  std::vector<Contender*> contenders;
  for (const std::size_t count : counts) {
    const auto file = folder / ("load" + std::to_string(count) + ".db");
    loads.push_back(runtime_load(sqlite(file), Shape::p5, kInFlight, {.sessions = count}));
    contenders.push_back(loads.back().get());
  }
  const Rounds rounds = quick ? Rounds{.count = 3, .length = 200ms} : Rounds{.count = 9};
  const std::vector<Measured> measured = contest(contenders, rounds);
  const auto ratio = [&](std::size_t i) { return speedup(measured[i].step_time, measured[0].step_time); };
  suite.add({.name = "session_overhead_ratio", .value = ratio(2), .unit = "x"});
  for (std::size_t i = 1; i < counts.size(); ++i) {
    suite.add(
        {.name = "session_overhead_ratio_" + std::to_string(counts[i]), .value = ratio(i), .unit = "x"});
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string name = i == 0 ? "without_sessions" : "in_sessions_" + std::to_string(counts[i]);
    suite.add({.name = name + "_steps_per_s", .value = measured[i].steps_per_s(), .unit = "1/s"});
    suite.add({.name = name + "_p99_ms", .value = measured[i].latency(0.99) / 1000, .unit = "ms"});
  }
}

void add_times(Suite& suite, const std::string& name, const std::vector<double>& ms) {
  suite.add({.name = name + "_p50_ms", .value = quantile(ms, 0.5), .unit = "ms"});
  suite.add({.name = name + "_p99_ms", .value = quantile(ms, 0.99), .unit = "ms"});
  suite.add({.name = name + "_samples", .value = static_cast<double>(ms.size()), .unit = ""});
}

void moves(Suite& suite, const DiskFolder& folder, bool quick) {
  add_times(suite, "handover",
            hand_over_ms([&] { return sqlite(folder / "hand_over.db"); }, quick ? 10 : 20, quick ? 3 : 20));
  const Duration lease = quick ? 1s : 2s;
  const std::vector<double> recovery = recovery_ms(folder, quick ? 10 : 50, lease);
  add_times(suite, "recovery", recovery);
  const double lease_ms = std::chrono::duration<double, std::milli>(lease).count();
  suite.add({.name = "recovery_over_lease_ratio", .value = quantile(recovery, 0.99) / lease_ms, .unit = "x"});
}

int run_load(const Suite& suite, const DiskFolder& folder) {
  const std::size_t sessions = suite.number_of("--load", 100);
  const auto metrics = std::make_shared<Metrics>();
  const auto load =
      runtime_load(sqlite(folder / "load.db"), Shape::p5, suite.number_of("--in-flight", kInFlight),
                   {.metrics = metrics, .sessions = sessions});
  run_alone(suite, *load, "p5 in " + std::to_string(sessions) + " sessions");
  std::printf("%s\n", metrics->prometheus().c_str());
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  be_worker(argc, argv);
  Suite suite("sessions", argc, argv);
  const DiskFolder folder;
  if (suite.value_of("--load")) return run_load(suite, folder);
  suite.note("disk: " + folder.file_system());
  overhead(suite, folder, suite.option("--quick"));
  moves(suite, folder, suite.option("--quick"));
  return suite.finish();
}
