// The harness: what a test can do to an orchestration, and what it is told.
#include "testkit/support/lines.hpp"

#include <holdfast/saga.hpp>
#include <holdfast/testing/replay.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace holdfast::testing {
namespace {

using support::Lines;
using namespace std::chrono_literals;
using State = ReplayHarness::State;

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

std::string message_of(const std::function<void()>& wrong) {
  try {
    wrong();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "it was accepted";
}

TEST(ReplayHarness, RunsAnOrchestrationToItsResult) {
  ReplayHarness run;
  EXPECT_EQ(run.state(), State::not_started);
  run.start(hello, "Ada");
  EXPECT_EQ(run.state(), State::running);
  ASSERT_EQ(run.open().size(), 1U);
  EXPECT_EQ(run.open("greet").kind, OperationKind::activity);
  EXPECT_EQ(run.open("greet").input_as<std::string>(), "Ada");
  run.complete("greet", "Hello, Ada!");
  EXPECT_EQ(run.state(), State::completed);
  EXPECT_EQ(run.result<std::string>().value(), "Hello, Ada!");
  EXPECT_TRUE(run.open().empty());
}

Task<int> talks(Context& ctx) {
  ctx.log("begins", {{"attempt", ctx.attempt()}});
  const int number = co_await ctx.activity<int>("count");
  ctx.log(LogLevel::warn, "counted", {{"number", number}});
  co_return number;
}

TEST(ReplayHarness, LinesOfTheCodeAreWrittenOnceAndNotOnReplay) {
  const auto lines = std::make_shared<Lines>();
  ReplayHarness run({.logger = lines});
  run.start(talks);
  run.forget();
  EXPECT_EQ(lines->count("info  begins attempt=1"), 1U);
  run.complete("count", 7);
  EXPECT_EQ(lines->count("warn  counted number=7"), 1U);
  EXPECT_EQ(lines->count("begins"), 1U) << lines->all();
}

TEST(ReplayHarness, AFailureHasItsSource) {
  ReplayHarness run;
  run.start(hello, "Ada");
  run.fail("greet", "no_voice", "the greeter has a cold");
  EXPECT_EQ(run.state(), State::failed);
  const Failure failure = run.result<std::string>().error();
  EXPECT_EQ(failure.type, "no_voice");
  EXPECT_EQ(failure.source, "activity greet");
  EXPECT_EQ(failure.event, EventId{3});
}

TEST(ReplayHarness, SaysWhatIsOpenWhenItIsAskedForSomethingElse) {
  ReplayHarness run;
  EXPECT_EQ(message_of([&] { run.complete("greet"); }), "nothing called 'greet' is open; nothing is open");
  run.start(hello, "Ada");
  EXPECT_EQ(message_of([&] { run.complete("sing"); }),
            "nothing called 'sing' is open; open: activity 'greet' (event 3)");
  EXPECT_EQ(message_of([&] { run.complete(EventId{9}); }),
            "event 9 is not an open operation; open: activity 'greet' (event 3)");
  EXPECT_EQ(message_of([&] { run.fire_timer(); }),
            "no timer will ever be due; open: activity 'greet' (event 3)");
  EXPECT_EQ(message_of([&] { static_cast<void>(run.result<int>()); }),
            "there is no result yet; open: activity 'greet' (event 3)");
  EXPECT_EQ(message_of([&] { run.start(hello, "Bob"); }),
            "the instance was started before; use another ReplayHarness");
  EXPECT_EQ(message_of([&] { run.next_execution(); }), "the code has not continued as new");
  run.complete("greet", "hi");
  EXPECT_NE(message_of([&] { run.raise("e", 1); }), "it was accepted");
  EXPECT_NE(message_of([&] { run.cancel("late"); }), "it was accepted");
}

Task<std::string> approval(Context& ctx) {
  const std::optional<std::string> decision = co_await with_timeout(ctx.event<std::string>("decision"), 24h);
  co_return decision.value_or("timeout");
}

TEST(ReplayHarness, EventsAreRaisedAndTheTimerThatLostIsCancelled) {
  ReplayHarness run;
  run.start(approval);
  EXPECT_TRUE(run.is_open("decision"));
  EXPECT_NE(message_of([&] { run.complete("decision", "yes"); }), "it was accepted");
  run.raise("decision", "yes");
  EXPECT_EQ(run.result<std::string>().value(), "yes");
  ASSERT_EQ(run.cancelled().size(), 1U);
  EXPECT_EQ(run.cancelled()[0].kind, OperationKind::timer);
}

TEST(ReplayHarness, EventsThatComeBeforeTheStartWait) {
  ReplayHarness run;
  run.raise("decision", "early");
  run.start(approval);
  EXPECT_EQ(run.result<std::string>().value(), "early");
}

TEST(ReplayHarness, TimePassesOnlyWhenItIsTold) {
  ReplayHarness run;
  run.start(approval);
  const CalendarTime start = run.now();
  run.advance(23h);
  EXPECT_EQ(run.state(), State::running);
  run.advance(2h);
  EXPECT_EQ(run.result<std::string>().value(), "timeout");
  EXPECT_EQ(run.now(), start + 25h);
}

Task<int> counts_days(Context& ctx) {
  const CalendarTime start = ctx.now();
  for (int day = 0; day < 3; ++day) co_await ctx.sleep(24h);
  co_return static_cast<int>((ctx.now() - start) / 24h);
}

TEST(ReplayHarness, AdvancingFiresTimersOneAfterTheOther) {
  ReplayHarness run;
  run.start(counts_days);
  run.advance(240h);
  EXPECT_EQ(run.result<int>().value(), 3);
}

Task<std::vector<int>> reads_mail(Context& ctx) {
  auto box = ctx.mailbox<int>("box");
  co_await ctx.event<int>("go");
  std::vector<int> all;
  all.push_back(co_await box.receive());
  all.push_back(co_await box.receive());
  co_return all;
}

TEST(ReplayHarness, ForgettingKeepsUnreadMessages) {
  ReplayHarness run;
  run.start(reads_mail);
  run.send("box", 1);
  run.forget();
  run.send("box", 2);
  run.forget();
  run.raise("go", 0);
  EXPECT_EQ(run.result<std::vector<int>>().value(), (std::vector<int>{1, 2}));
}

TEST(ReplayHarness, ForgettingGoesOnAtTheSamePlace) {
  ReplayHarness run;
  run.start(hello, "Ada");
  const std::string history = run.history_text();
  run.forget();
  EXPECT_EQ(run.history_text(), history);
  ASSERT_EQ(run.open().size(), 1U);
  run.complete("greet", "hi");
  run.forget();
  EXPECT_EQ(run.result<std::string>().value(), "hi");
}

int changes_at_every_run = 0;
Task<> unsteady(Context& ctx) { co_await ctx.activity<void>("work", ++changes_at_every_run); }

TEST(ReplayHarness, FindsCodeThatDoesNotDoTheSameTwice) {
  ReplayHarness run;
  try {
    run.start(unsteady);
    FAIL() << "it went unnoticed";
  } catch (const Error& e) {
    EXPECT_EQ(e.failure().category, Category::nondeterminism);
  }
  ReplayHarness lenient({.replay_every_turn = false});
  lenient.start(unsteady);
  EXPECT_THROW(lenient.forget(), Error);
}

Task<std::string> hello_with_more(Context& ctx, std::string who) {
  co_await ctx.activity<void>("clear_throat");
  co_return co_await ctx.activity<std::string>("greet", who);
}

TEST(ReplayHarness, ReportsWhereOtherCodePartsFromHistory) {
  ReplayHarness run;
  run.start(hello, "Ada");
  EXPECT_FALSE(run.replay_with(hello));
  const std::optional<Divergence> divergence = run.replay_with(hello_with_more);
  ASSERT_TRUE(divergence);
  EXPECT_EQ(divergence->event, EventId{3});
  EXPECT_EQ(divergence->history_says, "activity 'greet'");
  EXPECT_EQ(divergence->code_did, "started activity 'clear_throat'");
  EXPECT_NE(divergence->text.find("event 3"), std::string::npos);
}

Task<> tidies_up(Context& ctx) {
  Saga saga(ctx);
  saga.undo_with("undo", 1);
  const Result<void> outcome = co_await ctx.activity<void>("work").result();
  if (outcome) co_return;
  co_await saga.compensate();
  throw_failure(outcome.error());
}

TEST(ReplayHarness, CancelledCodeMayTidyUp) {
  ReplayHarness run;
  run.start(tidies_up);
  run.cancel("no longer needed");
  ASSERT_EQ(run.cancelled().size(), 1U);
  EXPECT_EQ(run.cancelled()[0].name, "work");
  run.complete("undo");
  EXPECT_EQ(run.state(), State::cancelled);
  EXPECT_EQ(run.result<void>().error().message, "no longer needed");
}

TEST(ReplayHarness, TerminationRunsNoCode) {
  ReplayHarness run;
  run.start(tidies_up);
  run.terminate("stuck");
  EXPECT_EQ(run.state(), State::terminated);
  EXPECT_EQ(run.result<void>().error().category, Category::terminated);
}

Task<int> goes_round(Context& ctx, int round) {
  ctx.set_status("round " + std::to_string(round));
  ctx.set_value("rounds", ctx.value<int>("rounds").value_or(0) + 1);
  ctx.set_attribute("sum", ctx.attribute<int>("sum").value_or(0) + round);
  auto box = ctx.mailbox<int>("box");
  const int message = co_await box.receive();
  if (message == 0) co_return *ctx.value<int>("rounds") * 100 + round;
  co_await ctx.continue_as_new(round + message);
}

TEST(ReplayHarness, TheNextExecutionKeepsValuesAndMessages) {
  ReplayHarness run;
  run.start(goes_round, 1);
  run.send("box", 5);
  EXPECT_EQ(run.state(), State::continued_as_new);
  run.send("box", 0);
  EXPECT_NE(message_of([&] { static_cast<void>(run.result<int>()); }), "it was accepted");
  run.next_execution();
  EXPECT_EQ(run.execution(), ExecutionNumber{2});
  EXPECT_EQ(run.result<int>().value(), 206);
  EXPECT_EQ(run.status<std::string>(), "round 6");
  EXPECT_EQ(run.value<int>("rounds"), 2);
  EXPECT_EQ(run.value<int>("nothing"), std::nullopt);
  EXPECT_EQ(run.attribute<int>("sum"), 7);
  EXPECT_EQ(run.attribute<std::string>("sum"), std::nullopt);
  EXPECT_EQ(run.attributes(), (std::vector<Attribute>{{"sum", std::int64_t{7}}}));
}

Task<std::string> asks_others(Context& ctx) {
  auto gpu = co_await ctx.open_session({.requirements = {"gpu:l4"}});
  co_await gpu.activity<void>("render");
  const SessionEvent news = co_await gpu.next_event();
  co_await gpu.close();
  const std::string detached = co_await ctx.start_detached("audit", {.id = "audit-1"});
  const std::optional<int> there = co_await ctx.value_of<int>("other", "k");
  const std::optional<int> missing = co_await ctx.value_of<int>("other", "none");
  const std::string child = co_await ctx.child<std::string>("ship", {.id = "ship-1"});
  co_return news.to + detached + std::to_string(there.value_or(-1)) + (missing ? "!" : "-") + child;
}

TEST(ReplayHarness, AnswersEveryKindOfOperation) {
  ReplayHarness run;
  run.start(asks_others);
  const std::string session = run.open().at(0).name;
  EXPECT_EQ(run.open().at(0).kind, OperationKind::session_open);
  run.complete(session);
  EXPECT_EQ(run.open("render").session, session);
  run.complete("render");
  run.session_event(session, {.kind = SessionEvent::Kind::moved, .to = "n2"});
  run.complete(session);
  EXPECT_EQ(run.open("audit").instance, "audit-1");
  run.complete("audit");
  run.complete("k", 7);
  run.complete("none");
  EXPECT_EQ(run.open("ship").instance, "ship-1");
  run.complete("ship", "shipped");
  EXPECT_EQ(run.result<std::string>().value(), "n2audit-17-shipped");
}

TEST(ReplayHarness, FailuresOfSessionsAndChildrenKeepTheirType) {
  ReplayHarness run;
  run.start([](Context& ctx) -> Task<std::string> {
    std::string seen;
    try {
      co_await ctx.activity<void>("render", {.session = "s", .queue = "gpu"});
    } catch (const SessionLost&) {
      seen = "lost";
    }
    try {
      co_await ctx.child<void>("ship");
    } catch (const ChildError& e) {
      seen += " " + e.failure().source;
    }
    co_return seen;
  });
  EXPECT_EQ(run.open("render").queue, "gpu");
  run.fail("render", Failure{.category = Category::session, .type = "session_lost", .message = "gone"});
  run.fail("ship", "sunk", "it is at the bottom of the sea");
  EXPECT_EQ(run.result<std::string>().value(), "lost orchestration ship");
}

TEST(ReplayHarness, ShowsHistoryAsText) {
  ReplayHarness run;
  run.start(approval);
  run.raise("decision", "yes");
  EXPECT_EQ(run.history_text(),
            "   1  turn_started         2030-01-01T00:00:00Z\n"
            "   2  started              orchestration\n"
            "   3  event_awaited        decision\n"
            "   4  timer_started        2030-01-02T00:00:00Z\n"
            "   5  turn_started         2030-01-01T00:00:00Z\n"
            "   6  completed            #3 \"yes\"\n"
            "   7  execution_completed  \"yes\"\n"
            "   8  operation_cancelled  #4 dropped\n");
}

}  // namespace
}  // namespace holdfast::testing
