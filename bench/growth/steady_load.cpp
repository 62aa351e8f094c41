// Tails and memory: the same load for a minute, or for as many as it is asked for, with whatever the store
// does by itself now and then. Latencies and the resident memory are noted 60 times on the way.
#include "bench/growth/latencies.hpp"
#include "bench/growth/parts.hpp"
#include "bench/growth/resident.hpp"
#include "bench/growth/sampler.hpp"
#include "bench/runtime_load.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kInFlight = 64;
constexpr int kSamples = 60;

struct Course {
  Line p50{.name = "p50"};
  Line p99{.name = "p99"};
  Line memory{};  ///< MiB
  Spread all{};
  double steps_per_s = 0;

  /// Of the second half: before that the memory is filled with what stays there.
  [[nodiscard]] double mib_per_minute() const {
    const auto warm = static_cast<std::ptrdiff_t>(memory.points.size() / 2);
    return 60 * slope({memory.points.begin() + warm, memory.points.end()});
  }
  [[nodiscard]] double worst_p99() const { return std::ranges::max_element(p99.points, {}, &Point::y)->y; }
};

Course run(std::shared_ptr<Store> store, Shape shape, std::chrono::milliseconds length, std::size_t ids) {
  Latencies latencies;
  Course course;
  const auto load = runtime_load(std::move(store), shape, kInFlight,
                                 {.ids = ids, .ended = [&](double us) { latencies.note(us); }});
  load->run(std::min<std::chrono::milliseconds>(length / 10, 2s));
  latencies.take();
  const auto look = [&](double seconds) {
    const Spread since_last = latencies.take();
    if (since_last.total() > 0) {
      course.p50.points.push_back({seconds, since_last.ms(0.5)});
      course.p99.points.push_back({seconds, since_last.ms(0.99)});
      course.all.add(since_last);
    }
    course.memory.points.push_back({seconds, resident_mib()});
  };
  const Sampler sampler(length / kSamples, look);
  course.steps_per_s = load->run(length).steps_per_s();
  return course;
}

void report(Workbench& bench, const std::string& name, const Course& course) {
  const double p50 = course.all.ms(0.5);
  const double p99 = course.all.ms(0.99);
  bench.add({.name = name + "_steps_per_s", .value = course.steps_per_s, .unit = "1/s"});
  bench.add({.name = name + "_p50_ms", .value = p50, .unit = "ms"});
  bench.add({.name = name + "_p99_ms", .value = p99, .unit = "ms", .ratio = p99 / p50, .ratio_to = "p50"});
  bench.add({.name = name + "_worst_p99_ms", .value = course.worst_p99(), .unit = "ms"});
  bench.add({.name = name + "_resident_mib", .value = course.memory.points.back().y, .unit = "MiB"});
  bench.add({.name = name + "_resident_growth_mib_per_min", .value = course.mib_per_minute(), .unit = "MiB"});
}

}  // namespace

void steady_load(Workbench& bench) {
  const std::size_t minutes = bench.suite().number_of("--minutes", 0);
  const std::chrono::milliseconds length = minutes > 0     ? std::chrono::minutes(minutes)
                                           : bench.quick() ? 3s
                                                           : 60s;
  // In a long load ids begin anew, or the disk would fill up with instances that have ended.
  const std::size_t ids = minutes > 0 ? 100'000 : 0;
  std::vector<Line> memory;
  for (const Shape shape : {Shape::p5, Shape::s5}) {
    return_freed_memory();
    const std::string of(to_string(shape));
    const std::optional<std::uint64_t> vacuumed = bench.autovacuums();
    Course course = run(bench.new_store(), shape, length, ids);
    report(bench, "steady_" + of + "_c64", course);
    if (const auto now = bench.autovacuums()) {
      bench.add(
          {.name = "steady_" + of + "_c64_autovacuums", .value = static_cast<double>(*now - *vacuumed)});
    }
    bench.draw("latency-" + of, {.title = "latency of " + of + " at c = 64",
                                 .x = {"seconds"},
                                 .y = {"latency (ms)"},
                                 .lines = {course.p50, course.p99},
                                 .marks = {{3 * course.all.ms(0.5), "three times the p50"}}});
    course.memory.name = of;
    memory.push_back(std::move(course.memory));
  }
  bench.draw("memory-steady", {.title = "resident memory under load at c = 64",
                               .x = {"seconds"},
                               .y = {"resident memory (MiB)"},
                               .lines = std::move(memory)});
}

}  // namespace holdfast::bench
