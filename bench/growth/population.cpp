// What a step costs beside instances that have nothing to do: it must not depend on how many there are. At
// each size the store is measured beside an empty one in the same rounds, through the public API and at its
// contract, and the resident memory is read.
#include "bench/growth/parts.hpp"
#include "bench/growth/resident.hpp"
#include "bench/load.hpp"
#include "bench/prefill.hpp"
#include "bench/runtime_load.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

Task<> wait_to_be_woken(Context& ctx) { co_await ctx.event<void>("wake"); }

/// Starts instances that wait for an event, and waits until they do. A runtime with their code has to be at
/// work; as many of their frames stay in its memory as its cache holds.
void fill_with_sleepers(Client client, std::size_t count, std::size_t before) {
  constexpr std::size_t kAtOnce = 1'000;
  for (std::size_t last = before; last < before + count;) {
    std::vector<StartItem> items(std::min(before + count - last, kAtOnce));
    for (StartItem& item : items) item = start_item("sleeper-" + std::to_string(++last));
    const std::vector<Run> runs = client.start_all("sleeper", items);
    // Ready instances are handed out in order: few others are on their way when the last one waits.
    while (runs.back().describe().waits.empty()) std::this_thread::sleep_for(1ms);
  }
}

class PopulationBench {
 public:
  explicit PopulationBench(Workbench& bench)
      : bench_(bench),
        rounds_(bench.quick() ? Rounds{.count = 3, .length = 100ms} : Rounds{}),
        sizes_(bench.quick() ? std::vector<std::size_t>{0, 1'000, 10'000}
                             : std::vector<std::size_t>{0, 10'000, 100'000, 1'000'000}) {
    const std::size_t most = bench.suite().number_of("--most", sizes_.back());
    std::erase_if(sizes_, [most](std::size_t size) { return size > most; });
  }

  /// Adds so many instances of a kind to those that are there.
  using Fill = std::function<void(const std::shared_ptr<Store>&, std::size_t count, std::size_t before)>;

  void beside(const std::string& kind, const Fill& fill) {
    return_freed_memory();
    for (std::vector<Line>* lines : {&steps_, &commits_, &memory_}) lines->push_back({.name = kind});
    const std::shared_ptr<Store> store = bench_.new_store();
    std::size_t before = 0;
    for (const std::size_t size : sizes_) {
      const std::string name = std::to_string(size) + "_" + kind + "_";
      {
        const auto load = a_runtime(store, ++loads_);
        const auto began = Clock::now();
        if (size > before) fill(store, size - before, before);
        const std::chrono::duration<double> taken = Clock::now() - began;
        std::cerr << size << " " << kind << ", filled in " << taken.count() << " s\n";
        before = size;
        // The empty store is a new one each time: what loads leave behind is in both.
        compare(steps_.back(), name + "step_us", size, *a_runtime(bench_.new_store(), 0), *load);
        const double mib = resident_mib();
        bench_.add({.name = name + "resident_mib", .value = mib, .unit = "MiB"});
        memory_.back().points.push_back({static_cast<double>(size), mib});
      }
      compare(commits_.back(), name + "commit_us", size, *a_store(bench_.new_store(), 0),
              *a_store(store, ++loads_));
    }
  }

  void draw() {
    const std::vector<Mark> marks{{0.8, ""}, {1.2, "+20 %"}};
    const Axis x{"idle instances", Scale::logarithmic};
    bench_.draw("step-by-population", {.title = "a step of p5 at c = 64, beside idle instances",
                                       .x = x,
                                       .y = {"time of a step (empty store = 1)"},
                                       .lines = steps_,
                                       .marks = marks});
    bench_.draw("commit-by-population", {.title = "fetch and commit of p5 at c = 64, beside idle instances",
                                         .x = x,
                                         .y = {"time of a step (empty store = 1)"},
                                         .lines = commits_,
                                         .marks = marks});
    bench_.draw("memory-by-population", {.title = "resident memory of the worker, by idle instances",
                                         .x = x,
                                         .y = {"resident memory (MiB)"},
                                         .lines = memory_});
  }

 private:
  static constexpr std::size_t kInFlight = 64;

  static std::unique_ptr<Contender> a_runtime(std::shared_ptr<Store> store, std::uint64_t number) {
    return runtime_load(
        std::move(store), Shape::p5, kInFlight,
        {.number = number, .also = [](Runtime& rt) { rt.orchestration("sleeper", wait_to_be_woken); }});
  }
  static std::unique_ptr<Contender> a_store(std::shared_ptr<Store> store, std::uint64_t number) {
    return store_load(std::move(store), {.in_flight = kInFlight, .first_id = number * 1'000'000'000});
  }

  void compare(Line& line, const std::string& name, std::size_t size, Contender& empty, Contender& full) {
    const std::array<Contender*, 2> both{&empty, &full};
    const std::vector<Measured> measured = contest(both, rounds_);
    const double cost = speedup(measured[0].step_time, measured[1].step_time);
    bench_.add({.name = name,
                .value = measured[1].step_time.median() / 1000,
                .unit = "us",
                .ratio = cost,
                .ratio_to = "an empty store"});
    line.points.push_back({static_cast<double>(size), cost});
  }

  Workbench& bench_;
  Rounds rounds_;
  std::vector<std::size_t> sizes_;
  std::uint64_t loads_ = 0;
  std::vector<Line> steps_;
  std::vector<Line> commits_;
  std::vector<Line> memory_;
};

}  // namespace

void population(Workbench& bench) {
  PopulationBench population(bench);
  population.beside("sleeping", [](const std::shared_ptr<Store>& store, std::size_t count,
                                   std::size_t before) { fill_with_sleepers(Client(store), count, before); });
  population.beside("timers", [](const std::shared_ptr<Store>& store, std::size_t count, std::size_t before) {
    fill_with_timers(*store, count, before);
  });
  population.beside("finished", [](const std::shared_ptr<Store>& store, std::size_t count,
                                   std::size_t before) { fill_with_finished(*store, count, before); });
  population.draw();
}

}  // namespace holdfast::bench
