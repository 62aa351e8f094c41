// How long a session is whose: leases, what keeps them, and the time to live that nothing extends.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_leases);

namespace holdfast::testing::conformance {
namespace {

store::NewWorker with_lease(const char* node, Duration lease, Duration idle) {
  store::NewWorker info = worker_info(node);
  info.abilities.session_lease = lease;
  info.abilities.session_idle = idle;
  return info;
}

STORE_TEST(SessionLeases, HoldToTheirLastInstant) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  pass(a.info.abilities.session_lease - 1us);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  pass(1us);
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

// However long the lease of whoever waits.
STORE_TEST(SessionLeases, AreThoseOfTheLastOwnerUntilTheClaimerBringsItsOwn) {
  const Worker a = join(with_lease("a", 5s, 1min));
  const Worker b = join(with_lease("b", 60s, 2min));
  const Worker c = join(with_lease("c", 10s, 3min));
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules(of_session("gpu")).keeps_lock());
  must(a.finish(a.fetch_activity()));
  a.commit(turn.schedules(of_session("gpu")).keeps_lock());
  pass(5s - 1us);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  pass(1us);
  const Work of_b = b.fetch_activity();
  EXPECT_EQ(of_b->session->lease, 60s);
  EXPECT_EQ(of_b->session->idle_timeout, 2min);
  must(b.finish(of_b));
  a.commit(turn.schedules(of_session("gpu")));
  pass(60s - 1us);
  EXPECT_EQ(names(c.fetch_activities()), Texts{});
  pass(1us);
  const Work of_c = c.fetch_activity();
  EXPECT_EQ(of_c->session->lease, 10s);
  EXPECT_EQ(of_c->session->idle_timeout, 3min);
}

STORE_TEST(SessionLeases, OfAPolicyHoldForEveryOwner) {
  const Worker a = join(with_lease("a", 5s, 1min));
  const Worker b = join(with_lease("b", 60s, 2min));
  a.acquire("gpu", {.lease = 20s, .idle_timeout = 4min, .on_record = true});
  EXPECT_EQ(session("gpu").lease_left, 20s);
  pass(20s);
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->session->lease, 20s);
  EXPECT_EQ(work->session->idle_timeout, 4min);
}

STORE_TEST(SessionLeases, AreKeptByHeartbeats) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease - 1s);
  must(a.heartbeat(work, "half"));
  EXPECT_EQ(session("gpu").lease_left, a.info.abilities.session_lease);
}

STORE_TEST(SessionLeases, ThatAreOverAreNotRevivedByAnActivity) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  must(a.renew(work));
  must(a.heartbeat(work, "half"));
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed);
}

// It may still be finished, as what it was when it began.
STORE_TEST(SessionLeases, AreNotKeptByAnActivityOfAFormerOwner) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  b.acquire("gpu");
  pass(7s);
  const SessionView before = session("gpu");
  must(a.renew(work));
  must(a.heartbeat(work, "half"));
  EXPECT_EQ(session("gpu"), before);
  EXPECT_EQ(answer(a.finish(work)), "ok");
  EXPECT_EQ(session("gpu").lease_left, before.lease_left);
  EXPECT_EQ(session("gpu").quiet_for, before.quiet_for);
}

// The same worker, one generation later: what it began before the lapse keeps nothing either.
STORE_TEST(SessionLeases, AreNotKeptByAnActivityOfAFormerGeneration) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  a.acquire("gpu");
  pass(7s);
  must(a.renew(work));
  EXPECT_EQ(session("gpu").lease_left, a.info.abilities.session_lease - 7s);
}

// Nobody else may ever have it: an owner that was late goes on, in the same generation.
STORE_TEST(SessionLeases, UnderFailMayBeRenewedLate) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Duration lease = a.info.abilities.session_lease;
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  pass(lease + 1s);
  sweep();
  EXPECT_EQ(names(a.fetch_activities()), Texts{});  // nothing of it is begun before
  const auto ears = store().listen(kActivities, {});
  EXPECT_EQ(answer(b.renew(hold)), "lost");
  EXPECT_EQ(answer(a.renew(hold)), "ok");
  EXPECT_TRUE(hears(*this, *ears, kActivities));
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  pass(lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 0U);
  const Work work = a.fetch_activity();
  EXPECT_FALSE(work->session->claimed);
  EXPECT_EQ(work->session->hold, hold);
  pass(lease);
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::reused);
  EXPECT_EQ(session("gpu").generation, hold.generation);
}

