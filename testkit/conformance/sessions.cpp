// Sessions: the calls that there are, and what they do in the plain case. The rules one by one are in
// session_rules.cpp and the files beside it.
#include "testkit/conformance/session_story.hpp"

#include <algorithm>
#include <variant>

HOLDFAST_CONFORMANCE_FILE(sessions);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(Sessions, OpeningIsAnsweredAndSeen) {
  const Worker a = join("a");
  const SessionPolicy policy{
      .queue = "gpu", .requirements = {"gpu:l4"}, .lease = 1min, .ttl = 1h, .on_record = true};
  a.commit(a.begin("order-1").opens_session("gpu", policy, EventId{5}));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"session 1/5: opened"});
  const SessionView view = session("gpu");
  EXPECT_EQ(view.state, SessionStatus::unclaimed);
  EXPECT_EQ(view.policy, policy);
  EXPECT_EQ(view.opened_by, "order-1");
  EXPECT_EQ(view.owner, "");
  EXPECT_EQ(view.ttl_left, 1h);
  EXPECT_EQ(view.created_at, clock().calendar_now());
}

STORE_TEST(Sessions, OpeningALiveOneChangesNothing) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.ttl = 1h, .on_record = true}, EventId{5}).keeps_lock());
  const SessionView before = session("gpu");
  a.commit(turn.opens_session("gpu", {.ttl = 2h}, EventId{6}));
  EXPECT_EQ(session("gpu"), before);
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"session 1/5: opened", "session 1/6: existed"}));
}

STORE_TEST(Sessions, AFetchClaimsTheSessionOfItsItem) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  EXPECT_EQ(session("gpu").queued, 1U);

  const Work work = a.fetch_activity();
  ASSERT_TRUE(work->session);
  EXPECT_EQ(work->session->hold.id, "gpu");
  EXPECT_TRUE(work->session->claimed);
  EXPECT_FALSE(work->session->same_owner);
  EXPECT_EQ(work->session->lease, a.info.abilities.session_lease);
  EXPECT_EQ(work->session->idle_timeout, a.info.abilities.session_idle);
  EXPECT_EQ(work->session->saved, std::nullopt);
  EXPECT_EQ(work->session->previous_owner, "");
  EXPECT_EQ(work->session->when_lost, SessionPolicy::WhenLost::reclaim);
  const SessionView view = session("gpu");
  EXPECT_EQ(view.state, SessionStatus::active);
  EXPECT_EQ(view.owner, "a");
  EXPECT_EQ(view.worker, a.key);
  EXPECT_EQ(view.generation, work->session->hold.generation);
  EXPECT_EQ(view.queued, 0U);
  EXPECT_EQ(view.in_flight, 1U);
  EXPECT_EQ(log_of(*this, "gpu"), Texts{"claimed"});
}

STORE_TEST(Sessions, TheirWorkGoesToTheOwnerOnly) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu");
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules("ship"));
  EXPECT_EQ(names(b.fetch_activities()), Texts{"ship"});
  const Work work = a.fetch_activity();
  EXPECT_FALSE(work->session->claimed);
}

STORE_TEST(Sessions, OnceTheLeaseIsOverAnotherMayClaimIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Generation first = a.acquire("gpu").session.generation;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed);
  const Work work = b.fetch_activity();
  EXPECT_TRUE(work->session->claimed);
  EXPECT_GT(work->session->hold.generation, first);
  EXPECT_EQ(session("gpu").owner, "b");
}

STORE_TEST(Sessions, RenewalKeepsThem) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  for (int i = 0; i < 3; ++i) {
    pass(a.info.abilities.session_lease - 1s);
    EXPECT_EQ(answer(a.renew(hold)), "ok");
  }
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(answer(a.renew(hold)), "lost");
}

STORE_TEST(Sessions, RenewalNeedsTheCurrentHold) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Generation generation = a.acquire("gpu").session.generation;
  EXPECT_EQ(answer(b.renew(SessionHold{"gpu", generation})), "lost");
  EXPECT_EQ(answer(a.renew(SessionHold{"gpu", Generation{generation.value + 1}})), "lost");
}

STORE_TEST(Sessions, RenewingAnActivityKeepsItsSession) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease - 1s);
  must(a.renew(work));
  pass(2s);
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
}

STORE_TEST(Sessions, AReleasedOneMayBeClaimedAtOnceWithItsSavedState) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained, "state")), "ok");
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  b.commit(b.begin("order-1").schedules(of_session("gpu")));
  const Work work = b.fetch_activity();
  EXPECT_TRUE(work->session->claimed);
  EXPECT_FALSE(work->session->same_owner);
  EXPECT_EQ(work->session->saved, "state");
  EXPECT_EQ(work->session->previous_owner, "a");
  EXPECT_EQ(answer(a.renew(hold)), "lost");
}

