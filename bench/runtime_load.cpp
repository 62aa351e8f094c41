#include "bench/runtime_load.hpp"

#include <holdfast/client.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr int kActivities = 5;
// Before the clock runs: until then instances are in flight at all stages.
constexpr auto kRunUp = 50ms;

// An empty session is none.
std::optional<std::string_view> session_or_none(const std::string& session) {
  return session.empty() ? std::nullopt : std::optional<std::string_view>(session);
}

// About as many bytes as the segments of the ceilings hold for each activity.
Task<std::string> in_parallel(Context& ctx, std::string order, std::string session) {
  std::vector<Op<std::string>> parts;
  for (int i = 0; i < kActivities; ++i) {
    parts.push_back(ctx.activity<std::string>(kActivityName, {.session = session_or_none(session)}, order));
  }
  const std::vector<std::string> receipts = co_await when_all(std::move(parts));
  co_return receipts.back();
}

Task<std::string> in_sequence(Context& ctx, std::string order, std::string session) {
  std::string receipt;
  for (int i = 0; i < kActivities; ++i) {
    receipt = co_await ctx.activity<std::string>(kActivityName, {.session = session_or_none(session)}, order);
  }
  co_return receipt;
}

std::string session_id(std::uint64_t number) { return "session-" + std::to_string(number); }

// One activity in each of these sessions, so that somebody holds them.
constexpr std::string_view kClaim = "claim";
Task<void> claim(Context& ctx, std::uint64_t from, std::uint64_t to) {
  std::vector<Op<std::string>> parts;
  for (std::uint64_t i = from; i < to; ++i) {
    const std::string session = session_id(i);
    parts.push_back(ctx.activity<std::string>(kActivityName, {.session = session}, session));
  }
  co_await when_all(std::move(parts));
}

class RuntimeLoad final : public Contender {
 public:
  RuntimeLoad(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight, RuntimeLoadOptions options)
      : in_flight_(in_flight),
        sessions_(options.sessions),
        callbacks_(options.callbacks),
        ids_(options.ids),
        ended_(std::move(options.ended)),
        last_id_(options.number * 1'000'000'000),
        runtime_(std::move(store), {.activity_slots = in_flight * kActivities,
                                    .session_limit = static_cast<std::uint32_t>(options.sessions),
                                    .logger = stderr_logger(LogLevel::warn),
                                    .metrics = std::move(options.metrics)}) {
    if (options.activities) {
      runtime_.activity(kActivityName, [](ActivityContext&, std::string order) { return order; });
    }
    runtime_.orchestration(kOrchestrationName, shape == Shape::p5 ? in_parallel : in_sequence);
    runtime_.orchestration(kClaim, claim);
    if (options.also) options.also(runtime_);
    runtime_.start();
    claim_sessions();
  }

  Round run(std::chrono::nanoseconds length) override {
    Round round{.seconds = std::chrono::duration<double>(length).count()};
    const auto begin = Clock::now() + kRunUp;
    const auto end = begin + length;
    if (callbacks_) {
      add(round, Callbacks(*this, begin, end).run(in_flight_));
      return round;
    }
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < in_flight_; ++i) {
      clients.emplace_back([&] {
        const Ended ended = be_client(begin, end);
        const std::lock_guard lock(mutex_);
        add(round, ended);
      });
    }
    for (std::thread& client : clients) client.join();
    return round;
  }

 private:
  void claim_sessions() {
    constexpr std::size_t kAtOnce = 100;
    std::vector<Run> runs;
    for (std::size_t from = 0; from < sessions_; from += kAtOnce) {
      const std::size_t to = std::min(from + kAtOnce, sessions_);
      runs.push_back(runtime_.client().start(kClaim, {.id = "claim-" + std::to_string(from)}, from, to));
    }
    for (const Run& run : runs) run.wait(60s);
  }

  /// Instances that ended while the clock ran.
  struct Ended {
    std::uint64_t count = 0;
    std::vector<double> latencies{};  ///< empty when somebody else gets them
  };
  void note(Ended& ended, Clock::duration latency) const {
    const double us = std::chrono::duration<double, std::micro>(latency).count();
    ++ended.count;
    if (ended_) {
      ended_(us);
    } else {
      ended.latencies.push_back(us);
    }
  }
  static void add(Round& round, const Ended& ended) {
    round.steps += kActivities * ended.count;
    round.latencies.insert(round.latencies.end(), ended.latencies.begin(), ended.latencies.end());
  }

  /// An instance to be started.
  struct Order {
    std::string id{};
    std::string session{};
    Clock::time_point started{};
  };
  Order next_order() {
    const std::uint64_t number = ids_ == 0 ? ++last_id_ : ++last_id_ % ids_;
    return {.id = instance_id(number),
            .session = sessions_ > 0 ? session_id(number % sessions_) : "",
            .started = Clock::now()};
  }
  [[nodiscard]] StartOptions start_options(const Order& order) const {
    return {.id = order.id, .reuse = ids_ == 0 ? Reuse::never : Reuse::after_end};
  }
  static void check(const Order& order, const std::string& output) {
    if (output != order.id) throw std::runtime_error("instance " + order.id + " gave '" + output + "'");
  }

  /// Clients without threads: all but run() happens in the thread that calls back.
  class Callbacks {
   public:
    Callbacks(RuntimeLoad& load, Clock::time_point begin, Clock::time_point end)
        : load_(load), client_(load.runtime_.client()), begin_(begin), end_(end) {}

    Ended run(std::size_t in_flight) {
      at_work_ = in_flight;
      for (std::size_t i = 0; i < in_flight; ++i) start_next();
      done_.get_future().get();
      return std::move(ended_);
    }

   private:
    void start_next() {
      const Order order = load_.next_order();
      client_.start_async(kOrchestrationName, load_.start_options(order), order.id, order.session)
          .then([this, order](ClientAnswer<Run> started) {
            std::move(started).value().wait_async<std::string>(60s).then(
                [this, order](ClientAnswer<std::string> output) { end(order, std::move(output).value()); });
          });
    }
    void end(const Order& order, const std::string& output) {
      check(order, output);
      const auto now = Clock::now();
      if (now < end_) {
        if (now >= begin_) load_.note(ended_, now - order.started);
        start_next();
      } else if (--at_work_ == 0) {
        done_.set_value();
      }
    }

    RuntimeLoad& load_;
    Client client_;
    const Clock::time_point begin_;
    const Clock::time_point end_;
    std::size_t at_work_ = 0;
    Ended ended_;
    std::promise<void> done_;
  };

  Ended be_client(Clock::time_point begin, Clock::time_point end) {
    Ended ended;
    Client client = runtime_.client();
    for (;;) {
      const Order order = next_order();
      check(order, client.start(kOrchestrationName, start_options(order), order.id, order.session)
                       .wait<std::string>(60s));
      const auto now = Clock::now();
      if (now >= end) return ended;
      if (now >= begin) note(ended, now - order.started);
    }
  }

  std::size_t in_flight_;
  std::size_t sessions_;
  bool callbacks_;
  std::size_t ids_;
  std::function<void(double)> ended_;
  std::atomic<std::uint64_t> last_id_;
  std::mutex mutex_;
  Runtime runtime_;
};

}  // namespace

std::unique_ptr<Contender> runtime_load(std::shared_ptr<Store> store, Shape shape, std::size_t in_flight,
                                        RuntimeLoadOptions options) {
  return std::make_unique<RuntimeLoad>(std::move(store), shape, in_flight, std::move(options));
}

}  // namespace holdfast::bench
