// What makes an instance ready for a turn, and what doesn't.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(readiness);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Readiness, AStartMakesAnInstanceReady) {
  const Worker a = join("a");
  start("order-1");
  EXPECT_TRUE(row("order-1").ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Readiness, AfterATurnNothingIsLeftToDo) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  EXPECT_FALSE(row("order-1").ready);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Readiness, ADeliveryThatNobodyWaitsForDoesntMakeReady) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  raise("order-1", "other", "x");
  post("order-1", "decision", "a mailbox of the same name");
  EXPECT_FALSE(row("order-1").ready);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_EQ(describe("order-1").unread, 2U);
}

STORE_TEST(Readiness, ADeliveryThatIsWaitedForMakesReady) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({mailbox("orders"), event("decision")}));
  raise("order-1", "other", "unread");
  raise("order-1", "decision", "yes");
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"event other: unread", "event decision: yes"}));
}

STORE_TEST(Readiness, WaitsStayUntilTheyAreChanged) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  tell("order-1", "hello");
  a.commit(a.fetch_turn());
  EXPECT_EQ(describe("order-1").waits, std::vector{event("decision")});
  raise("order-1", "decision", "yes");
  Turn turn = a.fetch_turn();
  a.commit(turn.consumes_all().waits_for({}));
  EXPECT_EQ(describe("order-1").waits, std::vector<Address>{});
  raise("order-1", "decision", "again");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Readiness, BeginningToWaitForWhatTheFrameHasNotSeenMakesReady) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  raise("order-1", "decision", "while the turn runs");
  EXPECT_TRUE(a.commit(turn.waits_for({event("decision")})).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"event decision: while the turn runs"});
}

STORE_TEST(Readiness, WhatTheFrameWasGivenDoesntMakeItReadyAgain) {
  const Worker a = join("a");
  start("order-1");
  raise("order-1", "decision", "in the first batch");
  Turn turn = a.fetch_turn();
  EXPECT_FALSE(a.commit(turn.waits_for({event("decision")})).ready);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Readiness, WithoutItsFrameADeliveryThatIsWaitedForMakesReady) {
  const Worker a = join("a");
  const Worker b = join("b");
  start("order-1");
  raise("order-1", "decision", "in the first batch");
  Turn turn = a.fetch_turn();
  a.commit(turn.waits_for({event("decision")}).keeps_lock());
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  must(a.release(turn));
  EXPECT_EQ(b.fetch_turn().messages(), Texts{"event decision: in the first batch"});
}

STORE_TEST(Readiness, OnceItsLockLapsedADeliveryThatIsWaitedForMakesReady) {
  const Worker a = join("a");
  const Worker b = join("b");
  start("order-1");
  raise("order-1", "decision", "in the first batch");
  Turn turn = a.fetch_turn();
  a.commit(turn.waits_for({event("decision")}).keeps_lock());
  pass(a.turn_lease);
  EXPECT_EQ(b.fetch_turn().messages(), Texts{"event decision: in the first batch"});
}

STORE_TEST(Readiness, AFetchBringsAllUnreadMessagesInOrder) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  post("order-1", "orders", "one");
  raise("order-1", "other", "two");
  tell("order-1", "three");
  raise("order-1", "decision", "four");
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(),
            (Texts{"mailbox orders: one", "event other: two", "control: three", "event decision: four"}));
  for (std::size_t i = 1; i < turn->messages.size(); ++i) {
    EXPECT_LT(turn->messages[i - 1].id, turn->messages[i].id);
  }
}

STORE_TEST(Readiness, AMessageThatComesDuringTheTurnNeedsAnother) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  tell("order-1", "late");
  EXPECT_TRUE(a.commit(turn).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"control: late"});
}

STORE_TEST(Readiness, ADeliveryThatComesDuringTheTurnWaitsForItsAddress) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  post("order-1", "orders", "late");
  EXPECT_FALSE(a.commit(turn).ready);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Readiness, WhatATurnLeavesUnconsumedKeepsItReady) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_TRUE(a.commit(turn.consumes_nothing()).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Readiness, AParkedInstanceIsReadyOnlyForThoseWhoAskItToStop) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "event 7 differs"}));
  EXPECT_EQ(find("order-1").status, InstanceStatus::parked);
  EXPECT_EQ(find("order-1").parked_because, "event 7 differs");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  raise("order-1", "decision", "yes");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});

  tell("order-1", "terminate");
  const Turn woken = a.fetch_turn();
  EXPECT_EQ(woken->status, InstanceStatus::parked);
  EXPECT_EQ(woken.messages(), (Texts{"start: order-1 input", "event decision: yes", "control: terminate"}));
}

STORE_TEST(Readiness, ARequestToCancelReachesAParkedInstance) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "event 7 differs"}));
  send(message_to("order-1", request_to_cancel("no need")));
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"start: order-1 input", "cancel: no need"}));
}

STORE_TEST(Readiness, AnInstanceThatHasEndedIsNotParked) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends());
  a.commit(a.begin("parent").starts_child("order-1"));
  const Turn turn = a.fetch_turn();
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  EXPECT_EQ(find("order-1").status, InstanceStatus::completed);
  EXPECT_EQ(find("order-1").parked_because, "");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Readiness, WakingParkedInstancesMakesThoseOfTheCodeRunningAndReady) {
  Worker a = join("a");
  const auto park = [&](const Turn& turn) {
    must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  };
  park(a.begin("order-1"));
  StartRequest other = start_of("child-1");
  other.code = {"child", "1"};
  start(other);
  park(a.fetch_turn());

  EXPECT_EQ(must(store().wake_parked({.orchestrations = {{"order", "2"}}})), 0U);
  EXPECT_EQ(must(store().wake_parked({.orchestrations = {{"order", "1"}, {"order", "2"}}})), 1U);
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
  EXPECT_EQ(find("order-1").parked_because, "");
  EXPECT_EQ(find("child-1").status, InstanceStatus::parked);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Readiness, AWokenInstanceIsReadyAlsoWithoutAMessage) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  EXPECT_EQ(must(store().wake_parked(a.info.code)), 1U);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Readiness, AnEndedInstanceIsReadyByStartsOnly) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends());
  EXPECT_EQ(answer(try_send(message_to("order-1", delivery(event("decision"), "late")))), "conflict");
  EXPECT_EQ(answer(try_send(message_to("order-1", control("cancel")))), "conflict");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});

  Turn parent = a.begin("parent");
  a.commit(parent.starts_child("order-1"));
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->instance, "order-1");
  EXPECT_EQ(turn->status, InstanceStatus::completed);
  EXPECT_EQ(turn.messages(), Texts{"start: order-1 input"});
  a.commit(turn.sends(parent.key(), outcome(ExecutionNumber{1}, EventId{2}, "it has ended")));
  EXPECT_EQ(find("order-1").status, InstanceStatus::completed);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/2: it has ended"});
}

STORE_TEST(Readiness, TheEndDropsAllUnreadMessagesExceptStarts) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  Turn turn = a.begin("order-1");
  post("order-1", "orders", "unread");
  tell("order-1", "late");
  a.commit(parent.starts_child("order-1"));
  a.commit(turn.ends());
  EXPECT_EQ(texts(row("order-1").messages), Texts{"start: order-1 input"});
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
