// A request to cancel, and everything else that ends an operation before it has an outcome.
#include "engine/driver_test.hpp"

#include <holdfast/saga.hpp>

#include <algorithm>
#include <stdexcept>

namespace holdfast::engine::cancellation_test {
namespace {

using detail::ActivityScheduled;
using history::CancelReason;
using Ids = std::vector<std::uint64_t>;
using Log = std::vector<std::string>;

/// Whether all cancels of a turn have this reason; false when there are none.
bool all_for(CancelReason reason, const Outcome& outcome) {
  return !outcome.cancels.empty() && std::all_of(outcome.cancels.begin(), outcome.cancels.end(),
                                                 [&](const Cancel& c) { return c.reason == reason; });
}

const Failure* cancellation_of(const Outcome& outcome) {
  const auto* const end = end_of<history::ExecutionCancelled>(outcome);
  return end != nullptr ? &end->failure : nullptr;
}

std::string activity_in(const Outcome& outcome) {
  return std::get<ActivityScheduled>(outcome.actions.at(0).operation).name;
}

template <class A>
Task<bool> throws_cancelled(A awaitable) {
  try {
    static_cast<void>(co_await std::move(awaitable));
  } catch (const Cancelled&) {
    co_return true;
  }
  co_return false;
}

// ---- suspended awaits ---------------------------------------------------------------------------

Task<> works_until_cancelled(Context& ctx, std::string name, Log& log) {
  for (int step = 1;; ++step) {
    try {
      co_await ctx.activity<void>(name);
    } catch (const Cancelled& e) {
      log.push_back(name + std::to_string(step) + " " + e.what());
      throw;
    }
  }
}

Task<Log> works_side_by_side(Context& ctx) {
  Log log;
  auto a = ctx.start(works_until_cancelled(ctx, "a", log));
  auto b = ctx.start(works_until_cancelled(ctx, "b", log));
  auto c = ctx.start(works_until_cancelled(ctx, "c", log));
  static_cast<void>(co_await when_all_settled(c, b, a).settled());
  co_return log;
}

TEST(Cancellation, SuspendedAwaitsThrowInTheOrderOfTheirEvents) {
  Driver driver(works_side_by_side);
  driver.start();
  driver.step(driver.completes(EventId{3}));  // the next event of a comes after those of b and c
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(result_of<Log>(end), (Log{"b1 enough (cancel_requested)", "c1 enough (cancel_requested)",
                                      "a2 enough (cancel_requested)"}));
  EXPECT_EQ(cancelled(end), (Ids{4, 5, 8}));
  EXPECT_TRUE(all_for(CancelReason::cancel_requested, end));
}

Task<Log> takes_results(Context& ctx) {
  const auto helper = [](Context& c) -> Task<int> { co_return co_await c.activity<int>("inner"); };
  Log log;
  const auto note = [&](const Failure& f) {
    log.push_back(std::string(to_string(f.category)) + " " + f.type + " " + f.message);
  };
  const Result<int> suspended = co_await ctx.activity<int>("work").settled();
  if (!suspended) note(suspended.error());
  const Result<int> op = co_await ctx.activity<int>("work").settled();
  if (!op) note(op.error());
  const Result<int> task = co_await helper(ctx).settled();
  if (!task) note(task.error());
  const auto all = co_await when_all(ctx.activity<int>("x"), ctx.sleep(1s)).settled();
  if (!all) note(all.error());
  const auto future = ctx.activity<int>("y").start();
  const Result<int> started = co_await future.settled();
  if (!started) note(started.error());
  co_return log;
}

TEST(Cancellation, SettledGivesItAsAFailure) {
  Driver driver(takes_results);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(result_of<Log>(end), Log(5, "cancelled cancel_requested enough"));
  EXPECT_EQ(cancelled(end), Ids{3});
  EXPECT_TRUE(end.actions.empty());
}

Task<std::string> waits_in_every_way(Context& ctx, std::string how) {
  const auto helper = [](Context& c) -> Task<> { co_await c.activity<void>("inner"); };
  auto future = ctx.activity<void>("future").start();
  try {
    if (how == "op") co_await ctx.activity<void>("work");
    if (how == "future") co_await future;
    if (how == "task") co_await helper(ctx);
    if (how == "all") co_await when_all(helper(ctx), ctx.sleep(1s), future);
    if (how == "race") co_await race(ctx.event<int>("e"), helper(ctx), future);
    if (how == "timeout") co_await with_timeout(helper(ctx), 1h);
    if (how == "mailbox") co_await ctx.mailbox<int>("box").receive();
    if (how == "child") co_await ctx.child<void>("child");
    if (how == "detached") co_await ctx.start_detached("other");
    if (how == "session") co_await ctx.open_session({.id = "s"});
    if (how == "news") co_await ctx.session("s").next_event();
    if (how == "value") co_await ctx.value_of<int>("i-2", "k");
  } catch (const Cancelled&) {
    co_return "cancelled";
  }
  co_return "went on";
}

TEST(Cancellation, ReachesEveryKindOfAwait) {
  for (const char* how : {"op", "future", "task", "all", "race", "timeout", "mailbox", "child", "detached",
                          "session", "news", "value"}) {
    SCOPED_TRACE(how);
    Driver driver(waits_in_every_way, how);
    EXPECT_FALSE(driver.start().end);
    EXPECT_EQ(result_of<std::string>(driver.step(driver.cancels("enough"))), "cancelled");
  }
}

// ---- later awaits -------------------------------------------------------------------------------

Task<int> awaits_again(Context& ctx) {
  const auto helper = [](Context& c) -> Task<> { co_await c.sleep(1s); };
  auto done = ctx.activity<int>("done").start();
  co_await done;
  auto waiting = co_await throws_cancelled(ctx.activity<int>("work"));
  int count = waiting ? 1 : 0;
  const auto add = [&](bool thrown) { count += thrown ? 1 : 0; };
  add(co_await throws_cancelled(ctx.activity<int>("work")));
  add(co_await throws_cancelled(ctx.sleep(1s)));
  add(co_await throws_cancelled(ctx.event<int>("e")));
  add(co_await throws_cancelled(ctx.mailbox<int>("m").receive()));
  add(co_await throws_cancelled(ctx.mailbox<int>("m").try_receive()));
  add(co_await throws_cancelled(ctx.mailbox<int>("m").drain()));
  add(co_await throws_cancelled(ctx.child<int>("c")));
  add(co_await throws_cancelled(ctx.start_detached("d")));
  add(co_await throws_cancelled(ctx.open_session({.id = "s"})));
  add(co_await throws_cancelled(ctx.session("s").close()));
  add(co_await throws_cancelled(ctx.session("s").next_event()));
  add(co_await throws_cancelled(ctx.value_of<int>("i-2", "k")));
  add(co_await throws_cancelled(ctx.side_effect([]() -> int { std::abort(); })));
  add(co_await throws_cancelled(helper(ctx)));
  add(co_await throws_cancelled(when_all(ctx.sleep(1s), ctx.activity<int>("a"))));
  add(co_await throws_cancelled(when_all(done)));
  add(co_await throws_cancelled(race(ctx.sleep(1s), ctx.activity<int>("a"))));
  add(co_await throws_cancelled(race(done, ctx.activity<int>("a"))));
  add(co_await throws_cancelled(with_timeout(ctx.activity<int>("a"), 1s)));
  try {
    co_await done;
  } catch (const Cancelled&) {
    ++count;
  }
  add(co_await throws_cancelled(when_all_settled(ctx.sleep(1s), helper(ctx))));
  add(co_await throws_cancelled(when_all_settled(done)));
  add(co_await throws_cancelled(ctx.sleep(1s).result()));
  add(co_await throws_cancelled(helper(ctx).result()));
  add(co_await throws_cancelled(done.result()));
  co_return count;
}

TEST(Cancellation, LaterAwaitsThrowAtOnceAndRecordNothing) {
  Driver driver(awaits_again);
  driver.start();
  driver.step(driver.completes(EventId{3}, 1));
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(result_of<int>(end), 26);
  EXPECT_TRUE(end.actions.empty());
  std::string kinds;
  for (const auto& event : history::read_segment(end.segment).value()) {
    kinds += std::string(history::kind_name(event.body)) + " ";
  }
  EXPECT_EQ(kinds, "turn_started cancel_requested execution_completed operation_cancelled ");
}

Task<std::string> sets_things_while_cancelled(Context& ctx) {
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled&) {
    ctx.set_value("state", "stopping");
    ctx.set_status("stopping");
  }
  co_return ctx.cancel_requested() ? ctx.uuid() : "not asked";
}

TEST(Cancellation, WhatNeedsNoAwaitStillWorks) {
  Driver driver(sets_things_while_cancelled);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(end.actions.size(), 1U);
  EXPECT_EQ(end.status, encode("stopping"));
  EXPECT_EQ(result_of<std::string>(end).size(), 36U);
}

TEST(Cancellation, ASecondRequestIsIgnored) {
  const auto orchestration = [](Context& ctx) -> Task<std::string> {
    const Result<void> first = co_await ctx.sleep(1h).settled();
    co_await ctx.shield(ctx.activity<void>("clean_up"));
    const Result<void> second = co_await ctx.sleep(1h).settled();
    co_return first.error().message + ", " + second.error().message;
  };
  Driver driver(orchestration);
  driver.start();
  const Outcome first = driver.step(driver.cancels("one"), driver.cancels("two"));
  EXPECT_EQ(first.ignored, 1U);
  EXPECT_EQ(first.consumed.size(), 2U);
  const Outcome third = driver.step(driver.cancels("three"));
  EXPECT_EQ(third.ignored, 1U);
  EXPECT_TRUE(third.segment.empty());
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(first.actions.at(0).id))), "one, one");
}

