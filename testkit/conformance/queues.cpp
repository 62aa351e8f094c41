// In which order activities are given out, to whom, and when to ask again.
#include "testkit/conformance/story.hpp"

#include <algorithm>
#include <utility>

HOLDFAST_CONFORMANCE_FILE(queues);

namespace holdfast::testing::conformance {
namespace {

store::NewWorker with_handlers(std::string node, NameSet handlers) {
  store::NewWorker info = worker_info(std::move(node));
  info.abilities.handlers = std::move(handlers);
  return info;
}
store::NewWorker with_queues(std::string node, Queues queues) {
  store::NewWorker info = worker_info(std::move(node));
  info.abilities.queues = std::move(queues);
  return info;
}

STORE_TEST(Queues, WhatWaitedLongestGoesFirst) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("render"));
  pass(1s);
  a.commit(a.begin("order-2").schedules("charge"));
  pass(1s);
  a.commit(a.begin("order-3").schedules("ship"));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"render", "charge", "ship"}));
}

STORE_TEST(Queues, InOneCommitTheOrderIsThatOfTheEvents) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("render").schedules("charge").schedules("ship"));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"render", "charge", "ship"}));
}

STORE_TEST(Queues, HigherPriorityGoesFirst) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules({.name = "render", .priority = -1}).schedules("charge"));
  pass(1s);
  a.commit(a.begin("order-2").schedules({.name = "ship", .priority = 10}));
  EXPECT_EQ(names(a.fetch_activities(1)), Texts{"ship"});
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"charge", "render"}));
}

STORE_TEST(Queues, PriorityCountsAcrossQueues) {
  const Worker a = join(with_queues("a", {.names = {"", "slow"}}));
  a.commit(a.begin("order-1")
               .schedules("charge")
               .schedules({.name = "ship", .queue = "slow", .priority = 5})
               .schedules({.name = "render", .priority = 1}));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"ship", "render", "charge"}));
}

STORE_TEST(Queues, AnItemThatWasDelayedWaitsSinceItsDelayEnded) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  must(a.retry(a.fetch_activity(), 10s));
  pass(5s);
  a.commit(a.begin("order-2").schedules("ship"));
  pass(10s);
  a.commit(a.begin("order-3").schedules("render"));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"ship", "charge", "render"}));
}

STORE_TEST(Queues, AnItemWhoseLockLapsedWaitsSinceThen) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  a.fetch_activity();
  pass(a.activity_lease / 2);
  a.commit(a.begin("order-2").schedules("ship"));
  pass(a.activity_lease);
  a.commit(a.begin("order-3").schedules("render"));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"ship", "charge", "render"}));
}

STORE_TEST(Queues, AWorkerGetsOnlyWhatItHasAHandlerFor) {
  const Worker a = join("a");
  const Worker picky = join(with_handlers("picky", {"ship"}));
  const Worker useless = join(with_handlers("useless", {}));
  a.commit(a.begin("order-1").schedules("charge").schedules("ship").schedules("fly"));
  EXPECT_EQ(names(useless.fetch_activities()), Texts{});
  EXPECT_EQ(names(picky.fetch_activities()), Texts{"ship"});
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
}

STORE_TEST(Queues, AWorkerGetsOnlyWhatIsInItsQueues) {
  const Worker a = join("a");
  const Worker gpu = join(with_queues("gpu", {.names = {"gpu"}}));
  const Worker both = join(with_queues("both", {.names = {"", "cpu"}}));
  a.commit(a.begin("order-1")
               .schedules("charge")
               .schedules({.name = "render", .queue = "gpu"})
               .schedules({.name = "ship", .queue = "cpu"})
               .schedules({.name = "ship", .queue = "GPU"}));
  const Works rendered = gpu.fetch_activities();
  EXPECT_EQ(names(rendered), Texts{"render"});
  EXPECT_EQ(rendered.works.at(0)->queue, "gpu");
  EXPECT_EQ(names(both.fetch_activities()), (Texts{"charge", "ship"}));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
}

STORE_TEST(Queues, AWorkerMayServeAllQueuesOrNone) {
  const Worker a = join("a");
  const Worker any = join(with_queues("any", {.any = true, .names = {}}));
  const Worker none = join(with_queues("none", {.names = {}}));
  a.commit(a.begin("order-1").schedules("charge").schedules({.name = "render", .queue = "gpu"}));
  EXPECT_EQ(names(none.fetch_activities()), Texts{});
  EXPECT_EQ(names(any.fetch_activities()), (Texts{"charge", "render"}));
}

STORE_TEST(Queues, AFetchTakesNoMoreThanItAsksFor) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship").schedules("render"));
  const Works two = a.fetch_activities(2);
  EXPECT_EQ(names(two), (Texts{"charge", "ship"}));
  EXPECT_TRUE(two.left_behind);
  const Works rest = a.fetch_activities(2);
  EXPECT_EQ(names(rest), Texts{"render"});
  EXPECT_FALSE(rest.left_behind);
}

STORE_TEST(Queues, WhatAWorkerMayNotTakeIsNotLeftBehind) {
  const Worker a = join("a");
  const Worker picky = join(with_handlers("picky", {"ship"}));
  a.commit(a.begin("order-1").schedules("charge").schedules("ship").schedules("charge"));
  const Works fetched = picky.fetch_activities(1);
  EXPECT_EQ(names(fetched), Texts{"ship"});
  EXPECT_FALSE(fetched.left_behind);
}

STORE_TEST(Queues, WithNothingToComeThereIsNoNextTime) {
  const Worker a = join("a");
  EXPECT_EQ(a.fetch_activities().next_due, never);
  EXPECT_EQ(a.fetch_turns().next_due, never);
}

STORE_TEST(Queues, AFetchSaysWhenToAskAgain) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship"));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(fetched.works.size(), 2U);
  EXPECT_LE(a.fetch_activities().next_due, a.activity_lease);
  must(a.retry(fetched.works[0], 3s));
  EXPECT_LE(a.fetch_activities().next_due, 3s);
  EXPECT_GT(a.fetch_activities().next_due, 0s);
  pass(3s);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Queues, DepthsTellWhatWaitsAndWhoCouldServeIt) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("charge").schedules("charge"));
  must(a.retry(a.fetch_activities(1).works.at(0), 1min));
  a.fetch_activities(1);
  a.commit(a.begin("order-2").schedules({.name = "render", .queue = "gpu"}));
  pass(5s);

  auto depths = must(store().queue_depths());
  std::ranges::sort(depths, {}, [](const QueueDepth& depth) { return std::pair(depth.queue, depth.name); });
  EXPECT_EQ(depths.size(), 2U);
  const QueueDepth charge{
      .queue = "", .name = "charge", .ready = 1, .delayed = 1, .running = 1, .oldest_wait = 5s, .workers = 1};
  EXPECT_EQ(depths.at(0), charge);
  EXPECT_EQ(depths.at(1).name, "render");
  EXPECT_EQ(depths.at(1).ready, 1U);
  EXPECT_EQ(depths.at(1).workers, 0U);
}

STORE_TEST(Queues, RowsThatNobodyServesDontHideOthers) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  for (int i = 0; i < 500; ++i) turn.schedules({.name = "fly", .priority = 10});
  a.commit(turn.schedules("charge"));
  EXPECT_EQ(names(a.fetch_activities(1)), Texts{"charge"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
