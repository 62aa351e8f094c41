// What sweeps do with sessions: which records go, which stay, and when the next sweep is due.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_sweeps);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(SessionSweeps, SpareThoseWithWork) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1")
               .schedules(of_session("queued"))
               .schedules(of_session("backs off"))
               .schedules(of_session("runs")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 3U);
  Work running;
  for (const Work& work : works.works) {
    const std::string& id = work->session->hold.id;
    if (id == "queued") must(a.put_back(work));
    if (id == "backs off") must(a.retry(work, 1h));
    if (id == "runs") running = work;
  }
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  for (const char* id : {"queued", "backs off", "runs"}) {
    EXPECT_EQ(session(id).state, SessionStatus::lapsed);
  }
  must(store().leave(a.key));
  EXPECT_EQ(sweep().sessions_removed, 0U);
  must(a.finish(running));
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(answer(store().session("runs")), "not_found");
}

// It has them in memory, and may be late because everybody is, after an outage of the store.
STORE_TEST(SessionSweeps, SpareThoseOfAnOwnerThatIsRegisteredHoweverLateItIs) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Generation first = a.acquire("quiet").session.generation;
  a.commit(a.begin("order-1").schedules(of_session("saved")));
  const Work work = a.fetch_activity();
  must(a.answer_with(
      {.id = work.id(), .token = work.token, .result = Finished{"x"}, .save = SessionSave{"state"}}));
  pass(48h);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  EXPECT_EQ(session("quiet").state, SessionStatus::lapsed);
  const Acquired again = a.acquire("quiet");
  EXPECT_EQ(again.kind, Acquired::Kind::reacquired);
  EXPECT_TRUE(again.same_owner);
  EXPECT_EQ(again.session.held_since, first);
  EXPECT_EQ(a.acquire("saved").session.saved, "state");
  pass(48h);
  must(store().leave(a.key));
  EXPECT_EQ(sweep({.worker = b.key, .worker_stale_after = 1000h}).sessions_removed, 2U);
}

STORE_TEST(SessionSweeps, RemoveReleasedOnesThatNobodyNeeds) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  must(a.release(hold, SessionReason::idle));
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(answer(store().session("gpu")), "not_found");
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "released", "swept"}));
}

STORE_TEST(SessionSweeps, KeepSavedStateForItsRetention) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  must(a.release(hold, SessionReason::idle, "state"));
  const Swept first = sweep();
  EXPECT_EQ(first.sessions_removed, 0U);
  EXPECT_EQ(first.next_due, 24h);
  pass(24h - 1us);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  EXPECT_EQ(session("gpu").saved, "state");
  pass(1us);
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "released", "swept"}));
}

STORE_TEST(SessionSweeps, KeepSavedStateOfOneWhoseOwnerIsGone) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  must(a.answer_with(
      {.id = work.id(), .token = work.token, .result = Finished{"x"}, .save = SessionSave{"state"}}));
  must(store().leave(a.key));
  pass(a.info.abilities.session_lease + 24h - 1us);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  pass(1us);
  EXPECT_EQ(sweep().sessions_removed, 1U);
}

// Nodes may be set up in different ways: one that keeps nothing takes nothing from those at work.
STORE_TEST(SessionSweeps, OfANodeThatKeepsNothingSpareWhatIsInUse) {
  const SweepRequest keeps_nothing{.worker_stale_after = std::chrono::years(10),
                                   .session_state_retention = 0s,
                                   .session_record_retention = 0s};
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold released{"released", a.acquire("released").session.generation};
  must(a.release(released, SessionReason::idle, "state"));
  a.acquire("closed", {.on_record = true});
  must(store().close_session("closed", SessionReason::operated));
  b.acquire("active");
  b.acquire("fails", fails());
  a.commit(a.begin("order-1").opens_session("opened", {.on_record = true}).schedules(of_session("waits")));
  EXPECT_EQ(sweep(keeps_nothing).sessions_removed, 2U);
  Texts left;
  for (const SessionView& view : must(store().sessions({.limit = 100}))) left.push_back(view.id);
  EXPECT_EQ(left, (Texts{"active", "fails", "opened", "waits"}));
}

// Whoever watches it hears that it is lost.
STORE_TEST(SessionSweeps, DeclareOneThatFailsLostBeforeItsRecordGoes) {
  const Worker a = join("a");
  a.acquire("gpu", fails());
  must(store().leave(a.key));
  pass(48h);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  pass(a.info.abilities.session_lease / 2);
  const Swept swept = sweep();
  EXPECT_EQ(swept.sessions_lost, 1U);
  EXPECT_EQ(swept.sessions_removed, 0U);
  EXPECT_EQ(session("gpu").reason, SessionReason::owner_lost);
}

