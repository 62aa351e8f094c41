// An activity from its queue to its outcome: locks, deliveries, attempts.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(activities);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Activities, AWorkerGetsAllThatWasScheduled) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules(
      {.event = EventId{5}, .name = "charge", .priority = 3, .total = 1h, .body = "42 euros"}));
  pass(10min);
  const Work work = a.fetch_activity();
  LockedActivity expected{.id = {turn.key(), ExecutionNumber{1}, EventId{5}},
                          .instance = "order-1",
                          .name = "charge",
                          .priority = 3,
                          .attempt = 1,
                          .delivery = 1,
                          .body = "42 euros",
                          .total_left = 50min};
  EXPECT_EQ(work->id, expected.id);
  EXPECT_EQ(work->instance, expected.instance);
  EXPECT_EQ(work->name, expected.name);
  EXPECT_EQ(work->queue, "");
  EXPECT_EQ(work->body, expected.body);
  EXPECT_EQ(work->total_left, expected.total_left);
  EXPECT_EQ(work.activity, expected);
}

STORE_TEST(Activities, AnActivityIsInTheHandsOfOneWorker) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  a.fetch_activity();
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  const ActivityView view = describe("order-1").activities.at(0);
  EXPECT_TRUE(view.running);
  EXPECT_EQ(view.owner, "a");
}

STORE_TEST(Activities, ItsOutcomeReachesTheInstance) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.event = EventId{5}, .name = "charge"}));
  EXPECT_EQ(answer(a.finish(a.fetch_activity(), "receipt")), "ok");
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/5: receipt"});
}

STORE_TEST(Activities, AnOutcomeDuringATurnNeedsAnother) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge").keeps_lock());
  must(a.finish(a.fetch_activity()));
  EXPECT_TRUE(a.commit(turn).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: result"});
}

STORE_TEST(Activities, AnAnswerIsTakenOnce) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  must(a.finish(work));
  changes_nothing([&] {
    EXPECT_EQ(answer(a.finish(work)), "gone(dropped)");
    EXPECT_EQ(answer(a.retry(work)), "gone(dropped)");
    EXPECT_EQ(answer(a.put_back(work)), "gone(dropped)");
    EXPECT_EQ(answer(a.renew(work)), "gone(dropped)");
  });
}

STORE_TEST(Activities, ALapsedLockIsTakenWithTheNextDelivery) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(a.activity_lease - 1us);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  pass(1us);
  const Work again = b.fetch_activity();
  EXPECT_EQ(again->id, work->id);
  EXPECT_EQ(again->attempt, 1U);
  EXPECT_EQ(again->delivery, 2U);
  pass(b.activity_lease);
  EXPECT_EQ(a.fetch_activity()->delivery, 3U);
}

STORE_TEST(Activities, AStepOfTheCalendarEndsNoLease) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  a.fetch_activity();
  clock().step_calendar(24h);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
}

STORE_TEST(Activities, ATokenPastItsLeaseCountsWhileNobodyTookTheRow) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(1h);
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: result"});
}

STORE_TEST(Activities, OnceTakenTheOldTokenIsLost) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(a.activity_lease);
  const Work taken = b.fetch_activity();
  changes_nothing([&] {
    EXPECT_EQ(answer(a.finish(work)), "lost");
    EXPECT_EQ(answer(a.retry(work)), "lost");
    EXPECT_EQ(answer(a.put_back(work)), "lost");
    EXPECT_EQ(answer(a.set_aside(work, "unreadable")), "lost");
    EXPECT_EQ(answer(a.renew(work)), "lost");
    EXPECT_EQ(answer(a.heartbeat(work, "half")), "lost");
  });
  EXPECT_EQ(answer(b.finish(taken)), "ok");
}

STORE_TEST(Activities, RenewalKeepsTheLock) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  for (int i = 0; i < 3; ++i) {
    pass(a.activity_lease - 1s);
    EXPECT_EQ(answer(a.renew(work)), "ok");
  }
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  pass(a.activity_lease);
  EXPECT_EQ(b.fetch_activity()->delivery, 2U);
}

STORE_TEST(Activities, RenewalBringsALapsedLockBackToLife) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(1h);
  EXPECT_EQ(answer(a.renew(work)), "ok");
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
}

STORE_TEST(Activities, PutBackRaisesNeitherAttemptNorDelivery) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  for (int i = 0; i < 11; ++i) {
    const Work work = a.fetch_activity();
    EXPECT_EQ(work->attempt, 1U);
    EXPECT_EQ(work->delivery, 1U);
    EXPECT_EQ(answer(a.put_back(work)), "ok");
  }
}

STORE_TEST(Activities, PutBackKeepsTheDeliveriesBeforeIt) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  a.fetch_activity();
  pass(a.activity_lease);
  const Work second = a.fetch_activity();
  EXPECT_EQ(second->delivery, 2U);
  must(a.put_back(second));
  EXPECT_EQ(a.fetch_activity()->delivery, 2U);
}

