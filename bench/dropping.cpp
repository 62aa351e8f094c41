// What it costs to drop an activity that may just be ending: races of two, and timeouts as long as the
// activity, each beside a plain activity of the same length. One instance at a time, on each store.
//
//   bench_dropping [folder] [--quick]
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/laps.hpp"
#include "bench/postgres_server.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/random.hpp>
#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

constexpr int kRoundsOfInstance = 50;
constexpr std::uint64_t kLongest = 5'000;  // microseconds

/// What two activities of one round take. All contenders that get the same seed get the same ones.
struct Pair {
  Duration first{};
  Duration second{};
};
Pair draw(Random& random) {
  const auto some = [&] { return Duration(static_cast<Duration::rep>(below(random, kLongest + 1))); };
  const Duration first = some();
  return {first, some()};
}

Laps laps;  // one instance at a time

Op<int> take(Context& ctx, Duration time) { return ctx.activity<int>("take", time); }

Task<int> plain(Context& ctx, std::uint64_t seed, bool shorter_of_two) {
  SeededRandom random(seed);
  for (int i = 0; i < kRoundsOfInstance; ++i) {
    const Pair pair = draw(random);
    co_await take(ctx, shorter_of_two ? std::min(pair.first, pair.second) : pair.first);
    laps.note(ctx);
  }
  co_return 0;
}

Task<int> races(Context& ctx, std::uint64_t seed) {
  SeededRandom random(seed);
  for (int i = 0; i < kRoundsOfInstance; ++i) {
    const Pair pair = draw(random);
    co_await race(take(ctx, pair.first), take(ctx, pair.second));
    laps.note(ctx);
  }
  co_return 0;
}

Task<int> timeouts(Context& ctx, std::uint64_t seed) {
  SeededRandom random(seed);
  for (int i = 0; i < kRoundsOfInstance; ++i) {
    const Pair pair = draw(random);
    co_await with_timeout(take(ctx, pair.first), pair.first);
    laps.note(ctx);
  }
  co_return 0;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

class DroppingBench {
 public:
  DroppingBench(Suite& suite, std::string name, std::shared_ptr<Store> store)
      : suite_(suite),
        name_(std::move(name)),
        instances_(suite.option("--quick") ? 1 : 20),
        runtime_(std::move(store), {.activity_slots = 8, .logger = stderr_logger(LogLevel::warn)}) {
    runtime_.orchestration("plain", plain);
    runtime_.orchestration("races", races);
    runtime_.orchestration("timeouts", timeouts);
    runtime_.activity("take", [](ActivityContext&, Duration time) {
      std::this_thread::sleep_for(time);
      return 0;
    });
    runtime_.start();
  }

  // Instances of the contenders take turns, so that whatever else the machine does meets all of them.
  void run() {
    std::vector<double> shorter, race, first, timeout;
    for (std::uint64_t seed = 1; seed <= instances_; ++seed) {
      add(shorter, "plain", seed, true);
      add(race, "races", seed);
      add(first, "plain", seed, false);
      add(timeout, "timeouts", seed);
    }
    report("race", race, shorter);
    report("timeout", timeout, first);
  }

 private:
  template <class... In>
  void add(std::vector<double>& all, const char* orchestration, const In&... in) {
    laps.begin();
    runtime_.client()
        .start(orchestration, {.id = "i" + std::to_string(++last_id_)}, in...)
        .template wait<int>(10min);
    const std::vector<double> some = laps.take();
    all.insert(all.end(), some.begin(), some.end());
  }

  void report(const std::string& what, const std::vector<double>& ms, const std::vector<double>& plain_ms) {
    for (const auto& [label, q] : {std::pair{"p50", 0.5}, std::pair{"p99", 0.99}}) {
      const std::string of = name_ + "_" + what;
      const double ours = quantile(ms, q);
      const double theirs = quantile(plain_ms, q);
      suite_.add({.name = of + "_plain_" + label + "_ms", .value = theirs, .unit = "ms"});
      suite_.add({.name = of + "_" + label + "_ms",
                  .value = ours,
                  .unit = "ms",
                  .ratio = ours / theirs,
                  .ratio_to = "a plain activity"});
    }
  }

  Suite& suite_;
  const std::string name_;
  const std::uint64_t instances_;
  int last_id_ = 0;
  Runtime runtime_;
};

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  Suite suite("dropping", argc, argv);
  const DiskFolder folder;
  suite.note("disk: " + folder.file_system());
  DroppingBench(suite, "memory", holdfast::memory()).run();
  DroppingBench(suite, "sqlite", holdfast::sqlite(folder / "dropping.db")).run();
  try {
    PostgresServer server;
    DroppingBench(suite, "postgres", server.store()).run();
  } catch (const std::exception& e) {
    suite.note(std::string("not on PostgreSQL: ") + e.what());
  }
  return suite.finish();
}
