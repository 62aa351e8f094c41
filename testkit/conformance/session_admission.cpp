// Who gets the work of a session: queue first, then requirements, then the session, then its concurrency.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_admission);

namespace holdfast::testing::conformance {
namespace {

store::NewWorker serving(const char* node, NameSet queues) {
  store::NewWorker info = worker_info(node);
  info.abilities.queues.names = std::move(queues);
  return info;
}

store::NewWorker capable(const char* node, NameSet capabilities) {
  store::NewWorker info = worker_info(node);
  info.abilities.capabilities = std::move(capabilities);
  return info;
}

// ---- queues --------------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, AnActivitysOwnQueueOverridesThatOfItsSession) {
  const Worker a = join("a");
  const Worker gpu = join(serving("gpu", {"gpu"}));
  NewActivity elsewhere = of_session("s", {.queue = "gpu"});
  elsewhere.queue = "cpu";
  a.commit(a.begin("order-1").schedules(of_session("s", {.queue = "gpu"})).schedules(elsewhere));
  const Work work = gpu.fetch_activity();
  EXPECT_EQ(work->queue, "gpu");
  must(gpu.finish(work));

  // Its session is owned, but not by a worker of its queue: whoever serves both may have it.
  EXPECT_EQ(names(gpu.fetch_activities()), Texts{});
  EXPECT_EQ(names(join(serving("cpu", {"cpu"})).fetch_activities()), Texts{});
  const Worker both = join(serving("both", {"cpu", "gpu"}));
  const Works fetched = gpu.fetch_activities();
  EXPECT_EQ(fetched.to_hand_over, std::vector{work->session->hold});
  must(gpu.release(work->session->hold, SessionReason::handed_over));
  EXPECT_EQ(both.fetch_activity()->queue, "cpu");
}

// ---- requirements --------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, EveryRequirementIsMetToTheLetter) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("s", {.requirements = {"gpu:l4", "nvme"}})));
  for (const NameSet& capabilities :
       {NameSet{}, NameSet{"gpu:l4"}, NameSet{"nvme"}, NameSet{"gpu", "nvme"}, NameSet{"GPU:L4", "nvme"},
        NameSet{"gpu:l4 ", "nvme"}, NameSet{"gpu:l40", "nvme"}}) {
    EXPECT_EQ(names(join(capable("b", capabilities)).fetch_activities()), Texts{});
  }
  EXPECT_EQ(names(join(capable("b", {"fast", "gpu:l4", "nvme"})).fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionAdmission, OnlyACapableWorkerTakesOver) {
  const Worker a = join("a");
  const Worker b = join(capable("b", {"gpu:l4"}));
  b.acquire("s", {.requirements = {"gpu:l4"}, .on_record = true});
  a.commit(a.begin("order-1").schedules(of_session("s")));
  pass(b.info.abilities.session_lease);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(a.acquire("s").kind, Acquired::Kind::requirements_not_met);
  const Worker c = join(capable("c", {"gpu:l4"}));
  EXPECT_EQ(names(c.fetch_activities()), Texts{"charge"});
}

// When several things stand in the way, whoever asks is told the one that lasts longest.
STORE_TEST(SessionAdmission, RefusalsHaveAnOrder) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 1;
  const Worker a = join(info);
  const Worker b = join(capable("b", {"gpu:l4"}));
  const SessionPolicy policy{.requirements = {"gpu:l4"}, .on_record = true};
  a.acquire("full");
  EXPECT_EQ(a.acquire("new", policy).kind, Acquired::Kind::requirements_not_met);
  EXPECT_EQ(a.acquire("new").kind, Acquired::Kind::limit_exceeded);
  b.acquire("owned", policy);
  EXPECT_EQ(a.acquire("owned").kind, Acquired::Kind::owned_by_another);
  must(store().close_session("owned", SessionReason::operated));
  EXPECT_EQ(a.acquire("owned").kind, Acquired::Kind::closed);
}

// ---- the owner -----------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, WhatIsPutBackStaysWithTheOwner) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("s")).schedules(of_session("s")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 2U);
  must(a.put_back(works.works[0]));
  must(a.retry(works.works[1]));
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  const Works again = a.fetch_activities();
  ASSERT_EQ(again.works.size(), 2U);
  for (const Work& work : again.works) {
    EXPECT_FALSE(work->session->claimed);
    EXPECT_EQ(work->session->hold, works.works[0]->session->hold);
    EXPECT_EQ(work->delivery, 1U);
    EXPECT_EQ(work->attempt, work.id() == works.works[1].id() ? 2U : 1U);
  }
}