// A sweeper that saw it lapse once counts anew when it lapses again.
STORE_TEST(SessionLeases, UnderFailAreSeenToBeOverAnewAfterALateRenewal) {
  const Worker a = join("a");
  const Duration lease = a.info.abilities.session_lease;
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  pass(lease);
  sweep();
  pass(lease / 4);
  must(a.renew(hold));
  pass(lease);
  EXPECT_EQ(sweep().sessions_lost, 0U);
  pass(lease / 2 - 1us);
  EXPECT_EQ(sweep().sessions_lost, 0U);
  pass(1us);
  EXPECT_EQ(sweep().sessions_lost, 1U);
}

STORE_TEST(SessionLeases, UnderFailAreKeptLateByAnActivityToo) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.acquire("gpu", fails());
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  must(a.renew(work));
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
}

STORE_TEST(SessionLeases, NeverOutlastTheTimeToLiveWhichNothingExtends) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const SessionHold hold{"gpu",
                         a.acquire("gpu", {.lease = 30s, .ttl = 1min, .on_record = true}).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Works works = a.fetch_activities(1);
  for (int i = 1; i <= 2; ++i) {
    pass(25s);
    must(a.renew(hold));
    must(a.renew(works.works.at(0), 1h));
    must(a.heartbeat(works.works.at(0), "x"));
    EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::reused);
    EXPECT_EQ(session("gpu").ttl_left, 1min - i * 25s);
  }
  EXPECT_EQ(session("gpu").lease_left, 10s);
  pass(10s);
  EXPECT_EQ(sweep().sessions_expired, 1U);
  EXPECT_EQ(answer(a.renew(hold)), "gone(session_expired)");
  EXPECT_EQ(told(a), Texts{"order-1: taken 1/3: session_expired"});
}

STORE_TEST(SessionLeases, ASessionWhoseTimeIsOverExpiresWithACallThatIsRefused) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu", {.ttl = 1min, .on_record = true}).session.generation};
  pass(1min);
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed) << "whoever looks ends nothing";
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(session("gpu").state, SessionStatus::lapsed) << "nor does a fetch";
  EXPECT_EQ(answer(b.renew(SessionHold{"gpu", Generation{hold.generation.value + 1}})),
            "gone(session_expired)");
  EXPECT_EQ(session("gpu").state, SessionStatus::expired);
  EXPECT_EQ(session("gpu").owner, "a");
}

STORE_TEST(SessionLeases, ASessionThatNobodyClaimedExpiresToo) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  a.commit(turn.opens_session("gpu", {.queue = "elsewhere", .ttl = 1min, .on_record = true})
               .schedules(of_session("gpu")));
  told(a);
  pass(1min);
  EXPECT_EQ(sweep().sessions_expired, 1U);
  EXPECT_EQ(session("gpu").state, SessionStatus::expired);
  EXPECT_TRUE(activities().empty());
}

// So it knows whether what it has in memory is still true, also when the answer to a claim was lost.
STORE_TEST(SessionLeases, TheirOwnerIsToldSinceWhenNobodyElseHadTheSession) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Duration lease = a.info.abilities.session_lease;
  const SessionView first = a.acquire("gpu").session;
  EXPECT_EQ(first.held_since, first.generation);
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  pass(lease);
  const Work claimed = a.fetch_activity();
  EXPECT_TRUE(claimed->session->claimed);
  EXPECT_EQ(claimed->session->held_since, first.generation);
  const Works again = a.fetch_activities_again(claimed.token);
  ASSERT_EQ(again.works.size(), 1U);
  const SessionGrant& grant = *again.works[0]->session;
  EXPECT_FALSE(grant.claimed);
  EXPECT_GT(grant.hold.generation, first.generation);
  EXPECT_EQ(grant.held_since, first.generation);
  must(a.finish(again.works[0]));
  must(a.release(grant.hold, SessionReason::idle, "state"));
  const SessionView back = a.acquire("gpu").session;
  EXPECT_EQ(back.held_since, first.generation);
  must(a.release({"gpu", back.generation}, SessionReason::idle, "state"));
  const SessionView of_b = b.acquire("gpu").session;
  EXPECT_EQ(of_b.held_since, of_b.generation);
  pass(lease);
  const SessionView of_a = a.acquire("gpu").session;
  EXPECT_EQ(of_a.held_since, of_a.generation);
}

