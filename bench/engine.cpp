// The replay engine by itself: how fast history is replayed, what a turn costs, what a waiting execution
// holds.
#include "bench/harness.hpp"
#include "codec/segment.hpp"
#include "engine/execution.hpp"

#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/detail/orchestration.hpp>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::bench {

using engine::Execution;
using engine::Message;
using engine::Outcome;
using Code = std::shared_ptr<const detail::OrchestrationCode>;

// ---- orchestrations -----------------------------------------------------------------------------

Task<> in_sequence(Context& ctx, int count) {
  for (int i = 0; i < count; ++i) co_await ctx.activity<void>("charge_card", i);
}

Task<> fan_out(Context& ctx, int count) {
  std::vector<Op<void>> parts;
  for (int i = 0; i < count; ++i) parts.push_back(ctx.activity<void>("resize_image", i));
  co_await when_all(std::move(parts));
}

Task<> five_at_once(Context& ctx) {
  for (;;) {
    co_await when_all(ctx.activity<void>("a", 1), ctx.activity<void>("b", 2), ctx.activity<void>("c", 3),
                      ctx.activity<void>("d", 4), ctx.activity<void>("e", 5));
  }
}

Task<std::string> greet(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

Task<int> answer(int value) { co_return value; }

Task<int> nested(Context&, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await answer(i);
  co_return sum;
}

// ---- driving them -------------------------------------------------------------------------------

constexpr int kForever = 1'000'000'000;

void require(bool fine, const std::string& what) {
  if (fine) return;
  std::cerr << "bench: " << what << '\n';
  std::exit(1);
}

Message message_of(auto body) { return {MessageId{1}, ExecutionNumber{1}, std::move(body)}; }

/// One execution with what a runtime does around it: the next turn completes what is open.
class Driver {
 public:
  explicit Driver(const Code& code)
      : execution_({.instance = "order-20300101-4711", .build = "2030.1.1"}, code) {}

  const Outcome& start(const Payload& input) {
    return turn({message_of(history::Started{
        .name = "bench", .version = "1", .input = input, .seed = 42, .history_budget = 10'000})});
  }
  /// Completes the oldest `count` open activities, all of them in one turn.
  const Outcome& step(std::size_t count) {
    std::vector<Message> messages;
    messages.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      messages.push_back(message_of(history::Completed{open_[done_++], Payload{kJsonEncoding, "null"}}));
    }
    return turn(std::move(messages));
  }
  [[nodiscard]] std::size_t open() const noexcept { return open_.size() - done_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return execution_.next_event().value - 1; }

 private:
  const Outcome& turn(std::vector<Message> messages) {
    now_ += std::chrono::milliseconds(3);
    last_ = execution_.run({now_, std::move(messages)});
    if (open() == 0) {
      open_.clear();
      done_ = 0;
    }
    for (const engine::Action& action : last_.actions) open_.push_back(action.id);
    return last_;
  }

  Execution execution_;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};
  std::vector<EventId> open_;
  std::size_t done_ = 0;
  Outcome last_;
};

/// The history of an execution from start to end, a segment for each turn.
struct History {
  Code code;
  std::vector<std::string> segments{};
  std::uint64_t events = 0;
};

History record(const Code& code, int activities, std::size_t completions_per_turn) {
  History history{code};
  Driver driver(code);
  history.segments.push_back(driver.start(encode(activities)).segment);
  while (driver.open() > 0) {
    history.segments.push_back(driver.step(std::min(driver.open(), completions_per_turn)).segment);
  }
  history.events = driver.events();
  return history;
}

void replay(const History& history) {
  Execution execution({.instance = "order-20300101-4711", .build = "2030.1.1"}, history.code);
  for (const std::string& segment : history.segments) {
    require(execution.replay(segment).has_value(), "a history can't be replayed");
  }
  require(execution.ended(), "the replay did not reach the end");
}

// ---- what is measured ---------------------------------------------------------------------------

Times divided(Times times, double by) {
  for (double& round : times.rounds) round /= by;
  return times;
}

/// Nanoseconds for each of the `count` things that one call does.
Times per_item(const std::function<void()>& function, double count) {
  return divided(race({function}, {.rounds = 21}).front(), count);
}

void replay_rates(Suite& suite) {
  const History sequence = record(detail::make_orchestration(in_sequence), 10'000, 1);
  const History fanned = record(detail::make_orchestration(fan_out), 10'000, 50);
  const auto times = race({[&] { replay(sequence); }, [&] { replay(fanned); }}, {.rounds = 51});
  const auto rate = [](const History& history, const Times& time) {
    return static_cast<double>(history.events) / time.median() * 1e9;
  };
  suite.add({.name = "replay_events_per_s", .value = rate(sequence, times[0]), .unit = "1/s"});
  suite.add({.name = "replay_fan_out_events_per_s", .value = rate(fanned, times[1]), .unit = "1/s"});
}

void turns(Suite& suite) {
  const Code greeting = detail::make_orchestration(greet);
  const Payload ada = encode("Ada");
  const auto first_turn = [&] { keep(Driver(greeting).start(ada)); };

  Driver sequence(detail::make_orchestration(in_sequence));
  sequence.start(encode(kForever));
  Driver parallel(detail::make_orchestration(five_at_once));
  parallel.start(encode(std::monostate{}));
  const auto times =
      race({first_turn, [&] { keep(sequence.step(1)); }, [&] { keep(parallel.step(parallel.open())); }});
  suite.add({.name = "first_turn_ns", .value = times[0].median(), .unit = "ns"});
  suite.add({.name = "turn_ns", .value = times[1].median(), .unit = "ns"});
  suite.add({.name = "turn_of_five_ns",
             .value = times[2].median(),
             .unit = "ns",
             .ratio = times[2].median() / times[1].median(),
             .ratio_to = "turn_ns"});
}

/// A warm turn must not cost more when history is long.
void long_histories(Suite& suite) {
  constexpr std::size_t kInstances = 64;
  const Code code = detail::make_orchestration(in_sequence);
  const auto make = [&](std::uint64_t events) {
    std::vector<std::unique_ptr<Driver>> drivers;
    for (std::size_t i = 0; i < kInstances; ++i) {
      drivers.push_back(std::make_unique<Driver>(code));
      drivers.back()->start(encode(kForever));
      while (drivers.back()->events() < events) drivers.back()->step(1);
    }
    return drivers;
  };
  const auto step_all = [](const std::vector<std::unique_ptr<Driver>>& drivers) {
    const auto started = std::chrono::steady_clock::now();
    for (const auto& driver : drivers) keep(driver->step(1));
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - started;
    return taken.count() / static_cast<double>(drivers.size());
  };
  const auto long_ones = make(10'000);
  Times with_short;
  Times with_long;
  for (int round = 0; round < 201; ++round) {
    // A turn makes a short history longer, so each round has new ones; the first turn warms the caches.
    const auto short_ones = make(10);
    step_all(short_ones);
    with_short.rounds.push_back(step_all(short_ones));
    step_all(long_ones);
    with_long.rounds.push_back(step_all(long_ones));
  }
  suite.add({.name = "turn_after_10_events_ns", .value = with_short.median(), .unit = "ns"});
  suite.add({.name = "turn_after_10000_events_ns",
             .value = with_long.median(),
             .unit = "ns",
             .ratio = speedup(with_short, with_long),
             .ratio_to = "turn_after_10_events_ns"});
}

/// What is done many times in one turn must cost the same each time.
void many_at_once(Suite& suite) {
  const Code nesting = detail::make_orchestration(nested);
  const auto await = [&](int count) {
    return per_item([&, count] { keep(Driver(nesting).start(encode(count))); }, count);
  };
  const Times thousand = await(1'000);
  const Times million = await(1'000'000);
  suite.add({.name = "nested_await_ns", .value = thousand.median(), .unit = "ns"});
  suite.add({.name = "nested_await_of_a_million_ns",
             .value = million.median(),
             .unit = "ns",
             .ratio = million.median() / thousand.median(),
             .ratio_to = "nested_await_ns"});

  const Code fanning = detail::make_orchestration(fan_out);
  const auto fan_in = [&](int parts) {
    return per_item(
        [&, parts] {
          Driver driver(fanning);
          driver.start(encode(parts));
          require(driver.step(driver.open()).end.has_value(), "a fan-in did not end");
        },
        parts);
  };
  const Times few = fan_in(100);
  for (const int parts : {1'000, 10'000}) {
    const Times many = fan_in(parts);
    suite.add({.name = "fan_in_of_" + std::to_string(parts) + "_ns",
               .value = many.median(),
               .unit = "ns",
               .ratio = many.median() / few.median(),
               .ratio_to = "a part of a fan-in of 100"});
  }
}

void idle_memory(Suite& suite) {
  constexpr std::size_t kInstances = 10'000;
  const Code code = detail::make_orchestration(greet);
  std::vector<std::unique_ptr<Execution>> executions(kInstances);
  const std::size_t before = mallinfo2().uordblks;
  for (auto& execution : executions) {
    execution = std::make_unique<Execution>(
        engine::Identity{.instance = "order-20300101-4711", .build = "2030.1.1"}, code);
    execution->run({CalendarTime{},
                    {message_of(history::Started{.name = "greet",
                                                 .version = "1",
                                                 .input = encode("Ada"),
                                                 .seed = 42,
                                                 .history_budget = 10'000})}});
  }
  const std::size_t held = mallinfo2().uordblks - before;
  suite.add({.name = "bytes_per_idle_orchestration",
             .value = static_cast<double>(held) / kInstances,
             .unit = "bytes"});
}

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  Suite suite("engine", argc, argv);
  idle_memory(suite);
  replay_rates(suite);
  turns(suite);
  long_histories(suite);
  many_at_once(suite);
  return suite.finish();
}
