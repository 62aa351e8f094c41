// Operations that nobody wants any more: dropped by the code, or open when the execution ends.
#include "engine/driver_test.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace holdfast::engine::dropping_test {
namespace {

using detail::ActivityScheduled;
using history::CancelReason;
using Ids = std::vector<std::uint64_t>;

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

// ---- children -----------------------------------------------------------------------------------

Task<std::string> has_children(Context& ctx, std::string ending) {
  auto asked = ctx.child<int>("ship", {.id = "asked"}).start();
  auto left = ctx.child<int>("ship", {.id = "left", .on_parent_close = ParentClosePolicy::abandon}).start();
  auto ended =
      ctx.child<int>("ship", {.id = "ended", .on_parent_close = ParentClosePolicy::terminate}).start();
  if (ending == "detach") {
    std::move(asked).detach();
    std::move(left).detach();
    std::move(ended).detach();
  }
  if (ending == "drop") {
    const auto drop = [](Future<int>, Future<int>, Future<int>) {};
    drop(std::move(asked), std::move(left), std::move(ended));
  }
  const auto next = co_await ctx.activity<std::string>("next");
  if (next == "fail") throw std::runtime_error("failed");
  if (next == "continue") co_await ctx.continue_as_new(ending);
  co_return next;
}

struct Closed {
  std::string child{};
  ParentClosePolicy policy = ParentClosePolicy::cancel;
  CancelReason reason = CancelReason::dropped;
  friend bool operator==(const Closed&, const Closed&) = default;
};

std::vector<Closed> closed_children(const Outcome& outcome) {
  std::vector<Closed> children;
  for (const Cancel& cancel : outcome.cancels) {
    if (cancel.kind == detail::kind_of_operation<detail::ChildStarted>)
      children.push_back({cancel.label, cancel.on_close, cancel.reason});
  }
  return children;
}

std::vector<Closed> asked_and_ended(CancelReason reason) {
  return {{"asked", ParentClosePolicy::cancel, reason}, {"ended", ParentClosePolicy::terminate, reason}};
}

TEST(Children, AreClosedByTheirPolicyWhenDropped) {
  Driver driver(has_children, "drop");
  const Outcome first = driver.start();
  EXPECT_EQ(closed_children(first), asked_and_ended(CancelReason::dropped));
  const Outcome late = driver.step(driver.completes(EventId{4}, 1), driver.completes(EventId{3}, 1));
  EXPECT_EQ(late.ignored, 1U);  // the abandoned one still has its outcome
}

TEST(Children, AreClosedByTheirPolicyOnARequestToCancel) {
  for (const char* how : {"hold", "detach"}) {
    SCOPED_TRACE(how);
    Driver driver(has_children, how);
    driver.start();
    const Outcome end = driver.step(driver.cancels("enough"));
    EXPECT_EQ(closed_children(end), asked_and_ended(CancelReason::cancel_requested));
    EXPECT_NE(cancellation_of(end), nullptr);
  }
}

TEST(Children, AreClosedByTheirPolicyAtEveryEnd) {
  const auto end_with = [](const char* ending) {
    Driver driver(has_children, "detach");
    driver.start();
    return driver.step(driver.completes(EventId{6}, ending));
  };
  EXPECT_EQ(closed_children(end_with("complete")), asked_and_ended(CancelReason::execution_completed));
  EXPECT_EQ(closed_children(end_with("fail")), asked_and_ended(CancelReason::execution_failed));
  EXPECT_EQ(closed_children(end_with("continue")), asked_and_ended(CancelReason::continued_as_new));

  Driver driver(has_children, "hold");
  driver.start();
  const Outcome terminated = driver.warm().terminate(CalendarTime{}, "no longer needed");
  EXPECT_EQ(closed_children(terminated), asked_and_ended(CancelReason::execution_terminated));
  driver.segments().push_back(terminated.segment);
  EXPECT_TRUE(driver.replay_with(has_children));
}

TEST(Children, OfAnExecutionThatEndsAsCancelledAreClosedToo) {
  const auto orchestration = [](Context& ctx) -> Task<> {
    const auto shielded = [](Context& c) -> Task<> {
      c.child<void>("ship", {.id = "asked"}).start().detach();
      co_await c.activity<void>("clean_up");
    };
    co_await ctx.shield(shielded(ctx));
    co_await ctx.sleep(1s);
  };
  Driver driver(orchestration);
  driver.start();
  EXPECT_TRUE(driver.step(driver.cancels("enough")).cancels.empty());
  const Outcome end = driver.step(driver.completes(EventId{4}));
  EXPECT_EQ(closed_children(end),
            (std::vector<Closed>{{"asked", ParentClosePolicy::cancel, CancelReason::execution_cancelled}}));
}

TEST(Children, KeepThePolicyThatTheyWereStartedWith) {
  static constexpr auto drops_a_child = [](Context& ctx, ParentClosePolicy policy) -> Task<> {
    {
      auto child = ctx.child<int>("ship", {.id = "c", .on_parent_close = policy}).start();
      co_await ctx.sleep(1s);
    }
    co_await ctx.sleep(1s);
  };
  const auto before = [](Context& ctx) -> Task<> { co_await drops_a_child(ctx, ParentClosePolicy::cancel); };
  const auto now = [](Context& ctx) -> Task<> { co_await drops_a_child(ctx, ParentClosePolicy::abandon); };
  Driver driver(before);
  driver.start();
  EXPECT_EQ(cancelled(driver.step(driver.completes(EventId{4}))), Ids{3});
  const auto outcome = driver.replay_with(now);
  EXPECT_TRUE(outcome) << describe(outcome.error());
}

// ---- drops --------------------------------------------------------------------------------------

Task<std::string> drops_in_every_way(Context& ctx, std::string how) {
  if (how == "race") co_await race(ctx.activity<void>("wins"), ctx.activity<void>("loses"), ctx.sleep(1s));
  if (how == "nested race") {
    co_await race(ctx.activity<void>("wins"), race(ctx.activity<void>("loses"), ctx.sleep(1s)));
  }
  if (how == "timeout") co_await with_timeout(ctx.activity<void>("fast"), 1h);
  if (how == "scope") {
    auto a = ctx.activity<void>("first").start();
    auto b = ctx.activity<void>("open").start();
    auto c = ctx.event<void>("open").start();
    co_await a;
  }
  if (how == "unwinding") {
    try {
      auto a = ctx.activity<void>("first").start();
      auto b = ctx.activity<void>("open").start();
      auto c = ctx.mailbox<int>("open").receive().start();
      co_await a;
      throw std::runtime_error("unwinds");
    } catch (const std::runtime_error&) {
    }
  }
  if (how == "task") {
    const auto waits = [](Context& c) -> Task<> {
      auto b = c.activity<void>("open").start();
      co_await c.activity<void>("open");
    };
    auto a = ctx.activity<void>("first").start();
    auto dropped = ctx.start(waits(ctx));
    co_await a;
  }
  co_return co_await ctx.activity<std::string>("last");
}

TEST(Dropping, CancelsWhatHasNoOutcome) {
  for (const char* how : {"race", "nested race", "scope", "unwinding", "task"}) {
    SCOPED_TRACE(how);
    Driver driver(drops_in_every_way, how);
    driver.start();
    const Outcome outcome = driver.step(driver.completes(EventId{3}));
    EXPECT_EQ(cancelled(outcome), (Ids{4, 5}));
    EXPECT_TRUE(all_for(CancelReason::dropped, outcome));
    EXPECT_TRUE(driver.step(driver.completes(EventId{4})).segment.empty());
  }
}

TEST(Dropping, ATimeoutCancelsItsPartAndAPartItsTimeout) {
  Driver in_time(drops_in_every_way, "timeout");
  in_time.start();
  EXPECT_EQ(cancelled(in_time.step(in_time.completes(EventId{3}))), Ids{4});
  Driver late(drops_in_every_way, "timeout");
  late.start();
  const Outcome outcome = late.step(late.completes(EventId{4}));
  EXPECT_EQ(cancelled(outcome), Ids{3});
  EXPECT_EQ(outcome.cancels.at(0).label, "fast");
}

Task<> starts_and_drops(Context& ctx) {
  {
    auto dropped = ctx.activity<void>("short").start();
  }
  const auto raced = co_await race(ctx.side_effect([] { return 1; }), ctx.activity<int>("loses"));
  static_cast<void>(raced);
  co_await ctx.activity<void>("last");
}

TEST(Dropping, WhatIsStartedAndDroppedInOneTurnIsInItTwice) {
  Driver driver(starts_and_drops);
  const Outcome first = driver.start();
  EXPECT_EQ(first.actions.size(), 4U);
  EXPECT_EQ(cancelled(first), (Ids{3, 5}));
}

TEST(Dropping, WhatIsStartedAndCancelledInOneTurnIsInItTwice) {
  Driver driver([](Context& ctx) -> Task<> { co_await ctx.activity<void>("short"); });
  std::vector<Message> messages{driver.cancels("enough")};
  const Message started{MessageId{99}, ExecutionNumber{1}, history::Started{.name = "test", .version = "1"}};
  messages.insert(messages.begin(), started);
  const Outcome end = driver.turn(std::move(messages));
  EXPECT_EQ(end.actions.size(), 1U);
  EXPECT_EQ(cancelled(end), Ids{3});
  EXPECT_NE(cancellation_of(end), nullptr);
}

Task<> drops_out_of_order(Context& ctx) {
  const auto holds = [](Future<void>, Future<void>, Context&) -> Task<> { co_return; };
  auto a = ctx.activity<void>("a").start();
  auto b = ctx.activity<void>("b").start();
  auto c = ctx.activity<void>("c").start();
  auto d = ctx.activity<void>("d").start();
  auto e = ctx.activity<void>("e").start();
  co_await ctx.sleep(1s);
  {
    const auto dropped = std::move(d);
  }
  {
    const auto dropped = std::move(b);
  }
  // Its parameters live as long as its frame, which the engine keeps to the end of the turn.
  ctx.start(holds(std::move(e), std::move(c), ctx)).detach();
  {
    const auto dropped = std::move(a);
  }
  co_await ctx.sleep(1s);
}

TEST(Dropping, CancelsAreSortedWhateverTheOrderOfDestructors) {
  Driver driver(drops_out_of_order);
  driver.start();
  const Outcome outcome = driver.step(driver.completes(EventId{8}));
  EXPECT_EQ(cancelled(outcome), (Ids{3, 4, 5, 6, 7}));
  EXPECT_TRUE(all_for(CancelReason::dropped, outcome));
}

Task<> ends_with_parameters(Context& ctx) {
  const auto holds = [](Future<void>, Context&) -> Task<> { co_return; };
  auto a = ctx.activity<void>("a").start();
  co_await ctx.sleep(1s);
  ctx.start(holds(std::move(a), ctx)).detach();
}

TEST(Dropping, TheEndCancelsWhatTheFramesOfTasksStillHold) {
  Driver driver(ends_with_parameters);
  driver.start();
  EXPECT_EQ(cancelled(driver.step(driver.completes(EventId{4}))), Ids{3});
}

Task<> detaches(Context& ctx) {
  const auto waits = [](Context& c) -> Task<> {
    co_await c.activity<void>("in_task");
    co_await c.activity<void>("in_task_again");
  };
  ctx.activity<void>("alone").start().detach();
  ctx.start(waits(ctx)).detach();
  co_await ctx.activity<void>("work");
}

TEST(Dropping, WhatIsDetachedLivesUntilTheExecutionIsCancelledOrEnds) {
  Driver ends(detaches);
  ends.start();
  const Outcome second = ends.step(ends.completes(EventId{4}));
  EXPECT_EQ(activity_in(second), "in_task_again");
  EXPECT_TRUE(second.cancels.empty());
  const Outcome end = ends.step(ends.completes(EventId{5}));
  EXPECT_EQ(cancelled(end), (Ids{3, second.actions.at(0).id.value}));
  EXPECT_TRUE(all_for(CancelReason::execution_completed, end));

  Driver asked(detaches);
  asked.start();
  const Outcome request = asked.step(asked.cancels("enough"));
  EXPECT_EQ(cancelled(request), (Ids{3, 4, 5}));
  EXPECT_TRUE(all_for(CancelReason::cancel_requested, request));
}

Task<std::string> asks_others(Context& ctx, std::string ending) {
  auto a = ctx.start_detached("audit", {.id = "audit-1"}).start();
  auto b = ctx.open_session({.id = "s"}).start();
  auto c = ctx.session("t").close().start();
  auto d = ctx.value_of<int>("i-2", "k").start();
  if (ending == "drop") {
    const auto drop = [](auto...) {};
    drop(std::move(a), std::move(b), std::move(c), std::move(d));
  }
  co_await ctx.activity<void>("work");
  if (ending == "fail") throw std::runtime_error("failed");
  if (ending == "continue") co_await ctx.continue_as_new(ending);
  co_return ending;
}

TEST(Dropping, WhatIsAskedOfOthersIsNeverCancelled) {
  for (const char* how : {"drop", "complete", "fail", "continue"}) {
    SCOPED_TRACE(how);
    Driver driver(asks_others, how);
    const Outcome first = driver.start();
    EXPECT_EQ(first.actions.size(), 5U);
    EXPECT_TRUE(first.cancels.empty());
    const Outcome end = driver.step(driver.completes(EventId{7}));
    EXPECT_TRUE(end.end);
    EXPECT_TRUE(end.cancels.empty());
  }
  Driver driver(asks_others, "complete");
  driver.start();
  EXPECT_EQ(cancelled(driver.step(driver.cancels("enough"))), Ids{7});
}

// ---- in parameters of detached tasks ------------------------------------------------------------

/// Does something when it is destroyed.
class Parting {
 public:
  Parting(Context& ctx, std::string what) : ctx_(&ctx), what_(std::move(what)) {}
  Parting(Parting&& other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)), what_(other.what_) {}
  Parting& operator=(Parting&&) = delete;
  ~Parting() {
    if (ctx_ == nullptr) return;
    if (what_ == "value") ctx_->set_value("done", 1);
    if (what_ == "activity") ctx_->activity<int>("after").start().detach();
    if (what_ == "event") ctx_->event<int>("never").start().detach();
    if (what_ == "task") ctx_->start(sleeps(*ctx_, Parting(*ctx_, "value"))).detach();
  }