Task<std::string> compensates_at_once(Context& ctx) {
  const Result<void> work = co_await ctx.activity<void>("work").settled();
  if (work) co_return "worked";
  co_await ctx.shield(ctx.activity<void>("clean_up"));
  co_return "cleaned up: " + work.error().message;
}

TEST(Cancellation, ARequestThatTheFormerExecutionGotHoldsFromTheStart) {
  Driver driver(compensates_at_once);
  driver.cancel_requested = "before";
  const Outcome first = driver.start();
  EXPECT_EQ(activity_in(first), "clean_up");
  EXPECT_EQ(driver.step(driver.cancels("again")).ignored, 1U);
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(first.actions[0].id))), "cleaned up: before");
}

TEST(Cancellation, AMessageForAWaitThatWasCancelledInTheSameBatchIsNotLost) {
  const auto orchestration = [](Context& ctx) -> Task<int> {
    const Result<int> first = co_await ctx.event<int>("e").settled();
    const int second = co_await ctx.shield(ctx.event<int>("e"));
    co_return (first ? 100 : 0) + second;
  };
  Driver driver(orchestration);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"), driver.raises("e", 7));
  EXPECT_EQ(result_of<int>(end), 7);
  EXPECT_EQ(end.consumed.size(), 2U);
}

// ---- shields ------------------------------------------------------------------------------------

