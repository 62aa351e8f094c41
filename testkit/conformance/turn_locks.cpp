// The lock of an instance: one worker at a time, for as long as its lease, and a token that proves it.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(turn_locks);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(TurnLocks, AnInstanceIsInTheHandsOfOneWorker) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Turn turn = a.begin("order-1");
  EXPECT_EQ(turn->delivery, 1U);
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  EXPECT_EQ(describe("order-1").locked_by, "a");
}

STORE_TEST(TurnLocks, NotEvenItsHolderFetchesItAgain) {
  const Worker a = join("a");
  a.begin("order-1");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  tell("order-1", "hurry");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(TurnLocks, OneFetchLocksAllWithItsToken) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  EXPECT_EQ(fetched.turns[0]->token, fetched.turns[1]->token);
  EXPECT_NE(fetched.turns[0].key(), fetched.turns[1].key());
}

STORE_TEST(TurnLocks, ALapsedLockIsTakenWithTheNextDelivery) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Turn turn = a.begin("order-1");
  pass(a.turn_lease - 1us);
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  pass(1us);
  const Turn again = b.fetch_turn();
  EXPECT_EQ(again->delivery, 2U);
  EXPECT_EQ(again->messages, turn->messages);
  EXPECT_NE(again->token, turn->token);
  EXPECT_EQ(describe("order-1").locked_by, "b");
}

STORE_TEST(TurnLocks, AStepOfTheCalendarEndsNoLease) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.begin("order-1");
  clock().step_calendar(24h);
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  clock().step_calendar(-48h);
  clock().advance_boot(a.turn_lease);
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, ATokenPastItsLeaseCountsWhileNobodyTookTheInstance) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  pass(1h);
  EXPECT_EQ(answer(a.try_commit(turn.schedules("charge"))), "ok");
  EXPECT_EQ(activities().size(), 1U);
}

STORE_TEST(TurnLocks, OnceTakenTheOldTokenIsLost) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  pass(a.turn_lease);
  Turn taken = b.fetch_turn();
  changes_nothing([&] {
    EXPECT_EQ(answer(a.try_commit(turn.schedules("charge"))), "lost");
    EXPECT_EQ(answer(a.renew(turn)), "lost");
    EXPECT_EQ(answer(a.release(turn)), "lost");
  });
  EXPECT_EQ(answer(b.try_commit(taken)), "ok");
}

STORE_TEST(TurnLocks, RenewalKeepsTheLock) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Turn turn = a.begin("order-1");
  for (int i = 0; i < 3; ++i) {
    pass(a.turn_lease - 1s);
    EXPECT_EQ(answer(a.renew(turn, a.turn_lease)), "ok");
  }
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  pass(a.turn_lease);
  EXPECT_EQ(b.fetch_turn()->delivery, 2U);
}

STORE_TEST(TurnLocks, RenewalBringsALapsedLockBackToLife) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Turn turn = a.begin("order-1");
  pass(1h);
  EXPECT_EQ(answer(a.renew(turn)), "ok");
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
}

STORE_TEST(TurnLocks, RenewalsOfABatchStandAlone) {
  const Worker a = join("a");
  const Worker b = join("b");
  start("order-1");
  start("order-2");
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  const std::vector<TurnRenewal> renewals{{InstanceKey{999}, token<LockToken>()},
                                          {fetched.turns[0].key(), fetched.turns[0]->token},
                                          {fetched.turns[1].key(), token<LockToken>()}};
  pass(a.turn_lease - 1s);
  EXPECT_EQ(answers(store().renew_turns(a.key, a.turn_lease, renewals)), (Texts{"lost", "ok", "lost"}));
  pass(2s);
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-2"});
}

STORE_TEST(TurnLocks, AReleasedInstanceIsThereForOthersAtOnce) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Turn turn = a.begin("order-1");
  EXPECT_EQ(answer(a.release(turn)), "ok");
  const Turn again = b.fetch_turn();
  EXPECT_EQ(again->messages, turn->messages);
  EXPECT_EQ(answer(a.try_commit(turn)), "lost");
}

