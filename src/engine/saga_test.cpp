// Sagas whose frames are dropped: they are undone all the same, and who dropped them waits for it.
#include "engine/driver_test.hpp"

#include <holdfast/context.hpp>
#include <holdfast/saga.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engine::saga_test {
namespace {

using detail::ActivityScheduled;

/// An execution whose activities are known by their names.
class Trips {
 public:
  template <class F, class... In>
  explicit Trips(F orchestration, const In&... in) : driver(orchestration, in...) {
    note(driver.start());
  }

  /// What the turn in which this activity ended did: "hotel, !car" schedules the one and cancels the other.
  std::string done(const std::string& activity) {
    return note(driver.step(driver.completes(take(activity))));
  }
  std::string failed(const std::string& activity) {
    return note(driver.step(driver.fails(take(activity), activity + "_failed")));
  }
  std::string raised(const std::string& event) { return note(driver.step(driver.raises(event, 1))); }
  std::string cancelled() { return note(driver.step(driver.cancels("enough"))); }
  [[nodiscard]] bool ended() const { return driver.last.end.has_value(); }

  Driver driver;

 private:
  EventId take(const std::string& activity) {
    const auto found = ids_.find(activity);
    if (found == ids_.end()) return ADD_FAILURE() << activity << " was not scheduled", EventId{};
    const EventId id = found->second;
    ids_.erase(found);
    return id;
  }
  std::string note(const Outcome& outcome) {
    std::string what;
    const auto add = [&](std::string_view mark, std::string_view name) {
      if (!what.empty()) what += ", ";
      what += mark;
      what += name;
    };
    for (const Cancel& cancel : outcome.cancels) {
      if (cancel.kind == detail::kind_of_operation<ActivityScheduled>) add("!", cancel.label);
    }
    for (const Action& action : outcome.actions) {
      const auto* const activity = std::get_if<ActivityScheduled>(&action.operation);
      if (activity == nullptr) continue;
      add("", activity->name);
      ids_[activity->name] = action.id;
    }
    return what;
  }

  std::map<std::string, EventId> ids_;
};

Task<std::string> book(Context& ctx, Saga& saga, std::string where) {
  saga.undo_with("cancel_hotel" + where);
  co_await ctx.activity<void>("hotel" + where);
  saga.undo_with("cancel_car" + where);
  co_await ctx.activity<void>("car" + where);
  co_return "booked" + where;
}

Failure failure_of_end(const Trips& trips) {
  const auto* const failed = end_of<history::ExecutionFailed>(trips.driver.last);
  if (failed == nullptr) return ADD_FAILURE() << "it did not fail", Failure{};
  return failed->failure;
}

// ---- dropped by combinators ---------------------------------------------------------------------

Task<std::string> races(Context& ctx) {
  auto trip = run_saga(ctx, book, "");
  const auto first = co_await race(std::move(trip), ctx.event<int>("too_late"));
  if (first.index() == 0) co_return std::get<0>(first);
  co_await ctx.activity<void>("apologise");
  co_return "too late";
}

TEST(DroppedSaga, IsUndoneBeforeTheRaceThatItLostEnds) {
  Trips trips(races);
  EXPECT_EQ(trips.done("hotel"), "car");
  EXPECT_EQ(trips.raised("too_late"), "!car, cancel_car");
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  trips.driver.forget_frames();
  EXPECT_EQ(trips.done("cancel_hotel"), "apologise");
  trips.done("apologise");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "too late");
}

TEST(DroppedSaga, IsNotUndoneWhenItWon) {
  Trips trips(races);
  trips.done("hotel");
  EXPECT_EQ(trips.done("car"), "");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "booked");
}

TEST(DroppedSaga, ThatHasBegunToUndoIsNotUndoneTwice) {
  Trips trips(races);
  trips.done("hotel");
  EXPECT_EQ(trips.failed("car"), "cancel_car");
  EXPECT_EQ(trips.raised("too_late"), "") << "the race waits for what the saga was at already";
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  EXPECT_EQ(trips.done("cancel_hotel"), "apologise");
}

