// A fetch whose answer was lost: who repeats it gets what it locked, as if it had not been made.
#include "testkit/conformance/session_story.hpp"
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(lost_fetches);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(LostFetches, ActivitiesAreHandedOutAgainWithTheSameDelivery) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("ship").schedules(of_session("gpu")));
  const Works lost = a.fetch_activities();
  ASSERT_EQ(lost.works.size(), 2U);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  const Works again = a.fetch_activities_again(lost.works[0].token);
  ASSERT_EQ(again.works.size(), 2U);
  for (const Work& work : again.works) {
    EXPECT_EQ(work->delivery, 1U) << work->name;
    EXPECT_EQ(work->attempt, 1U) << work->name;
    EXPECT_EQ(work.token, lost.works[0].token);
    EXPECT_EQ(answer(a.finish(work)), "ok");
  }
}

STORE_TEST(LostFetches, TheSessionsOfTheirActivitiesStayWithTheWorker) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work lost = a.fetch_activity();
  ASSERT_TRUE(lost->session->claimed);
  const Works again = a.fetch_activities_again(lost.token);
  ASSERT_EQ(again.works.size(), 1U);
  EXPECT_EQ(again.works[0]->session->hold, lost->session->hold);
  EXPECT_FALSE(again.works[0]->session->claimed);
  EXPECT_EQ(session("gpu").owner, "a");
}

STORE_TEST(LostFetches, WhatThereIsNoRoomForIsFreeForOthers) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("ship").schedules("charge"));
  const Works lost = a.fetch_activities();
  ASSERT_EQ(lost.works.size(), 2U);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(names(a.fetch_activities_again(lost.works[0].token, 0)), Texts{});
  const Works others = b.fetch_activities();
  ASSERT_EQ(others.works.size(), 2U);
  for (const Work& work : others.works) EXPECT_EQ(work->delivery, 1U);
  for (const Work& work : lost.works) EXPECT_EQ(answer(a.finish(work)), "lost");
}

STORE_TEST(LostFetches, OnlyLocksOfTheSameTokenAreGivenBack) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("ship"));
  const Work kept = a.fetch_activity();
  a.commit(a.begin("order-2").schedules("charge"));
  const Work lost = a.fetch_activity();
  EXPECT_EQ(names(a.fetch_activities_again(lost.token)), Texts{"charge"});
  EXPECT_EQ(answer(a.finish(kept)), "ok");
}

STORE_TEST(LostFetches, ALeaseThatIsOverIsCountedAsAlways) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("ship"));
  const Work lost = a.fetch_activity();
  pass(a.activity_lease);
  const Works again = a.fetch_activities_again(lost.token);
  ASSERT_EQ(again.works.size(), 1U);
  EXPECT_EQ(again.works[0]->delivery, 2U);
}

STORE_TEST(LostFetches, ATokenThatLocksNothingIsNoMistake) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("ship"));
  EXPECT_EQ(names(a.fetch_activities_again(token<LockToken>())), Texts{"ship"});
  start("order-2");
  EXPECT_EQ(names(a.fetch_turns_again(token<LockToken>())), Texts{"order-2"});
}

STORE_TEST(LostFetches, InstancesAreHandedOutAgainWithTheSameDelivery) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  const Turns lost = a.fetch_turns();
  ASSERT_EQ(lost.turns.size(), 2U);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  Turns again = a.fetch_turns_again(lost.turns[0]->token);
  ASSERT_EQ(again.turns.size(), 2U);
  for (Turn& turn : again.turns) {
    EXPECT_EQ(turn->delivery, 1U);
    EXPECT_EQ(turn->messages.size(), 1U);
    a.commit(turn);
  }
}

STORE_TEST(LostFetches, ALeaseOfAnInstanceThatIsOverIsCountedAsAlways) {
  const Worker a = join("a");
  start("order-1");
  const Turn lost = a.fetch_turn();
  pass(a.turn_lease);
  const Turns again = a.fetch_turns_again(lost->token);
  ASSERT_EQ(again.turns.size(), 1U);
  EXPECT_EQ(again.turns[0]->delivery, 2U);
}

STORE_TEST(LostFetches, InstancesThatThereIsNoRoomForAreFreeForOthers) {
  const Worker a = join("a");
  const Worker b = join("b");
  start("order-1");
  const Turn lost = a.fetch_turn();
  EXPECT_EQ(names(a.fetch_turns_again(lost->token, 0)), Texts{});
  EXPECT_EQ(b.fetch_turn()->delivery, 1U);
  EXPECT_EQ(answer(a.release(lost)), "lost");
}

}  // namespace
}  // namespace holdfast::testing::conformance