STORE_TEST(Sessions, AnIdleReleaseIsRefusedWhileThereIsWork) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  EXPECT_EQ(answer(a.release(hold, SessionReason::idle)), "conflict");
  const Work work = a.fetch_activity();
  EXPECT_EQ(answer(a.release(hold, SessionReason::idle)), "conflict");
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained)), "conflict");
  must(a.finish(work));
  EXPECT_EQ(answer(a.release(hold, SessionReason::idle)), "ok");
}

// It runs in a generation of that owner, which the one who has the session now can't wait for.
STORE_TEST(Sessions, ReleasesDontWaitForAnActivityOfAFormerOwner) {
  for (const SessionReason reason :
       {SessionReason::drained, SessionReason::handed_over, SessionReason::operated, SessionReason::idle}) {
    const std::string id = "gpu-" + std::string(to_string(reason));
    Worker a = join("a of " + id);
    a.activity_lease = 1h;
    const Worker b = join("b of " + id);
    a.commit(a.begin("order of " + id).schedules(of_session(id)));
    const Work work = a.fetch_activity();
    pass(a.info.abilities.session_lease);
    const SessionHold hold{id, b.acquire(id).session.generation};
    EXPECT_EQ(answer(b.release(hold, reason, "state")), "ok") << id;
    EXPECT_EQ(session(id).state, SessionStatus::unclaimed) << id;
    EXPECT_EQ(session(id).in_flight, 1U) << id;
    EXPECT_EQ(answer(a.finish(work)), "ok") << id;
    EXPECT_EQ(session(id).saved, "state") << id;
    a.commit(a.fetch_turn().ends());
  }
}

// The same worker has it again, and with it the memory that the activity works in.
STORE_TEST(Sessions, ReleasesWaitForAnActivityOfAFormerGenerationOfTheSameWorker) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained)), "conflict");
  must(a.finish(work));
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained)), "ok");
}

STORE_TEST(Sessions, ClosingFailsWhatIsQueuedAndLetsTheRestFinish) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Work work = a.fetch_activities(1).works.at(0);
  EXPECT_EQ(must(store().close_session("gpu", SessionReason::operated)), true);
  EXPECT_EQ(session("gpu").state, SessionStatus::closed);
  EXPECT_EQ(session("gpu").reason, SessionReason::operated);
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"taken 1/3: session_closed", "outcome 1/2: result"}));
  EXPECT_EQ(must(store().close_session("gpu", SessionReason::operated)), false);
  EXPECT_EQ(answer(store().close_session("unknown", SessionReason::operated)), "not_found");
}

STORE_TEST(Sessions, ATurnMayCloseThem) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.on_record = true}).keeps_lock());
  a.commit(turn.closes_session("gpu", EventId{6}).closes_session("unknown", EventId{7}));
  EXPECT_EQ(a.fetch_turn().messages(),
            (Texts{"news gpu: closed", "session 1/6: closed", "session 1/7: missing"}));
  EXPECT_EQ(session("gpu").reason, SessionReason::closed_by_code);
}

STORE_TEST(Sessions, AnActivityOfAClosedOneFailsInItsOwnCommit) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.on_record = true}).keeps_lock());
  must(store().close_session("gpu", SessionReason::operated));
  EXPECT_TRUE(a.commit(turn.schedules(of_session("gpu"))).ready);
  EXPECT_TRUE(activities().empty());
  const Turn told = a.fetch_turn();
  ASSERT_EQ(told.messages(), (Texts{"news gpu: closed", "taken 1/3: session_closed"}));
  EXPECT_EQ(std::get<ActivityTaken>(told->messages.at(1).body),
            (ActivityTaken{.reason = CancelReason::session_closed,
                           .session = "gpu",
                           .attempt = 0,
                           .session_reason = SessionReason::operated}));
}

STORE_TEST(Sessions, TheEndOfTheirOpenerClosesThem) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.on_record = true})
               .opens_session("cpu", {.ttl = 1h, .outlives_opener = true, .on_record = true})
               .keeps_lock());
  a.commit(turn.continues_as_new("again").keeps_lock());
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  a.commit(turn.ends());
  EXPECT_EQ(session("gpu").state, SessionStatus::closed);
  EXPECT_EQ(session("gpu").reason, SessionReason::opener_ended);
  EXPECT_EQ(session("cpu").state, SessionStatus::unclaimed);
}

STORE_TEST(Sessions, TheirTimeToLiveEndsThem) {
  const Worker a = join("a");
  a.acquire("gpu", {.lease = 2min, .ttl = 1min, .on_record = true});
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  EXPECT_LE(session("gpu").lease_left, 1min);
  pass(1min);
  EXPECT_EQ(sweep().sessions_expired, 1U);
  EXPECT_EQ(session("gpu").state, SessionStatus::expired);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"taken 1/2: session_expired"});
}

