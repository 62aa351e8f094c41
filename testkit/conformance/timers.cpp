// Timers follow the calendar; delayed messages follow lease time.
#include "testkit/conformance/story.hpp"

#include <utility>

HOLDFAST_CONFORMANCE_FILE(timers);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Timers, ATimerWakesItsInstanceWhenItIsDue) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1h));
  EXPECT_EQ(describe("order-1").timers.size(), 1U);
  pass(1h - 1us);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(1us);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"timer 1/5"});
  EXPECT_EQ(describe("order-1").timers.size(), 0U);
}

STORE_TEST(Timers, ATimerComesOnce) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1s));
  pass(1s);
  a.commit(a.fetch_turn());
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Timers, AFetchedTimerSurvivesALostTurn) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1s));
  pass(1s);
  a.fetch_turn();
  pass(a.turn_lease);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"timer 1/5"});
}

STORE_TEST(Timers, OneOfThePastIsDueAtOnce) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() - 1h));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"timer 1/5"});
}

STORE_TEST(Timers, OneOfTheLastMomentNeverComesAndNobodyWaitsForIt) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, CalendarTime::max()));
  pass(24h * 365);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_EQ(a.fetch_turns().next_due, never);
  EXPECT_EQ(describe("order-1").timers.size(), 1U);
}

STORE_TEST(Timers, TheEarliestComesFirst) {
  const Worker a = join("a");
  const CalendarTime now = clock().calendar_now();
  a.commit(a.begin("order-1")
               .sets_timer(EventId{5}, now + 3s)
               .sets_timer(EventId{6}, now + 1s)
               .sets_timer(EventId{7}, now + 2s));
  pass(1min);
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"timer 1/6", "timer 1/7", "timer 1/5"}));
}

STORE_TEST(Timers, ThoseOfOneMomentComeByInstanceAndEvent) {
  const Worker a = join("a");
  const CalendarTime due = clock().calendar_now() + 1s;
  a.commit(a.begin("order-1").sets_timer(EventId{9}, due).sets_timer(EventId{5}, due));
  a.commit(a.begin("order-2").sets_timer(EventId{1}, due));
  pass(1s);
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched), (Texts{"order-1", "order-2"}));
  EXPECT_EQ(fetched.turns[0].messages(), (Texts{"timer 1/5", "timer 1/9"}));
  EXPECT_LT(fetched.turns[0]->messages.back().id, fetched.turns[1]->messages.front().id);
}

STORE_TEST(Timers, ACancelledOneNeverComes) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const CalendarTime due = clock().calendar_now() + 1h;
  a.commit(turn.sets_timer(EventId{5}, due).sets_timer(EventId{6}, due).keeps_lock());
  a.commit(turn.cancels_timer(EventId{5}).cancels_timer(EventId{999}));
  pass(1h);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"timer 1/6"});
}

STORE_TEST(Timers, AStepOfTheCalendarForwardsMakesThemDue) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 24h));
  clock().step_calendar(24h);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"timer 1/5"});
}

STORE_TEST(Timers, AStepBackwardsPostponesThem) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1h));
  clock().step_calendar(-2h);
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(2h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Timers, LeaseTimeAloneMakesNoneDue) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1s));
  clock().advance_boot(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(Timers, AFetchSaysWhenTheNextIsDue) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1h));
  EXPECT_LE(a.fetch_turns().next_due, 1h);
  a.commit(a.begin("order-2").sets_timer(EventId{5}, clock().calendar_now() + 10s));
  EXPECT_LE(a.fetch_turns().next_due, 10s);
}

STORE_TEST(Timers, TheyEndWithTheInstance) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1s).ends());
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  EXPECT_TRUE(row("order-1").timers.empty());
}

STORE_TEST(Timers, TheyEndWithTheExecution) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.sets_timer(EventId{5}, clock().calendar_now() + 1s).continues_as_new("again"));
  a.commit(a.fetch_turn());
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

STORE_TEST(DelayedMessages, ADelayedStartIsNotReadyBeforeItsTime) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.delay = 1h;
  EXPECT_TRUE(start(request).is_new);
  EXPECT_EQ(find("order-1").status, InstanceStatus::running);
  EXPECT_LE(a.fetch_turns().next_due, 1h);
  pass(1h - 1us);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  pass(1us);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(DelayedMessages, ADelayedMessageIsInvisibleUntilItsTime) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}));
  ClientMessage message = message_to("order-1", delivery(event("decision"), "late"));
  message.delay = 10s;
  send(message);
  EXPECT_EQ(row("order-1").delayed_messages.size(), 1U);
  EXPECT_EQ(row("order-1").messages.size(), 0U);
  tell("order-1", "hello");
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), Texts{"control: hello"});
  a.commit(turn);
  pass(10s);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"event decision: late"});
}

STORE_TEST(DelayedMessages, ComeInTheOrderOfTheirTimesAfterTheTimers) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 5s));
  for (const auto& [body, delay] : {std::pair("later", 3s), std::pair("sooner", 1s)}) {
    ClientMessage message = message_to("order-1", control(body));
    message.delay = delay;
    send(message);
  }
  pass(1h);
  const Turn turn = a.fetch_turn();
  EXPECT_EQ(turn.messages(), (Texts{"timer 1/5", "control: sooner", "control: later"}));
}

STORE_TEST(DelayedMessages, ThoseOfOneMomentComeInTheOrderInWhichTheyWereSent) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  for (const char* const body : {"first", "second", "third"}) {
    ClientMessage message = message_to("order-1", control(body));
    message.delay = 1s;
    send(message);
  }
  pass(1s);
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"control: first", "control: second", "control: third"}));
}

STORE_TEST(DelayedMessages, AStartOutlivesTheEndOfItsInstance) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.delay = 10s;
  start(request);
  tell("order-1", "terminate");
  a.commit(a.fetch_turn().ends(InstanceStatus::terminated));
  pass(10s);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: order-1 input"});
}

STORE_TEST(DelayedMessages, AStepOfTheCalendarMakesNoneDue) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.delay = 1h;
  start(request);
  clock().step_calendar(24h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  clock().advance_boot(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(DelayedMessages, ThoseOfAnEndedInstanceAreDropped) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  ClientMessage message = message_to("order-1", control("late"));
  message.delay = 10s;
  send(message);
  a.commit(turn.ends());
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
}

}  // namespace
}  // namespace holdfast::testing::conformance
