// What a sweep does: deadlines that no worker meets.
#include "testkit/conformance/story.hpp"

#include <variant>

HOLDFAST_CONFORMANCE_FILE(sweeps);

namespace holdfast::testing::conformance {
namespace {

/// The body of the only message.
ActivityTaken taken(const Turn& turn) {
  const Message& message = turn->messages.at(0);
  EXPECT_EQ(message.kind, MessageKind::taken);
  return std::get<ActivityTaken>(message.body);
}

STORE_TEST(Deadlines, AnItemThatNobodyTakesInTimeFails) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.event = EventId{5}, .name = "fly", .start_within = 1min}));
  EXPECT_LE(sweep().next_due, 1min);
  EXPECT_GT(sweep().next_due, 0s);
  pass(1min - 1us);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(1us);
  EXPECT_EQ(sweep().activities_timed_out, 1U);
  EXPECT_TRUE(activities().empty());
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), Texts{"taken 1/5: schedule_to_start"});
  EXPECT_EQ(taken(turn), (ActivityTaken{.reason = CancelReason::schedule_to_start, .attempt = 0}));
}

STORE_TEST(Deadlines, AnItemThatRunsHasStartedInTime) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .start_within = 10s}));
  const Work work = a.fetch_activity();
  pass(20s);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  EXPECT_EQ(answer(a.finish(work)), "ok");
}

STORE_TEST(Deadlines, EachTimeThatItIsQueuedItHasThatLongAgain) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .start_within = 10s}));
  pass(9s);
  must(a.retry(a.fetch_activity(), 0s, "no funds"));
  pass(9s);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  pass(1s);
  EXPECT_EQ(sweep().activities_timed_out, 1U);
  const ActivityTaken body = taken(a.fetch_turn());
  EXPECT_EQ(body.reason, CancelReason::schedule_to_start);
  EXPECT_EQ(body.attempt, 1U);
  EXPECT_EQ(body.last_failure, "no funds");
}

STORE_TEST(Deadlines, AfterTheTotalNoAttemptStarts) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.event = EventId{5}, .name = "charge", .total = 1min}));
  must(a.retry(a.fetch_activity(), 0s, "no funds"));
  pass(1min);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(sweep().activities_timed_out, 1U);
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), Texts{"taken 1/5: total_deadline"});
  EXPECT_EQ(
      taken(turn),
      (ActivityTaken{.reason = CancelReason::total_deadline, .last_failure = "no funds", .attempt = 1}));
}

STORE_TEST(Deadlines, AnAttemptThatRunsPastTheTotalMayFinish) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .total = 10s}));
  const Work work = a.fetch_activity();
  pass(20s);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: result"});
}

STORE_TEST(Deadlines, AnAttemptThatFailsPastTheTotalIsTheLast) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.event = EventId{5}, .name = "charge", .total = 10s}));
  const Work work = a.fetch_activity();
  pass(20s);
  EXPECT_EQ(answer(a.retry(work, 0s, "no funds")), "ok");
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  sweep();
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), Texts{"taken 1/5: total_deadline"});
  EXPECT_EQ(taken(turn).last_failure, "no funds");
}

STORE_TEST(Deadlines, AWorkerIsToldWhatIsLeftOfTheTotal) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .total = 1min}).schedules("ship"));
  pass(20s);
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 2U);
  EXPECT_EQ(fetched.works[0]->total_left, 40s);
  EXPECT_EQ(fetched.works[1]->total_left, never);
}

STORE_TEST(Deadlines, OfTwoTheFirstIsTheReasonAndTheTotalIfTheyAreOne) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules({.event = EventId{5}, .name = "fly", .start_within = 2s, .total = 3s})
               .schedules({.event = EventId{6}, .name = "fly", .start_within = 2s, .total = 2s})
               .schedules({.event = EventId{7}, .name = "fly", .start_within = 2s, .total = 1s}));
  pass(1min);
  EXPECT_EQ(sweep().activities_timed_out, 3U);
  // The earliest deadline first, then by id.
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"taken 1/7: total_deadline", "taken 1/5: schedule_to_start",
                                              "taken 1/6: total_deadline"}));
}

STORE_TEST(Deadlines, FollowLeaseTime) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "charge", .start_within = 1min, .total = 1min}));
  clock().step_calendar(24h);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Sweeps, WithNothingToDoDoNothing) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").waits_for({event("decision")}));
  changes_nothing([&] {
    Swept swept = sweep();
    swept.next_due = never;
    EXPECT_EQ(swept, Swept{});
  });
}

STORE_TEST(Sweeps, DoABoundedAmountAtOnce) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 10; ++i) turn.schedules({.name = "fly", .start_within = 1s});
  a.commit(turn);
  pass(1s);
  const Swept first = must(store().sweep({.max = 4}));
  EXPECT_EQ(first.activities_timed_out, 4U);
  EXPECT_EQ(first.next_due, 0s);
  EXPECT_EQ(must(store().sweep({.max = 4})).activities_timed_out, 4U);
  EXPECT_EQ(must(store().sweep({.max = 4})).activities_timed_out, 2U);
  EXPECT_EQ(a.fetch_turn()->messages.size(), 10U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
