// Instances that want to know how another one ends.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(ends);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Ends, TheCommitThatEndsAnInstanceAnswersAllWhoAsked) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  a.commit(a.begin("first").asks_for_end(EventId{7}, "order-1"));
  a.commit(a.begin("second").asks_for_end(EventId{8}, "order-1"));
  EXPECT_EQ(row("order-1").end_watchers.size(), 2U);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  a.commit(order.ends(InstanceStatus::failed, "sold out"));
  const Turns told = a.fetch_turns();
  ASSERT_EQ(names(told), (Texts{"first", "second"}));
  EXPECT_EQ(told.turns[0].messages(), Texts{"ended 1/7: failed, sold out"});
  EXPECT_EQ(told.turns[1].messages(), Texts{"ended 1/8: failed, sold out"});
  EXPECT_TRUE(row("order-1").end_watchers.empty());
}

STORE_TEST(Ends, OfOneThatHasEndedOrIsMissingAreToldAtOnce) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends(InstanceStatus::completed, "done"));
  EXPECT_TRUE(a.commit(a.begin("asker")
                           .asks_for_end(EventId{7}, "order-1")
                           .asks_for_end(EventId{8}, "nobody")
                           .asks_for_end(EventId{9}, "asker"))
                  .ready);
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"ended 1/7: completed, done", "ended 1/8: not_found", "ended 1/9: itself"}));
}

STORE_TEST(Ends, AreForTheLifeThatHasTheIdAfterTheStartsOfTheCommit) {
  const Worker a = join("a");
  a.commit(a.begin("asker").starts_detached("child-1").asks_for_end(EventId{7}, "child-1"));
  a.commit(a.fetch_turn().ends(InstanceStatus::completed, "first life"));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"ended 1/7: completed, first life"});
}

STORE_TEST(Ends, ADeletionIsToldToo) {
  const Worker a = join("a");
  start("order-1");
  a.commit(a.fetch_turn().waits_for({event("decision")}));
  a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1"));
  must(store().delete_instance("order-1", true));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"ended 1/7: deleted"});
}

STORE_TEST(Ends, AFollowingExecutionIsNoEnd) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1"));
  a.commit(order.continues_as_new("again"));
  EXPECT_EQ(names(a.fetch_turns(1)), Texts{"order-1"});
  EXPECT_EQ(row("order-1").end_watchers.size(), 1U);
}

STORE_TEST(Ends, WhatIsForgottenIsNotAnswered) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  Turn asker = a.begin("asker");
  a.commit(asker.asks_for_end(EventId{7}, "order-1").asks_for_end(EventId{8}, "order-1").keeps_lock());
  a.commit(asker.forgets_end(EventId{7}, "order-1")
               .forgets_end(EventId{9}, "order-1")
               .forgets_end(EventId{7}, "nobody"));
  a.commit(order.ends());
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"ended 1/8: completed, done"});
}

STORE_TEST(Ends, ALaterExecutionOfTheAskerAsksAnew) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  Turn asker = a.begin("asker");
  a.commit(asker.asks_for_end(EventId{7}, "order-1").keeps_lock());
  a.commit(asker.continues_as_new("again").keeps_lock());
  a.commit(asker.consumes_all().asks_for_end(EventId{7}, "order-1"));
  ASSERT_EQ(row("order-1").end_watchers.size(), 1U);
  EXPECT_EQ(row("order-1").end_watchers.front().execution, ExecutionNumber{2});
}

STORE_TEST(Ends, ATurnThatEndsItsExecutionAsksNothing) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1").ends());
  a.commit(a.begin("other").asks_for_end(EventId{7}, "order-1").continues_as_new("again"));
  EXPECT_TRUE(row("order-1").end_watchers.empty());
}

STORE_TEST(Ends, AnAskerThatIsGoneIsNoHindrance) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1"));
  must(store().delete_instance("asker", true));
  a.commit(order.ends());
  EXPECT_EQ(find("order-1").status, InstanceStatus::completed);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Ends, TheAnswerGoesWithTheExecutionThatAsked) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").ends());
  Turn asker = a.begin("asker");
  a.commit(asker.asks_for_end(EventId{7}, "order-1").keeps_lock());
  a.commit(asker.continues_as_new("again"));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: again"});
}

STORE_TEST(Ends, OnlySoManyMayWaitForOne) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  Turn asker = a.begin("asker");
  for (std::uint64_t i = 0; i < kMaxEndRequests; ++i) asker.asks_for_end(EventId{100 + i}, "order-1");
  a.commit(asker);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  a.commit(a.begin("one-more").asks_for_end(EventId{7}, "order-1"));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"ended 1/7: too_many"});
  a.commit(order.ends());
  EXPECT_EQ(a.fetch_turn()->messages.size(), kMaxEndRequests);
}

STORE_TEST(Ends, ASuspendedAskerIsToldWhenItIsResumed) {
  const Worker a = join("a");
  Turn order = a.begin("order-1");
  a.commit(order.keeps_lock());
  a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1"));
  suspend("asker");
  a.commit(order.ends());
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  resume("asker");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"ended 1/7: completed, done"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