Task<int> inside(Context& ctx) {
  const int first = co_await ctx.activity<int>("inside1");
  const auto nested = [](Context& c) -> Task<int> {
    auto started = c.start([](Context& d) -> Task<int> { co_return co_await d.activity<int>("inside3"); }(c));
    const auto all = co_await when_all(c.activity<int>("inside2"), started);
    co_return std::get<0>(all) + std::get<1>(all);
  };
  const int second = co_await nested(ctx);
  co_return first + second;
}

Task<std::string> shields_a_task(Context& ctx) {
  auto outside = ctx.activity<void>("outside").start();
  ctx.activity<void>("detached").start().detach();
  const int value = co_await ctx.shield(inside(ctx));
  try {
    co_await ctx.sleep(1s);
  } catch (const Cancelled&) {
    co_return "cancelled with " + std::to_string(value);
  }
  co_return "went on";
}

TEST(Cancellation, CancelsWhatIsInFlightOutsideAShieldAndTakesEffectWhenTheShieldEnds) {
  Driver driver(shields_a_task);
  const Outcome first = driver.start();
  const Outcome request = driver.step(driver.cancels("enough"));
  EXPECT_EQ(cancelled(request), (Ids{3, 4}));
  EXPECT_TRUE(all_for(CancelReason::cancel_requested, request));
  EXPECT_FALSE(request.end);
  const Outcome second = driver.step(driver.completes(first.actions.at(2).id, 1));
  ASSERT_EQ(second.actions.size(), 2U);
  const Outcome end =
      driver.step(driver.completes(second.actions[0].id, 10), driver.completes(second.actions[1].id, 100));
  EXPECT_EQ(result_of<std::string>(end), "cancelled with 111");
  EXPECT_TRUE(end.actions.empty());
}

TEST(Cancellation, AllThatRunsInsideAShieldGoesOn) {
  Driver driver(shields_a_task);
  const Outcome first = driver.start();
  const Outcome second = driver.step(driver.completes(first.actions.at(2).id, 1));
  EXPECT_EQ(cancelled(driver.step(driver.cancels("enough"))), (Ids{3, 4}));
  const Outcome end = driver.step(driver.completes(second.actions.at(0).id, 10),
                                  driver.completes(second.actions.at(1).id, 100));
  EXPECT_EQ(result_of<std::string>(end), "cancelled with 111");
}

Task<int> shields_in_every_way(Context& ctx, std::string how) {
  int sum = 0;
  if (how == "op") sum += co_await ctx.shield(ctx.activity<int>("a"));
  if (how == "all") {
    const auto all = co_await ctx.shield(when_all(ctx.activity<int>("a"), ctx.sleep(1s)));
    sum += std::get<0>(all);
  }
  if (how == "race") {
    const auto first = co_await ctx.shield(race(ctx.activity<int>("a"), ctx.sleep(1s)));
    sum += first.index() == 0 ? std::get<0>(first) : 0;
  }
  if (how == "timeout") {
    const auto value = co_await ctx.shield(with_timeout(ctx.activity<int>("a"), 1s));
    sum += value.value_or(0);
  }
  if (how == "settled") {
    const auto all = co_await ctx.shield(when_all_settled(ctx.activity<int>("a"), ctx.sleep(1s)));
    sum += std::get<0>(all) ? *std::get<0>(all) : 0;
  }
  if (how == "result") {
    const Result<int> value = co_await ctx.shield(ctx.activity<int>("a")).settled();
    sum += value ? *value : 0;
  }
  if (how == "started") {
    const auto future = ctx.start(ctx.shield(ctx.activity<int>("a")));
    sum += co_await future;
  }
  const Result<void> after = co_await ctx.sleep(1s).settled();
  co_return after ? -1 : sum;
}

