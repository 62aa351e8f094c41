// Instances whose lock a worker keeps between turns: their news comes to it, and only what is new.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(held_instances);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(HeldInstances, NewsComesToTheHolderUnderTheHeldToken) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  const TurnStamp stamp = held.commit.stamp;
  a.commit(held.keeps_lock());
  tell("order-1", "hello");

  const auto news = a.news_of(held);
  ASSERT_TRUE(news);
  EXPECT_TRUE((*news)->held);
  EXPECT_EQ((*news)->token, held->token);
  EXPECT_EQ((*news)->stamp, stamp);
  EXPECT_EQ(news->messages(), Texts{"control: hello"});
  EXPECT_EQ(answer(a.try_commit(*news)), "ok");
}

STORE_TEST(HeldInstances, NewsIsNoOtherDelivery) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  a.commit(held.keeps_lock());
  for (int i = 0; i < 3; ++i) {
    tell("order-1", "hello");
    const auto news = a.news_of(held);
    ASSERT_TRUE(news);
    EXPECT_EQ((*news)->delivery, 1U);
    held = *news;
  }
  pass(10s);  // nobody committed what came
  EXPECT_EQ(join("b").fetch_turn()->delivery, 2U);
}

STORE_TEST(HeldInstances, WithoutNewsItIsNotReturned) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  a.commit(held.keeps_lock());
  EXPECT_FALSE(a.news_of(held));
}

STORE_TEST(HeldInstances, MessagesThatItsFrameWasGivenDontComeAgain) {
  const Worker a = join("a");
  start("order-1");
  post("order-1", "orders", "unread");
  Turn held = a.fetch_turn();
  ASSERT_EQ(held->messages.size(), 2U);
  a.commit(held.keeps_lock());
  EXPECT_FALSE(a.news_of(held));

  tell("order-1", "hello");
  const auto news = a.news_of(held);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->messages(), Texts{"control: hello"});
}

STORE_TEST(HeldInstances, DeliveriesThatNobodyWaitsForComeWithTheNextNewsOnly) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  a.commit(held.waits_for({event("decision")}).keeps_lock());
  post("order-1", "orders", "unread");
  EXPECT_FALSE(a.news_of(held));
  raise("order-1", "decision", "yes");
  const auto news = a.news_of(held);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->messages(), (Texts{"mailbox orders: unread", "event decision: yes"}));
}

STORE_TEST(HeldInstances, OnceTakenByAnotherItIsNotReturned) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn held = a.begin("order-1");
  a.commit(held.keeps_lock());
  tell("order-1", "hello");
  pass(a.turn_lease);
  b.fetch_turn();
  EXPECT_FALSE(a.news_of(held));
}

STORE_TEST(HeldInstances, AnUnknownOneIsNotReturned) {
  const Worker a = join("a");
  const HeldInstance unknown{InstanceKey{999}, token<LockToken>(), MessageId{}};
  EXPECT_EQ(names(a.fetch_turns(10, one(unknown))), Texts{});
}

STORE_TEST(HeldInstances, TheyComeFirstAndDontCountTowardsTheMaximum) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  std::vector<HeldInstance> held;
  for (Turn& turn : fetched.turns) {
    a.commit(turn.keeps_lock());
    held.push_back(turn.held());
  }
  start("order-3");
  start("order-4");
  tell("order-2", "hello");
  tell("order-1", "hello");

  const Turns next = a.fetch_turns(1, held);
  EXPECT_EQ(names(next), (Texts{"order-1", "order-2", "order-3"}));
  EXPECT_TRUE(next.left_behind);
}

STORE_TEST(HeldInstances, AFetchBeginsTheirLeaseAnew) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn held = a.begin("order-1");
  a.commit(held.keeps_lock());
  pass(a.turn_lease - 1s);
  tell("order-1", "hello");
  ASSERT_TRUE(a.news_of(held));
  pass(a.turn_lease - 1s);
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  pass(1s);
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(HeldInstances, ADueTimerIsNews) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  a.commit(held.sets_timer(EventId{5}, clock().calendar_now() + 1s).keeps_lock());
  EXPECT_FALSE(a.news_of(held));
  pass(1s);
  const auto news = a.news_of(held);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->messages(), Texts{"timer 1/5"});
}

STORE_TEST(HeldInstances, ACommitSaysThatNewsHasCome) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_FALSE(a.commit(turn.keeps_lock()).ready);
  tell("order-1", "hello");
  EXPECT_TRUE(a.commit(turn.keeps_lock()).ready);
  auto news = a.news_of(turn);
  ASSERT_TRUE(news);
  EXPECT_FALSE(a.commit(news->keeps_lock()).ready);
}

}  // namespace
}  // namespace holdfast::testing::conformance
