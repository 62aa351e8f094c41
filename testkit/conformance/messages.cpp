// Messages between instances.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(messages);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Messages, GoToALifeByItsKeyOrToWhoeverHasTheId) {
  const Worker a = join("a");
  Turn receiver = a.begin("receiver");
  a.commit(receiver.waits_for({event("greeting")}));
  const Committed committed = a.commit(a.begin("sender")
                                           .sends(receiver.key(), delivery(event("greeting"), "by key"))
                                           .sends("receiver", delivery(event("greeting"), "by id")));
  EXPECT_TRUE(committed.dropped.empty());
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"event greeting: by key", "event greeting: by id"}));
}

STORE_TEST(Messages, ToNobodyAreDroppedAndNamed) {
  const Worker a = join("a");
  a.commit(a.begin("ended").ends());
  const Committed committed =
      a.commit(a.begin("sender")
                   .sends("nobody", control("cancel"))
                   .sends(InstanceKey{999}, outcome(ExecutionNumber{1}, EventId{1}, "late"))
                   .sends("sender", control("myself"))
                   .sends("ended", delivery(event("greeting"), "late")));
  EXPECT_EQ(committed.dropped, (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_TRUE(row("ended").messages.empty());
  EXPECT_TRUE(state().early.empty());
}

STORE_TEST(Messages, ToAnIdThatDoesNotExistYetAreKeptForTheirTime) {
  const Worker a = join("a");
  Turn sender = a.begin("sender");
  for (const auto& [body, keep] : {std::pair("short", Duration(1min)), std::pair("long", Duration(1h))}) {
    sender.sends("later", delivery(mailbox("orders"), body));
    sender.commit.messages.back().keep_early = keep;
  }
  sender.sends("later", control("cancel"));
  sender.commit.messages.back().keep_early = 1h;  // only deliveries are kept
  sender.sends(InstanceKey{999}, delivery(mailbox("orders"), "to a life that is over"));
  sender.commit.messages.back().keep_early = 1h;
  EXPECT_EQ(a.commit(sender).dropped, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(state().early.size(), 2U);
  pass(2min);
  sweep();
  start("later");
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"start: later input", "mailbox orders: long"}));
  EXPECT_TRUE(state().early.empty());
}

STORE_TEST(Messages, ToAnInstanceThatTheSameTurnStartsArrive) {
  const Worker a = join("a");
  Turn sender = a.begin("sender");
  sender.sends("child-1", delivery(mailbox("orders"), "first"));
  sender.commit.messages.back().keep_early = 1h;
  EXPECT_TRUE(a.commit(sender.starts_child("child-1")).dropped.empty());
  EXPECT_TRUE(state().early.empty());
  EXPECT_EQ(row("child-1").messages.size(), 2U);
}

STORE_TEST(Messages, ThatCancelShowOnTheirTargetFromTheFirstOneOn) {
  const Worker a = join("a");
  a.commit(a.begin("receiver"));
  const CalendarTime asked_at = clock().calendar_now();
  Turn sender = a.begin("sender");
  sender.sends("receiver", control("cancel"));
  sender.commit.messages.back().cancels = true;
  a.commit(sender);
  EXPECT_EQ(find("receiver").cancel_requested_at, asked_at);
  a.commit(a.fetch_turn());
  pass(1min);
  Turn again = a.begin("sender-2");
  again.sends("receiver", control("cancel"));
  again.commit.messages.back().cancels = true;
  a.commit(again);
  EXPECT_EQ(find("receiver").cancel_requested_at, asked_at);
}

STORE_TEST(Messages, ToItselfNeedAnotherTurn) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_TRUE(a.commit(turn.sends(turn.key(), control("again"))).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"control: again"});
}

STORE_TEST(Messages, ToItselfAreDroppedByATurnThatEndsItsInstance) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.begin("order-2");
  turn.sends(turn.key(), control("by key"));
  turn.sends("order-2", control("to another"));
  turn.sends("order-1", delivery(mailbox("orders"), "by id"));
  EXPECT_EQ(a.commit(turn.ends()).dropped, (std::vector<std::size_t>{0, 2}));
}

STORE_TEST(Messages, OfATurnThatEndsItsInstanceStillGo) {
  const Worker a = join("a");
  a.commit(a.begin("receiver"));
  a.commit(a.begin("sender").sends("receiver", control("bye")).ends());
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"control: bye"});
}

STORE_TEST(Messages, ForAnotherExecutionStillArrive) {
  const Worker a = join("a");
  a.commit(a.begin("receiver"));
  a.commit(a.begin("sender").sends("receiver", outcome(ExecutionNumber{7}, EventId{3}, "of a child")));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 7/3: of a child"});
}

STORE_TEST(Messages, ToAnInstanceThatIsLockedWaitForItsNextTurn) {
  const Worker a = join("a");
  Turn receiver = a.begin("receiver");
  a.commit(a.begin("sender").sends("receiver", control("hello")));
  EXPECT_TRUE(a.commit(receiver).ready);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"control: hello"});
}

STORE_TEST(Messages, ToAFormerLifeAreDropped) {
  const Worker a = join("a");
  Turn former = a.begin("receiver");
  a.commit(former);
  must(store().delete_instance("receiver", true));
  a.commit(a.begin("receiver"));
  const Committed committed =
      a.commit(a.begin("sender").sends(former.key(), outcome(ExecutionNumber{1}, EventId{2}, "late")));
  EXPECT_EQ(committed.dropped.size(), 1U);
  EXPECT_TRUE(row("receiver").messages.empty());
}

STORE_TEST(Messages, InABatchReachInstancesOfTheSameBatch) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  const std::vector<TurnCommit> commits{fetched.turns[0].sends("order-2", control("from 1")).commit,
                                        fetched.turns[1].sends("order-1", control("from 2")).commit};
  EXPECT_EQ(answers(a.try_commit(commits)), (Texts{"ok", "ok"}));
  const Turns next = a.fetch_turns();
  ASSERT_EQ(names(next), (Texts{"order-1", "order-2"}));
  EXPECT_EQ(next.turns[0].messages(), Texts{"control: from 2"});
  EXPECT_EQ(next.turns[1].messages(), Texts{"control: from 1"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
