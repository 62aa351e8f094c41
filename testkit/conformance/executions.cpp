// Continue-as-new: the next execution of the same life.
#include "testkit/conformance/story.hpp"

#include <map>

HOLDFAST_CONFORMANCE_FILE(executions);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Executions, TheNextOneBeginsWithItsStart) {
  const Worker a = join("a");
  Turn first = a.begin("order-1");
  EXPECT_TRUE(a.commit(first.continues_as_new("round 2", "2")).ready);
  const InstanceView view = find("order-1");
  EXPECT_EQ(view.key, first.key());
  EXPECT_EQ(view.execution, ExecutionNumber{2});
  EXPECT_EQ(view.code, (CodeVersion{"order", "2"}));
  EXPECT_EQ(view.status, InstanceStatus::running);

  store::NewWorker info = worker_info("b");
  info.code.orchestrations = {{"order", "2"}};
  const Worker b = join(info);
  EXPECT_EQ(names(a.fetch_turns()), Texts{});
  const Turn second = b.fetch_turn();
  EXPECT_EQ(second->execution, ExecutionNumber{2});
  EXPECT_EQ(second.messages(), Texts{"start: round 2"});
}

STORE_TEST(Executions, TheVersionOfTheNextOneMayBeLeftToItsFirstTurn) {
  const Worker a = join("a");
  Turn first = a.begin("order-1");
  a.commit(first.continues_as_new("round 2", ""));
  EXPECT_EQ(find("order-1").code, (CodeVersion{"order", ""}));

  store::NewWorker info = worker_info("b");
  info.code.orchestrations = {{"order", "1"}};  // it takes none that is undecided
  EXPECT_EQ(names(join(info).fetch_turns()), Texts{});
  info = worker_info("c");
  info.code.orchestrations = {{"order", ""}, {"order", "3"}};
  const Worker c = join(info);
  Turn second = c.fetch_turn();
  EXPECT_EQ(second->execution, ExecutionNumber{2});
  EXPECT_EQ(second->code, (CodeVersion{"order", ""}));
  second.commit.version = "3";
  c.commit(second);
  EXPECT_EQ(find("order-1").code, (CodeVersion{"order", "3"}));
}

STORE_TEST(Executions, TheLockMayBeKept) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.continues_as_new("round 2").keeps_lock());
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  const auto news = a.news_of(turn);
  ASSERT_TRUE(news);
  EXPECT_EQ((*news)->execution, ExecutionNumber{2});
  EXPECT_EQ(news->messages(), Texts{"start: round 2"});
}

STORE_TEST(Executions, DeliveriesAndControlsStay) {
  const Worker a = join("a");
  start("order-1");
  post("order-1", "orders", "unread");
  Turn turn = a.fetch_turn();
  tell("order-1", "during the turn");
  a.commit(turn.continues_as_new("round 2"));
  const Turn next = a.fetch_turn();
  Texts messages = next.messages();
  std::erase(messages, "start: round 2");
  EXPECT_EQ(messages, (Texts{"mailbox orders: unread", "control: during the turn"}));
  EXPECT_EQ(next->messages.size(), 3U);
}

STORE_TEST(Executions, OutcomesTimersAndAnswersOfTheOldOneGo) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules("charge")
               .sets_timer(EventId{5}, clock().calendar_now() + 1s)
               .reads_value(EventId{6}, "nobody", "colour")
               .opens_session("gpu", {}, EventId{7})
               .keeps_lock());
  must(a.finish(a.fetch_activity()));
  pass(1s);
  ASSERT_TRUE(a.news_of(turn));
  EXPECT_EQ(row("order-1").messages.size(), 4U);
  a.commit(turn.continues_as_new("round 2"));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: round 2"});
}

STORE_TEST(Executions, ValuesStay) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.sets_value("colour", "blue").continues_as_new("round 2"));
  EXPECT_EQ(must(store().value("order-1", "colour")), "blue");
}

STORE_TEST(Executions, TheSameEventNumbersMeanNewActivities) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge", .hand_off = true}).keeps_lock());
  const ActivityId former{turn.key(), ExecutionNumber{1}, EventId{5}};
  a.commit(turn.continues_as_new("round 2").keeps_lock());
  a.commit(turn.schedules({.event = EventId{5}, .name = "ship"}));
  const Work work = a.fetch_activity();
  EXPECT_EQ(work->name, "ship");
  EXPECT_EQ(work->id.execution, ExecutionNumber{2});
  EXPECT_EQ(a.cancel_records().at(0).id, former);
}

STORE_TEST(Executions, EachHasItsHistory) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  turn.commit.segment = "first";
  a.commit(turn.continues_as_new("round 2").keeps_lock());
  turn.commit.segment = "second";
  a.commit(turn.keeps_lock());
  turn.commit.segment = "third";
  a.commit(turn.keeps_lock());

  EXPECT_EQ(must(store().executions(turn.key())),
            (std::vector<ExecutionView>{{ExecutionNumber{1}, 1, 5}, {ExecutionNumber{2}, 2, 11}}));
  const auto history = row("order-1").history;
  EXPECT_EQ(history.at(1).size(), 1U);
  EXPECT_EQ(history.at(2).size(), 2U);
}

