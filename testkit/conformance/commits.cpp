// A commit of a turn is a whole: all of it, or nothing.
#include "testkit/conformance/story.hpp"

#include <algorithm>
#include <map>

HOLDFAST_CONFORMANCE_FILE(commits);

namespace holdfast::testing::conformance {
namespace {

/// A turn that does something of every kind.
Turn& does_everything(Turn& turn, const World& world) {
  return turn.schedules({.event = EventId{40}, .name = "charge"})
      .schedules({.event = EventId{41}, .name = "ship", .hand_off = true})
      .sets_timer(EventId{42}, world.clock().calendar_now() + 1h)
      .sends("other", delivery(event("greeting"), "hello"))
      .starts_child("child-1")
      .starts_detached("detached-1")
      .sets_value("colour", "blue")
      .reads_value(EventId{43}, "other", "size")
      .opens_session("gpu", {.on_record = true}, EventId{44})
      .watches_session("gpu")
      .shows("half done")
      .waits_for({event("decision"), mailbox("orders")});
}

STORE_TEST(Commits, AllOfATurnLands) {
  const Worker a = join("a");
  a.commit(a.begin("other"));
  Turn turn = a.begin("order-1");
  const Committed committed = a.commit(does_everything(turn, *this));
  EXPECT_TRUE(committed.dropped.empty());
  ASSERT_EQ(committed.handed_off.size(), 2U);
  EXPECT_FALSE(committed.handed_off[0]);
  EXPECT_TRUE(committed.handed_off[1]);

  const InstanceRow order = row("order-1");
  ASSERT_EQ(order.history.size(), 1U);
  EXPECT_EQ(order.history.at(1), (std::vector<Segment>{{EventId{1}, "events from 1"}}));
  Texts answered = texts(order.messages);
  std::ranges::sort(answered);
  EXPECT_EQ(answered, (Texts{"session 1/44: opened", "value 1/43: none"}));
  EXPECT_EQ(order.timers, (std::vector<NewTimer>{{EventId{42}, clock().calendar_now() + 1h}}));
  EXPECT_EQ(order.values, (std::map<std::string, std::string>{{"colour", "blue"}}));
  EXPECT_EQ(order.waits, (std::vector<Address>{event("decision"), mailbox("orders")}));
  EXPECT_EQ(order.watched_sessions, Texts{"gpu"});
  EXPECT_EQ(order.view.custom_status, "half done");
  EXPECT_EQ(activities().size(), 2U);
  EXPECT_EQ(texts(row("other").messages), Texts{"event greeting: hello"});
  EXPECT_EQ(texts(row("child-1").messages), Texts{"start: child-1 input"});
  EXPECT_EQ(texts(row("detached-1").messages), Texts{"start: detached-1 input"});
  EXPECT_EQ(session("gpu").opened_by, "order-1");
}

STORE_TEST(Commits, ARefusedTurnChangesNothing) {
  const Worker a = join("a");
  a.commit(a.begin("other"));
  Turn first = a.begin("order-1");
  a.commit(first.schedules("render").opens_session("cpu").keeps_lock());
  const Work work = a.fetch_activity();
  Turn turn = first;
  does_everything(turn, *this).completes(work).closes_session("cpu").ends();

  const auto expect_lost = [&](const char* what, const auto& spoil) {
    SCOPED_TRACE(what);
    Turn spoilt = turn;
    spoil(spoilt);
    changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(spoilt)), "lost"); });
  };
  expect_lost("the lock is another's", [&](Turn& t) { t.commit.token = token<LockToken>(); });
  expect_lost("no lock at all", [&](Turn& t) { t.commit.token = {}; });
  expect_lost("another stamp", [&](Turn& t) { t.commit.expected = token<TurnStamp>(); });
  expect_lost("the stamp before the first commit", [&](Turn& t) { t.commit.expected = {}; });
  expect_lost("another token of an activity",
              [&](Turn& t) { t.commit.completed[0].token = token<LockToken>(); });
  expect_lost("an activity that isn't there", [&](Turn& t) { t.commit.completed[0].event = EventId{999}; });
  expect_lost("an instance that isn't there", [&](Turn& t) { t.commit.key = InstanceKey{999}; });

  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
}

STORE_TEST(Commits, InABatchEachTurnStandsAlone) {
  const Worker a = join("a");
  for (const char* id : {"order-1", "order-2", "order-3"}) start(id);
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 3U);
  std::vector<TurnCommit> commits;
  for (Turn& turn : fetched.turns) commits.push_back(turn.schedules("charge").shows("begun").commit);
  commits[1].expected = token<TurnStamp>();

  const auto results = a.try_commit(commits);
  EXPECT_EQ(answers(results), (Texts{"ok", "lost", "ok"}));
  EXPECT_EQ(find("order-1").custom_status, "begun");
  EXPECT_EQ(find("order-2").custom_status, std::nullopt);
  EXPECT_EQ(find("order-3").custom_status, "begun");
  EXPECT_EQ(activities().size(), 2U);
}

