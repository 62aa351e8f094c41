// Queries: what code tells when it is asked between its turns, and that nothing comes of being asked.
#include "engine/driver_test.hpp"

#include <holdfast/handlers.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::engine::queries_test {
namespace {

/// Asks the frame in memory, one that only replayed, and the first one again: all say the same.
Result<Payload> ask_all(Driver& driver, std::string_view name, const Payload& arguments,
                        const std::shared_ptr<const detail::OrchestrationCode>& code) {
  const EventId before = driver.warm().next_event();
  Result<Payload> warm = driver.warm().ask(name, arguments).answer;
  Execution cold({.instance = "i-1", .build = "b1", .strict = true}, code);
  for (const std::string& segment : driver.segments()) EXPECT_TRUE(cold.replay(segment));
  const Result<Payload> replayed = cold.ask(name, arguments).answer;
  const Result<Payload> again = driver.warm().ask(name, arguments).answer;
  EXPECT_EQ(warm, replayed) << name;
  EXPECT_EQ(warm, again) << name;
  EXPECT_EQ(driver.warm().next_event(), before);
  return warm;
}

/// An orchestration under test, with its code for cold replays.
template <class F>
struct Asked {
  explicit Asked(F function) : code(detail::make_orchestration(function)), driver(function) {}

  template <class R, class... In>
  R query(std::string_view name, const In&... in) {
    const Result<Payload> answer = ask_all(driver, name, encode_args(in...), code);
    if (!answer) return ADD_FAILURE() << describe(answer.error()), R{};
    return decode<R>(*answer).value();
  }
  template <class... In>
  Failure refused(std::string_view name, const In&... in) {
    const Result<Payload> answer = ask_all(driver, name, encode_args(in...), code);
    if (answer) return ADD_FAILURE() << name << " was answered", Failure{};
    return answer.error();
  }