STORE_TEST(Sessions, AConcurrencyLimitHoldsWorkBack) {
  const Worker a = join("a");
  const SessionPolicy one_at_a_time{.max_concurrent = 1};
  a.commit(a.begin("order-1")
               .schedules(of_session("gpu", one_at_a_time))
               .schedules(of_session("gpu", one_at_a_time)));
  const Works first = a.fetch_activities();
  ASSERT_EQ(first.works.size(), 1U);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  must(a.finish(first.works[0]));
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Sessions, AWorkerOwnsNoMoreThanItsLimit) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 1;
  const Worker a = join(info);
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("cpu")).schedules("ship"));
  const Works fetched = a.fetch_activities();
  EXPECT_EQ(names(fetched), (Texts{"charge", "ship"}));
  EXPECT_EQ(session("cpu").state, SessionStatus::unclaimed);
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  pass(3s);
  const Works more = a.fetch_activities();
  EXPECT_EQ(names(more), Texts{"charge"});
  EXPECT_EQ(more.wants_capacity, 3s);
  EXPECT_EQ(must(store().workers()).at(0).sessions_owned, 1U);
}

STORE_TEST(Sessions, AWorkerWithALimitOfNoneTakesNone) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 0;
  const Worker a = join(info);
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules("ship"));
  EXPECT_EQ(names(a.fetch_activities()), Texts{"ship"});
  EXPECT_EQ(a.acquire("cpu").kind, Acquired::Kind::limit_exceeded);
}

STORE_TEST(Sessions, RequirementsChooseTheWorker) {
  const Worker a = join("a");
  store::NewWorker info = worker_info("b");
  info.abilities.capabilities = {"gpu:l4", "nvme"};
  const Worker b = join(info);
  a.commit(a.begin("order-1").schedules(of_session("gpu", {.requirements = {"gpu:l4"}})));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(Sessions, TheirQueueIsThatOfTheirActivities) {
  const Worker a = join("a");
  store::NewWorker info = worker_info("b");
  info.abilities.queues.names = {"gpu"};
  const Worker b = join(info);
  a.commit(a.begin("order-1").schedules(of_session("gpu", {.queue = "gpu"})));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->queue, "gpu");
}

STORE_TEST(Sessions, AnActivityMaySaveItsState) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 2U);
  must(a.answer_with({.id = works.works[0].id(),
                      .token = works.works[0].token,
                      .result = Finished{"x"},
                      .save = SessionSave{"state 1"}}));
  must(a.answer_with({.id = works.works[1].id(),
                      .token = works.works[1].token,
                      .result = Finished{"y"},
                      .save = SessionSave{"state 2"}}));
  EXPECT_EQ(session("gpu").saved, "state 2");
  EXPECT_EQ(session("gpu").saved_version, 2U);
  a.commit(a.fetch_turn());
  pass(a.info.abilities.session_lease);
  b.commit(b.begin("order-2").schedules(of_session("gpu")));
  EXPECT_EQ(b.fetch_activity()->session->saved, "state 2");
}

STORE_TEST(Sessions, ASaveOfAnOlderGenerationIsIgnored) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  b.commit(b.begin("order-2").schedules(of_session("gpu")));
  b.fetch_activity();
  EXPECT_EQ(session("gpu").owner, "b");
  EXPECT_EQ(
      answer(a.answer_with(
          {.id = work.id(), .token = work.token, .result = Finished{"x"}, .save = SessionSave{"stale"}})),
      "ok");
  EXPECT_EQ(session("gpu").saved, std::nullopt);
}

STORE_TEST(Sessions, AResultThatRequiresItsSaveCountsOnlyWithIt) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  const auto finish = [&] {
    return answer(a.answer_with({.id = work.id(),
                                 .token = work.token,
                                 .result = Finished{"x"},
                                 .save = SessionSave{.bytes = "stale", .required = true}}));
  };
  pass(a.info.abilities.session_lease);
  b.acquire("gpu");
  EXPECT_EQ(finish(), "lost");
  EXPECT_EQ(session("gpu").saved, std::nullopt);
  EXPECT_EQ(activities().size(), 1U);
  // With the end of the session there is nobody left to read it.
  must(store().close_session("gpu", SessionReason::operated));
  EXPECT_EQ(finish(), "ok");
}

