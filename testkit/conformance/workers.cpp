// Workers: registered, alive, superseded, stale.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(workers);

namespace holdfast::testing::conformance {
namespace {

std::vector<WorkerView> workers_of(const World& world) { return must(world.store().workers()); }

STORE_TEST(Workers, AWorkerIsSeenAsItJoined) {
  store::NewWorker info = worker_info("a");
  info.abilities.capabilities = {"gpu:l4"};
  info.abilities.queues = {.any = false, .names = {"gpu", ""}};
  const Worker a = join(info);
  pass(5s);
  const auto views = workers_of(*this);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].key, a.key);
  EXPECT_EQ(views[0].info, info);
  EXPECT_FALSE(views[0].draining);
  EXPECT_EQ(views[0].joined_at, clock().calendar_now() - 5s);
  EXPECT_EQ(views[0].last_seen, 5s);
  EXPECT_EQ(views[0].sessions_owned, 0U);
}

STORE_TEST(Workers, KeysGrow) {
  EXPECT_EQ(join("a").key, WorkerKey{1});
  EXPECT_EQ(join("b").key, WorkerKey{2});
  EXPECT_EQ(join("a").key, WorkerKey{3});
}

STORE_TEST(Workers, RefreshingShowsThatItLives) {
  const Worker a = join("a");
  pass(50s);
  EXPECT_EQ(answer(store().refresh(a.key, true)), "ok");
  pass(1s);
  const auto views = workers_of(*this);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].last_seen, 1s);
  EXPECT_TRUE(views[0].draining);
}

// It was killed, and nobody is there who would remove it.
STORE_TEST(Workers, ADeadOneIsNotTakenForAliveUntilItIsSwept) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  start("order-2");
  const auto alive = [&] { return workers_of(*this)[0].is_alive(); };
  const auto serving = [&] {
    const auto depths = must(store().queue_depths());
    return std::array{depths.at(0).workers, describe("order-1").activities.at(0).workers,
                      describe("order-2").workers};
  };
  using Counts = std::array<std::uint32_t, 3>;
  pass(a.info.shown_stale_after() - 1ms);
  EXPECT_TRUE(alive());
  EXPECT_EQ(serving(), (Counts{1, 1, 1}));
  pass(1ms);
  EXPECT_FALSE(alive());
  EXPECT_EQ(serving(), (Counts{0, 0, 0}));
  must(store().refresh(a.key, false));
  EXPECT_TRUE(alive()) << "it was only late";
  EXPECT_EQ(serving(), (Counts{1, 1, 1}));
}

STORE_TEST(Workers, EachSaysHowLongItMayBeSilent) {
  store::NewWorker info = worker_info("patient");
  info.stale_after = 1h;
  join(info);
  info = worker_info("quick");
  info.stale_after = 1s;
  join(info);
  pass(2min);
  const auto views = workers_of(*this);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_TRUE(views[0].is_alive());
  EXPECT_FALSE(views[1].is_alive());
}

STORE_TEST(Workers, ASupersededOneIsNotAlive) {
  join("a");
  join("a");
  const auto views = workers_of(*this);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_TRUE(views[0].superseded);
  EXPECT_FALSE(views[0].is_alive());
  EXPECT_FALSE(views[1].superseded);
  EXPECT_TRUE(views[1].is_alive());
}

STORE_TEST(Workers, AWorkerThatLeavesIsGone) {
  const Worker a = join("a");
  join("b");
  EXPECT_EQ(answer(store().leave(a.key)), "ok");
  ASSERT_EQ(workers_of(*this).size(), 1U);
  EXPECT_EQ(workers_of(*this)[0].info.node, "b");
  EXPECT_EQ(answer(store().refresh(a.key, false)), "not_found");
}

STORE_TEST(Workers, WhatALeavingWorkerHasLockedStaysLocked) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  const Turn turn = a.begin("order-2");
  must(store().leave(a.key));
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(names(b.fetch_turns()), Texts{});
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
}

STORE_TEST(Workers, AnUnknownOneGetsNothing) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  start("order-2");
  const Worker unknown(*this, worker_info("unknown"), WorkerKey{999});
  changes_nothing([&] {
    EXPECT_EQ(answer(unknown.try_fetch_turns()), "not_found");
    EXPECT_EQ(answer(unknown.try_fetch_activities()), "not_found");
    EXPECT_EQ(answer(store().acquire_session(unknown.key, unknown.info.abilities, "gpu", {})), "not_found");
    EXPECT_EQ(answer(store().refresh(unknown.key, false)), "not_found");
    EXPECT_EQ(answer(store().leave(unknown.key)), "not_found");
  });
}