TEST(DroppedSaga, IsUndoneWhileItsInstanceIsCancelled) {
  Trips trips(races);
  trips.done("hotel");
  trips.raised("too_late");
  EXPECT_EQ(trips.cancelled(), "") << "what undoes is shielded";
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  EXPECT_EQ(trips.done("cancel_hotel"), "");
  EXPECT_NE(end_of<history::ExecutionCancelled>(trips.driver.last), nullptr);
}

TEST(DroppedSaga, IsNotUndoneByATermination) {
  Trips trips(races);
  trips.done("hotel");
  const Outcome end = trips.driver.terminate("now");
  EXPECT_TRUE(end.actions.empty());
  EXPECT_TRUE(end.end);
}

TEST(DroppedSaga, ThatCouldNotBeUndoneIsThrownByTheRace) {
  Trips trips(races);
  trips.done("hotel");
  trips.raised("too_late");
  trips.failed("cancel_car");
  EXPECT_EQ(trips.done("cancel_hotel"), "");
  const Failure failure = failure_of_end(trips);
  EXPECT_EQ(failure.type, "not_undone");
  ASSERT_NE(failure.cause, nullptr);
  EXPECT_EQ(failure.cause->type, "cancel_car_failed");
}

Task<std::string> takes_too_long(Context& ctx) {
  auto trip = run_saga(ctx, book, "");
  const std::optional<std::string> in_time = co_await with_timeout(std::move(trip), 1h);
  co_await ctx.activity<void>("report");
  co_return in_time.value_or("too late");
}

TEST(DroppedSaga, IsUndoneWhenItTakesTooLong) {
  Trips trips(takes_too_long);
  trips.done("hotel");
  EventId timer{};
  for (const OpenOperation& open : trips.driver.warm().open_operations()) {
    if (open.kind == detail::kind_of_operation<detail::TimerStarted>) timer = open.id;
  }
  const Outcome late = trips.driver.step(trips.driver.completes(timer));
  ASSERT_EQ(late.actions.size(), 1U);
  const Outcome next = trips.driver.step(trips.driver.completes(late.actions[0].id));
  ASSERT_EQ(next.actions.size(), 1U);
  EXPECT_EQ(std::get<ActivityScheduled>(next.actions[0].operation).name, "cancel_hotel");
}

Task<std::string> books_beside(Context& ctx) {
  auto trip = run_saga(ctx, book, "");
  co_await when_all(std::move(trip), ctx.activity<void>("passport"));
  co_return "all done";
}

TEST(DroppedSaga, IsUndoneBeforeTheFailureOfItsNeighbourIsThrown) {
  Trips trips(books_beside);
  trips.done("hotel");
  EXPECT_EQ(trips.failed("passport"), "!car, cancel_car");
  trips.done("cancel_car");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_hotel");
  EXPECT_EQ(failure_of_end(trips).type, "passport_failed");
}

TEST(DroppedSaga, ThatCouldNotBeUndoneIsTheLastCauseOfTheFailure) {
  Trips trips(books_beside);
  trips.done("hotel");
  trips.failed("passport");
  trips.done("cancel_car");
  trips.failed("cancel_hotel");
  const Failure failure = failure_of_end(trips);
  EXPECT_EQ(failure.type, "passport_failed");
  ASSERT_NE(failure.cause, nullptr);
  EXPECT_EQ(failure.cause->type, "not_undone");
  ASSERT_NE(failure.cause->cause, nullptr);
  EXPECT_EQ(failure.cause->cause->type, "cancel_hotel_failed");
}

Task<std::string> books_all(Context& ctx) {
  const std::vector<std::string> places = {"/oslo", "/rome", "/york"};
  const auto trip = [&ctx](std::string where) { return run_saga(ctx, book, where); };
  co_await when_all(places, trip, {.at_most = 2});
  co_return "all done";
}

