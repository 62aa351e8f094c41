// Deleting an instance, and what is left when its id lives again.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(deletion);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Deletion, TakesAllThatBelongsToTheInstance) {
  const Worker a = join("a");
  const std::string before = text(state());
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge")
               .sets_timer(EventId{5}, clock().calendar_now() + 1h)
               .sets_value("colour", "blue")
               .keeps_lock());
  post("order-1", "orders", "unread");
  a.commit(turn.ends());
  must(store().delete_instance("order-1", false));
  expect_state(before);
  EXPECT_EQ(answer(store().find("order-1")), "not_found");
  EXPECT_EQ(answer(store().value("order-1", "colour")), "not_found");
  EXPECT_EQ(answer(store().read_history(turn.key(), ExecutionNumber{1}, {}, 1000)), "not_found");
  EXPECT_EQ(must(store().look(std::vector{turn.key()})).at(0), std::nullopt);
}

STORE_TEST(Deletion, OfWhatHasNotEndedNeedsForce) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  changes_nothing([&] { EXPECT_EQ(answer(store().delete_instance("order-1", false)), "conflict"); });
  EXPECT_EQ(answer(store().delete_instance("order-1", true)), "ok");
  EXPECT_TRUE(state().instances.empty());
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
}

STORE_TEST(Deletion, OfWhatIsNotThereIsNotFound) {
  EXPECT_EQ(answer(store().delete_instance("nobody", true)), "not_found");
}

STORE_TEST(Deletion, OfOneLifeSparesTheNext) {
  const InstanceKey former = start("order-1");
  must(store().delete_instance("order-1", true, former));
  const InstanceKey again = start("order-1");
  changes_nothing([&] { EXPECT_EQ(answer(store().delete_instance("order-1", true, former)), "not_found"); });
  EXPECT_EQ(answer(store().delete_instance("order-1", true, again)), "ok");
}

STORE_TEST(Deletion, LosesTheTurnThatRuns) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  must(store().delete_instance("order-1", true));
  changes_nothing([&] {
    EXPECT_EQ(answer(a.try_commit(turn.schedules("charge").starts_child("child-1"))), "lost");
    EXPECT_EQ(answer(a.renew(turn)), "lost");
    EXPECT_EQ(answer(a.release(turn)), "lost");
    EXPECT_FALSE(a.news_of(turn));
  });
}

STORE_TEST(Deletion, ANewLifeHasANewKey) {
  const Worker a = join("a");
  const InstanceKey former = start("order-1");
  must(store().delete_instance("order-1", true));
  const StartAnswer again = start(start_of("order-1"));
  EXPECT_TRUE(again.is_new);
  EXPECT_GT(again.key, former);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Deletion, ALateOutcomeOfTheFormerLifeIsIgnored) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.event = EventId{5}, .name = "charge"}));
  const Work former = a.fetch_activity();
  must(store().delete_instance("order-1", true));
  Turn again = a.begin("order-1");
  a.commit(again.schedules({.event = EventId{5}, .name = "charge"}));

  changes_nothing([&] {
    EXPECT_EQ(answer(a.finish(former, "late")), "gone(instance_deleted)");
    EXPECT_EQ(answer(a.renew(former)), "gone(instance_deleted)");
  });
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_EQ(answer(a.finish(a.fetch_activity(), "of this life")), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"outcome 1/5: of this life"});
}

STORE_TEST(Deletion, ALateTurnOfTheFormerLifeIsLost) {
  const Worker a = join("a");
  Turn former = a.begin("order-1");
  must(store().delete_instance("order-1", true));
  const Turn again = a.begin("order-1");
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(former)), "lost"); });
  EXPECT_EQ(answer(a.try_commit(again)), "ok");
}

STORE_TEST(Deletion, ATimerOfTheFormerLifeNeverComes) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1s));
  must(store().delete_instance("order-1", true));
  a.commit(a.begin("order-1"));
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Deletion, ADelayedMessageOfTheFormerLifeNeverComes) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.delay = 10s;
  start(request);
  ClientMessage message = message_to("order-1", control("late"));
  message.delay = 10s;
  send(message);
  must(store().delete_instance("order-1", true));
  a.commit(a.begin("order-1"));
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Deletion, ChildrenLiveOn) {
  const Worker a = join("a");
  a.commit(a.begin("parent").starts_child("child-1").ends());
  must(store().delete_instance("parent", false));
  EXPECT_EQ(names(a.fetch_turns()), Texts{"child-1"});
}

STORE_TEST(Deletion, ClosesTheSessionsThatTheInstanceOpened) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").opens_session("gpu", {.on_record = true}));
  must(store().delete_instance("order-1", true));
  EXPECT_EQ(session("gpu").state, SessionStatus::closed);
  EXPECT_EQ(session("gpu").reason, SessionReason::opener_ended);
}

STORE_TEST(Deletion, OfALargeInstanceIsFinishedBySweeps) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 50; ++i) {
    turn.commit.segment.assign(20'000, 'x');
    a.commit(turn.keeps_lock());
  }
  a.commit(turn.ends());
  must(store().delete_instance("order-1", false));
  EXPECT_EQ(answer(store().find("order-1")), "not_found");
  EXPECT_EQ(answer(store().read_history(turn.key(), ExecutionNumber{1}, {}, 1000)), "not_found");
  sweep();
  EXPECT_TRUE(state().instances.empty());
}

}  // namespace
}  // namespace holdfast::testing::conformance
