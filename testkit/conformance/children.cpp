// Instances that a turn starts: children and detached ones.
#include "testkit/conformance/story.hpp"

#include <algorithm>

HOLDFAST_CONFORMANCE_FILE(children);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Children, AreThereWithTheCommit) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  a.commit(parent.starts_child("child-1").starts_detached("detached-1"));
  const InstanceView child = find("child-1");
  EXPECT_EQ(child.parent, parent.key());
  EXPECT_EQ(child.code, (CodeVersion{"child", "1"}));
  EXPECT_EQ(child.execution, ExecutionNumber{1});
  EXPECT_EQ(child.status, InstanceStatus::running);
  EXPECT_EQ(child.created_at, clock().calendar_now());
  EXPECT_EQ(find("detached-1").parent, InstanceKey{});
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched), (Texts{"child-1", "detached-1"}));
  EXPECT_EQ(fetched.turns[0].messages(), Texts{"start: child-1 input"});
}

STORE_TEST(Children, ARefusedTurnStartsNone) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  parent.starts_child("child-1").commit.expected = token<TurnStamp>();
  EXPECT_EQ(answer(a.try_commit(parent)), "lost");
  EXPECT_EQ(answer(store().find("child-1")), "not_found");
}

STORE_TEST(Children, OfAnIdThatExistsTheInstanceThereAnswers) {
  const Worker a = join("a");
  Turn taken = a.begin("taken");
  a.commit(taken);
  Turn parent = a.begin("parent");
  EXPECT_TRUE(a.commit(parent.starts_child("taken")).dropped.empty());
  EXPECT_EQ(find("taken").key, taken.key());
  EXPECT_EQ(find("taken").parent, InstanceKey{});
  EXPECT_EQ(find("taken").code, (CodeVersion{"order", "1"}));
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.key(), taken.key());
  EXPECT_EQ(turn.messages(), Texts{"start: taken input"});
}

STORE_TEST(Children, OfAnIdThatHasEndedTheEndedOneAnswers) {
  const Worker a = join("a");
  Turn ended = a.begin("ended");
  a.commit(ended.ends(InstanceStatus::failed));
  EXPECT_TRUE(a.commit(a.begin("parent").starts_child("ended")).dropped.empty());
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.key(), ended.key());
  EXPECT_EQ(turn->status, InstanceStatus::failed);
  EXPECT_EQ(turn.messages(), Texts{"start: ended input"});
}

STORE_TEST(Children, StartedByATurnThatEndsItsInstanceLive) {
  const Worker a = join("a");
  Turn completes = a.begin("completes");
  Turn continues = a.begin("continues");
  a.commit(completes.starts_detached("one").ends());
  a.commit(continues.starts_detached("two").continues_as_new("again"));
  Texts ready = names(a.fetch_turns());
  std::ranges::sort(ready);
  EXPECT_EQ(ready, (Texts{"continues", "one", "two"}));
}

STORE_TEST(Children, TheSameIdTwiceInOneTurnIsOneInstanceWithTwoStarts) {
  const Worker a = join("a");
  a.commit(a.begin("parent").starts_child("child-1").starts_child("child-1"));
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"start: child-1 input", "start: child-1 input"}));
}

STORE_TEST(Children, GetTheDeliveriesThatCameEarly) {
  const Worker a = join("a");
  raise("child-1", "decision", "early");
  a.commit(a.begin("parent").starts_child("child-1"));
  Texts messages = a.fetch_turn().messages();
  std::ranges::sort(messages);
  EXPECT_EQ(messages, (Texts{"event decision: early", "start: child-1 input"}));
  EXPECT_TRUE(state().early.empty());
}

STORE_TEST(Children, OfOneParentAreListed) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  a.commit(parent.starts_child("child-1").starts_detached("detached-1").starts_child("child-2"));
  EXPECT_EQ(list({.parent = parent.key()}), (Texts{"child-2", "child-1"}));
}

STORE_TEST(Children, AMessageOfTheSameTurnReachesTheNewInstance) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  EXPECT_TRUE(a.commit(parent.starts_child("child-1").sends("child-1", control("cancel"))).dropped.empty());
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"start: child-1 input", "control: cancel"}));
}

// "Cancel the one that is there, and start another": in the order of the code.
STORE_TEST(Children, AMessageBeforeTheStartDoesNotReachTheNewInstance) {
  const Worker a = join("a");
  Turn parent = a.begin("parent");
  const Committed done = a.commit(
      parent.sends("child-1", control("cancel")).starts_child("child-1").sends("child-1", control("later")));
  EXPECT_EQ(done.dropped, std::vector<std::size_t>{0});
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"start: child-1 input", "control: later"}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