STORE_TEST(Commits, AnswersStandInTheOrderOfTheItems) {
  const Worker a = join("a");
  for (const char* id : {"order-1", "order-2"}) start(id);
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  const std::vector<TurnCommit> backwards{
      fetched.turns[1].schedules({.name = "ship", .hand_off = true}).commit,
      fetched.turns[0].schedules({.name = "charge", .hand_off = true}).commit};
  const auto results = a.try_commit(backwards);
  ASSERT_EQ(answers(results), (Texts{"ok", "ok"}));
  ASSERT_TRUE(results[0]->handed_off.at(0) && results[1]->handed_off.at(0));
  EXPECT_EQ(results[0]->handed_off[0]->id.instance, fetched.turns[1].key());
  EXPECT_EQ(results[1]->handed_off[0]->id.instance, fetched.turns[0].key());
}

STORE_TEST(Commits, AnEmptyBatchIsNothing) {
  const Worker a = join("a");
  changes_nothing([&] { EXPECT_TRUE(a.try_commit({}).empty()); });
}

STORE_TEST(Commits, TheSameCommitTwiceIsLost) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1").schedules("charge").keeps_lock();
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(turn)), "lost"); });
}

STORE_TEST(Commits, AnInstanceThatHasEndedGetsNoNewActivitiesOrTimers) {
  const Worker a = join("a");
  a.commit(a.begin("ended").ends());
  a.commit(a.begin("parent").starts_child("ended"));
  const Turn turn = a.fetch_turn();
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(Turn(turn).schedules("charge"))), "invalid"); });
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(Turn(turn).sets_timer(EventId{7}, {}))), "invalid"); });
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
}

STORE_TEST(Commits, OfAnotherExecutionAreInvalidWhateverTheyComplete) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.commit.execution = ExecutionNumber{2};
  turn.commit.completed.push_back({.event = EventId{7}, .token = token<LockToken>()});
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(turn)), "invalid"); });
  turn.commit.execution = ExecutionNumber{1};
  changes_nothing([&] { EXPECT_EQ(answer(a.try_commit(turn)), "lost"); });
}

STORE_TEST(Commits, AFetchBringsTheStampOfTheLastCommit) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  EXPECT_TRUE(turn->stamp.empty());
  const TurnStamp stamp = turn.commit.stamp;
  a.commit(turn.waits_for({event("go")}));
  raise("order-1", "go", "now");
  EXPECT_EQ(a.fetch_turn()->stamp, stamp);
}

STORE_TEST(Commits, ConsumedMessagesAreGoneAndOthersStay) {
  const Worker a = join("a");
  start("order-1");
  for (const char* body : {"one", "two", "three"}) post("order-1", "orders", body);
  Turn turn = a.fetch_turn();
  ASSERT_EQ(turn.messages(), (Texts{"start: order-1 input", "mailbox orders: one", "mailbox orders: two",
                                    "mailbox orders: three"}));
  a.commit(turn.consumes(2));
  EXPECT_EQ(texts(row("order-1").messages), (Texts{"mailbox orders: one", "mailbox orders: three"}));
}

STORE_TEST(Commits, AMessageThatIsGoneMayBeConsumedAgain) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1").keeps_lock();
  const auto consumed = turn.commit.consumed;
  a.commit(turn);
  turn.commit.consumed = consumed;
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
}

STORE_TEST(Commits, ATurnWithoutNewEventsLeavesNoHistory) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.commit.segment.clear();
  a.commit(turn);
  const auto executions = must(store().executions(turn.key()));
  for (const ExecutionView& execution : executions) EXPECT_EQ(execution.segments, 0U);
  EXPECT_TRUE(must(store().read_history(turn.key(), ExecutionNumber{1}, EventId{}, 1000)).empty());
}

STORE_TEST(Commits, VersionAndBuildAreKeptOnceTheyAreDecided) {
  const Worker a = join("a");
  StartRequest request = start_of("order-1");
  request.code.version = "";
  start(request);
  Turn turn = a.fetch_turn();
  EXPECT_EQ(turn->code, (CodeVersion{"order", ""}));
  EXPECT_EQ(turn->build, 0U);
  turn.commit.version = "1";
  turn.commit.build = 17;
  a.commit(turn);
  EXPECT_EQ(find("order-1").code, (CodeVersion{"order", "1"}));
  EXPECT_EQ(find("order-1").build, 17U);

  tell("order-1", "hello");
  Turn second = a.fetch_turn();
  EXPECT_EQ(second->code, (CodeVersion{"order", "1"}));
  EXPECT_EQ(second->build, 17U);
  a.commit(second);
  EXPECT_EQ(find("order-1").build, 17U);
}

STORE_TEST(Commits, ATurnKnowsTheStoresCalendarTime) {
  const Worker a = join("a");
  start("order-1");
  pass(90s);
  EXPECT_EQ(a.fetch_turns().now, ManualClock::kCalendarStart + 90s);
}

}  // namespace
}  // namespace holdfast::testing::conformance