TEST(DroppedSaga, IsUndoneInABoundedFanOut) {
  Trips trips(books_all);
  trips.done("hotel/oslo");
  EXPECT_EQ(trips.failed("hotel/rome"), "cancel_hotel/rome");
  EXPECT_EQ(trips.done("cancel_hotel/rome"), "!car/oslo, cancel_car/oslo");
  trips.done("cancel_car/oslo");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_hotel/oslo");
  EXPECT_EQ(failure_of_end(trips).type, "hotel/rome_failed");
}

Task<std::string> races_inside(Context& ctx) {
  auto trip = run_saga(ctx, book, "");
  const auto first = co_await race(std::move(trip), ctx.event<int>("too_late"));
  co_return first.index() == 0 ? std::get<0>(first) : "too late";
}
Task<std::string> races_twice(Context& ctx) {
  auto inner = races_inside(ctx);
  const auto first = co_await race(std::move(inner), ctx.event<int>("far_too_late"));
  if (first.index() == 0) co_return std::get<0>(first);
  co_await ctx.activity<void>("apologise");
  co_return "far too late";
}

TEST(DroppedSaga, IsWaitedForByWhoDropsTheFrameThatWaits) {
  Trips trips(races_twice);
  trips.done("hotel");
  EXPECT_EQ(trips.raised("too_late"), "!car, cancel_car");
  EXPECT_EQ(trips.raised("far_too_late"), "");
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  EXPECT_EQ(trips.done("cancel_hotel"), "apologise");
}

Task<std::string> books_two(Context& ctx) {
  auto both = when_all(run_saga(ctx, book, "/oslo"), run_saga(ctx, book, "/rome"));
  const auto first = co_await race(std::move(both), ctx.event<int>("too_late"));
  co_return first.index() == 0 ? "both" : "none";
}

TEST(DroppedSaga, OneBesideAnotherIsUndoneAtTheSameTime) {
  Trips trips(books_two);
  trips.done("hotel/oslo");
  EXPECT_EQ(trips.raised("too_late"), "!hotel/rome, !car/oslo, cancel_car/oslo, cancel_hotel/rome");
  trips.done("cancel_hotel/rome");
  trips.done("cancel_car/oslo");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_hotel/oslo");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "none");
}

// ---- sagas inside of sagas ----------------------------------------------------------------------

Task<int> charges(Context& ctx, Saga& saga, std::string which) {
  saga.undo_with("refund" + which);
  co_await ctx.activity<void>("charge" + which);
  saga.undo_with("withdraw" + which);
  co_await ctx.activity<void>("send" + which);
  co_return 1;
}
Task<int> passes_on(Context& ctx) { co_return co_await run_saga(ctx, charges, ""); }
Task<int> opens(Context& ctx, Saga& saga) {
  saga.undo_with("close");
  co_await ctx.activity<void>("open");
  co_return co_await passes_on(ctx);
}
Task<int> opens_and_waits_in_a_race(Context& ctx, Saga& saga) {
  saga.undo_with("close");
  co_await ctx.activity<void>("open");
  const auto first = co_await race(ctx.event<int>("never"), passes_on(ctx));
  co_return static_cast<int>(first.index());
}
Task<int> opens_and_starts(Context& ctx, Saga& saga) {
  const auto charging = ctx.start(passes_on(ctx));
  saga.undo_with("close");
  co_await ctx.activity<void>("open");
  co_return co_await charging;
}
template <Task<int> (*kSteps)(Context&, Saga&)>
Task<std::string> gives_up(Context& ctx) {
  const auto first = co_await race(run_saga(ctx, kSteps), ctx.event<int>("too_late"));
  co_return first.index() == 0 ? "in time" : "too late";
}

