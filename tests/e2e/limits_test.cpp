// What happens at the limits: a warning before, a clear error after, and the parent is told.
#include "stores_test.hpp"

namespace holdfast::e2e::limits_test {
namespace {

class LimitsTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(LimitsTest);

constexpr Limits kSmall{.payload_bytes = 1'000,
                        .history_events = 40,
                        .history_bytes = 1U << 20U,
                        .open_operations = 10,
                        .values = 5,
                        .values_bytes = 500};

// Which limit it ran into, as code can catch it.
Task<std::string> oversized(Context& ctx, std::string what) {
  const std::string large(1'001, 'x');
  std::string caught = "nothing";
  try {
    if (what == "input") co_await ctx.activity<int>("length", large);
    if (what == "result") co_await ctx.activity<std::string>("make", 2'000);
    if (what == "child input") co_await ctx.child<int>("nobody", large);
    if (what == "side effect") co_await ctx.side_effect([] { return std::string(2'000, 'x'); });
    if (what == "status") ctx.set_status(large);
    if (what == "value") ctx.set_value("v", large);
    if (what == "values") {
      for (int i = 0; i < 6; ++i) ctx.set_value("v" + std::to_string(i), i);
    }
    if (what == "all values") {
      for (int i = 0; i < 5; ++i) ctx.set_value("v" + std::to_string(i), std::string(120, 'x'));
    }
    if (what == "operations") {
      std::vector<Op<void>> timers;
      for (int i = 0; i < 11; ++i) timers.push_back(ctx.sleep(1h));
      co_await when_all(std::move(timers));
    }
  } catch (const LimitError& e) {
    caught = e.failure().type;
  }
  // It goes on, also from its history.
  co_await ctx.sleep(1ms);
  co_return caught;
}
Task<std::string> too_long(Context&) { co_return std::string(2'000, 'x'); }
Task<int> never_goes_on(Context& ctx) {
  for (;;) co_await ctx.activity<int>("length", "abc");
}
Task<std::string> asks(Context& ctx, std::string child) {
  const Result<Payload> result = co_await ctx.child<Payload>(child).result();
  co_return result ? "ended" : result.error().type + " of " + result.error().source.substr(0, 13);
}

void add_code(Runtime& r) {
  r.activity("length", [](ActivityContext&, std::string text) { return static_cast<int>(text.size()); });
  r.activity("make",
             [](ActivityContext&, int size) { return std::string(static_cast<std::size_t>(size), 'x'); });
  r.orchestration("oversized", oversized);
  r.orchestration("too_long", too_long);
  r.orchestration("never_goes_on", never_goes_on);
  r.orchestration("asks", asks);
}

TEST_P(LimitsTest, CodeCanCatchWhatIsTooLargeOrTooMuch) {
  const auto rt = runtime({.limits = kSmall}, add_code);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"input", "payload_too_large"},       {"result", "payload_too_large"},
      {"child input", "payload_too_large"}, {"side effect", "payload_too_large"},
      {"status", "payload_too_large"},      {"value", "payload_too_large"},
      {"values", "too_many_values"},        {"all values", "values_too_large"},
      {"operations", "too_many_operations"}};
  for (const auto& [what, type] : cases) {
    EXPECT_EQ(rt->client().start("oversized", {.id = what}, what).wait<std::string>(kSoon), type) << what;
  }
}

TEST_P(LimitsTest, TheSameIsCaughtWhenTheCodeIsReplayed) {
  auto rt = runtime({.cached_instances = 1, .limits = kSmall}, add_code);
  std::vector<StartItem> items;
  for (int i = 0; i < 20; ++i) items.push_back(start_item("o" + std::to_string(i), "operations"));
  for (const Run& run : rt->client().start_all("oversized", items))
    EXPECT_EQ(run.wait<std::string>(kSoon), "too_many_operations");
}

TEST_P(LimitsTest, ParentsAreToldOfResultsAndHistoriesThatAreTooLong) {
  const auto rt = runtime({.limits = kSmall}, add_code);
  Client client = rt->client();
  EXPECT_EQ(client.start("asks", {.id = "1"}, "too_long").wait<std::string>(kSoon),
            "payload_too_large of orchestration");
  EXPECT_EQ(client.start("asks", {.id = "2"}, "never_goes_on").wait<std::string>(kSoon),
            "history_too_long of orchestration");
  EXPECT_TRUE(log->wait_for("instance approaching its limit"));
}

TEST_P(LimitsTest, ClientsAreToldAtOnce) {
  Client client(store(), {.max_payload_bytes = 1'000});
  const std::string large(1'001, 'x');
  const auto is_refused = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const ClientError& e) {
      return e.kind() == ClientError::Kind::invalid;
    }
    return false;
  };
  EXPECT_TRUE(is_refused([&] { client.start("oversized", {.id = "x"}, large); }));
  EXPECT_TRUE(is_refused([&] { client.raise("x", "event", large); }));
  EXPECT_TRUE(is_refused([&] { client.send("x", "mailbox", large); }));
  EXPECT_FALSE(client.find("x").has_value());
}

TEST_P(LimitsTest, TheClientOfARuntimeHasItsLimits) {
  const auto rt = runtime({.limits = {.payload_bytes = 1'000}}, [](Runtime&) {});
  EXPECT_THROW(rt->client().start("oversized", {.id = "x"}, std::string(1'001, 'x')), ClientError);
  EXPECT_FALSE(rt->client().find("x").has_value());
}

constexpr std::size_t kHuge = std::size_t{40} << 20U;

Task<int> loud(Context& ctx, std::string where) {
  if (where == "orchestration") throw std::runtime_error(std::string(kHuge, 'y'));
  if (where == "activity")
    co_await ctx.activity<int>("loud", {.retry = {.max_attempts = 2, .first_delay = 1ms}});
  if (where == "side effect") {
    auto effect = []() -> int { throw std::runtime_error(std::string(kHuge, 'y')); };
    co_await ctx.side_effect(effect);
  }
  co_return 1;
}

TEST_P(LimitsTest, WhatAnExceptionSaysIsCut) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("loud", [](ActivityContext&) -> int { throw std::runtime_error(std::string(kHuge, 'y')); });
    r.orchestration("loud", loud);
  });
  for (const std::string where : {"orchestration", "activity", "side effect"}) {
    const auto result = rt->client().start("loud", {.id = where}, where).result<int>(kSoon);
    ASSERT_FALSE(result);
    EXPECT_LT(result.error().message.size(), 32'769U) << where;
    EXPECT_TRUE(result.error().message.ends_with("y... (cut, of 41943040 bytes)")) << where;
  }
}

TEST_P(LimitsTest, OptionsThatMakeNoSenseAreRefusedWhereTheyAreGiven) {
  const auto rt = runtime(add_program);
  Client client = rt->client();
  const Run run = client.start("told", {.id = "a"});
  const auto complaint = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "fine";
  };
  EXPECT_EQ(
      complaint([&] { run.cancel(std::string(5U << 20U, 'r')); }),
      "holdfast: the request to cancel 'a': the reason has 5242880 bytes, and may have 4096; put what is "
      "longer into an event or a value");
  EXPECT_EQ(
      complaint([&] { run.terminate(std::string(4'097, 'r')); }),
      "holdfast: the request to terminate 'a': the reason has 4097 bytes, and may have 4096; put what is "
      "longer into an event or a value");
  EXPECT_EQ(complaint([&] { run.cancel({.terminate_after = -1s}, "now"); }),
            "holdfast: the request to cancel 'a': terminate_after is -1000 ms, and must be zero or more");
  EXPECT_EQ(complaint([&] { client.start("told", {.id = "b", .delay = -1s}); }),
            "holdfast: the start of 'b': delay is -1000 ms, and must be zero or more");
  EXPECT_EQ(run.status(), Status::running);
  run.cancel(std::string(4'096, 'r'));
  EXPECT_EQ(run.result<int>(kSoon).error().message.size(), 4'096U);
}

}  // namespace
}  // namespace holdfast::e2e::limits_test
