// Large numbers of one thing.
#include "stores_test.hpp"

#include <numeric>

namespace holdfast::e2e::scale_test {
namespace {

class ScaleTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(ScaleTest);

constexpr Duration kLate = 10 * kSoon;  // much is asked for, and the machine may be busy

Task<int> drains(Context& ctx) {
  co_await ctx.event<int>("begin");
  const std::vector<int> all = co_await ctx.mailbox<int>("numbers").drain();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<int>(i)) co_return -1;
  }
  co_return static_cast<int>(all.size());
}

TEST_P(ScaleTest, TenThousandMessagesAreDrainedInOneGo) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("drains", drains); });
  std::vector<int> numbers(10'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Run run = rt->client().start("drains", {.id = "d"});
  rt->client().send_all("d", "numbers", numbers);
  run.raise("begin", 1);
  EXPECT_EQ(run.wait<int>(kLate), 10'000);
}

struct Counted {
  int generation = 0;
  int sum = 0;
};
Task<int> one(Context&) { co_return 1; }
Task<int> generations(Context& ctx, Counted counted, int last) {
  counted.sum += co_await ctx.child<int>("one");
  if (++counted.generation == last) co_return counted.sum;
  co_await ctx.continue_as_new(counted, last);
}

TEST_P(ScaleTest, AThousandGenerationsWithAChildEach) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("one", one);
    r.orchestration("generations", generations);
  });
  const Counted none;
  const Run run = rt->client().start("generations", {.id = "g"}, none, 1'000);
  EXPECT_EQ(run.wait<int>(kLate), 1'000);
  EXPECT_EQ(run.info().execution, ExecutionNumber{1'000});
}

// Every third part fails at first, every tenth for good.
Task<int> fans_in(Context& ctx, int width) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < width; ++i)
    parts.push_back(ctx.activity<int>("part", {.retry = {.max_attempts = 3, .first_delay = 1ms}}, i));
  int sum = 0;
  for (const Result<int>& part : co_await when_all_settled(std::move(parts))) sum += part ? *part : 0;
  co_return sum;
}

TEST_P(ScaleTest, AFanInOfAThousandWithFailuresAndRetries) {
  const auto rt = runtime({.activity_slots = 16}, [](Runtime& r) {
    r.activity("part", [](ActivityContext& ctx, int i) {
      if (i % 10 == 0) throw ActivityFailure("broken", "for good", false);
      if (i % 3 == 0 && ctx.attempt() < 3) throw ActivityFailure("busy", "not now");
      return 1;
    });
    r.orchestration("fans_in", fans_in);
  });
  EXPECT_EQ(rt->client().start("fans_in", {.id = "f"}, 1'000).wait<int>(kLate), 900);
}

}  // namespace
}  // namespace holdfast::e2e::scale_test
