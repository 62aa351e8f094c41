// Suspended instances take no turns but those that end them, and lose nothing meanwhile.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(suspending);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Suspending, NothingThatComesMakesASuspendedInstanceReady) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules("charge")
               .waits_for({event("decision")})
               .sets_timer(EventId{5}, clock().calendar_now() + 1s));
  const InstanceKey key = suspend("order-1");
  EXPECT_EQ(find("order-1").status, InstanceStatus::suspended);
  EXPECT_EQ(find("order-1").key, key);
  raise("order-1", "decision", "yes");
  must(a.finish(a.fetch_activity()));
  send(message_to("order-1", request_to_cancel("no need")));
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_FALSE(row("order-1").ready);
}

STORE_TEST(Suspending, AtResumeMessagesComeInTheOrderInWhichTheyArrived) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules("charge")
               .waits_for({event("decision")})
               .sets_timer(EventId{5}, clock().calendar_now() + 1s));
  suspend("order-1");
  send(message_to("order-1", request_to_cancel("no need")));
  raise("order-1", "decision", "yes");
  must(a.finish(a.fetch_activity()));
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});  // which makes a message of the timer
  resume("order-1");
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->status, InstanceStatus::running);
  EXPECT_EQ(turn.messages(),
            (Texts{"cancel: no need", "event decision: yes", "outcome 1/2: result", "timer 1/5"}));
}

STORE_TEST(Suspending, AnInstanceWithoutMessagesIsNotReadyAtResume) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  suspend("order-1");
  resume("order-1");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  raise("order-1", "decision", "yes");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Suspending, ATurnUnderWayIsLost) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  suspend("order-1");
  changes_nothing([&] {
    EXPECT_EQ(answer(a.try_commit(turn.schedules("charge"))), "lost");
    EXPECT_EQ(answer(a.renew(turn)), "lost");
    EXPECT_EQ(answer(a.release(turn)), "lost");
  });
  resume("order-1");
  const Turn again = a.fetch_turn();
  EXPECT_EQ(again->delivery, 1U) << "the worker was not lost: it is no step towards poison";
  EXPECT_EQ(again.messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Suspending, AHandOutThatLapsedCountsAllTheSame) {
  const Worker a = join("a");
  a.begin("order-1");
  pass(1min);
  EXPECT_EQ(a.fetch_turn()->delivery, 2U);
  pass(1min);
  EXPECT_EQ(names(a.fetch_turns(0)), Texts{});
  suspend("order-1");
  resume("order-1");
  EXPECT_EQ(a.fetch_turn()->delivery, 3U);
}

STORE_TEST(Suspending, AHeldInstanceIsHeldNoMore) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge").waits_for({event("decision")}).keeps_lock());
  suspend("order-1");
  raise("order-1", "decision", "yes");
  EXPECT_FALSE(a.news_of(turn));
  EXPECT_FALSE(row("order-1").locked_by);
  resume("order-1");
  EXPECT_FALSE(a.news_of(turn)) << "it is fetched anew";
  const Turn anew = a.fetch_turn();
  EXPECT_EQ(anew->stamp, turn->stamp) << "frames in memory stay good";
  EXPECT_EQ(anew.messages(), Texts{"event decision: yes"});
}

STORE_TEST(Suspending, ActivitiesGoOnAndAreRetriedAndTimeOut) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules({.name = "fly", .start_within = 10s}));
  const Work work = a.fetch_activity();
  suspend("order-1");
  EXPECT_EQ(answer(a.renew(work)), "ok");
  must(a.retry(work, 1s));
  pass(1min);
  sweep();
  must(a.finish(a.fetch_activity()));
  EXPECT_EQ(texts(row("order-1").messages), (Texts{"taken 1/3: schedule_to_start", "outcome 1/2: result"}));
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Suspending, AControlMessageReachesASuspendedInstance) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  suspend("order-1");
  must(a.finish(a.fetch_activity()));
  tell("order-1", "terminate");
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->status, InstanceStatus::suspended);
  EXPECT_EQ(turn.messages(), (Texts{"outcome 1/2: result", "control: terminate"}));
  a.commit(turn.ends(InstanceStatus::terminated));
  EXPECT_EQ(find("order-1").status, InstanceStatus::terminated);
}

STORE_TEST(Suspending, ADelayedControlMessageComesWhenItIsDue) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  ClientMessage terminate = message_to("order-1", control("terminate"));
  terminate.delay = 10s;
  send(terminate);
  suspend("order-1");
  EXPECT_LE(a.fetch_turns().next_due, 10s);
  pass(10s);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"control: terminate"});
}

STORE_TEST(Suspending, AnInstanceThatHasNotBegunStaysSo) {
  const Worker a = join("a");
  StartRequest later = start_of("order-2");
  later.delay = 10s;
  start(later);
  start("order-1");
  suspend("order-1");
  suspend("order-2");
  pass(1min);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  resume("order-1");
  pass(1s);
  resume("order-2");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-1", "order-2"}));
}

STORE_TEST(Suspending, ASecondWishSaysThatItIsSoAlready) {
  start("order-1");
  EXPECT_EQ(answer(try_resume("order-1")), "conflict");
  suspend("order-1");
  changes_nothing([&] { EXPECT_EQ(answer(try_suspend("order-1")), "conflict"); });
  resume("order-1");
  changes_nothing([&] { EXPECT_EQ(answer(try_resume("order-1")), "conflict"); });
}

STORE_TEST(Suspending, ARepeatedRequestTakesEffectOnce) {
  const InstanceKey key = start("order-1");
  const Suspension wish{.instance = "order-1", .request = token<RequestId>()};
  EXPECT_EQ(must(only(store().set_suspended(one(wish)))), key);
  EXPECT_EQ(must(only(store().set_suspended(one(wish)))), key);
  resume("order-1");
  EXPECT_EQ(must(only(store().set_suspended(one(wish)))), key);
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
}

STORE_TEST(Suspending, IsForALifeOfTheId) {
  const Worker a = join("a");
  const InstanceKey former = start("order-1");
  a.commit(a.fetch_turn().ends());
  EXPECT_EQ(answer(try_suspend("order-1")), "conflict");
  EXPECT_EQ(answer(try_suspend("nobody")), "not_found");
  must(store().delete_instance("order-1", false));
  start("order-1");
  EXPECT_EQ(answer(only(store().set_suspended(one(Suspension{.instance = "order-1", .life = former})))),
            "gone(dropped)");
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
}

STORE_TEST(Suspending, AParkedInstanceIsRunningAfterwards) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "event 7 differs"}));
  EXPECT_EQ(answer(try_resume("order-1")), "conflict");
  suspend("order-1");
  EXPECT_EQ(find("order-1").parked_because, "");
  EXPECT_EQ(must(store().wake_parked(a.info.code)), 0U);
  resume("order-1");
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(Suspending, OneThatWasWokenTakesItsTurnAtResume) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.keeps_lock());
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  must(store().wake_parked(a.info.code));
  suspend("order-1");
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  resume("order-1");
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Suspending, OthersOfABatchAreNotConcerned) {
  start("order-1");
  start("order-2");
  const std::vector<Suspension> wishes{
      {.instance = "order-1"}, {.instance = "nobody"}, {.instance = "order-2"}};
  EXPECT_EQ(answers(store().set_suspended(wishes)), (Texts{"ok", "not_found", "ok"}));
  EXPECT_EQ(list({.statuses = {InstanceStatus::suspended}}), (Texts{"order-2", "order-1"}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