// Who holds the session has not thereby locked its activities.
STORE_TEST(SessionAdmission, AnAttemptsLockIsItsOwn) {
  Worker a = join("a");
  a.activity_lease = 5s;
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("s")));
  const Work first = a.fetch_activity();
  pass(5s);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  const Work second = a.fetch_activity();
  EXPECT_EQ(second->delivery, 2U);
  EXPECT_FALSE(second->session->claimed);
  EXPECT_EQ(second->session->hold, first->session->hold);
  EXPECT_EQ(answer(a.finish(first)), "lost");
  EXPECT_EQ(answer(a.finish(second)), "ok");
}

STORE_TEST(SessionAdmission, ContinuingAsNewTakesTheirWorkAwayAndLeavesThem) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules(of_session("s")).keeps_lock());
  const Work work = a.fetch_activity();
  a.commit(turn.continues_as_new("again").keeps_lock());
  EXPECT_EQ(answer(a.finish(work)), "gone(continued_as_new)");
  EXPECT_EQ(session("s").state, SessionStatus::active);
  EXPECT_EQ(session("s").generation, work->session->hold.generation);
  a.commit(turn.schedules(of_session("s")).keeps_lock());
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(a.fetch_activity()->session->hold, work->session->hold);
}

// ---- handing over --------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, AnOwnerWithoutTheHandlerKeepsItUnlessAnotherCouldRunIt) {
  store::NewWorker old = capable("old", {"gpu:l4"});
  old.abilities.handlers = {"ship"};
  const Worker a = join(old);
  a.acquire("s", {.requirements = {"gpu:l4"}, .on_record = true});
  a.commit(a.begin("order-1").schedules(of_session("s")));
  const auto asked = [&] { return !a.fetch_activities().to_hand_over.empty(); };

  join("without the capability");
  EXPECT_FALSE(asked());
  store::NewWorker elsewhere = capable("of another queue", {"gpu:l4"});
  elsewhere.abilities.queues.names = {"cpu"};
  join(elsewhere);
  EXPECT_FALSE(asked());
  store::NewWorker none = capable("that takes no sessions", {"gpu:l4"});
  none.abilities.session_limit = 0;
  join(none);
  EXPECT_FALSE(asked());
  const Worker drains = join(capable("that drains", {"gpu:l4"}));
  must(store().refresh(drains.key, true));
  EXPECT_FALSE(asked());
  join(capable("that can", {"gpu:l4"}));
  EXPECT_TRUE(asked());
  EXPECT_EQ(session("s").owner, "old");
}

STORE_TEST(SessionAdmission, AnOwnerWithoutTheHandlerDoesNotWaitForAnActivityOfAFormerOwner) {
  store::NewWorker old = worker_info("old");
  old.abilities.handlers = {"ship"};
  const Worker a = join(old);
  Worker dead = join("dead");
  dead.activity_lease = 1h;
  const Worker b = join("b");
  Turn turn = dead.begin("order-1");
  dead.commit(turn.schedules(of_session("s")).keeps_lock());
  dead.fetch_activity();
  pass(dead.info.abilities.session_lease);
  const SessionHold hold{"s", a.acquire("s").session.generation};
  dead.commit(turn.schedules(of_session("s")));
  EXPECT_EQ(a.fetch_activities().to_hand_over, std::vector{hold});
  must(a.release(hold, SessionReason::handed_over));
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionAdmission, AnOwnerWithoutTheHandlerKeepsItWhileItsOwnWorkRuns) {
  store::NewWorker old = worker_info("old");
  old.abilities.handlers = {"ship"};
  const Worker a = join(old);
  const Worker b = join("b");
  a.acquire("s");
  NewActivity ship = of_session("s");
  ship.name = "ship";
  a.commit(a.begin("order-1").schedules(of_session("s")).schedules(ship));
  const Works works = a.fetch_activities();
  EXPECT_EQ(names(works), Texts{"ship"});
  EXPECT_TRUE(a.fetch_activities().to_hand_over.empty());
  must(a.finish(works.works.at(0)));
  EXPECT_EQ(a.fetch_activities().to_hand_over.size(), 1U);
  must(a.release(works.works[0]->session->hold, SessionReason::handed_over));
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->attempt, 1U);
  EXPECT_EQ(work->delivery, 1U);
}

