// What a worker writes to its log, with threads and on each store.
#include "stores_test.hpp"

#include <regex>

namespace holdfast::e2e::logs_test {
namespace {

class LogsTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(LogsTest);

Task<int> many_fail(Context& ctx, int count) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < count; ++i) parts.push_back(ctx.activity<int>("fail", {.retry = {.max_attempts = 1}}));
  int failed = 0;
  for (const Result<int>& part : co_await when_all_settled(std::move(parts))) failed += part ? 0 : 1;
  co_return failed;
}

// The sum of what lines say that they left out of this kind.
int left_out(const std::string& lines, const std::string& message) {
  const std::regex said("were left out count=(\\d+) message=\"" + message + "\"");
  int sum = 0;
  for (std::sregex_iterator it(lines.begin(), lines.end(), said); it != std::sregex_iterator(); ++it)
    sum += std::stoi((*it)[1]);
  return sum;
}

TEST_P(LogsTest, ABurstOfFailuresIsCutShortAndAccountedFor) {
  constexpr int kCount = 1000;
  auto rt = runtime({.node_id = "w1"}, [](Runtime& r) {
    r.activity("fail", [](ActivityContext&) -> int { throw ActivityFailure("bad", "no luck"); });
    r.orchestration("many_fail", many_fail);
  });
  EXPECT_EQ(rt->client().start("many_fail", {.id = "burst"}, kCount).wait<int>(kSoon), kCount);
  rt.reset();
  const auto written = static_cast<int>(log->count("activity failed for good instance=burst activity=fail"));
  EXPECT_GE(written, 100);
  EXPECT_LT(written, kCount) << "a machine so slow that they all fit into their windows?";
  EXPECT_EQ(written + left_out(log->all(), "activity failed for good"), kCount);
  EXPECT_EQ(log->count("worker started"), 1U);
  EXPECT_EQ(log->count("worker stopped worker=w1"), 1U);
}

Task<int> talks(Context& ctx) {
  ctx.log("before", {{"orchestration_says", 1}});
  const int first = co_await ctx.event<int>("go");
  ctx.log(LogLevel::warn, "between", {{"first", first}});
  const int second = co_await ctx.event<int>("go");
  ctx.log("after");
  co_return first + second;
}

TEST_P(LogsTest, LinesOfTheCodeAreWrittenOnceHoweverOftenItIsReplayed) {
  for (int part = 0; part < 3; ++part) {  // each worker knows only what is in the store
    const auto rt =
        runtime({.node_id = "w" + std::to_string(part)}, [](Runtime& r) { r.orchestration("talks", talks); });
    if (part == 0) {
      const Run run = rt->client().start("talks", {.id = "t"});
      EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "go"); }));
      continue;
    }
    rt->client().raise("t", "go", part);
    if (part == 1) {
      EXPECT_TRUE(log->wait_for("between"));
    } else {
      EXPECT_EQ(rt->client().run("t").wait<int>(kSoon), 3);
    }
  }
  EXPECT_EQ(
      log->count("info  before instance=t orchestration=talks execution=1 orchestration_says=1 worker=w0"),
      1U)
      << log->all();
  EXPECT_EQ(log->count("warn  between instance=t orchestration=talks execution=1 first=1 worker=w1"), 1U);
  EXPECT_EQ(log->count("before"), 1U);
  EXPECT_EQ(log->count("between"), 1U);
  EXPECT_EQ(log->count("after instance=t orchestration=talks execution=1 worker=w2"), 1U);
}

Task<void> says_much(Context& ctx) {
  const std::string much(5000, 'x');
  ctx.log("much", {{"text", much}});
  co_return;
}

TEST_P(LogsTest, LongTextsInFieldsOfTheCodeAreCut) {
  const auto rt = runtime({.node_id = "w1"}, [](Runtime& r) { r.orchestration("says_much", says_much); });
  rt->client().start("says_much", {.id = "m"}).wait(kSoon);
  EXPECT_EQ(log->count(" text=" + std::string(1000, 'x') + " worker=w1"), 1U) << log->all();
}

}  // namespace
}  // namespace holdfast::e2e::logs_test
