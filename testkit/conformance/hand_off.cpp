// Hand-off: a new activity is locked for the committing worker at once, if a fetch by it could have taken it.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(hand_off);

namespace holdfast::testing::conformance {
namespace {

const NewActivity kCharge{.name = "charge", .hand_off = true};
const NewActivity kOfSession{.name = "charge", .session = SessionUse{.id = "gpu"}, .hand_off = true};

/// For each activity of the commit: "handed off" or "queued".
Texts fates(const Committed& committed) {
  Texts texts;
  for (const auto& locked : committed.handed_off) texts.emplace_back(locked ? "handed off" : "queued");
  return texts;
}

STORE_TEST(HandOff, TheCommitterGetsWhatItWishedFor) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const std::vector<Work> works = a.commit_and_run(
      turn.schedules({.event = EventId{5}, .name = "charge", .total = 1h, .body = "42", .hand_off = true}));
  ASSERT_EQ(works.size(), 1U);
  const LockedActivity expected{
      .id = {turn.key(), ExecutionNumber{1}, EventId{5}}, .attempt = 1, .delivery = 1, .total_left = 1h};
  EXPECT_EQ(works[0]->id, expected.id);
  EXPECT_EQ(works[0].activity, expected);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(answer(a.finish(works[0])), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/5: result"});
}

STORE_TEST(HandOff, WhatIsNotWishedForIsQueued) {
  const Worker a = join("a");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules("charge").schedules(kCharge).schedules("ship"))),
            (Texts{"queued", "handed off", "queued"}));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"charge", "ship"}));
}

STORE_TEST(HandOff, ItLapsesLikeAnyOtherLock) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  const Work work = a.commit_and_run(turn.schedules(kCharge)).at(0);
  pass(a.activity_lease - 1s);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(answer(a.renew(work)), "ok");
  pass(a.activity_lease);
  EXPECT_EQ(b.fetch_activity()->delivery, 2U);
  EXPECT_EQ(answer(a.finish(work)), "lost");
}

STORE_TEST(HandOff, ARefusedTurnHandsNothingOff) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.schedules(kCharge).commit.expected = token<TurnStamp>();
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(turn)), "lost"); });
}

STORE_TEST(HandOff, ATurnThatEndsHandsNothingOff) {
  const Worker a = join("a");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules(kCharge).ends())), Texts{"queued"});
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kCharge).continues_as_new("again"))),
            Texts{"queued"});
  EXPECT_TRUE(activities().empty());
  EXPECT_TRUE(a.cancel_records().empty());
}

STORE_TEST(HandOff, WithoutAHandlerItIsQueued) {
  const Worker a = join("a");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules({.name = "fly", .hand_off = true}))),
            Texts{"queued"});
}

STORE_TEST(HandOff, InAQueueThatTheWorkerDoesntServeItIsQueued) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_EQ(fates(a.commit(turn.schedules({.name = "charge", .queue = "gpu", .hand_off = true}))),
            Texts{"queued"});
}

STORE_TEST(HandOff, NeverPastAReadyItemOfHigherPriority) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "ship", .priority = 5}));
  EXPECT_EQ(fates(a.commit(a.begin("order-2")
                               .schedules({.name = "charge", .priority = 4, .hand_off = true})
                               .schedules({.name = "charge", .priority = 5, .hand_off = true}))),
            (Texts{"queued", "handed off"}));
}

STORE_TEST(HandOff, NeverPastAnItemOfHigherPriorityInTheSameCommit) {
  const Worker a = join("a");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules({.name = "ship", .priority = 5}).schedules(kCharge))),
            (Texts{"queued", "queued"}));
}

STORE_TEST(HandOff, PastItemsOfTheSamePriority) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("ship"));
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kCharge))), Texts{"handed off"});
}

STORE_TEST(HandOff, PastItemsOfHigherPriorityThatTheWorkerCouldntTake) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules({.name = "fly", .priority = 5})
               .schedules({.name = "ship", .queue = "gpu", .priority = 5}));
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kCharge))), Texts{"handed off"});
}