STORE_TEST(Workers, OneThatHasLeftMayAnswerAndKeepsNothing) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", {.on_record = true}).session.generation};
  const SessionHold fails{
      "fails",
      a.acquire("fails", {.when_lost = SessionPolicy::WhenLost::fail, .on_record = true}).session.generation};
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  const Turn turn = a.begin("order-2");
  const Turn other = a.begin("order-3");
  must(store().leave(a.key));
  changes_nothing([&] {
    EXPECT_EQ(answer(a.renew(turn)), "not_found");
    EXPECT_EQ(answer(a.renew(work)), "not_found");
    EXPECT_EQ(answer(a.renew(hold)), "not_found");
    EXPECT_EQ(answer(a.release(hold, SessionReason::operated)), "not_found");
    EXPECT_EQ(answer(store().fail_session(a.key, fails, SessionReason::drain_deadline)), "not_found");
  });
  EXPECT_EQ(answer(a.try_commit(turn)), "ok");
  EXPECT_EQ(answer(a.release(other)), "ok");
  EXPECT_EQ(answer(a.finish(work)), "ok");
}

STORE_TEST(Workers, AnOlderIncarnationIsSuperseded) {
  const Worker before = join("a");
  before.commit(before.begin("order-1").schedules("charge").schedules("ship"));
  const Work work = before.fetch_activities(1).works.at(0);
  const Turn turn = before.begin("order-2");
  start("order-3");
  const Worker after = join("a");

  changes_nothing([&] {
    EXPECT_EQ(answer(before.try_fetch_turns()), "superseded");
    EXPECT_EQ(answer(before.try_fetch_activities()), "superseded");
    EXPECT_EQ(answer(before.renew(turn)), "superseded");
    EXPECT_EQ(answer(before.renew(work)), "superseded");
    EXPECT_EQ(answer(store().acquire_session(before.key, before.info.abilities, "gpu", {})), "superseded");
    EXPECT_EQ(answer(store().refresh(before.key, false)), "superseded");
  });
  EXPECT_EQ(names(after.fetch_turns()), Texts{"order-3"});
  EXPECT_EQ(names(after.fetch_activities()), Texts{"ship"});
}

STORE_TEST(Workers, AnOlderIncarnationHasNoSayInItsSessions) {
  const Worker before = join("a");
  const SessionHold hold{"gpu", before.acquire("gpu").session.generation};
  join("a");
  changes_nothing([&] {
    EXPECT_EQ(answer(before.renew(hold)), "superseded");
    EXPECT_EQ(answer(before.release(hold, SessionReason::operated)), "superseded");
  });
}

STORE_TEST(Workers, AnOlderIncarnationThatDrainsKeepsWhatItHas) {
  const Worker before = join("a");
  const SessionHold hold{"gpu", before.acquire("gpu").session.generation};
  before.commit(before.begin("order-1").schedules("charge"));
  const Work work = before.fetch_activity();
  const Turn turn = before.begin("order-2");
  must(store().refresh(before.key, true));
  join("a");
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  EXPECT_EQ(answer(before.renew(hold)), "ok");
  EXPECT_EQ(answer(before.renew(work)), "ok");
  EXPECT_EQ(answer(before.renew(turn)), "ok");
  EXPECT_EQ(answer(before.release(hold, SessionReason::drained)), "ok");
  EXPECT_EQ(answer(before.try_fetch_turns()), "superseded");
  EXPECT_EQ(answer(before.try_fetch_activities()), "superseded");
}

STORE_TEST(Workers, AnOlderIncarnationsLocksAndAnswersStillCount) {
  const Worker before = join("a");
  before.commit(before.begin("order-1").schedules("charge").schedules("ship"));
  const Works works = before.fetch_activities();
  const Turn turn = before.begin("order-2");
  const Worker after = join("a");
  EXPECT_EQ(names(after.fetch_activities()), Texts{});
  EXPECT_EQ(names(after.fetch_turns()), Texts{});
  EXPECT_EQ(answer(before.finish(works.works.at(0))), "ok");
  EXPECT_EQ(answer(before.put_back(works.works.at(1))), "ok");
  EXPECT_EQ(answer(before.try_commit(turn)), "ok");
}

