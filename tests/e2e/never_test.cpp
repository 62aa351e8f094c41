// Times beyond all measure: they are long, and nothing else.
#include "stores_test.hpp"
#include "testkit/support/outage.hpp"

#include <future>
#include <vector>

namespace holdfast::e2e::never_test {
namespace {

using support::Outage;

constexpr Duration kCenturies = 24h * 365 * 400;

class Never : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(Never);

Task<std::string> sleeps(Context& ctx, std::int64_t time) {
  Future<int> end = ctx.event<int>("end").start();
  const auto first = co_await race(ctx.sleep(Duration(time)), end);
  co_return first.index() == 0 ? "slept" : "told";
}

TEST_P(Never, ASleepOfCenturiesIsStillOnWhenItsInstanceIsToldToEnd) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("sleeps", sleeps); });
  Client client = rt->client();
  std::vector<Run> runs;
  for (const Duration time : {kCenturies, never - 1us, never}) {
    runs.push_back(client.start("sleeps", {.id = std::to_string(time.count())}, time.count()));
  }
  for (const Run& run : runs) {
    EXPECT_TRUE(eventually([&] { return client.describe(run.id()).waits.size() == 2; }));
    run.raise("end", 1);
    EXPECT_EQ(run.wait<std::string>(kSoon), "told");
  }
}

TEST_P(Never, AWaitOfCenturiesEndsWithWhatItWaitsFor) {
  const auto rt = runtime(add_program);
  Client client = rt->client();
  for (const Duration time : {kCenturies, never}) {
    const auto run = client.start("told", {.id = std::to_string(time.count())});
    auto result = std::async(std::launch::async, [&] { return run.result<int>(time); });
    EXPECT_TRUE(eventually([&] { return !client.describe(run.id()).waits.empty(); }));
    run.raise("end", 7);
    EXPECT_EQ(result.get().value(), 7);
  }
}

TEST_P(Never, AnAttemptMayTakeCenturies) {
  static constexpr auto kPatient = [](Context& ctx) -> Task<int> {
    co_return co_await ctx.activity<int>("wait", {.timeout = kCenturies, .schedule_to_start = kCenturies});
  };
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("patient", +kPatient);
    r.activity("wait", [](ActivityContext& ctx) { return ctx.stop_token().stop_requested() ? 0 : 1; });
  });
  EXPECT_EQ(rt->client().start("patient", {.id = "p"}).wait<int>(kSoon), 1);
}

TEST_P(Never, ACallThatIsRetriedForEverSurvivesAnOutage) {
  Outage outage;
  Client client(store(&outage), {.retry_for = never});
  outage.begin();
  auto started = std::async(std::launch::async, [&] { return client.start("told", {.id = "t"}).id(); });
  outage.wait_for(3);
  outage.end();
  EXPECT_EQ(started.get(), "t");
}

TEST_P(Never, ADrainWithoutADeadlineEndsWhenNothingRuns) {
  const auto rt = runtime(add_program);
  EXPECT_EQ(rt->client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_TRUE(rt->drain(never));
}

/// This machine, before it was switched on.
class BelowZero final : public Clock {
 public:
  [[nodiscard]] CalendarTime calendar_now() const noexcept override { return real_clock().calendar_now(); }
  [[nodiscard]] BootTime boot_now() const noexcept override {
    return BootTime{-1h} + (real_clock().boot_now() - began_);
  }

 private:
  const BootTime began_ = real_clock().boot_now();
};

TEST(BelowZero, ADrainEndsAtItsDeadline) {
  const BelowZero clock;
  std::atomic<bool> begun{false};
  RuntimeOptions options = quiet();
  options.cancel_grace = 10ms;
  Runtime rt(memory({.clock = &clock}), options);
  add_program(rt);
  rt.activity("wait", [&](ActivityContext& ctx) {
    begun = true;
    while (!ctx.stop_token().stop_requested()) std::this_thread::yield();
    return 1;
  });
  rt.start();
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  rt.client().start("waiting", {.id = "w"});
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  EXPECT_FALSE(rt.drain(10ms));
}

}  // namespace
}  // namespace holdfast::e2e::never_test