STORE_TEST(Sessions, AnActivityMayAbortThem) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules(of_session("gpu"))
               .schedules(of_session("gpu"))
               .schedules(of_session("gpu")));
  const Works works = a.fetch_activities(2);
  ASSERT_EQ(works.works.size(), 2U);
  must(a.answer_with({.id = works.works[0].id(),
                      .token = works.works[0].token,
                      .result = Finished{"own result"},
                      .abort_session = "on fire"}));
  EXPECT_EQ(session("gpu").state, SessionStatus::failed);
  EXPECT_EQ(session("gpu").reason, SessionReason::aborted);
  EXPECT_EQ(session("gpu").note, "on fire");
  EXPECT_EQ(answer(a.finish(works.works[1])), "gone(session_aborted)");
  EXPECT_EQ(a.cancel_records().at(0).reason, CancelReason::session_aborted);
  Texts told = a.fetch_turn().messages();
  std::ranges::sort(told);
  EXPECT_EQ(told,
            (Texts{"outcome 1/2: own result", "taken 1/3: session_aborted", "taken 1/4: session_aborted"}));
}

STORE_TEST(Sessions, UnderFailALostOwnerFailsItsWork) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionPolicy fail{.when_lost = SessionPolicy::WhenLost::fail, .on_record = true};
  a.acquire("gpu", fail);
  b.commit(b.begin("order-1").schedules(of_session("gpu")));
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(sweep().sessions_lost, 0U);
  pass(a.info.abilities.session_lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
  EXPECT_EQ(session("gpu").state, SessionStatus::failed);
  EXPECT_EQ(session("gpu").reason, SessionReason::owner_lost);
  EXPECT_EQ(b.fetch_turn().messages(), Texts{"taken 1/2: session_lost"});
}

STORE_TEST(Sessions, UnderFailTheOwnerMayGiveOneUp) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionPolicy fail{.when_lost = SessionPolicy::WhenLost::fail, .on_record = true};
  const SessionHold hold{"gpu", a.acquire("gpu", fail).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  EXPECT_EQ(answer(store().fail_session(b.key, hold, SessionReason::drain_deadline)), "lost");
  EXPECT_EQ(answer(store().fail_session(a.key, hold, SessionReason::drain_deadline)), "ok");
  EXPECT_EQ(session("gpu").state, SessionStatus::failed);
  EXPECT_EQ(session("gpu").reason, SessionReason::drain_deadline);
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"taken 1/2: session_lost"});
}

STORE_TEST(Sessions, AnOpenedOneBeginsAgainAfterItsEnd) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.on_record = true}).keeps_lock());
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(turn.opens_session("gpu", {.ttl = 1h, .on_record = true}, EventId{5}));
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"news gpu: closed", "session 1/5: opened"}));
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  EXPECT_EQ(session("gpu").ttl_left, 1h);
}

STORE_TEST(AcquiringSessions, CreatesReusesAndReacquires) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Acquired created = a.acquire("gpu");
  EXPECT_EQ(created.kind, Acquired::Kind::created);
  EXPECT_EQ(created.session.owner, "a");
  EXPECT_EQ(created.session, session("gpu"));
  pass(1s);
  const Acquired reused = a.acquire("gpu");
  EXPECT_EQ(reused.kind, Acquired::Kind::reused);
  EXPECT_EQ(reused.session.generation, created.session.generation);
  EXPECT_EQ(reused.session.lease_left, a.info.abilities.session_lease);
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  pass(a.info.abilities.session_lease);
  const Acquired reacquired = b.acquire("gpu");
  EXPECT_EQ(reacquired.kind, Acquired::Kind::reacquired);
  EXPECT_GT(reacquired.session.generation, created.session.generation);
}

STORE_TEST(AcquiringSessions, OfOneThatHasEndedIsRefused) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  must(store().close_session("gpu", SessionReason::operated));
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::closed);
}

STORE_TEST(AcquiringSessions, OfOneThatIsMissingMayBeForbidden) {
  const Worker a = join("a");
  changes_nothing(
      [&] { EXPECT_EQ(a.acquire("gpu", {.create_if_missing = false}).kind, Acquired::Kind::missing); });
}

STORE_TEST(AcquiringSessions, NeedsWhatTheSessionRequires) {
  const Worker a = join("a");
  changes_nothing([&] {
    EXPECT_EQ(a.acquire("gpu", {.requirements = {"gpu:l4"}}).kind, Acquired::Kind::requirements_not_met);
  });
}

STORE_TEST(AcquiringSessions, IsBoundByTheLimitOfTheWorker) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 1;
  const Worker a = join(info);
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::created);
  EXPECT_EQ(a.acquire("cpu").kind, Acquired::Kind::limit_exceeded);
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::reused);
}

STORE_TEST(AcquiringSessions, OfAFailedOneIsRefusedUnderFail) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu", {.when_lost = SessionPolicy::WhenLost::fail, .on_record = true});
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquire_not_allowed);
}

STORE_TEST(AcquiringSessions, GivesTheWaitingWorkToItsOwner) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu", {.create_if_missing = false})));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::created);
  EXPECT_EQ(names(a.fetch_activities()), Texts{"charge"});
}

}  // namespace
}  // namespace holdfast::testing::conformance