STORE_TEST(HandOff, PastItemsOfHigherPriorityThatRunOrBackOff) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1")
               .schedules({.name = "ship", .priority = 5})
               .schedules({.name = "ship", .priority = 5}));
  const Works running = b.fetch_activities();
  ASSERT_EQ(running.works.size(), 2U);
  must(b.retry(running.works[0], 10s));
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kCharge))), Texts{"handed off"});
  pass(10s);
  EXPECT_EQ(fates(a.commit(a.begin("order-3").schedules(kCharge))), Texts{"queued"});
}

STORE_TEST(HandOff, NeverPastAnItemOfHigherPriorityWhoseLockLapsed) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules({.name = "ship", .priority = 5}));
  b.fetch_activity();
  pass(b.activity_lease);
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kCharge))), Texts{"queued"});
}

STORE_TEST(HandOff, ASupersededWorkersWishIsQueuedAndItsTurnCounts) {
  const Worker before = join("a");
  Turn turn = before.begin("order-1");
  const Worker after = join("a");
  EXPECT_EQ(fates(before.commit(turn.schedules(kCharge))), Texts{"queued"});
  EXPECT_EQ(names(after.fetch_activities()), Texts{"charge"});
}

STORE_TEST(HandOff, AnUnknownWorkersWishIsQueuedAndItsTurnCounts) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  must(store().leave(a.key));
  EXPECT_EQ(fates(a.commit(turn.schedules(kCharge))), Texts{"queued"});
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(HandOff, OfASessionThatTheWorkerOwns) {
  const Worker a = join("a");
  const Generation generation = a.acquire("gpu").session.generation;
  Turn turn = a.begin("order-1");
  const std::vector<Work> works = a.commit_and_run(turn.schedules(kOfSession));
  ASSERT_EQ(works.size(), 1U);
  ASSERT_TRUE(works[0]->session);
  EXPECT_EQ(works[0]->session->hold, (SessionHold{"gpu", generation}));
  EXPECT_FALSE(works[0]->session->claimed);
  EXPECT_EQ(works[0]->session->lease, a.info.abilities.session_lease);
  EXPECT_EQ(session("gpu").in_flight, 1U);
}

// As with a fetch: it is about to stop.
STORE_TEST(HandOff, ToAWorkerThatDrainsOnlyOfItsSessions) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.commit(a.begin("order-1").schedules({.name = "ship", .priority = 5}));
  Turn turn = a.begin("order-2");
  must(store().refresh(a.key, true));
  EXPECT_EQ(fates(a.commit(turn.schedules(kCharge).schedules(kOfSession))), (Texts{"queued", "handed off"}));
}

STORE_TEST(HandOff, ItNeverClaimsASession) {
  const Worker a = join("a");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules(kOfSession))), Texts{"queued"});
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
}

STORE_TEST(HandOff, OfAnothersSessionItIsQueued) {
  const Worker a = join("a");
  const Worker b = join("b");
  b.acquire("gpu");
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules(kOfSession))), Texts{"queued"});
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(HandOff, OfASessionWhoseLeaseIsOverItIsQueued) {
  const Worker a = join("a");
  a.acquire("gpu");
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(fates(a.commit(a.begin("order-1").schedules(kOfSession))), Texts{"queued"});
}

STORE_TEST(HandOff, NeverPastTheConcurrencyLimitOfItsSession) {
  const Worker a = join("a");
  a.acquire("gpu", {.max_concurrent = 2});
  EXPECT_EQ(
      fates(a.commit(a.begin("order-1").schedules(kOfSession).schedules(kOfSession).schedules(kOfSession))),
      (Texts{"handed off", "handed off", "queued"}));
}

STORE_TEST(HandOff, NeverPastAReadyItemOfTheSameSession) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.commit(a.begin("order-1").schedules({.name = "ship", .session = SessionUse{.id = "gpu"}}));
  EXPECT_EQ(fates(a.commit(a.begin("order-2").schedules(kOfSession).schedules(kCharge))),
            (Texts{"queued", "handed off"}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