TEST(DroppedSaga, InsideOfAnotherIsUndoneBeforeIt) {
  for (auto* const code :
       {gives_up<opens>, gives_up<opens_and_waits_in_a_race>, gives_up<opens_and_starts>}) {
    Trips trips(code);
    trips.done("open");
    EXPECT_EQ(trips.done("charge"), "send");
    EXPECT_EQ(trips.raised("too_late"), "!send, withdraw");
    EXPECT_EQ(trips.done("withdraw"), "refund");
    trips.driver.forget_frames();
    EXPECT_EQ(trips.done("refund"), "close");
    EXPECT_FALSE(trips.ended());
    trips.done("close");
    EXPECT_EQ(result_of<std::string>(trips.driver.last), "too late");
  }
}

TEST(DroppedSaga, InsideOfAnotherIsUndoneBeforeItWhenItHasFailedAlready) {
  Trips trips(gives_up<opens>);
  trips.done("open");
  EXPECT_EQ(trips.failed("charge"), "refund");
  EXPECT_EQ(trips.raised("too_late"), "");
  EXPECT_EQ(trips.done("refund"), "close");
  trips.done("close");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "too late");
}

TEST(DroppedSaga, AroundOneThatCouldNotBeUndoneIsUndoneAllTheSame) {
  Trips trips(gives_up<opens>);
  trips.done("open");
  trips.raised("too_late");
  EXPECT_EQ(trips.failed("refund"), "close");
  trips.done("close");
  EXPECT_EQ(failure_of_end(trips).type, "not_undone");
}

Task<int> opens_for_two(Context& ctx, Saga& saga) {
  saga.undo_with("close");
  co_await ctx.activity<void>("open");
  co_await when_all(run_saga(ctx, charges, "/a"), run_saga(ctx, charges, "/b"));
  co_return 1;
}

TEST(DroppedSaga, AroundSeveralIsUndoneAfterAllOfThem) {
  Trips trips(gives_up<opens_for_two>);
  trips.done("open");
  EXPECT_EQ(trips.raised("too_late"), "!charge/a, !charge/b, refund/a, refund/b");
  EXPECT_EQ(trips.done("refund/b"), "");
  EXPECT_EQ(trips.done("refund/a"), "close");
  trips.done("close");
  EXPECT_TRUE(trips.ended());
}

Task<int> has_two(Context& ctx) {
  Saga first(ctx);
  Saga second(ctx);
  first.undo_with("undo_first");
  second.undo_with("undo_second");
  co_await ctx.activity<void>("work");
  co_return 1;
}
Task<std::string> gives_up_two(Context& ctx) {
  const auto first = co_await race(has_two(ctx), ctx.event<int>("too_late"));
  co_return first.index() == 0 ? "in time" : "too late";
}

TEST(DroppedSaga, TheLaterOneOfAFrameIsUndoneFirst) {
  Trips trips(gives_up_two);
  EXPECT_EQ(trips.raised("too_late"), "!work, undo_second");
  EXPECT_EQ(trips.done("undo_second"), "undo_first");
  trips.done("undo_first");
  EXPECT_TRUE(trips.ended());
}

// ---- dropped with a Future ----------------------------------------------------------------------

Task<std::string> drops(Context& ctx) {
  {
    const auto trip = ctx.start(run_saga(ctx, book, ""));
    co_await ctx.event<int>("enough");
  }
  co_await ctx.activity<void>("apologise");
  co_return "dropped";
}

TEST(DroppedSaga, IsUndoneBesideTheCodeThatDroppedItsFuture) {
  Trips trips(drops);
  trips.done("hotel");
  EXPECT_EQ(trips.raised("enough"), "!car, apologise, cancel_car");
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  EXPECT_EQ(trips.done("cancel_hotel"), "");
  trips.done("apologise");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "dropped");
}

TEST(DroppedSaga, IsUndoneBeforeTheExecutionEnds) {
  Trips trips(drops);
  trips.done("hotel");
  trips.raised("enough");
  EXPECT_EQ(trips.done("apologise"), "");
  EXPECT_FALSE(trips.ended());
  trips.driver.forget_frames();
  trips.done("cancel_car");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_hotel");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "dropped");
}