  std::shared_ptr<const detail::OrchestrationCode> code;
  Driver driver;
};

struct Progress {
  int done = 0;
  std::vector<std::string> names{};
};

Task<int> counts(Context& ctx) {
  auto& progress = ctx.state<Progress>();
  ctx.on_query(progress, "done", [](const Progress& now) { return now.done; });
  ctx.on_query(progress, "name",
               [](const Progress& now, int index) { return now.names.at(static_cast<std::size_t>(index)); });
  int sum = 0;
  const auto total = ctx.on_query("sum", [&sum] { return sum; });
  const auto times = ctx.on_query("times", [&sum](int factor, int plus) { return sum * factor + plus; });
  for (const char* const name : {"first", "second"}) {
    ctx.set_status(std::string(name));
    sum += co_await ctx.activity<int>(name);
    ++progress.done;
    progress.names.emplace_back(name);
  }
  co_return sum;
}

TEST(Queries, TellWhatTheCodeKnows) {
  Asked asked(counts);
  asked.driver.start();
  EXPECT_EQ(asked.query<int>("done"), 0);
  EXPECT_EQ(asked.query<int>("sum"), 0);
  asked.driver.step(asked.driver.completes(EventId{3}, 20));
  EXPECT_EQ(asked.query<int>("done"), 1);
  EXPECT_EQ(asked.query<int>("sum"), 20);
  EXPECT_EQ(asked.query<int>("times", 3, 7), 67);
  EXPECT_EQ(asked.query<std::string>("name", 0), "first");
}

TEST(Queries, OverTheStateAreAnsweredAfterTheEndAndOthersAreGone) {
  Asked asked(counts);
  asked.driver.start();
  asked.driver.step(asked.driver.completes(EventId{3}, 20));
  const Outcome last = asked.driver.step(asked.driver.completes(EventId{6}, 22));
  EXPECT_EQ(result_of<int>(last), 42);
  EXPECT_EQ(asked.query<int>("done"), 2);
  EXPECT_EQ(asked.query<std::string>("name", 1), "second");
  EXPECT_EQ(asked.refused("sum").type, "query_handler_gone");
}

TEST(Queries, OfTerminatedCodeAreAnsweredByItsState) {
  Asked asked(counts);
  asked.driver.start();
  asked.driver.step(asked.driver.completes(EventId{3}, 20));
  asked.driver.terminate("enough");
  EXPECT_EQ(asked.query<int>("done"), 1);
  EXPECT_EQ(asked.refused("sum").type, "query_handler_gone");
}

TEST(Queries, ThatNobodyAnswersNameThoseThatThereAre) {
  Asked asked(counts);
  asked.driver.start();
  const Failure failure = asked.refused("sun");
  EXPECT_EQ(failure.type, "query_not_found");
  EXPECT_EQ(failure.message,
            "'i-1' answers no query 'sun'; it answers: holdfast.queries, holdfast.stack, holdfast.status, "
            "holdfast.waits, done, "
            "name, sum, times");
  EXPECT_EQ(asked.refused("holdfast.what").type, "query_not_found");
}

TEST(Queries, BeforeTheFirstTurnAreRefused) {
  Execution execution({.instance = "i-1"}, detail::make_orchestration(counts));
  EXPECT_EQ(execution.ask("done", encode_args()).answer.error().type, "query_not_started");
}

TEST(Queries, WithArgumentsThatDoNotFitSaySo) {
  Asked asked(counts);
  asked.driver.start();
  EXPECT_EQ(asked.refused("times", std::string("three")).category, Category::decode);
  EXPECT_EQ(asked.refused("times", 1).category, Category::decode);
}

TEST(Queries, WhoseHandlerThrowsFailAndNothingElseDoes) {
  Asked asked(counts);
  asked.driver.start();
  const Failure failure = asked.refused("name", 7);
  EXPECT_EQ(failure.type, "std::out_of_range");
  EXPECT_EQ(failure.source, "query name");
  EXPECT_EQ(asked.query<int>("done"), 0);
}

// ---- what Holdfast answers itself -------------------------------------------------------------------

TEST(Queries, OfHoldfastTellTheStatusAndTheWaits) {
  using Names = std::vector<std::string>;
  Asked asked(counts);
  asked.driver.start();
  EXPECT_EQ(asked.query<Names>("holdfast.queries"), (Names{"done", "name", "sum", "times"}));
  EXPECT_EQ(asked.query<std::string>("holdfast.status"), "first");
  EXPECT_EQ(asked.query<std::vector<QueryWait>>("holdfast.waits"),
            (std::vector<QueryWait>{{.event = 3, .what = "activity 'first'"}}));
  asked.driver.step(asked.driver.completes(EventId{3}, 20));
  asked.driver.step(asked.driver.completes(EventId{6}, 22));
  EXPECT_EQ(asked.query<std::string>("holdfast.status"), "second");
  EXPECT_EQ(asked.query<Names>("holdfast.queries"), (Names{"done", "name"})) << "after the end";
  EXPECT_EQ(asked.query<std::vector<QueryWait>>("holdfast.waits"), std::vector<QueryWait>{});
}

Task<int> inner(Context& ctx) { co_return co_await ctx.activity<int>("work"); }
Task<int> outer(Context& ctx) {
  auto beside = ctx.sleep(std::chrono::hours(1)).start();
  const int got = co_await inner(ctx);
  co_await beside;
  co_return got;
}

TEST(Queries, OfHoldfastTellTheStackOfWhatWaits) {
  Asked asked(outer);
  asked.driver.start();
  const auto stacks = asked.query<std::vector<QueryStack>>("holdfast.stack");
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_EQ(stacks[0].wait.what, "a timer");
  EXPECT_TRUE(stacks[0].frames.empty()) << "nobody waits for it yet";
  EXPECT_EQ(stacks[1].wait.what, "activity 'work'");
  ASSERT_EQ(stacks[1].frames.size(), 2U);
  EXPECT_TRUE(stacks[1].frames[0].function.ends_with("inner")) << stacks[1].frames[0].function;
  EXPECT_TRUE(stacks[1].frames[1].function.ends_with("outer")) << stacks[1].frames[1].function;
  EXPECT_TRUE(stacks[1].frames[0].file.ends_with("queries_test.cpp"));
  EXPECT_GT(stacks[1].frames[1].line, stacks[1].frames[0].line);
}

// ---- guards -------------------------------------------------------------------------------------------

Task<> in_rounds(Context& ctx) {
  for (int round = 1; round <= 2; ++round) {
    {
      const auto guard = ctx.on_query("round", [&round] { return round; });
      co_await ctx.activity<void>("inside");
    }
    co_await ctx.activity<void>("outside");
  }
}

TEST(Queries, AreAnsweredForAsLongAsTheirGuardLives) {
  Asked asked(in_rounds);
  asked.driver.start();
  EXPECT_EQ(asked.query<int>("round"), 1);
  asked.driver.step(asked.driver.completes(EventId{3}));
  EXPECT_EQ(asked.refused("round").type, "query_handler_gone");
  asked.driver.step(asked.driver.completes(EventId{6}));
  EXPECT_EQ(asked.query<int>("round"), 2);
}

Task<std::string> registers_twice(Context& ctx) {
  const auto first = ctx.on_query("x", [] { return 1; });
  std::string said;
  try {
    const auto second = ctx.on_query("x", [] { return 2; });
  } catch (const std::logic_error& e) {
    said = e.what();
  }
  co_await ctx.activity<void>("work");
  co_return said;
}

struct Guards {
  std::vector<HandlerGuard> all{};
};

Task<> keeps_its_guard_in_the_state(Context& ctx) {
  ctx.state<Guards>().all.push_back(ctx.on_query("one", [] { return 1; }));
  co_await ctx.activity<void>("work");
}

TEST(Queries, MayHaveTheirGuardsInTheState) {
  Asked asked(keeps_its_guard_in_the_state);
  asked.driver.start();
  EXPECT_EQ(asked.query<int>("one"), 1);
  asked.driver.step(asked.driver.completes(EventId{3}));
  EXPECT_EQ(asked.refused("one").type, "query_handler_gone");
}

TEST(Queries, OfOneNameHaveOneHandler) {
  Asked asked(registers_twice);
  asked.driver.start();
  EXPECT_EQ(asked.query<int>("x"), 1);
  EXPECT_EQ(result_of<std::string>(asked.driver.step(asked.driver.completes(EventId{3}))),
            "holdfast: there is a handler of the query 'x' already; its guard has to go first");
}

Task<std::string> takes_reserved_names(Context& ctx) {
  try {
    const auto guard = ctx.on_query("holdfast.mine", [] { return 1; });
  } catch (const std::logic_error& e) {
    co_return e.what();
  }
  co_return "";
}

TEST(Queries, OfTheCodeHaveNamesOfTheirOwn) {
  Driver driver(takes_reserved_names);
  EXPECT_EQ(result_of<std::string>(driver.start()),
            "holdfast: the query 'holdfast.mine' can't be the code's: names that begin with 'holdfast.' are "
            "Holdfast's own");
}

Task<std::string> reads_a_local(Context& ctx) {
  Progress local;
  try {
    ctx.on_query(local, "done", [](const Progress& now) { return now.done; });
  } catch (const std::logic_error& e) {
    co_return e.what();
  }
  co_return "";
}

TEST(Queries, WithoutAGuardReadStatesOfTheExecutionOnly) {
  Driver driver(reads_a_local);
  EXPECT_EQ(
      result_of<std::string>(driver.start()),
      "holdfast: the handler of the query 'done' reads something that is no state of this execution; pass "
      "what ctx.state<S>() returns");
}

Task<std::string> registers_many(Context& ctx) {
  std::vector<HandlerGuard> guards;
  try {
    for (int i = 0;; ++i) guards.push_back(ctx.on_query("q" + std::to_string(i), [i] { return i; }));
  } catch (const LimitError& e) {
    co_return e.failure().type + " after " + std::to_string(guards.size());
  }
}

TEST(Queries, AreNoMoreThanAThousand) {
  Driver driver(registers_many);
  EXPECT_EQ(result_of<std::string>(driver.start()), "too_many_handlers after 1000");
}

// ---- what a handler may not do ------------------------------------------------------------------------

Task<> misuses(Context& ctx) {
  auto& progress = ctx.state<Progress>();
  auto later = ctx.activity<int>("work").start();
  const auto starts = ctx.on_query("start", [&ctx] {
    auto started = ctx.activity<int>("other").start();
    return 1;
  });
  const auto launches = ctx.on_query("launch", [&ctx] { return ctx.launch("another"); });
  const auto draws = ctx.on_query("random", [&ctx] { return ctx.random(); });
  const auto names = ctx.on_query("uuid", [&ctx] { return ctx.uuid(); });
  const auto says = ctx.on_query("status", [&ctx] {
    ctx.set_status(1);
    return 1;
  });
  const auto sets = ctx.on_query("value", [&ctx] {
    ctx.set_value("k", 1);
    return 1;
  });
  const auto marks = ctx.on_query("attribute", [&ctx] {
    ctx.set_attribute("customer", "acme");
    return 1;
  });
  const auto unmarks = ctx.on_query("no attribute", [&ctx] {
    ctx.clear_attribute<std::string>("customer");
    return 1;
  });
  const auto patches = ctx.on_query("patch", [&ctx] { return ctx.patched("p"); });
  const auto registers = ctx.on_query("register", [&ctx] {
    const auto guard = ctx.on_query("more", [] { return 1; });
    return 1;
  });
  const auto changes = ctx.on_query("state", [&ctx] { return ++ctx.state<Progress>().done; });
  const auto reads = ctx.on_query("reads", [&ctx, &later] {
    ctx.log("nobody sees this");
    return ctx.instance_id() + (later.ready() ? " ready" : " waits") + (ctx.replaying() ? " replays" : "");
  });
  const auto time = ctx.on_query("now", [&ctx] { return ctx.now(); });
  progress.done = co_await later;
}

TEST(Queries, MayOnlyRead) {
  Asked asked(misuses);
  const CalendarTime began = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);
  asked.driver.start();
  for (const char* const name : {"start", "launch", "random", "uuid", "status", "value", "attribute",
                                 "no attribute", "patch", "register", "state"}) {
    const Failure failure = asked.refused(name);
    EXPECT_EQ(failure.type, "read_only") << name << ": " << describe(failure);
    EXPECT_TRUE(failure.message.ends_with(" inside the handler of a query, which may only read"))
        << failure.message;
  }
  EXPECT_EQ(asked.query<std::string>("reads"), "i-1 waits");
  EXPECT_EQ(asked.query<CalendarTime>("now"), began + std::chrono::seconds(1)) << "the time of the last turn";
  const Outcome last = asked.driver.step(asked.driver.completes(EventId{3}, 5));
  EXPECT_NE(end_of<history::ExecutionCompleted>(last), nullptr);
}