STORE_TEST(SessionLeases, OfOneThatWasAbortedBeginWithNothingOfWhatItHad) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu", {.on_record = true})));
  const Work work = a.fetch_activity();
  must(a.answer_with(
      {.id = work.id(), .token = work.token, .result = Finished{"x"}, .abort_session = "broken"}));
  const Acquired again = a.acquire("gpu");
  EXPECT_EQ(again.kind, Acquired::Kind::reacquired);
  EXPECT_FALSE(again.same_owner);
  EXPECT_EQ(again.session.held_since, again.session.generation);
}

// Each time that a session begins, and each time that it changes hands.
STORE_TEST(SessionLeases, ARecordThatIsMadeAgainNeverRepeatsAGeneration) {
  const Worker a = join("a");
  const Generation before = a.acquire("gpu").session.generation;
  pass(a.info.abilities.session_lease);
  must(store().leave(a.key));
  EXPECT_EQ(sweep().sessions_removed, 1U);
  const Acquired again = join("b").acquire("gpu");
  EXPECT_EQ(again.kind, Acquired::Kind::created);
  EXPECT_GT(again.session.generation, before);
}

STORE_TEST(SessionLeases, OfABatchAreRenewedOneByOne) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold mine{"mine", a.acquire("mine").session.generation};
  const SessionHold others{"others", b.acquire("others").session.generation};
  const SessionHold ended{"ended", a.acquire("ended", {.on_record = true}).session.generation};
  const SessionHold late{"late", a.acquire("late", {.lease = 1s}).session.generation};
  must(store().close_session("ended", SessionReason::operated));
  pass(10s);
  const std::vector<SessionRenewal> renewals{{others}, {ended}, {{"unknown", Generation{1}}}, {late}, {mine}};
  Texts answers;
  for (const auto& one : store().renew_sessions(a.key, renewals)) answers.push_back(answer(one));
  EXPECT_EQ(answers, (Texts{"lost", "gone(session_closed)", "lost", "lost", "ok"}));
  EXPECT_EQ(session("mine").lease_left, a.info.abilities.session_lease);
  EXPECT_EQ(session("others").lease_left, b.info.abilities.session_lease - 10s);
}

STORE_TEST(SessionLeases, OfABatchAreGivenUpOneByOne) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold mine{"mine", a.acquire("mine").session.generation};
  const SessionHold others{"others", b.acquire("others").session.generation};
  const SessionHold busy{"busy", a.acquire("busy").session.generation};
  a.commit(a.begin("order-1").schedules(of_session("busy")));
  const std::vector<SessionRelease> releases{
      {others, SessionReason::idle}, {busy, SessionReason::idle}, {mine, SessionReason::idle}};
  Texts answers;
  for (const auto& one : store().release_sessions(a.key, releases)) answers.push_back(answer(one));
  EXPECT_EQ(answers, (Texts{"lost", "conflict", "ok"}));
  EXPECT_EQ(session("mine").state, SessionStatus::unclaimed);
  EXPECT_EQ(session("busy").owner, "a");
  EXPECT_EQ(session("others").owner, "b");
}

STORE_TEST(SessionLeases, TellWithARenewalHowLongTheyWereQuiet) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  pass(10s);
  const SessionRenewal renewal{hold, 7s};
  must(only(store().renew_sessions(a.key, one(renewal))));
  EXPECT_EQ(session("gpu").quiet_for, 7s);
  pass(2s);
  EXPECT_EQ(session("gpu").quiet_for, 9s);
}

STORE_TEST(SessionLeases, ARenewalAfterTheLeaseTakesNoPlaceThatIsAnothers) {
  const Worker a = join("a");
  a.commit(a.begin("order-1")
               .schedules(of_session("gpu", one_by_one()))
               .schedules(of_session("gpu", one_by_one())));
  const Work first = a.fetch_activity();
  pass(a.activity_lease);
  const Work second = a.fetch_activity();
  ASSERT_NE(second.id(), first.id());
  EXPECT_EQ(answer(a.renew(first)), "lost");
  EXPECT_EQ(answer(a.finish(second)), "ok");
  EXPECT_EQ(answer(a.renew(first)), "ok");
}

}  // namespace
}  // namespace holdfast::testing::conformance