 private:
  static Task<> sleeps(Context& ctx, [[maybe_unused]] Parting parting) { co_await ctx.sleep(1s); }
  Context* ctx_;
  std::string what_;
};

Task<> works_in_the_background(Context& ctx, [[maybe_unused]] Parting parting) { co_await ctx.sleep(1s); }

Task<int> leaves_a_guarded_task(Context& ctx, std::string what) {
  ctx.start(works_in_the_background(ctx, Parting(ctx, what))).detach();
  co_await ctx.event<int>("go");
  co_return 1;
}

TEST(Detaching, OfATaskReplaysWhatItsParametersDoAtItsEnd) {
  for (const char* what : {"value", "activity", "event", "task"}) {
    SCOPED_TRACE(what);
    Driver driver(leaves_a_guarded_task, what);
    driver.start();
    const Outcome done = driver.step(driver.completes(EventId{3}));
    EXPECT_EQ(done.actions.size(), 1U);
    driver.forget_frames();
    if (what == std::string("task")) driver.step(driver.completes(done.actions.at(0).id));
    EXPECT_EQ(result_of<int>(driver.step(driver.raises("go", 1))), 1);
  }
}

// In one batch, so that the frame goes between two completions.
TEST(Detaching, OfATaskThatEndsInTheMiddleOfATurnReplays) {
  Driver driver(leaves_a_guarded_task, "activity");
  driver.start();
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(EventId{3}), driver.raises("go", 1))), 1);
}