TEST(Cancellation, OperationsTasksAndCombinationsCanBeShielded) {
  for (const char* how : {"op", "all", "race", "timeout", "settled", "result", "started"}) {
    SCOPED_TRACE(how);
    Driver driver(shields_in_every_way, how);
    driver.start();
    const Outcome request = driver.step(driver.cancels("enough"));
    EXPECT_TRUE(request.cancels.empty());
    EXPECT_FALSE(request.end);
    const Outcome end = driver.step(driver.completes(EventId{3}, 7), driver.completes(EventId{4}));
    EXPECT_EQ(result_of<int>(end), 7);
  }
}

Task<std::string> tidies_up(Context& ctx) {
  const Result<void> work = co_await ctx.activity<void>("work").settled();
  if (work) co_return "worked";
  co_await ctx.shield(ctx.activity<void>("tidy_up"));
  co_return "tidied up";
}

Task<std::string> tidies_up_among_others(Context& ctx, std::string how) {
  Result<std::string> outcome = std::string("nothing");
  const auto keep = [&](const auto& result) {
    if (!result) outcome = Unexpected(result.error());
  };
  if (how == "race") keep(co_await race(tidies_up(ctx), ctx.sleep(1h)).settled());
  if (how == "timeout") keep(co_await with_timeout(tidies_up(ctx), 1h).settled());
  if (how == "all") keep(co_await when_all(ctx.event<int>("e"), tidies_up(ctx)).settled());
  co_return outcome ? *outcome : outcome.error().message;
}

TEST(Cancellation, APartThatTidiesUpInAShieldIsNotDroppedForTheOthers) {
  for (const char* how : {"race", "timeout", "all"}) {
    SCOPED_TRACE(how);
    Driver driver(tidies_up_among_others, how);
    driver.start();
    const Outcome request = driver.step(driver.cancels("enough"));
    EXPECT_EQ(cancelled(request), (Ids{3, 4}));
    EXPECT_EQ(activity_in(request), "tidy_up");
    EXPECT_FALSE(request.end);
    EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(request.actions[0].id))), "enough");
  }
}

Task<int> combines_shields(Context& ctx, std::string how) {
  static_cast<void>(co_await ctx.sleep(1h).settled());
  int sum = 0;
  if (how == "all") {
    const auto all =
        co_await when_all(ctx.shield(ctx.activity<int>("a")), ctx.shield(ctx.activity<int>("b")));
    sum = std::get<0>(all) + std::get<1>(all);
  }
  if (how == "race") {
    const auto first = co_await race(ctx.shield(ctx.activity<int>("a")), ctx.shield(ctx.activity<int>("b")));
    sum = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
  }
  if (how == "mixed") {
    const auto all = co_await when_all(ctx.shield(ctx.activity<int>("a")), ctx.activity<int>("b")).settled();
    sum = all ? -1 : 5;
  }
  co_return sum;
}

TEST(Cancellation, ShieldsCanBeCombinedWhileCancelled) {
  const auto end_of_case = [](const char* how) {
    Driver driver(combines_shields, how);
    driver.start();
    const Outcome request = driver.step(driver.cancels("enough"));
    EXPECT_FALSE(request.end);
    std::vector<Message> messages;
    for (const Action& action : request.actions) messages.push_back(driver.completes(action.id, 2));
    return driver.turn(std::move(messages));
  };
  EXPECT_EQ(result_of<int>(end_of_case("all")), 4);
  const Outcome raced = end_of_case("race");
  EXPECT_EQ(result_of<int>(raced), 2);
  EXPECT_EQ(raced.cancels.size(), 1U);
  EXPECT_EQ(result_of<int>(end_of_case("mixed")), 5);
}

TEST(Cancellation, ABorrowedFutureInAShieldIsNotWaitedFor) {
  const auto orchestration = [](Context& ctx) -> Task<std::string> {
    auto work = ctx.start(ctx.shield(ctx.activity<std::string>("work")));
    const auto first = co_await race(work, ctx.event<int>("stop")).settled();
    if (!first) ctx.set_status("stopping");
    co_return co_await ctx.shield(ctx.activity<std::string>("last"));
  };
  Driver driver(orchestration);
  driver.start();
  const Outcome request = driver.step(driver.cancels("enough"));
  EXPECT_EQ(request.status, encode("stopping"));
  EXPECT_EQ(cancelled(request), Ids{4});
  EXPECT_EQ(activity_in(request), "last");
}