TEST(DroppedSaga, FailsTheExecutionWhenNobodyElseLearnsThatItCouldNotBeUndone) {
  Trips trips(drops);
  trips.done("hotel");
  trips.raised("enough");
  trips.failed("cancel_car");
  trips.done("apologise");
  trips.done("cancel_hotel");
  const Failure failure = failure_of_end(trips);
  EXPECT_EQ(failure.type, "not_undone");
  ASSERT_NE(failure.cause, nullptr);
  EXPECT_EQ(failure.cause->type, "cancel_car_failed");
}

Task<std::string> leaves_detached(Context& ctx) {
  ctx.start(run_saga(ctx, book, "")).detach();
  co_await ctx.event<int>("enough");
  co_return "returned";
}

TEST(DroppedSaga, OfADetachedTaskIsUndoneBeforeTheExecutionEnds) {
  Trips trips(leaves_detached);
  trips.done("hotel");
  EXPECT_EQ(trips.raised("enough"), "!car, cancel_car");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_car");
  trips.done("cancel_hotel");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "returned");
}

// It has ended by itself, and what it threw is in a Future that nobody reads.
TEST(DroppedSaga, FailsTheExecutionWhenItEndedUndetectedAndCouldNotBeUndone) {
  for (auto* const code : {drops, leaves_detached}) {
    Trips trips(code);
    trips.done("hotel");
    EXPECT_EQ(trips.failed("car"), "cancel_car");
    EXPECT_EQ(trips.failed("cancel_car"), "cancel_hotel");
    trips.driver.forget_frames();
    trips.done("cancel_hotel");
    if (trips.raised("enough") == "apologise") trips.done("apologise");
    const Failure failure = failure_of_end(trips);
    EXPECT_EQ(failure.type, "not_undone");
    ASSERT_NE(failure.cause, nullptr);
    EXPECT_EQ(failure.cause->type, "cancel_car_failed");
  }
}

Task<std::string> reads(Context& ctx) {
  const auto trip = ctx.start(run_saga(ctx, book, ""));
  co_await ctx.event<int>("enough");
  const Result<std::string> outcome = co_await trip.result();
  co_return outcome ? "booked" : outcome.error().type;
}

TEST(DroppedSaga, IsNotDroppedWhenItsFutureIsRead) {
  Trips trips(reads);
  trips.done("hotel");
  trips.failed("car");
  trips.failed("cancel_car");
  trips.done("cancel_hotel");
  trips.raised("enough");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "car_failed");
}

Task<> unwinds(Context& ctx) {
  const auto trip = ctx.start(run_saga(ctx, book, ""));
  co_await ctx.activity<void>("passport");
  co_await trip;
}

TEST(DroppedSaga, IsUndoneWhenAnExceptionLeavesItsScope) {
  Trips trips(unwinds);
  trips.done("hotel");
  EXPECT_EQ(trips.failed("passport"), "!car, cancel_car");
  trips.done("cancel_car");
  EXPECT_FALSE(trips.ended());
  trips.done("cancel_hotel");
  EXPECT_EQ(failure_of_end(trips).type, "passport_failed");
}

// ---- outcomes that nobody reads -----------------------------------------------------------------

template <class... Limit>
Task<int> settles(Context& ctx, Limit... limit) {
  std::vector<Task<std::string>> parts;
  parts.push_back(run_saga(ctx, book, ""));
  parts.push_back(run_saga(ctx, book, "/oslo"));
  const auto outcomes = co_await when_all_settled(std::move(parts), limit...);
  co_return static_cast<int>(outcomes.size());
}
template <class Settles>
Task<std::string> gives_up_settling(Context& ctx, Settles settling) {
  const auto first = co_await race(std::move(settling), ctx.event<int>("enough"));
  co_return first.index() == 0 ? "settled" : "given up";
}
Task<std::string> gives_up_a_list(Context& ctx) { return gives_up_settling(ctx, settles(ctx)); }
Task<std::string> gives_up_a_bounded_list(Context& ctx) {
  return gives_up_settling(ctx, settles(ctx, FanOut{.at_most = 2}));
}