// ---- with others who wait -----------------------------------------------------------------------

Task<std::string> waits_for(Future<std::string>* future) { co_return co_await *future; }
Task<std::string> waits_for_both(Context& ctx, Future<std::string>* future) {
  const auto both = co_await when_all(*future, ctx.activity<std::string>("other"));
  co_return std::get<0>(both) + std::get<1>(both);
}
Task<std::string> works(Context& ctx) { co_return co_await ctx.activity<std::string>("work"); }

Task<std::string> leaves_what_others_await(Context& ctx, std::string what, std::string how) {
  auto work = what == "task" ? ctx.start(works(ctx)) : ctx.activity<std::string>("work").start();
  auto one = ctx.start(waits_for(&work));
  auto both = ctx.start(waits_for_both(ctx, &work));
  if (how == "detach") std::move(work).detach();
  if (how == "drop") {
    const Future<std::string> dropped = std::move(work);
  }
  const auto outcomes = co_await when_all_settled(one, both);
  const auto text = [](const Result<std::string>& r) { return r ? *r : r.error().type; };
  co_return text(std::get<0>(outcomes)) + ", " + text(std::get<1>(outcomes));
}

TEST(Detaching, LeavesTheOutcomeToThoseWhoWaitForIt) {
  for (const char* what : {"operation", "task"}) {
    SCOPED_TRACE(what);
    Driver driver(leaves_what_others_await, what, "detach");
    EXPECT_TRUE(driver.start().cancels.empty());
    driver.step(driver.completes(EventId{3}, "done"));
    driver.step();
    const Outcome end = driver.step(driver.completes(EventId{4}, " too"));
    // The value of a task is moved out by the first who takes it.
    EXPECT_EQ(result_of<std::string>(end), what == std::string("task") ? "done,  too" : "done, done too");
  }
}

