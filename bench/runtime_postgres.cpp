#include "bench/runtime_postgres.hpp"

#include "bench/load.hpp"
#include "bench/postgres_latency.hpp"
#include "bench/postgres_processes.hpp"
#include "bench/postgres_server.hpp"
#include "bench/raw_postgres.hpp"
#include "bench/runtime_load.hpp"
#include "bench/runtime_shapes.hpp"
#include "bench/session_moves.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return -1;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

class PostgresBench {
 public:
  PostgresBench(Suite& suite, bool quick)
      : suite_(suite),
        quick_(quick),
        rounds_(quick ? Rounds{.count = 2, .length = 300ms} : Rounds{.count = 5, .length = 700ms}) {}

  void against_ceilings() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      for (const std::size_t in_flight : {1U, 16U, 64U, 256U}) against_ceilings(shape, in_flight);
    }
  }

  /// Work that other processes take from the queue.
  void shared() {
    for (const Shape shape : {Shape::p5, Shape::s5}) {
      const std::string of = std::string(to_string(shape)) + "_c64";
      const double rate = shared_steps_per_s(server_.uri(), server_.new_schema(), shape, 64, length());
      add("postgres_shared_" + of + "_steps_per_s", rate, "1/s");
      const auto raw = raw_postgres(server_.uri(), server_.new_schema(), Way::shared, shape, 64);
      const double ceiling = raw->run(length()).steps_per_s();
      add("postgres_shared_" + of + "_of_ceiling", rate / ceiling, "x");
    }
  }

  void scaling() {
    double alone = 0;
    for (const std::size_t processes : {1U, 2U, 4U}) {
      const double rate = processes_steps_per_s(server_.uri(), server_.new_schema(), processes, Shape::p5,
                                                64 / processes, length());
      if (processes == 1) alone = rate;
      const std::string name = "postgres_p5_c64_in_" + std::to_string(processes) + "_processes";
      add(name + "_steps_per_s", rate, "1/s");
      if (processes > 1) add(name + "_of_one", rate / alone, "x");
    }
  }

  void latencies() {
    const std::string schema = server_.new_schema();
    const std::vector<double> cancels = cancel_ms([&] { return server_.open(schema); }, quick_ ? 20 : 500);
    add("postgres_cancel_p50_ms", quantile(cancels, 0.5), "ms");
    add("postgres_cancel_p99_ms", quantile(cancels, 0.99), "ms");
    const std::string other = server_.new_schema();
    const std::vector<double> moves =
        hand_over_ms([&] { return server_.open(other); }, quick_ ? 5 : 20, quick_ ? 2 : 10);
    add("postgres_handover_p50_ms", quantile(moves, 0.5), "ms");
    add("postgres_handover_p99_ms", quantile(moves, 0.99), "ms");
  }

  void rest() {
    add("postgres_idle_cpu_percent", idle_cpu_percent(server_.store(), quick_ ? 2s : 6s), "%");
    const double rate = few_slots_per_s(server_.store(), quick_ ? 2s : 6s);
    add("postgres_duroxide_ceiling_ratio", rate / kFewSlotsCeiling, "x");
  }

 private:
  void against_ceilings(Shape shape, std::size_t in_flight) {
    const auto whole = runtime_load(server_.store(), shape, in_flight);
    const auto store = store_load(server_.store(), {.shape = shape, .in_flight = in_flight});
    const auto raw = [&](Way way) {
      return raw_postgres(server_.uri(), server_.new_schema(), way, shape, in_flight);
    };
    const auto hand_off = raw(Way::hand_off);
    const auto queues = raw(Way::shared);
    std::vector<Contender*> contenders{whole.get(), store.get(), hand_off.get(), queues.get()};
    const auto naive = raw(Way::one_by_one);
    if (in_flight <= 64) contenders.push_back(naive.get());  // none of more would end in a round
    const std::vector<Measured> measured = contest(contenders, rounds_);
    const std::string of = std::string(to_string(shape)) + "_c" + std::to_string(in_flight);
    const std::array<std::string, 5> names{"postgres_" + of, "postgres_store_" + of, "postgres_ceiling_" + of,
                                           "postgres_ceiling_shared_" + of,
                                           "postgres_ceiling_one_by_one_" + of};
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      add(names[i] + "_steps_per_s", measured[i].steps_per_s(), "1/s");
      add(names[i] + "_p50_ms", measured[i].latency(0.5) / 1000, "ms");
      add(names[i] + "_p99_ms", measured[i].latency(0.99) / 1000, "ms");
    }
    add(names[0] + "_of_ceiling", speedup(measured[0].step_time, measured[2].step_time), "x");
    add(names[0] + "_of_store", speedup(measured[0].step_time, measured[1].step_time), "x");
  }

  [[nodiscard]] std::chrono::milliseconds length() const { return quick_ ? 500ms : 3000ms; }
  void add(const std::string& name, double value, const std::string& unit) {
    suite_.add({.name = name, .value = value, .unit = unit});
  }

  Suite& suite_;
  bool quick_;
  Rounds rounds_;
  PostgresServer server_{};
};

}  // namespace

void run_on_postgres(Suite& suite, bool quick) {
  PostgresBench bench(suite, quick);
  bench.against_ceilings();
  bench.shared();
  bench.scaling();
  bench.latencies();
  bench.rest();
}

}  // namespace holdfast::bench