// ---- concurrency ---------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsLocksOfFormerOwners) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.commit(
      a.begin("order-1").schedules(of_session("s", one_by_one())).schedules(of_session("s", one_by_one())));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  must(a.finish(work));
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

/// One activity at a time: the first runs and is taken away while the second waits.
struct TakenAway {
  explicit TakenAway(World& world) : a(world.join("a")), turn(a.begin("order-1")) {
    a.activity_lease = 10s;
    a.commit(turn.schedules(of_session("s", one_by_one())).schedules(of_session("s")).keeps_lock());
    work = a.fetch_activity();
    a.commit(turn.cancels(work.id().event).keeps_lock());
  }
  [[nodiscard]] CancelRecord record() const { return a.cancel_records().at(0); }

  Worker a;
  Turn turn;
  Work work{};
};

STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasTakenAwayUntilItsCodeHasEnded) {
  const TakenAway taken(*this);
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{});
  must(taken.a.acknowledge(taken.record()));
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasTakenAwayUntilItsLeaseIsOver) {
  const TakenAway taken(*this);
  pass(10s - 1us);
  EXPECT_EQ(taken.a.fetch_activities().next_due, 1us);
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{});
  pass(1us);
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{"charge"});
}

// Its code goes on although it was asked to stop.
STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasAbandoned) {
  const TakenAway taken(*this);
  const CancelRecord record = taken.record();
  must(taken.a.acknowledge(record, CancelRecord::State::abandoned));
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{});
  must(taken.a.acknowledge(record));
  EXPECT_EQ(names(taken.a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasTakenAwayForHandOffsToo) {
  TakenAway taken(*this);
  taken.turn.schedules(of_session("s"));
  taken.turn.commit.activities.back().hand_off = true;
  EXPECT_FALSE(taken.a.commit(taken.turn).handed_off.at(0));
}

STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasTakenAwayFromAFormerOwner) {
  const TakenAway taken(*this);
  const Worker b = join("b");
  must(taken.a.release(taken.work->session->hold, SessionReason::drained));
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  must(taken.a.acknowledge(taken.record()));
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

// Its time was over, and it is tried again; but the code of the first attempt goes on.
STORE_TEST(SessionAdmission, TheConcurrencyLimitCountsWhatWasAnsweredAndStillRuns) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("s", one_by_one())));
  const Work work = a.fetch_activity();
  EXPECT_EQ(answer(a.answer_with(
                {.id = work.id(), .token = work.token, .result = Retry{0s, "late"}, .still_runs = true})),
            "ok");
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_TRUE(a.cancel_records().empty());  // it was asked to stop already
  must(a.acknowledge({.id = work.id(), .token = work.token}));
  const Work again = a.fetch_activity();
  EXPECT_EQ(again->attempt, 2U);

  must(a.answer_with(
      {.id = again.id(), .token = again.token, .result = Finished{"late"}, .still_runs = true}));
  a.commit(a.fetch_turn().schedules(of_session("s")));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  pass(a.activity_lease);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionAdmission, RoomUnderAConcurrencyLimitIsHeard) {
  const TakenAway taken(*this);
  const CancelRecord record = taken.record();
  const auto ears = store().listen(kActivities, {});
  must(taken.a.acknowledge(record));
  EXPECT_TRUE(hears(*this, *ears, kActivities));
}

// ---- acquiring -----------------------------------------------------------------------------------

STORE_TEST(SessionAdmission, WhoeverAcquiresOneIsToldWhoHadItBefore) {
  const Worker a = join("a");
  const Worker b = join("b");
  EXPECT_EQ(a.acquire("s").previous_owner, "");
  pass(a.info.abilities.session_lease);
  const Acquired taken_over = b.acquire("s");
  EXPECT_EQ(taken_over.previous_owner, "a");
  EXPECT_FALSE(taken_over.same_owner);
  EXPECT_EQ(b.acquire("s").previous_owner, "");  // it is its own already
  pass(b.info.abilities.session_lease);
  const Acquired again = b.acquire("s");
  EXPECT_EQ(again.previous_owner, "b");
  EXPECT_TRUE(again.same_owner);
}

}  // namespace
}  // namespace holdfast::testing::conformance