STORE_TEST(Activities, PutBackMayAskForADelay) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  must(a.put_back(a.fetch_activity(), 10s));
  const Works too_early = a.fetch_activities();
  EXPECT_EQ(names(too_early), Texts{});
  EXPECT_LE(too_early.next_due, 10s);
  EXPECT_EQ(describe("order-1").activities.at(0).due_in, 10s);
  pass(10s);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Activities, ARetryIsTheNextAttemptAfterItsDelay) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  a.fetch_activity();
  pass(a.activity_lease);
  const Work work = a.fetch_activity();
  ASSERT_EQ(work->delivery, 2U);
  EXPECT_EQ(answer(a.retry(work, 10s, "no funds")), "ok");
  EXPECT_EQ(describe("order-1").activities.at(0).last_failure, "no funds");
  EXPECT_FALSE(describe("order-1").activities.at(0).running);

  pass(10s - 1us);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  pass(1us);
  const Work next = a.fetch_activity();
  EXPECT_EQ(next->attempt, 2U);
  EXPECT_EQ(next->delivery, 1U);
  EXPECT_EQ(next->last_failure, "no funds");
  EXPECT_EQ(next->body, work->body);
  EXPECT_EQ(answer(a.finish(work)), "lost");
}

STORE_TEST(Activities, WhatTheLastHeartbeatSaidMayComeWithTheAnswer) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  Work work = a.fetch_activity();
  const ActivityResult retried{
      .id = work.id(), .token = work.token, .result = Retry{0s, "no"}, .progress = "half"};
  must(a.answer_with(retried));
  work = a.fetch_activity();
  EXPECT_EQ(work->progress, "half");
  const ActivityResult put_back{
      .id = work.id(), .token = work.token, .result = PutBack{}, .progress = "most"};
  must(a.answer_with(put_back));
  EXPECT_EQ(a.fetch_activity()->progress, "most");
}

STORE_TEST(Activities, ARetryIsNoNewsForTheInstance) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  must(a.retry(a.fetch_activity()));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Activities, TheLastFailureIsThatOfTheAttemptBefore) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  must(a.retry(a.fetch_activity(), 0s, "first"));
  must(a.retry(a.fetch_activity(), 0s, "second"));
  const Work third = a.fetch_activity();
  EXPECT_EQ(third->attempt, 3U);
  EXPECT_EQ(third->last_failure, "second");
}

STORE_TEST(Activities, ProgressOutlivesDeliveriesAndAttempts) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work first = a.fetch_activity();
  EXPECT_EQ(first->progress, "");
  EXPECT_EQ(answer(a.heartbeat(first, "10 %")), "ok");
  EXPECT_EQ(answer(a.renew(first)), "ok");
  EXPECT_EQ(describe("order-1").activities.at(0).progress, "10 %");
  pass(a.activity_lease);
  const Work second = a.fetch_activity();
  EXPECT_EQ(second->progress, "10 %");
  must(a.heartbeat(second, "20 %"));
  must(a.retry(second));
  EXPECT_EQ(a.fetch_activity()->progress, "20 %");
}

STORE_TEST(Activities, AHeartbeatKeepsTheLock) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(a.activity_lease - 1s);
  must(a.heartbeat(work, "half"));
  pass(a.activity_lease - 1s);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
}

STORE_TEST(Activities, AnswersOfABatchStandAlone) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship").schedules("render"));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 3U);
  const std::vector<ActivityResult> results{
      {fetched.works[0].id(), fetched.works[0].token, Finished{"paid"}},
      {fetched.works[1].id(), token<LockToken>(), Finished{"shipped"}},
      {{InstanceKey{999}, ExecutionNumber{1}, EventId{1}}, token<LockToken>(), Finished{"?"}},
      {fetched.works[2].id(), fetched.works[2].token, Retry{0s, "out of memory"}}};
  EXPECT_EQ(answers(store().finish_activities(results)), (Texts{"ok", "lost", "gone(dropped)", "ok"}));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: paid"});
  EXPECT_EQ(activities().size(), 2U);
}

STORE_TEST(Activities, RenewalsOfABatchStandAlone) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship"));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 2U);
  const std::vector<ActivityRenewal> renewals{{{InstanceKey{999}, ExecutionNumber{1}, EventId{1}}, {}, {}},
                                              {fetched.works[1].id(), fetched.works[1].token, {}},
                                              {fetched.works[0].id(), token<LockToken>(), {}}};
  pass(a.activity_lease - 1s);
  EXPECT_EQ(answers(store().renew_activities(a.key, a.activity_lease, renewals)),
            (Texts{"gone(dropped)", "ok", "lost"}));
  pass(2s);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Activities, OutcomesOfOneInstanceComeInTheOrderOfTheAnswers) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship").schedules("render"));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 3U);
  must(a.finish(fetched.works[2], "third"));
  must(a.finish(fetched.works[0], "first"));
  must(a.finish(fetched.works[1], "second"));
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"outcome 1/4: third", "outcome 1/2: first", "outcome 1/3: second"}));
}

STORE_TEST(Activities, AThousandOutcomesOfOneInstanceArrive) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 1000; ++i) turn.schedules("charge");
  a.commit(turn);
  const Works fetched = a.fetch_activities(1000);
  ASSERT_EQ(fetched.works.size(), 1000U);
  std::vector<ActivityResult> results;
  for (const Work& work : fetched.works) results.push_back({work.id(), work.token, Finished{"done"}});
  for (const auto& result : store().finish_activities(results)) ASSERT_EQ(answer(result), "ok");
  EXPECT_EQ(a.fetch_turn()->messages.size(), 1000U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
