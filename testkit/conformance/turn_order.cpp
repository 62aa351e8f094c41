// Which instances a worker gets, and in which order.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(turn_order);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(TurnOrder, WhatIsReadyLongestGoesFirst) {
  const Worker a = join("a");
  for (const char* id : {"b", "c", "a"}) {
    start(id);
    pass(1s);
  }
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"b", "c", "a"}));
}

STORE_TEST(TurnOrder, InstancesThatBecomeReadyAgainGoToTheEnd) {
  const Worker a = join("a");
  a.commit(a.begin("order-1"));
  a.commit(a.begin("order-2"));
  tell("order-2", "hello");
  pass(1s);
  start("order-3");
  pass(1s);
  tell("order-1", "hello");
  pass(1s);
  tell("order-2", "that doesn't move it");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-2", "order-3", "order-1"}));
}

STORE_TEST(TurnOrder, AtTheSameMomentTheOlderInstanceGoesFirst) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  Turns fetched = a.fetch_turns();
  for (Turn& turn : fetched.turns) a.commit(turn);
  tell("order-2", "hello");
  tell("order-1", "hello");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-1", "order-2"}));
}

STORE_TEST(TurnOrder, AnInstanceWhoseLockLapsedIsReadySinceThen) {
  const Worker a = join("a");
  a.begin("order-1");
  pass(1s);
  start("order-2");
  pass(a.turn_lease);
  start("order-3");
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-2", "order-1", "order-3"}));
}

STORE_TEST(TurnOrder, WhatLapsedAndWhatWasDelayedAreReadySinceTheirOwnMoment) {
  const Worker a = join("a");
  start("order-1");
  start("order-2");
  const Turns fetched = a.fetch_turns();
  ASSERT_EQ(fetched.turns.size(), 2U);
  must(a.release(
      {.key = fetched.turns[1].key(), .token = fetched.turns[1]->token, .delay = a.turn_lease + 1s}));
  pass(1h);
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"order-1", "order-2"}));
}

STORE_TEST(TurnOrder, AFetchTakesNoMoreThanItAsksFor) {
  const Worker a = join("a");
  for (const char* id : {"order-1", "order-2", "order-3"}) start(id);
  const Turns two = a.fetch_turns(2);
  EXPECT_EQ(names(two), (Texts{"order-1", "order-2"}));
  EXPECT_TRUE(two.left_behind);
  const Turns rest = a.fetch_turns(2);
  EXPECT_EQ(names(rest), Texts{"order-3"});
  EXPECT_FALSE(rest.left_behind);
}

STORE_TEST(TurnOrder, AWorkerGetsOnlyTheVersionsThatItHas) {
  const Worker a = join("a");
  store::NewWorker info = worker_info("b");
  info.code.orchestrations = {{"order", "2"}, {"child", "1"}};
  const Worker b = join(info);
  const auto start_version = [&](const char* id, const char* version) {
    StartRequest request = start_of(id);
    request.code.version = version;
    start(request);
  };
  start_version("one", "1");
  start_version("two", "2");
  start_version("three", "3");
  start_version("undecided", "");
  const Turns of_b = b.fetch_turns(1);
  EXPECT_EQ(names(of_b), Texts{"two"});
  EXPECT_FALSE(of_b.left_behind);
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"one", "undecided"}));
}

STORE_TEST(TurnOrder, AWorkerGetsOnlyInstancesOfItsRangeOfBuilds) {
  const Worker a = join("a");
  const auto decided_by = [&](const char* id, std::uint64_t build) {
    Turn turn = a.begin(id);
    turn.commit.build = build;
    a.commit(turn.waits_for({event("news")}));
  };
  decided_by("old", 9);
  decided_by("oldest-allowed", 10);
  decided_by("newest-allowed", 20);
  decided_by("new", 21);
  for (const char* id : {"old", "oldest-allowed", "newest-allowed", "new"}) raise(id, "news", "1");

  store::NewWorker info = worker_info("b");
  info.code.oldest_build = 10;
  info.code.newest_build = 20;
  const Worker b = join(info);
  EXPECT_EQ(names(b.fetch_turns()), (Texts{"oldest-allowed", "newest-allowed"}));
  EXPECT_EQ(names(a.fetch_turns()), (Texts{"old", "new"}));
}

STORE_TEST(TurnOrder, AnInstanceThatNoBuildHasRunYetIsForAllOfThem) {
  store::NewWorker info = worker_info("b");
  info.code.oldest_build = 10;
  info.code.newest_build = 20;
  const Worker b = join(info);
  start("order-1");
  EXPECT_EQ(names(b.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(TurnOrder, InstancesThatNobodyCanRunHideNoOthers) {
  const Worker a = join("a");
  for (int i = 0; i < 200; ++i) {
    StartRequest request = start_of("unknown-" + std::to_string(i));
    request.code.name = "unknown";
    start(request);
  }
  start("order-1");
  EXPECT_EQ(names(a.fetch_turns(1)), Texts{"order-1"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