TEST(Cancellation, AFailureInsideAShieldStillEndsACombination) {
  const auto orchestration = [](Context& ctx) -> Task<std::string> {
    const auto both = [](Context& c) -> Task<> {
      co_await when_all(c.activity<void>("a"), c.activity<void>("b"));
    };
    const Result<void> outcome = co_await ctx.shield(both(ctx)).settled();
    co_return outcome ? "fine" : outcome.error().type;
  };
  Driver driver(orchestration);
  driver.start();
  driver.step(driver.cancels("enough"));
  const Outcome end = driver.step(driver.fails(EventId{3}, "boom"));
  EXPECT_EQ(result_of<std::string>(end), "boom");
  EXPECT_EQ(cancelled(end), Ids{4});
}

Task<std::string> shares_a_future(Context& ctx) {
  const auto waits = [](Future<std::string>& f) -> Task<std::string> { co_return co_await f; };
  auto work = ctx.activity<std::string>("work").start();
  auto outside = ctx.start(waits(work));
  auto protected_wait = ctx.start(ctx.shield(waits(work)));
  const Result<std::string> value = co_await protected_wait.settled();
  const Result<std::string> again = co_await outside.settled();
  co_return (value ? *value : "cancelled") + ", " + (again ? *again : "cancelled");
}

TEST(Cancellation, AnOperationThatAShieldWaitsForGoesOnWhoeverElseWaits) {
  Driver driver(shares_a_future);
  driver.start();
  EXPECT_TRUE(driver.step(driver.cancels("enough")).cancels.empty());
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{3}, "done"))), "done, cancelled");
}

Task<int> starts_inside_awaits_outside(Context& ctx) {
  const auto starts = [](Context& c) -> Task<Future<int>> {
    auto future = c.activity<int>("a").start();
    co_await c.activity<void>("b");
    co_return future;
  };
  const auto future = co_await ctx.shield(starts(ctx));
  co_return co_await future;
}

TEST(Cancellation, WhatIsAwaitedOutsideAShieldIsReachedWhereverItWasStarted) {
  Driver driver(starts_inside_awaits_outside);
  driver.start();
  driver.step(driver.completes(EventId{4}));
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(cancelled(end), Ids{3});
  EXPECT_NE(cancellation_of(end), nullptr);
}

Task<int> waits_for(Future<int>& future) { co_return co_await future; }

Task<std::string> waits_in_and_out_of_a_shield(Context& ctx, std::string how) {
  auto work = ctx.activity<int>("work").start();
  auto inside = ctx.start(ctx.shield(waits_for(work)));
  std::string reached;
  try {
    if (how == "await") co_await work;
    if (how == "result") static_cast<void>(co_await work.result());
    if (how == "settled" && !co_await work.settled()) reached = "cancelled";
    if (how == "all") co_await when_all(work, ctx.sleep(1h));
    if (how == "race") co_await race(work, ctx.event<int>("stop"));
    if (how == "timeout") co_await with_timeout(work, 1h);
    if (how == "task") co_await waits_for(work);
    if (how == "all settled") co_await when_all_settled(work, ctx.sleep(1h));
  } catch (const Cancelled&) {
    reached = "cancelled";
  }
  ctx.set_status(reached);
  co_return std::to_string(co_await ctx.shield(waits_for(inside)));
}

TEST(Cancellation, ReachesAnAwaitOutsideAShieldAlthoughOneInsideWaitsForTheSame) {
  for (const char* how : {"await", "result", "settled", "all", "race", "timeout", "task", "all settled"}) {
    SCOPED_TRACE(how);
    Driver driver(waits_in_and_out_of_a_shield, how);
    driver.start();
    const Outcome request = driver.step(driver.cancels("enough"));
    EXPECT_EQ(request.status, encode("cancelled"));
    EXPECT_TRUE(std::ranges::none_of(cancelled(request), [](std::uint64_t id) { return id == 3; }));
    EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{3}, 5))), "5");
  }
}

// ---- starts that nobody waits for ---------------------------------------------------------------

Task<std::string> starts_things_after_the_request(Context& ctx) {
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled&) {
    ctx.start_detached("audit", {.id = "audit-1"}).start().detach();
    ctx.child<void>("lives_on", {.on_parent_close = ParentClosePolicy::abandon}).start().detach();
    ctx.activity<void>("would_be_cancelled").start().detach();
    ctx.child<void>("would_be_cancelled").start().detach();
  }
  const auto told = ctx.start_detached("audit", {.id = "audit-2"}).start();
  const Result<std::string> outcome = co_await told.settled();
  const bool in_a_combination = co_await throws_cancelled(when_all(ctx.start_detached("audit")));
  co_return outcome ? "told" : in_a_combination ? "cancelled" : "not cancelled";
}