TEST(Dropping, FailsTheAwaitsOfOthers) {
  for (const char* what : {"operation", "task"}) {
    SCOPED_TRACE(what);
    Driver driver(leaves_what_others_await, what, "drop");
    const Outcome end = driver.start();
    EXPECT_EQ(cancelled(end), (Ids{3, 4}));
    EXPECT_EQ(result_of<std::string>(end), "future_dropped, future_dropped");
  }
}

using Jobs = std::map<int, Future<int>>;

Task<int> nested(Context& ctx, Jobs& jobs, int i) {
  jobs.erase(i);
  co_return co_await ctx.activity<int>("after");
}
Task<int> erases_itself(Context& ctx, Jobs& jobs, std::string how, int i) {
  co_await ctx.activity<void>("before");
  if (how == "nested") co_return co_await nested(ctx, jobs, i);
  jobs.erase(i);
  if (how == "at its end") co_return i;
  co_return co_await ctx.activity<int>("after");
}
Task<std::size_t> has_jobs_that_erase_themselves(Context& ctx, std::string how) {
  Jobs jobs;
  for (int i = 0; i < 2; ++i) jobs.emplace(i, ctx.start(erases_itself(ctx, jobs, how, i)));
  co_await ctx.event<void>("end");
  co_return jobs.size();
}

