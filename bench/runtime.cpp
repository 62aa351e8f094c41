// The whole of it, through the public API: a Runtime and its Client on a new SQLite file whose commits wait
// for the disk, beside what SQLite and the store allow in the same rounds. docs/benchmarks.md says what each
// figure means.
//
//   bench_runtime [folder] [--quick]
//   bench_runtime [folder] [--quick] --postgres      the same on a PostgreSQL server
//   bench_runtime --load=p5 [--in-flight=64] [--seconds=10] [--memory | --postgres] [--callbacks]
//                                                    one load, for a profiler
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/load.hpp"
#include "bench/postgres_processes.hpp"
#include "bench/postgres_server.hpp"
#include "bench/raw_sql.hpp"
#include "bench/runtime_load.hpp"
#include "bench/runtime_postgres.hpp"
#include "bench/runtime_shapes.hpp"
#include "bench/workload.hpp"

#include <holdfast/memory.hpp>
#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

using namespace std::chrono_literals;

class RuntimeBench {
 public:
  RuntimeBench(Suite& suite, bool quick)
      : suite_(suite),
        quick_(quick),
        rounds_(quick ? Rounds{.count = 3, .length = 200ms} : Rounds{.count = 5}) {
    suite_.note("disk: " + folder_.file_system());
  }

  void against_ceilings() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      for (const std::size_t in_flight : {1U, 16U, 64U, 256U}) against_ceilings(shape, in_flight);
    }
  }

  void idle() {
    const double percent = idle_cpu_percent(sqlite(new_file()), quick_ ? 2s : 6s);
    suite_.add({.name = "idle_cpu_percent", .value = percent, .unit = "%"});
  }

  void few_slots() {
    const double rate = few_slots_per_s(sqlite(new_file()), quick_ ? 2s : 6s);
    suite_.add({.name = "duroxide_orchestrations_per_s", .value = rate, .unit = "1/s"});
    suite_.add({.name = "duroxide_ceiling_ratio", .value = rate / kFewSlotsCeiling, .unit = "x"});
  }

  void oldest_row() {
    const Ages ages = oldest_ready_row(sqlite(new_file()), quick_ ? 1s : 4s);
    suite_.add({.name = "oldest_ready_row_p50_ms", .value = ages.p50_ms, .unit = "ms"});
    suite_.add({.name = "oldest_ready_row_p99_ms", .value = ages.p99_ms, .unit = "ms"});
  }

 private:
  void against_ceilings(Shape shape, std::size_t in_flight) {
    const auto together = raw_sql(new_file(), shape, in_flight, Start::with_first_turn);
    const auto apart = raw_sql(new_file(), shape, in_flight, Start::apart);
    const auto store = store_load(sqlite(new_file()), {.shape = shape, .in_flight = in_flight});
    const auto whole = runtime_load(sqlite(new_file()), shape, in_flight);
    const auto by_callbacks = runtime_load(sqlite(new_file()), shape, in_flight, {.callbacks = true});
    const std::array<Contender*, 5> contenders{whole.get(), together.get(), apart.get(), store.get(),
                                               by_callbacks.get()};
    const std::vector<Measured> measured = contest(contenders, rounds_);
    const std::string of = std::string(to_string(shape)) + "_c" + std::to_string(in_flight);
    const std::array<std::string, 5> names{"sqlite_" + of, "ceiling_" + of, "ceiling_started_apart_" + of,
                                           "sqlite_store_" + of, "sqlite_callbacks_" + of};
    for (std::size_t i = 0; i < names.size(); ++i) {
      suite_.add({.name = names[i] + "_steps_per_s", .value = measured[i].steps_per_s(), .unit = "1/s"});
      suite_.add({.name = names[i] + "_p50_ms", .value = measured[i].latency(0.5) / 1000, .unit = "ms"});
      suite_.add({.name = names[i] + "_p99_ms", .value = measured[i].latency(0.99) / 1000, .unit = "ms"});
    }
    const Times& ours = measured[0].step_time;
    add_ratio(names[0] + "_of_ceiling", speedup(ours, measured[1].step_time));
    add_ratio(names[0] + "_of_ceiling_started_apart", speedup(ours, measured[2].step_time));
    add_ratio(names[0] + "_of_store", speedup(ours, measured[3].step_time));
    add_ratio(names[4] + "_of_ceiling", speedup(measured[4].step_time, measured[1].step_time));
  }

  std::filesystem::path new_file() { return folder_ / (std::to_string(++files_) + ".db"); }
  void add_ratio(const std::string& name, double ratio) {
    suite_.add({.name = name, .value = ratio, .unit = "x"});
  }

  Suite& suite_;
  bool quick_;
  Rounds rounds_;
  DiskFolder folder_;
  int files_ = 0;
};

// With what the runtime counted, of which the turns tell how many completions each took in.
int run_load(const Suite& suite) {
  const Shape shape = *suite.value_of("--load") == "s5" ? Shape::s5 : Shape::p5;
  const std::size_t in_flight = suite.number_of("--in-flight", 64);
  const DiskFolder folder;
  const auto metrics = std::make_shared<Metrics>();
  std::optional<PostgresServer> server;
  if (suite.option("--postgres")) server.emplace();
  const auto store = server                     ? server->store()
                     : suite.option("--memory") ? memory()
                                                : sqlite(folder / "load.db");
  const auto load =
      runtime_load(store, shape, in_flight, {.metrics = metrics, .callbacks = suite.option("--callbacks")});
  run_alone(suite, *load, std::string(to_string(shape)) + "_c" + std::to_string(in_flight));
  std::printf("%s\n", metrics->prometheus().c_str());
  return 0;
}

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  be_process(argc, argv);
  const bool on_server = std::find(argv, argv + argc, std::string_view("--postgres")) != argv + argc;
  Suite suite(on_server ? "runtime-postgres" : "runtime", argc, argv);
  if (suite.value_of("--load")) return run_load(suite);
  if (on_server) {
    run_on_postgres(suite, suite.option("--quick"));
    return suite.finish();
  }
  RuntimeBench bench(suite, suite.option("--quick"));
  bench.against_ceilings();
  bench.idle();
  bench.few_slots();
  bench.oldest_row();
  return suite.finish();
}