TEST(DroppedSaga, FailsTheExecutionWhenItsOutcomeWasDroppedBeforeTheOthersWereThere) {
  for (auto* const code : {gives_up_a_list, gives_up_a_bounded_list}) {
    Trips trips(code);
    EXPECT_EQ(trips.failed("hotel"), "cancel_hotel");
    EXPECT_EQ(trips.failed("cancel_hotel"), "");
    trips.driver.forget_frames();
    EXPECT_EQ(trips.raised("enough"), "!hotel/oslo, cancel_hotel/oslo");
    trips.done("cancel_hotel/oslo");
    const Failure failure = failure_of_end(trips);
    EXPECT_EQ(failure.type, "not_undone");
    ASSERT_NE(failure.cause, nullptr);
    EXPECT_EQ(failure.cause->type, "cancel_hotel_failed");
  }
}

TEST(DroppedSaga, IsHeardWhenAllOutcomesAreThere) {
  for (auto* const code : {gives_up_a_list, gives_up_a_bounded_list}) {
    Trips trips(code);
    trips.failed("hotel");
    trips.failed("cancel_hotel");
    trips.done("hotel/oslo");
    trips.done("car/oslo");
    EXPECT_EQ(result_of<std::string>(trips.driver.last), "settled");
  }
}

// ---- compensate() -------------------------------------------------------------------------------

Task<std::string> forgets_to_await(Context& ctx) {
  Saga saga(ctx);
  saga.undo_with("cancel_hotel");
  co_await ctx.activity<void>("hotel");
  {
    const Task<void> undo = saga.compensate();
  }
  const bool kept = !saga.empty();
  co_await saga.compensate();
  co_return std::string(kept ? "kept" : "lost") + (saga.empty() ? ", undone" : ", not undone");
}

TEST(Saga, KeepsItsStepsUntilTheirUndoingIsAwaited) {
  Trips trips(forgets_to_await);
  EXPECT_EQ(trips.done("hotel"), "cancel_hotel");
  trips.done("cancel_hotel");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "kept, undone");
}

Task<std::string> is_dropped_with_its_undoing(Context& ctx) {
  Saga saga(ctx);
  saga.undo_with("cancel_hotel");
  const Task<void> undo = saga.compensate();
  saga.undo_with("cancel_car");
  co_await ctx.activity<void>("car");
  co_return "done";
}
Task<std::string> drops_before_undoing(Context& ctx) {
  auto trip = is_dropped_with_its_undoing(ctx);
  const auto first = co_await race(std::move(trip), ctx.event<int>("too_late"));
  co_return first.index() == 0 ? "done" : "too late";
}

TEST(DroppedSaga, IsUndoneWhereItsUndoingWasNotAwaited) {
  Trips trips(drops_before_undoing);
  EXPECT_EQ(trips.raised("too_late"), "!car, cancel_car");
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  trips.done("cancel_hotel");
  EXPECT_EQ(result_of<std::string>(trips.driver.last), "too late");
}

Task<void> undo_of_one_that_is_gone(Context& ctx) {
  Saga saga(ctx);
  saga.undo_with("cancel_hotel");
  return saga.compensate();
}

TEST(Saga, IsUndoneAfterItsEndByATaskFromBefore) {
  Trips trips(undo_of_one_that_is_gone);
  trips.done("cancel_hotel");
  EXPECT_TRUE(trips.ended());
}

// ---- the next execution -------------------------------------------------------------------------

Task<> goes_on(Context& ctx) {
  {
    const auto trip = ctx.start(run_saga(ctx, book, ""));
    co_await ctx.event<int>("enough");
  }
  co_await ctx.continue_as_new();
}