STORE_TEST(TurnLocks, AReleaseCountsAsADeliveryOnlyIfItSaysSo) {
  const Worker a = join("a");
  const Turn first = a.begin("order-1");
  must(a.release({.key = first.key(), .token = first->token, .counts = false}));
  const Turn second = a.fetch_turn();
  EXPECT_EQ(second->delivery, 1U);
  must(a.release({.key = second.key(), .token = second->token, .counts = true}));
  EXPECT_EQ(a.fetch_turn()->delivery, 2U);
}

STORE_TEST(TurnLocks, AReleaseMayAskForADelay) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .delay = 10s}));
  const Turns too_early = a.fetch_turns();
  EXPECT_EQ(names(too_early), Texts{});
  EXPECT_LE(too_early.next_due, 10s);
  pass(10s - 1us);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(1us);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, NewsDoesntShortenTheDelayOfARelease) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .delay = 10s}));
  Turn other = a.begin("order-2");
  a.commit(other.sends(turn.key(), outcome(ExecutionNumber{1}, EventId{2}, "done")));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(10s);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, AControlMessageEndsTheDelayOfARelease) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .delay = 10s}));
  tell("order-1", "terminate");
  EXPECT_TRUE(row("order-1").ready);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, AnotherControlMessageEndsTheDelayOfAParkedInstance) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  tell("order-1", "cancel");
  const Turn cancelled = a.fetch_turn();
  must(a.release({.key = cancelled.key(),
                  .token = cancelled->token,
                  .delay = 10s,
                  .seen = cancelled->messages.back().id,
                  .park = "why"}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  tell("order-1", "terminate");
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"start: order-1 input", "control: cancel", "control: terminate"}));
}

STORE_TEST(TurnLocks, AControlMessageThatCameDuringTheTurnEndsTheDelayOfItsRelease) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  tell("order-1", "terminate");
  must(a.release({.key = turn.key(),
                  .token = turn->token,
                  .delay = 10s,
                  .seen = turn->messages.back().id,
                  .park = "why"}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, ADelayedControlMessageEndsTheDelayOfAReleaseWhenItIsDue) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .delay = 10s}));
  ClientMessage terminate = message_to("order-1", control("terminate"));
  terminate.delay = 2s;
  send(terminate);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(2s);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, ReleasesOfABatchStandAlone) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  const std::vector<TurnRelease> releases{{.key = fetched.turns[0].key(), .token = token<LockToken>()},
                                          {.key = fetched.turns[1].key(), .token = fetched.turns[1]->token}};
  EXPECT_EQ(answers(store().release_turns(releases)), (Texts{"lost", "ok"}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-2"});
}

STORE_TEST(TurnLocks, ACommitBeginsTheDeliveriesAnew) {
  const Worker a = join("a");
  a.begin("order-1");
  pass(a.turn_lease);
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->delivery, 2U);
  a.commit(turn);
  tell("order-1", "hello");
  EXPECT_EQ(a.fetch_turn()->delivery, 1U);
}

STORE_TEST(TurnLocks, ACommitReleasesTheLockUnlessItKeepsIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  tell("order-1", "hello");
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  EXPECT_EQ(describe("order-1").locked_by, "a");

  a.commit(turn);
  EXPECT_EQ(describe("order-1").locked_by, "");
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnLocks, AKeptLockLapsesLikeAnyOther) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  tell("order-1", "hello");
  pass(a.turn_lease);
  const Turn taken = b.fetch_turn();
  EXPECT_EQ(taken.messages(), Texts{"control: hello"});
  EXPECT_EQ(answer(a.try_commit(turn)), "lost");
}

STORE_TEST(TurnLocks, AKeptLockWithNothingToDoIsNoWorkForOthers) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  pass(1h);
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  EXPECT_EQ(answer(a.renew(turn)), "ok");
}

STORE_TEST(TurnLocks, AFetchSaysWhenTheNextLockLapses) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.begin("order-1");
  const Duration due = b.fetch_turns().next_due;
  EXPECT_LE(due, a.turn_lease);
  EXPECT_GT(due, 0s);
}

}  // namespace
}  // namespace holdfast::testing::conformance