TEST(Cancellation, DoesNotSwallowAStartThatItWouldNotTakeBack) {
  Driver driver(starts_things_after_the_request);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(result_of<std::string>(end), "cancelled");
  EXPECT_EQ(started<detail::DetachedStarted>(end).size(), 2U);
  EXPECT_EQ(started<detail::ChildStarted>(end).size(), 1U);
  EXPECT_EQ(end.actions.size(), 3U);
  EXPECT_EQ(cancelled(end), Ids{3});
}

// ---- attempts -----------------------------------------------------------------------------------

Task<int> fails_when_told(Context& ctx) {
  co_await ctx.event<int>("go");
  throw ActivityFailure("bad", "as told");
}

TEST(Cancellation, ThatComesWithTheFailureOfAnAttemptIsForTheNextOne) {
  Driver driver(fails_when_told);
  driver.retrying = {.policy = {.max_attempts = 5}};
  driver.start();
  const Message go = driver.raises("go", 1);
  const Outcome end = driver.step(go, driver.cancels("enough"));
  EXPECT_NE(end_of<history::ExecutionFailed>(end), nullptr);
  EXPECT_EQ(end.consumed, std::vector<MessageId>{go.id});
  EXPECT_NE(driver.warm().retrying(), nullptr);
}

TEST(Cancellation, ThatComesBeforeTheFailureOfAnAttemptEndsTheAttempts) {
  Driver driver(fails_when_told);
  driver.retrying = {.policy = {.max_attempts = 5}};
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"), driver.raises("go", 1));
  EXPECT_NE(cancellation_of(end), nullptr);
  EXPECT_EQ(driver.warm().retrying(), nullptr);
}

// ---- how it ends --------------------------------------------------------------------------------

Task<std::string> compensates(Context& ctx, std::string ending) {
  std::exception_ptr why;
  try {
    co_await ctx.activity<void>("work");
  } catch (const Cancelled&) {
    why = std::current_exception();
  }
  if (why) co_await ctx.shield(ctx.activity<void>("clean_up"));
  if (ending == "fail") throw std::runtime_error("could not clean up");
  if (ending == "rethrow") std::rethrow_exception(why);
  co_return "cleaned up";
}

Outcome compensate_and_end(const char* ending) {
  Driver driver(compensates, ending);
  driver.start();
  const Outcome request = driver.step(driver.cancels("enough"));
  EXPECT_EQ(activity_in(request), "clean_up");
  EXPECT_EQ(cancelled(request), Ids{3});
  return driver.step(driver.completes(request.actions.at(0).id));
}

TEST(Cancellation, CodeMayCompensateAndEndAsItWishes) {
  EXPECT_EQ(result_of<std::string>(compensate_and_end("return")), "cleaned up");
  const Outcome failed = compensate_and_end("fail");
  ASSERT_NE(end_of<history::ExecutionFailed>(failed), nullptr);
  EXPECT_EQ(end_of<history::ExecutionFailed>(failed)->failure.message, "could not clean up");
  const Outcome rethrown = compensate_and_end("rethrow");
  ASSERT_NE(cancellation_of(rethrown), nullptr);
  EXPECT_EQ(cancellation_of(rethrown)->message, "enough");
}

TEST(Cancellation, UncaughtItEndsTheExecutionAsCancelled) {
  Driver driver([](Context& ctx) -> Task<> { co_await ctx.activity<void>("work"); });
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  ASSERT_NE(cancellation_of(end), nullptr);
  EXPECT_EQ(cancellation_of(end)->category, Category::cancelled);
  EXPECT_EQ(cancelled(end), Ids{3});
}

Task<std::string> handles_failures(Context& ctx) {
  try {
    co_await ctx.activity<void>("work");
  } catch (const Error&) {
    co_return "an error";
  } catch (const std::exception&) {
    co_return "an exception";
  }
  co_return "worked";
}

TEST(Cancellation, IsNotSwallowedByCodeThatHandlesFailures) {
  Driver driver(handles_failures);
  driver.start();
  EXPECT_NE(cancellation_of(driver.step(driver.cancels("enough"))), nullptr);
}

// ---- code that does not listen ------------------------------------------------------------------