// ---- owners without a sign of life ---------------------------------------------------------------

STORE_TEST(SessionSweeps, AnOwnerWithoutASignOfLifeLeavesOrphans) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  pass(59s);
  must(store().refresh(a.key, false));
  pass(60s - 1us);
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed);
  EXPECT_FALSE(session("gpu").orphaned);
  pass(1us);
  EXPECT_TRUE(session("gpu").orphaned);
  EXPECT_TRUE(must(store().sessions({.limit = 100})).at(0).orphaned);
  EXPECT_EQ(sweep(SweepRequest{}).workers_removed, 0U);
  pass(30s);
  EXPECT_EQ(sweep(SweepRequest{}).workers_removed, 1U);
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed);
  EXPECT_TRUE(session("gpu").orphaned);

  const Worker b = join("b");
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquired);
  EXPECT_FALSE(session("gpu").orphaned);
}

// It has stopped its work in sessions by then, however much of their leases is left.
STORE_TEST(SessionSweeps, AnOwnerThatIsGoneHoldsNothingThatOthersMayHave) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu", {.lease = 1h, .on_record = true});
  SessionPolicy lost_with_it = fails();
  lost_with_it.lease = 1h;
  a.acquire("fails", lost_with_it);
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const SweepRequest by_b{.worker = b.key};
  for (const Duration time : {59s, 1s, 29s}) {
    pass(time);
    EXPECT_EQ(sweep(by_b).workers_removed, 0U);
    EXPECT_EQ(names(b.fetch_activities()), Texts{});
    EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  }
  pass(1s);
  const auto ears = store().listen(kActivities, {});
  EXPECT_EQ(sweep(by_b).workers_removed, 1U);
  EXPECT_TRUE(hears(*this, *ears, kActivities));
  EXPECT_TRUE(session("gpu").orphaned);
  EXPECT_EQ(session("fails").state, SessionStatus::active);
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->session->previous_owner, "a");
  EXPECT_EQ(work->session->reason, SessionReason::lapsed);
}

STORE_TEST(SessionSweeps, AnOwnerThatHasLeftHoldsNothingThatOthersMayHave) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu", {.lease = 1h, .on_record = true});
  must(store().leave(a.key));
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  sweep({.worker = b.key});
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquired);
}

// How long a worker may be silent is its own setting: it stops its work in sessions by that.
STORE_TEST(SessionSweeps, AWorkerSaysItselfAfterWhichTimeItCountsAsGone) {
  store::NewWorker hasty = worker_info("hasty");
  hasty.stale_after = 10s;
  store::NewWorker slow = worker_info("slow");
  slow.stale_after = 1h;
  const Worker a = join(hasty);
  const Worker b = join(slow);
  const Worker c = join("c");
  const SessionPolicy policy{.lease = 5s, .on_record = true};
  a.acquire("hasty", policy);
  b.acquire("slow", policy);
  pass(10s - 1us);
  EXPECT_FALSE(session("hasty").orphaned);
  EXPECT_EQ(sweep({.worker = c.key}).next_due, 1us);
  pass(1us);
  EXPECT_TRUE(session("hasty").orphaned);
  EXPECT_EQ(sweep({.worker = c.key}).workers_removed, 0U);
  pass(5s);
  EXPECT_EQ(sweep({.worker = c.key}).workers_removed, 1U);
  pass(30min);
  sweep({.worker = c.key});
  pass(31s);
  EXPECT_EQ(sweep({.worker = c.key}).workers_removed, 0U);
  EXPECT_FALSE(session("slow").orphaned);
}

STORE_TEST(SessionSweeps, OneThatIsHeldIsNoOrphan) {
  const Worker a = join("a");
  a.acquire("gpu", {.lease = 1h, .on_record = true});
  pass(10min);
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  EXPECT_FALSE(session("gpu").orphaned);
}

STORE_TEST(SessionSweeps, OrphansAreListedForAWhile) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(sweep({.worker_stale_after = 0s}).workers_removed, 1U);
  EXPECT_TRUE(session("gpu").orphaned);
  pass(24h - 1us);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  pass(1us);
  EXPECT_EQ(sweep().sessions_removed, 1U);
}

// ---- what nobody holds, and has no time to live --------------------------------------------------

