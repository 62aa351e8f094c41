// Stores by themselves, without an engine: how near the SQLite store comes to what the disk and SQLite allow,
// and whether it stays as fast in a big database. Steps are completed activities; c is how many instances are
// in flight.
//
//   bench_store [folder] [--quick]
//   bench_store --load=p5 [--in-flight=64] [--seconds=10] [--threads=2] [--queued]   one load, for a profiler
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/load.hpp"
#include "bench/prefill.hpp"
#include "bench/raw_sql.hpp"
#include "bench/workload.hpp"

#include <holdfast/memory.hpp>
#include <holdfast/sqlite.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

using namespace std::chrono_literals;

std::string name_of(const std::string& who, Shape shape, std::size_t in_flight) {
  return who + "_" + std::string(to_string(shape)) + "_c" + std::to_string(in_flight);
}

void add_rates(Suite& suite, const std::string& name, const Measured& measured) {
  suite.add({.name = name + "_steps_per_s", .value = measured.steps_per_s(), .unit = "1/s"});
  suite.add({.name = name + "_p50_us", .value = measured.latency(0.5), .unit = "us"});
  suite.add({.name = name + "_p99_us", .value = measured.latency(0.99), .unit = "us"});
}

/// Two contenders, round by round.
std::pair<Measured, Measured> duel(Contender& a, Contender& b, const Rounds& rounds) {
  const std::array<Contender*, 2> both{&a, &b};
  std::vector<Measured> measured = contest(both, rounds);
  return {std::move(measured[0]), std::move(measured[1])};
}

class StoreBench {
 public:
  StoreBench(Suite& suite, bool quick)
      : suite_(suite), quick_(quick), rounds_(quick ? Rounds{.count = 3, .length = 200ms} : Rounds{}) {
    suite_.note("disk: " + folder_.file_system());
  }

  void disk() {
    suite_.add({.name = "fsync_p50_us", .value = sync_time(folder_, false), .unit = "us"});
    suite_.add({.name = "fdatasync_p50_us", .value = sync_time(folder_, true), .unit = "us"});
  }

  void against_ceiling() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      for (const std::size_t in_flight : {1U, 16U, 64U, 256U}) against_ceiling(shape, in_flight);
    }
  }

  /// Without a disk: what the contract itself and the driver cost.
  void in_memory() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      const auto load = store_load(memory(), {.shape = shape});
      const std::array<Contender*, 1> alone{load.get()};
      add_rates(suite_, name_of("memory_store", shape, 64), contest(alone, rounds_).front());
    }
  }

  void durable() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      const auto full = store_load(sqlite(new_file()), {.shape = shape});
      const auto normal =
          store_load(sqlite(new_file(), {.durability = Durability::normal}), {.shape = shape});
      const auto [durable, not_durable] = duel(*full, *normal, rounds_);
      const std::string name = name_of("sqlite_store_normal", shape, 64);
      add_rates(suite_, name, not_durable);
      add_ratio(name_of("sqlite_store_full_of_normal", shape, 64),
                speedup(durable.step_time, not_durable.step_time));
    }
  }

  /// Activities that go through the queue instead.
  void queued() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      const auto handed_off = store_load(sqlite(new_file()), {.shape = shape});
      const auto queued = store_load(sqlite(new_file()), {.shape = shape, .hand_off = false});
      const auto [local, through_queue] = duel(*handed_off, *queued, rounds_);
      const std::string name = name_of("sqlite_store_queued", shape, 64);
      add_rates(suite_, name, through_queue);
      add_ratio(name + "_of_hand_off", speedup(through_queue.step_time, local.step_time));
    }
  }

  void big_databases() {
    const std::size_t scale = quick_ ? 10'000 : 100'000;
    big("timers", [=](Store& store) { fill_with_timers(store, scale); });
    big("unservable", [=](Store& store) { fill_with_unservable(store, scale); });
    big("finished", [=](Store& store) { fill_with_finished(store, 10 * scale); });
  }

 private:
  void against_ceiling(Shape shape, std::size_t in_flight) {
    const auto together = raw_sql(new_file(), shape, in_flight, Start::with_first_turn);
    const auto apart = raw_sql(new_file(), shape, in_flight, Start::apart);
    const auto log = append_log(folder_, shape, in_flight);
    const auto load = store_load(sqlite(new_file()), {.shape = shape, .in_flight = in_flight});
    const std::array<Contender*, 4> contenders{together.get(), apart.get(), log.get(), load.get()};
    const std::vector<Measured> measured = contest(contenders, rounds_);
    const Times& ours = measured[3].step_time;
    add_rates(suite_, name_of("ceiling", shape, in_flight), measured[0]);
    add_rates(suite_, name_of("ceiling_started_apart", shape, in_flight), measured[1]);
    add_rates(suite_, name_of("log", shape, in_flight), measured[2]);
    const std::string name = name_of("sqlite_store", shape, in_flight);
    add_rates(suite_, name, measured[3]);
    add_ratio(name + "_of_ceiling", speedup(ours, measured[0].step_time));
    add_ratio(name + "_of_ceiling_started_apart", speedup(ours, measured[1].step_time));
    add_ratio(name + "_of_log", speedup(ours, measured[2].step_time));
  }

  std::filesystem::path new_file() { return folder_ / (std::to_string(++files_) + ".db"); }
  void add_ratio(const std::string& name, double ratio) {
    suite_.add({.name = name, .value = ratio, .unit = "x"});
  }

  /// What fetching and committing costs beside these rows, as a multiple of what it costs without.
  void big(const std::string& what, const std::function<void(Store&)>& fill) {
    const auto path = new_file();
    const auto began = Clock::now();
    fill(*sqlite(path, {.durability = Durability::off}));
    const std::chrono::duration<double> taken = Clock::now() - began;
    std::cerr << "filled a database with " << what << " in " << taken.count() << " s\n";
    for (const bool hand_off : {true, false}) {
      const auto small = store_load(sqlite(new_file()), {.hand_off = hand_off});
      const auto large =
          store_load(sqlite(path), {.hand_off = hand_off, .first_id = hand_off ? 0U : 1'000'000'000U});
      const auto [empty, full] = duel(*small, *large, rounds_);
      add_ratio("sqlite_store_" + what + (hand_off ? "_ratio" : "_queued_ratio"),
                speedup(empty.step_time, full.step_time));
    }
  }

  Suite& suite_;
  bool quick_;
  Rounds rounds_;
  DiskFolder folder_;
  int files_ = 0;
};

int run_load(const Suite& suite) {
  const Shape shape = *suite.value_of("--load") == "s5" ? Shape::s5 : Shape::p5;
  const std::size_t in_flight = suite.number_of("--in-flight", 64);
  const DiskFolder folder;
  const auto load = store_load(sqlite(folder / "load.db"),
                               {.shape = shape,
                                .in_flight = in_flight,
                                .hand_off = !suite.option("--queued"),
                                .turn_threads = static_cast<unsigned>(suite.number_of("--threads", 2))});
  run_alone(suite, *load, name_of("store", shape, in_flight));
  return 0;
}

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  Suite suite("store", argc, argv);
  if (suite.value_of("--load")) return run_load(suite);
  StoreBench bench(suite, suite.option("--quick"));
  bench.disk();
  bench.against_ceiling();
  bench.in_memory();
  bench.durable();
  bench.queued();
  bench.big_databases();
  return suite.finish();
}