Task<> catches_everything(Context& ctx, std::string how) {
  const auto helper = [](Context& c) -> Task<> { co_await c.activity<void>("inner"); };
  auto future = ctx.activity<void>("future").start();
  for (;;) {
    try {
      if (how == "op") co_await ctx.activity<void>("work");
      if (how == "result") static_cast<void>(co_await ctx.activity<void>("work").settled());
      if (how == "future") co_await future;
      if (how == "task") co_await helper(ctx);
      if (how == "task result") static_cast<void>(co_await helper(ctx).settled());
      if (how == "all") co_await when_all(ctx.activity<void>("work"), ctx.sleep(1s));
      if (how == "all of borrowed") co_await when_all(future);
      if (how == "settled") co_await when_all_settled(ctx.activity<void>("work"), ctx.sleep(1s));
      if (how == "settled borrowed") co_await when_all_settled(future);
      if (how == "race") co_await race(ctx.activity<void>("work"), ctx.sleep(1s));
      if (how == "race of borrowed") co_await race(future);
      if (how == "timeout") co_await with_timeout(helper(ctx), 1s);
      if (how == "mailbox") {
        co_await ctx.mailbox<int>("m").drain();
        co_await ctx.sleep(1s);
      }
      if (how == "started") {
        auto started = ctx.activity<void>("work").start();
        co_await started;
      }
      if (how == "continue") {
        co_await ctx.sleep(1s);
        co_await ctx.continue_as_new(how);
      }
    } catch (...) {
    }
  }
}

TEST(Cancellation, CodeThatCatchesEverythingInALoopEndsAsCancelled) {
  for (const char* how :
       {"op", "result", "future", "task", "task result", "all", "all of borrowed", "settled",
        "settled borrowed", "race", "race of borrowed", "timeout", "mailbox", "started", "continue"}) {
    SCOPED_TRACE(how);
    Driver driver(catches_everything, how);
    EXPECT_FALSE(driver.start().end);
    const Outcome end = driver.step(driver.cancels("enough"));
    ASSERT_NE(cancellation_of(end), nullptr);
    EXPECT_EQ(cancellation_of(end)->message, "enough");
    EXPECT_TRUE(end.actions.empty());
  }
}

Task<int> ignores_so_many(Context& ctx, int times) {
  for (int i = 0; i < times; ++i) static_cast<void>(co_await ctx.sleep(1s).settled());
  co_return times;
}

TEST(Cancellation, AThousandThrowsInATurnAreAllowed) {
  Driver patient(ignores_so_many, 1001);  // the first one was suspended, and is cancelled itself
  patient.start();
  EXPECT_EQ(result_of<int>(patient.step(patient.cancels("enough"))), 1001);
  Driver impatient(ignores_so_many, 1002);
  impatient.start();
  EXPECT_NE(cancellation_of(impatient.step(impatient.cancels("enough"))), nullptr);
}

Task<int> loops_beside_a_shield(Context& ctx) {
  ctx.start(ctx.shield(ctx.activity<void>("precious"))).detach();
  auto dropped = ctx.start(ctx.shield(ctx.activity<void>("held")));
  for (;;) static_cast<void>(co_await when_all_settled(ctx.sleep(1s)).settled());
}

TEST(Cancellation, EndingCodeThatDoesNotListenCancelsWhatIsStillOpen) {
  Driver driver(loops_beside_a_shield);
  driver.start();
  const Outcome end = driver.step(driver.cancels("enough"));
  EXPECT_EQ(cancelled(end), (Ids{3, 4, 5}));
  EXPECT_EQ(end.cancels.at(0).reason, CancelReason::execution_cancelled);
  EXPECT_EQ(end.cancels.at(1).reason, CancelReason::execution_cancelled);
  EXPECT_EQ(end.cancels.at(2).reason, CancelReason::cancel_requested);
}

Task<int> starts_many_while_cancelled(Context& ctx) {
  static_cast<void>(co_await ctx.sleep(1h).settled());
  std::vector<Op<int>> parts;
  for (int i = 0; i < 2000; ++i) parts.push_back(ctx.activity<int>("part", i));
  const bool thrown = co_await throws_cancelled(when_all(std::move(parts)));
  std::vector<Future<int>> futures;
  for (int i = 0; i < 2000; ++i) futures.push_back(ctx.activity<int>("part", i).start());
  const int cleaned = co_await ctx.shield(ctx.activity<int>("clean_up"));
  co_return thrown ? cleaned : -1;
}

TEST(Cancellation, AWideFanOutIsOneThrow) {
  Driver driver(starts_many_while_cancelled);
  driver.start();
  const Outcome request = driver.step(driver.cancels("enough"));
  ASSERT_EQ(request.actions.size(), 1U);
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(request.actions[0].id, 5))), 5);
}

Task<int> cancels_many_tasks(Context& ctx) {
  const auto compensates = [](Context& c, int i) -> Task<int> {
    const Result<int> work = co_await c.activity<int>("work", i).settled();
    if (work) co_return 0;
    co_return co_await c.shield(c.activity<int>("undo", i));
  };
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 2000; ++i) tasks.push_back(compensates(ctx, i));
  int sum = 0;
  for (const int value : co_await when_all(std::move(tasks))) sum += value;
  co_return sum;
}

