// The command behind `./dev sim`: runs seeds until one fails, or one seed in detail.
#include "tests/sim/databases.hpp"
#include "tests/sim/workloads/workloads.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace holdfast;

constexpr std::string_view kUsage =
    "usage: simulate [--seeds N] [--from N]      run N seeds (1,000), beginning with the given one (1)\n"
    "       --seconds N                          begin none of them later than that\n"
    "       simulate --seed N [--steps] [--until STEP]\n"
    "                                            run one seed; --steps tells every step of it\n"
    "       --store memory | sqlite | file       the memory store (the default), SQLite in memory, or a "
    "SQLite file\n"
    "                                            that each process opens for itself\n";

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  std::chrono::seconds at_most = std::chrono::hours(24);
  holdfast::testing::SimulationOptions options{};
};

bool parse(int count, char** values, Arguments& arguments) {
  arguments.options.replay_hint = "./dev sim --seed {} --steps";
  arguments.options.faults.executors = true;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = values[i];
    if (name == "--steps") {
      arguments.options.print = true;
      continue;
    }
    if (++i == count) return false;
    if (name == "--store") {
      const std::string_view store = values[i];
      if (!sim::is_database(store)) return false;
      arguments.options.database = sim::database(store);
      if (store != "memory") arguments.options.replay_hint += " --store " + std::string(store);
      continue;
    }
    const std::uint64_t value = std::strtoull(values[i], nullptr, 10);
    if (name == "--seeds") {
      arguments.count = value;
    } else if (name == "--seconds") {
      arguments.at_most = std::chrono::seconds(value);
    } else if (name == "--from") {
      arguments.first = value;
    } else if (name == "--seed") {
      arguments.first = value;
      arguments.count = 1;
    } else if (name == "--until") {
      arguments.options.until_step = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  if (!parse(count, values, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  holdfast::testing::SimulationReport sum;
  std::uint64_t held = 0;
  for (; held < arguments.count; ++held) {
    if (held > 0 && std::chrono::steady_clock::now() - began >= arguments.at_most) break;
    const auto report =
        holdfast::testing::simulate(sim::everything, arguments.first + held, arguments.options);
    sum.steps += report.steps;
    sum.store_calls += report.store_calls;
    sum.faults += report.faults;
    sum.time += report.time;
    if (!report.failure) continue;
    std::cout << report.failure->text() << "\n";
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::cout << held << " seeds held: " << sum.steps << " steps, " << sum.store_calls
            << " calls of the store, " << sum.faults << " faults, "
            << std::chrono::duration_cast<std::chrono::minutes>(sum.time).count()
            << " minutes of virtual time in " << seconds << " s\n";
  return 0;
}