TEST(Dropping, OfItsOwnFutureLetsATaskGoOn) {
  for (const char* how : {"at its end", "before an await", "nested"}) {
    SCOPED_TRACE(how);
    Driver driver(has_jobs_that_erase_themselves, how);
    driver.start();
    const Outcome both = driver.step(driver.completes(EventId{3}), driver.completes(EventId{4}));
    EXPECT_TRUE(both.cancels.empty());
    const bool goes_on = how != std::string("at its end");
    ASSERT_EQ(both.actions.size(), goes_on ? 2U : 0U);
    driver.forget_frames();
    if (goes_on) {
      EXPECT_TRUE(driver.step(driver.completes(both.actions[0].id, 1)).cancels.empty());
    }
    const Outcome end = driver.step(driver.raises("end", std::monostate{}));
    EXPECT_EQ(result_of<std::size_t>(end), 0U);
    EXPECT_EQ(cancelled(end).size(), goes_on ? 1U : 0U);  // as of every task that is detached
  }
}

TEST(Dropping, KeepsAnOutcomeForThoseWhoTakeItLater) {
  const auto orchestration = [](Context& ctx) -> Task<std::string> {
    auto work = ctx.start(works(ctx));
    auto borrowed = when_all(work);
    co_await ctx.activity<void>("first");
    const auto result = work.result();
    std::move(work).detach();
    const auto all = co_await std::move(borrowed);
    const auto again = co_await result;  // the value is moved out by the first
    co_return std::get<0>(all) + (again ? "" : "failed");
  };
  Driver driver(orchestration);
  driver.start();
  driver.step(driver.completes(EventId{3}, "done"));
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{4}))), "done");
}

}  // namespace
}  // namespace holdfast::engine::dropping_test