STORE_TEST(Workers, AnOlderIncarnationMayGiveItsTurnsBack) {
  const Worker before = join("a");
  const Turn turn = before.begin("order-1");
  const Worker after = join("a");
  EXPECT_EQ(answer(before.release(turn)), "ok");
  EXPECT_EQ(names(after.fetch_turns()), Texts{"order-1"});
}

STORE_TEST(Workers, AnotherNodeSupersedesNobody) {
  const Worker a = join("a");
  join("b");
  start("order-1");
  EXPECT_EQ(answer(a.try_fetch_turns()), "ok");
}

STORE_TEST(Workers, AStaleOneIsSweptAwayOnceSweepsHaveSeenItForHalfThatTime) {
  const Worker a = join("a");
  const Worker b = join("b");
  pass(59s);
  EXPECT_EQ(sweep({}).workers_removed, 0U);
  must(store().refresh(b.key, false));
  pass(1s);
  EXPECT_EQ(sweep({}).workers_removed, 0U);
  pass(30s - 1us);
  EXPECT_EQ(sweep({}).workers_removed, 0U);
  pass(1us);
  EXPECT_EQ(sweep({}).workers_removed, 1U);
  ASSERT_EQ(workers_of(*this).size(), 1U);
  EXPECT_EQ(workers_of(*this)[0].key, b.key);
  EXPECT_EQ(answer(store().refresh(a.key, false)), "not_found");
  EXPECT_EQ(answer(a.try_fetch_turns()), "not_found");
}

STORE_TEST(Workers, WhoSweepsIsNeverSweptAway) {
  const Worker a = join("a");
  for (int i = 0; i < 5; ++i) {
    pass(60s);
    EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 0U);
  }
  EXPECT_EQ(answer(store().refresh(a.key, false)), "ok");
}

STORE_TEST(Workers, AnOutageThatNobodyIsToldOfSweepsNobodyAway) {
  const Worker a = join("a");
  const Worker b = join("b");
  b.acquire("gpu", {.when_lost = SessionPolicy::WhenLost::fail, .on_record = true});
  sweep({.worker = a.key});
  for (int outage = 0; outage < 3; ++outage) {
    pass(70s);
    const Swept swept = sweep({.worker = a.key});
    EXPECT_EQ(swept.workers_removed, 0U);
    EXPECT_EQ(swept.sessions_lost, 0U);
  }
  EXPECT_EQ(answer(store().refresh(b.key, false)), "ok");
  EXPECT_EQ(answer(b.renew(SessionHold{"gpu", session("gpu").generation})), "ok");
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
}

// What was seen before counts no more: the others were out of reach of the store as well.
STORE_TEST(Workers, AnOutageThatASweeperIsToldOfBeginsAnew) {
  const Worker a = join("a");
  const Worker b = join("b");
  pass(60s);
  EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 0U);
  faults().clear();
  sweep({.worker = a.key});
  const auto points = faults().passed();
  if (points.empty()) GTEST_SKIP() << "the store asks its fault plan nothing";
  faults().inject(points.begin()->first, 1, Fault::fail_before);
  EXPECT_EQ(answer(store().sweep({.worker = a.key})), "unavailable");
  pass(30s);
  EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 0U);
  EXPECT_EQ(answer(store().refresh(b.key, false)), "ok");
}

STORE_TEST(Workers, ASignOfLifeBeginsAnew) {
  const Worker a = join("a");
  const Worker b = join("b");
  pass(60s);
  EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 0U);
  must(store().refresh(b.key, false));
  pass(60s);
  EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 0U);
  pass(30s);
  EXPECT_EQ(sweep({.worker = a.key}).workers_removed, 1U);
}

STORE_TEST(Workers, AStaleOnesAnswersStillCount) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  pass(1h);
  sweep({});
  pass(30s);
  EXPECT_EQ(sweep({}).workers_removed, 1U);
  EXPECT_EQ(answer(a.finish(work)), "ok");
}

STORE_TEST(Workers, ASweepSaysWhenTheNextOneGoesStale) {
  join("a");
  const Duration due = sweep({}).next_due;
  EXPECT_LE(due, 60s);
  EXPECT_GT(due, 0s);
}

}  // namespace
}  // namespace holdfast::testing::conformance
