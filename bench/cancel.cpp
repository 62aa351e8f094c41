// How long it takes from the commit that takes a running activity away to its stop token: on an idle worker,
// and on one whose threads are all busy. On a SQLite file whose commits wait for the disk.
//
//   bench_cancel [folder] [--quick]
#include "bench/disk.hpp"
#include "bench/harness.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLoad = 64;  // orchestrations in flight, of five activities at once each
constexpr std::size_t kTogether = 8;

/// Listens to the worker, which says how late each request to stop was.
class Listening final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::info; }
  void write(const LogRecord& record) noexcept override {
    for (const LogField& field : record.fields) {
      if (field.key != "after_us") continue;
      const auto* us = std::get_if<std::int64_t>(&field.value.variant());
      const std::lock_guard lock(mutex_);
      if (us != nullptr) ms_.push_back(static_cast<double>(*us) / 1000);
    }
  }
  std::vector<double> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ms_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<double> ms_;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(q * last + 0.5)];
}

Task<int> watches(Context& ctx) { co_return co_await ctx.activity<int>("watch"); }

Task<int> five_at_once(Context& ctx, int order) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < 5; ++i) parts.push_back(ctx.activity<int>("step", order));
  const std::vector<int> done = co_await when_all(std::move(parts));
  co_return done.back();
}

class CancelBench {
 public:
  explicit CancelBench(Suite& suite) : suite_(suite), quick_(suite.option("--quick")) {
    suite_.note("disk: " + folder_.file_system());
    runtime_.orchestration("watches", watches);
    runtime_.orchestration("five_at_once", five_at_once);
    runtime_.activity("step", [](ActivityContext&, int order) { return order; });
    runtime_.activity("watch", [this](ActivityContext& ctx) {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      ++watching_;
      changed.wait(lock, ctx.stop_token(), [] { return false; });
      --watching_;
      return 0;
    });
    runtime_.start();
  }

  void idle() { report("cancel_idle", cancel_many(quick_ ? 10 : 500)); }

  void loaded() {
    std::atomic<bool> over{false};
    std::vector<std::jthread> clients;
    for (std::size_t i = 0; i < kLoad; ++i) {
      clients.emplace_back([this, &over] {
        Client client = runtime_.client();
        while (!over) client.start("five_at_once", {.id = next_id()}, 1).wait<int>(60s);
      });
    }
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t before = last_id_;
    report("cancel_loaded", cancel_many(quick_ ? 10 : 500));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const double runs = static_cast<double>(last_id_ - before);
    over = true;
    suite_.add({.name = "load_orchestrations_per_s", .value = runs / seconds, .unit = "1/s"});
  }

 private:
  /// Some at a time, each in a wait of its own.
  std::vector<double> cancel_many(int rounds) {
    listening_->take();
    Client client = runtime_.client();
    for (int round = 0; round < rounds; ++round) {
      std::vector<Run> runs;
      for (std::size_t i = 0; i < kTogether; ++i) runs.push_back(client.start("watches", {.id = next_id()}));
      while (watching_ < static_cast<int>(kTogether)) std::this_thread::sleep_for(1ms);
      for (const Run& run : runs) run.cancel("enough");
      for (const Run& run : runs) static_cast<void>(run.result<int>(60s));
      while (watching_ > 0) std::this_thread::sleep_for(1ms);
    }
    return listening_->take();
  }

  void report(const std::string& name, const std::vector<double>& ms) {
    suite_.add({.name = name + "_p50_ms", .value = quantile(ms, 0.5), .unit = "ms"});
    suite_.add({.name = name + "_p99_ms", .value = quantile(ms, 0.99), .unit = "ms"});
    suite_.add({.name = name + "_samples", .value = static_cast<double>(ms.size()), .unit = ""});
  }

  std::string next_id() { return "i" + std::to_string(++last_id_); }

  Suite& suite_;
  bool quick_;
  DiskFolder folder_;
  std::shared_ptr<Listening> listening_ = std::make_shared<Listening>();
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<int> watching_{0};
  Runtime runtime_{sqlite(folder_ / "cancel.db"),
                   {.activity_slots = kLoad * 5 + kTogether, .logger = listening_}};
};

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  Suite suite("cancel", argc, argv);
  CancelBench bench(suite);
  bench.idle();
  bench.loaded();
  return suite.finish();
}