TEST(Cancellation, ManyTasksCanCompensateAtOnce) {
  Driver driver(cancels_many_tasks);
  driver.start();
  const Outcome request = driver.step(driver.cancels("enough"));
  ASSERT_EQ(request.actions.size(), 2000U);
  EXPECT_EQ(request.cancels.size(), 2000U);
  std::vector<Message> messages;
  for (const Action& action : request.actions) messages.push_back(driver.completes(action.id, 1));
  EXPECT_EQ(result_of<int>(driver.turn(std::move(messages))), 2000);
}

// ---- sagas and continue-as-new ------------------------------------------------------------------

Task<std::string> books(Context& ctx, Saga& saga) {
  saga.undo_with("cancel_hotel", "h1");
  co_await ctx.activity<void>("book_hotel");
  saga.undo_with("cancel_car", "c1");
  co_await ctx.activity<void>("book_car");
  co_await ctx.activity<void>("book_flight");
  co_return "booked";
}

Task<std::string> trip(Context& ctx) { return run_saga(ctx, books); }

TEST(Saga, CompensatesWhileTheExecutionIsCancelled) {
  Driver driver(trip);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  driver.step(driver.completes(driver.last.actions.at(0).id));
  Outcome next = driver.step(driver.cancels("enough"));
  EXPECT_EQ(activity_in(next), "cancel_car");
  EXPECT_TRUE(all_for(CancelReason::cancel_requested, next));
  next = driver.step(driver.completes(next.actions[0].id));
  EXPECT_EQ(activity_in(next), "cancel_hotel");
  next = driver.step(driver.completes(next.actions[0].id));
  ASSERT_NE(cancellation_of(next), nullptr);
  EXPECT_EQ(cancellation_of(next)->message, "enough");
}

TEST(Saga, TriesToUndoEveryStepAndSaysWhatCouldNotBe) {
  Driver driver(trip);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  driver.step(driver.completes(driver.last.actions.at(0).id));
  Outcome next = driver.step(driver.cancels("enough"));
  next = driver.step(driver.fails(next.actions.at(0).id, "no_answer"));
  EXPECT_EQ(activity_in(next), "cancel_hotel");
  next = driver.step(driver.completes(next.actions[0].id));
  ASSERT_NE(cancellation_of(next), nullptr);
  ASSERT_NE(cancellation_of(next)->cause, nullptr);
  EXPECT_EQ(cancellation_of(next)->cause->type, "not_undone");
  EXPECT_EQ(cancellation_of(next)->cause->cause->type, "no_answer");
}

Task<> next_round(Context& ctx, int n) { co_await ctx.continue_as_new(n); }

Task<std::string> continues_while_cancelled(Context& ctx, int n) {
  static_cast<void>(co_await ctx.sleep(1h).settled());
  std::string tried = "nothing thrown";
  try {
    co_await ctx.continue_as_new(n + 1);
  } catch (const Cancelled& e) {
    tried = e.failure().message;
  }
  if (n == 0) co_return tried;
  co_await ctx.shield(next_round(ctx, n + 1));
  co_return "unreachable";
}

TEST(Cancellation, ContinueAsNewNeedsAShield) {
  Driver without(continues_while_cancelled, 0);
  without.start();
  EXPECT_EQ(result_of<std::string>(without.step(without.cancels("enough"))), "enough");
  Driver with(continues_while_cancelled, 1);
  with.start();
  const Outcome end = with.step(with.cancels("enough"));
  ASSERT_NE(end_of<history::ContinuedAsNew>(end), nullptr);
  EXPECT_EQ(end_of<history::ContinuedAsNew>(end)->input, encode(2));
}

Task<std::string> compensates_in_parallel(Context& ctx) {
  bool cancelled = false;
  try {
    co_await ctx.activity<void>("work");
  } catch (const Cancelled&) {
    cancelled = true;
  }
  if (!cancelled) co_return "done";
  co_await when_all(ctx.shield(ctx.activity<void>("undo_a")), ctx.shield(ctx.activity<void>("undo_b")));
  co_return "undone";
}

TEST(Cancellation, ACombinatorWaitsForPartsThatAreShielded) {
  Driver driver(compensates_in_parallel);
  driver.start();
  const Outcome undoing = driver.step(driver.cancels("enough"));
  ASSERT_EQ(undoing.actions.size(), 2U);
  EXPECT_EQ(cancelled(undoing), std::vector<std::uint64_t>{3});
  EXPECT_FALSE(undoing.end);
  const Outcome end =
      driver.step(driver.completes(undoing.actions[1].id), driver.completes(undoing.actions[0].id));
  EXPECT_EQ(result_of<std::string>(end), "undone");
  EXPECT_TRUE(end.cancels.empty());
}

}  // namespace
}  // namespace holdfast::engine::cancellation_test