Task<int> drops_in_handlers(Context& ctx) {
  std::optional<Future<int>> later = ctx.activity<int>("work").start();
  const auto drops = ctx.on_query("drop", [&later] {
    later.reset();
    return 1;
  });
  const auto detaches = ctx.on_query("detach", [&later] {
    std::move(*later).detach();
    return 1;
  });
  co_await ctx.event<int>("go");
  co_return 1;
}

// A destructor can't refuse: the frames are not to be used any more.
TEST(Queries, ThatDropOrDetachFuturesSpoilTheFrames) {
  for (const char* const name : {"drop", "detach"}) {
    Driver driver(drops_in_handlers);
    driver.start();
    const auto asked = driver.warm().ask(name, encode_args());
    ASSERT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().type, "read_only");
    EXPECT_TRUE(asked.spoiled);
  }
}

Task<std::string> drops_in_an_effect(Context& ctx) {
  auto later = std::make_shared<std::optional<Future<int>>>(ctx.activity<int>("work").start());
  auto effect = [later]() -> int {
    later->reset();
    return 1;
  };
  auto op = ctx.side_effect(effect);
  const auto got = co_await std::move(op).result();
  co_return got ? "taken" : got.error().type;
}

TEST(Queries, AreNotAloneInReadingSideEffectsMayNotDropEither) {
  Execution execution({.instance = "i-1"}, detail::make_orchestration(drops_in_an_effect));
  std::vector<Message> messages;
  messages.push_back({MessageId{1}, ExecutionNumber{1},
                      history::Started{.name = "test", .version = "1", .seed = 1, .history_budget = 100}});
  const Outcome outcome =
      execution.run({std::chrono::sys_days(std::chrono::year(2030) / 1 / 1), std::move(messages)});
  EXPECT_EQ(result_of<std::string>(outcome), "read_only");
}

}  // namespace
}  // namespace holdfast::engine::queries_test