TEST(DroppedSaga, IsUndoneBeforeTheExecutionContinuesAsNew) {
  Trips trips(goes_on);
  trips.done("hotel");
  EXPECT_EQ(trips.raised("enough"), "!car, cancel_car");
  EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
  EXPECT_FALSE(trips.ended());
  trips.driver.forget_frames();
  trips.done("cancel_hotel");
  EXPECT_NE(end_of<history::ContinuedAsNew>(trips.driver.last), nullptr);
}

TEST(DroppedSaga, DoesNotLetTheExecutionContinueAsNewWhenItCouldNotBeUndone) {
  Trips trips(goes_on);
  trips.done("hotel");
  trips.raised("enough");
  trips.failed("cancel_car");
  trips.driver.forget_frames();
  trips.done("cancel_hotel");
  EXPECT_EQ(failure_of_end(trips).type, "not_undone");
}

// ---- code that is given up ----------------------------------------------------------------------

Task<> swallows(Context& ctx) {
  for (;;) {
    try {
      co_await ctx.sleep(1h);
    } catch (const Cancelled&) {
    }
  }
}
Task<> beside_one_that_swallows(Context& ctx) { co_await when_all(run_saga(ctx, book, ""), swallows(ctx)); }
Task<> detached_beside_one_that_swallows(Context& ctx) {
  ctx.start(run_saga(ctx, book, "")).detach();
  co_await swallows(ctx);
}
Task<std::string> books_and_swallows(Context& ctx, Saga& saga, std::string where) {
  saga.undo_with("cancel_hotel" + where);
  co_await ctx.activity<void>("hotel" + where);
  saga.undo_with("cancel_car" + where);
  co_await swallows(ctx);
  co_return "never";
}
Task<> swallows_inside(Context& ctx) { co_await run_saga(ctx, books_and_swallows, ""); }

TEST(DroppedSaga, IsUndoneWhenTheCodeIsGivenUp) {
  for (auto* const code : {beside_one_that_swallows, detached_beside_one_that_swallows, swallows_inside}) {
    Trips trips(code);
    trips.done("hotel");
    const std::string first = trips.cancelled();
    EXPECT_TRUE(first == "!car, cancel_car" || first == "cancel_car") << first;
    EXPECT_FALSE(trips.ended());
    trips.driver.forget_frames();
    EXPECT_EQ(trips.done("cancel_car"), "cancel_hotel");
    trips.done("cancel_hotel");
    EXPECT_NE(end_of<history::ExecutionCancelled>(trips.driver.last), nullptr);
  }
}

TEST(DroppedSaga, ThatCouldNotBeUndoneIsToldWhenTheCodeIsGivenUp) {
  Trips trips(beside_one_that_swallows);
  trips.done("hotel");
  trips.cancelled();
  trips.failed("cancel_car");
  trips.done("cancel_hotel");
  const auto* const cancelled = end_of<history::ExecutionCancelled>(trips.driver.last);
  ASSERT_NE(cancelled, nullptr);
  EXPECT_EQ(cancelled->failure.type, "cancel_requested");
  ASSERT_NE(cancelled->failure.cause, nullptr);
  EXPECT_EQ(cancelled->failure.cause->type, "not_undone");
}

Task<> never_ends(Context& ctx, Saga& saga) {
  saga.undo_with("cancel_hotel");
  co_await ctx.activity<void>("hotel");
  co_await ctx.continue_as_new();
}
Task<> goes_on_inside(Context& ctx) { return run_saga(ctx, never_ends); }

TEST(Saga, DoesNotContinueAsNewInside) {
  Trips trips(goes_on_inside);
  EXPECT_EQ(trips.done("hotel"), "cancel_hotel");
  trips.done("cancel_hotel");
  EXPECT_NE(failure_of_end(trips).message.find("let run_saga() return first"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::engine::saga_test