STORE_TEST(SessionSweeps, WhatIsOnRecordAndNobodyHoldsIsListedForAWhile) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", {.on_record = true}).session.generation};
  must(a.release(hold, SessionReason::idle));
  EXPECT_EQ(sweep().next_due, 24h);
  pass(24h - 1us);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  pass(1us);
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "released", "swept"}));
}

STORE_TEST(SessionSweeps, WhatIsOnRecordKeepsItsSavedStateForTheLongerOfTwoTimes) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", {.on_record = true}).session.generation};
  must(a.release(hold, SessionReason::idle, "state"));
  const SweepRequest longer{.worker_stale_after = std::chrono::years(10), .session_state_retention = 48h};
  EXPECT_EQ(sweep(longer).next_due, 48h);
  pass(48h - 1us);
  EXPECT_EQ(sweep(longer).sessions_removed, 0U);
  pass(1us);
  EXPECT_EQ(sweep(longer).sessions_removed, 1U);
}

// A time to live ends by itself; and whoever opened it may need it again.
STORE_TEST(SessionSweeps, SpareWhatHasATimeToLiveOrAnOpenerThatLives) {
  const Worker a = join("a");
  const SessionHold lives{"lives", a.acquire("lives", {.ttl = 1000h, .on_record = true}).session.generation};
  must(a.release(lives, SessionReason::idle));
  Turn opener = a.begin("order-1");
  a.commit(opener.opens_session("opened", {.on_record = true})
               .opens_session("outlives", {.outlives_opener = true, .on_record = true})
               .keeps_lock());
  pass(48h);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  a.commit(opener.ends());
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(answer(store().session("outlives")), "not_found");
  EXPECT_EQ(session("opened").state, SessionStatus::closed);
  EXPECT_EQ(session("lives").state, SessionStatus::unclaimed);
}

// ---- the log -------------------------------------------------------------------------------------

STORE_TEST(SessionSweeps, TrimTheLogFromItsBeginningInSlices) {
  const Worker a = join("a");
  for (int i = 0; i < 3; ++i) {
    const SessionHold hold{"gpu", a.acquire("gpu", {.on_record = true}).session.generation};
    must(a.release(hold, SessionReason::operated));
  }
  SweepRequest request{.worker_stale_after = std::chrono::years(10), .session_log_retention = 1h};
  pass(59min);
  a.acquire("gpu");
  EXPECT_EQ(sweep(request).remains_removed, 0U);
  pass(1min);
  request.max = 4;
  const Swept first = sweep(request);
  EXPECT_EQ(first.remains_removed, 4U);
  EXPECT_EQ(first.next_due, 0s);
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"reclaimed", "released", "reclaimed"}));
  EXPECT_EQ(sweep(request).remains_removed, 2U);
  EXPECT_EQ(log_of(*this, "gpu"), Texts{"reclaimed"});
  request.session_log_retention = never;
  pass(24h);
  EXPECT_EQ(sweep(request).remains_removed, 0U);
}

// ---- the next sweep ------------------------------------------------------------------------------

STORE_TEST(SessionSweeps, AreDueWhenATimeToLiveEnds) {
  const Worker a = join("a");
  sweep();
  const auto ears = store().listen(kSweep, {});
  a.commit(a.begin("order-1").opens_session("gpu", {.ttl = 3s, .on_record = true}));
  EXPECT_TRUE(hears(*this, *ears, kSweep));
  EXPECT_EQ(sweep().next_due, 3s);
}

// It may be lost with the worker that has it.
STORE_TEST(SessionSweeps, AreDueWhenTheLockOfWhatRunsInOneThatHasExpiredIsOver) {
  Worker a = join("a");
  a.activity_lease = 40s;
  a.acquire("gpu", {.ttl = 20s, .on_record = true});
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  a.fetch_activity();
  pass(30s);
  const Swept swept = sweep();
  EXPECT_EQ(swept.sessions_expired, 1U);
  EXPECT_EQ(swept.next_due, 10s);
  pass(10s);
  EXPECT_EQ(sweep().activities_timed_out, 1U);
}

STORE_TEST(SessionSweeps, AreDueWhenALossHasToBeDeclared) {
  const Worker a = join("a");
  const Duration lease = a.info.abilities.session_lease;
  sweep();
  const auto ears = store().listen(kSweep, {});
  a.acquire("gpu", fails());
  EXPECT_TRUE(hears(*this, *ears, kSweep));
  EXPECT_EQ(sweep().next_due, lease);
  pass(lease);
  EXPECT_EQ(sweep().next_due, lease / 2);
  pass(lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
}

}  // namespace
}  // namespace holdfast::testing::conformance