STORE_TEST(Executions, TheCurrentOneIsListedAlsoWithoutHistory) {
  const Worker a = join("a");
  const InstanceKey key = start("order-1");
  EXPECT_EQ(must(store().executions(key)), (std::vector<ExecutionView>{{ExecutionNumber{1}, 0, 0}}));
  Turn turn = a.fetch_turn();
  turn.commit.segment = "first";
  a.commit(turn.continues_as_new("round 2"));
  EXPECT_EQ(must(store().executions(key)),
            (std::vector<ExecutionView>{{ExecutionNumber{1}, 1, 5}, {ExecutionNumber{2}, 0, 0}}));
}

STORE_TEST(Executions, OldOnesArePrunedAndTheCurrentOneStays) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 4; ++i) a.commit(turn.continues_as_new("again").keeps_lock());
  a.commit(turn.keeps_lock());
  EXPECT_EQ(must(store().executions(turn.key())).size(), 5U);
  EXPECT_EQ(must(store().prune_executions("order-1", 2)), 3U);
  const auto left = must(store().executions(turn.key()));
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].execution, ExecutionNumber{4});
  EXPECT_TRUE(must(store().read_history(turn.key(), ExecutionNumber{1}, EventId{}, 1000)).empty());
  EXPECT_EQ(must(store().prune_executions("order-1", 2)), 0U);

  EXPECT_EQ(must(store().prune_executions("order-1", 0)), 1U);
  EXPECT_FALSE(must(store().read_history(turn.key(), ExecutionNumber{5}, EventId{}, 1000)).empty());
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
  EXPECT_EQ(answer(store().prune_executions("nobody", 1)), "not_found");
}

STORE_TEST(Executions, OneOfThemIsPrunedAndTheOthersStay) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 2; ++i) a.commit(turn.continues_as_new("again").keeps_lock());
  a.commit(turn.keeps_lock());
  EXPECT_TRUE(must(store().prune_execution("order-1", ExecutionNumber{2})));
  const auto left = must(store().executions(turn.key()));
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].execution, ExecutionNumber{1});
  EXPECT_EQ(left[1].execution, ExecutionNumber{3});
  changes_nothing([&] {
    EXPECT_FALSE(must(store().prune_execution("order-1", ExecutionNumber{2})));
    EXPECT_EQ(answer(store().prune_execution("order-1", ExecutionNumber{3})), "conflict");
    EXPECT_EQ(answer(store().prune_execution("order-1", ExecutionNumber{4})), "not_found");
    EXPECT_EQ(answer(store().prune_execution("order-1", ExecutionNumber{})), "not_found");
    EXPECT_EQ(answer(store().prune_execution("nobody", ExecutionNumber{1})), "not_found");
  });
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
}

STORE_TEST(Executions, PruningTheLastOneThatIsOverKeepsTheStamp) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.continues_as_new("again"));
  const TurnStamp stamp = row("order-1").stamp;
  must(store().prune_execution("order-1", ExecutionNumber{1}));
  EXPECT_EQ(row("order-1").stamp, stamp);
  EXPECT_EQ(answer(a.try_commit(a.fetch_turn())), "ok");
}

STORE_TEST(Executions, PruningBetweenTwoExecutionsDestroysNothingLive) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.continues_as_new("round 2"));
  must(store().prune_executions("order-1", 0));
  EXPECT_EQ(find("order-1").execution, ExecutionNumber{2});
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"start: round 2"});
}

STORE_TEST(History, IsReadInOrderAfterAnEvent) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  std::vector<Segment> segments;
  for (int i = 0; i < 3; ++i) {
    segments.push_back({turn.commit.first_event, turn.commit.segment});
    a.commit(turn.keeps_lock());
  }
  const auto read = [&](EventId after, std::size_t bytes) {
    return must(store().read_history(turn.key(), ExecutionNumber{1}, after, bytes));
  };
  EXPECT_EQ(read(EventId{0}, 1000), segments);
  EXPECT_EQ(read(segments[0].first_event, 1000), (std::vector{segments[1], segments[2]}));
  EXPECT_EQ(read(segments[2].first_event, 1000), std::vector<Segment>{});
}

STORE_TEST(History, IsReadInPiecesOfAboutTheSizeAskedFor) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 5; ++i) {
    turn.commit.segment.assign(1000, 'x');
    a.commit(turn.keeps_lock());
  }
  const auto read = [&](EventId after, std::size_t bytes) {
    return must(store().read_history(turn.key(), ExecutionNumber{1}, after, bytes));
  };
  EXPECT_EQ(read({}, 1).size(), 1U);
  const auto some = read({}, 2500);
  EXPECT_GE(some.size(), 2U);
  EXPECT_LE(some.size(), 3U);
  EXPECT_EQ(read({}, 1'000'000).size(), 5U);

  std::size_t total = 0;
  for (auto piece = read({}, 1500); !piece.empty(); piece = read(piece.back().first_event, 1500)) {
    total += piece.size();
  }
  EXPECT_EQ(total, 5U);
}

STORE_TEST(History, OfAnInstanceThatIsNotThereIsNotFound) {
  EXPECT_EQ(answer(store().read_history(InstanceKey{999}, ExecutionNumber{1}, {}, 1000)), "not_found");
  EXPECT_EQ(answer(store().executions(InstanceKey{999})), "not_found");
  const InstanceKey key = start("order-1");
  EXPECT_TRUE(must(store().read_history(key, ExecutionNumber{9}, {}, 1000)).empty());
}

STORE_TEST(History, StaysAfterTheEnd) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.ends());
  EXPECT_EQ(must(store().read_history(turn.key(), ExecutionNumber{1}, {}, 1000)).size(), 1U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
