// How sessions end, what becomes of their work then, and who may begin them again.
#include "testkit/conformance/session_story.hpp"

#include <algorithm>
#include <functional>
#include <variant>

HOLDFAST_CONFORMANCE_FILE(session_ends);

namespace holdfast::testing::conformance {
namespace {

/// The lease of a `fail` session has been over for long enough, and a sweeper has seen it.
void lose_owner(const World& world, const Worker& owner) {
  world.pass(owner.info.abilities.session_lease);
  world.sweep();
  world.pass(owner.info.abilities.session_lease / 2);
  EXPECT_EQ(world.sweep().sessions_lost, 1U);
}

Texts sorted(Texts texts) {
  std::ranges::sort(texts);
  return texts;
}

// ---- loss ----------------------------------------------------------------------------------------

STORE_TEST(SessionEnds, ALossFailsWhatIsInFlightAtOnce) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.acquire("gpu", fails());
  b.commit(b.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Work work = a.fetch_activities(1).works.at(0);
  lose_owner(*this, a);
  EXPECT_EQ(sorted(told(b)), (Texts{"order-1: taken 1/2: session_lost", "order-1: taken 1/3: session_lost"}));
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(a.cancel_records().at(0).reason, CancelReason::session_lost);
  EXPECT_EQ(answer(a.renew(work, 1h)), "gone(session_lost)");
  EXPECT_EQ(answer(a.finish(work)), "gone(session_lost)");
}

// Its owner is dead already, and nobody has said so yet.
STORE_TEST(SessionEnds, ALossFailsWhatWasScheduledWhileNobodyKnewOfIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu", fails());
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(sweep().sessions_lost, 0U);
  Turn turn = b.begin("order-1");
  EXPECT_FALSE(b.commit(turn.schedules(of_session("gpu")).keeps_lock()).ready);
  turn.schedules(of_session("gpu"));
  turn.commit.activities.back().hand_off = true;
  EXPECT_FALSE(b.commit(turn).handed_off.at(0));
  EXPECT_EQ(session("gpu").queued, 2U);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(names(a.fetch_activities()), Texts{});  // not before it has renewed
  pass(a.info.abilities.session_lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
  EXPECT_EQ(sorted(told(b)), (Texts{"order-1: taken 1/2: session_lost", "order-1: taken 1/4: session_lost"}));
}

STORE_TEST(SessionEnds, AGiveUpFailsWhatIsInFlightToo) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  must(store().fail_session(a.key, hold, SessionReason::drain_deadline));
  EXPECT_EQ(told(a), Texts{"order-1: taken 1/2: session_lost"});
  EXPECT_EQ(answer(a.finish(work)), "gone(session_lost)");
  EXPECT_EQ(answer(a.renew(hold)), "gone(session_lost)");
}

STORE_TEST(SessionEnds, ARestartOfTheOwnerIsALossUnderFail) {
  const Worker before = join("a");
  before.acquire("gpu", fails());
  before.commit(before.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Work work = before.fetch_activities(1).works.at(0);
  const Worker after = join("a");
  EXPECT_EQ(session("gpu").state, SessionStatus::failed);
  EXPECT_EQ(session("gpu").reason, SessionReason::owner_restarted);
  EXPECT_EQ(sorted(told(after)),
            (Texts{"order-1: taken 1/2: session_lost", "order-1: taken 1/3: session_lost"}));
  EXPECT_EQ(answer(before.finish(work)), "gone(session_lost)");
}

// What the former process still does counts, but it no longer speaks for the session.
STORE_TEST(SessionEnds, ARestartOfTheOwnerIsNoneUnderReclaim) {
  const Worker before = join("a");
  before.commit(before.begin("order-1").schedules(of_session("gpu")));
  const Work work = before.fetch_activity();
  const SessionHold hold = work->session->hold;
  const Worker after = join("a");
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  EXPECT_EQ(answer(before.renew(hold)), "superseded");
  EXPECT_EQ(answer(before.release(hold, SessionReason::drained, "stale")), "superseded");
  EXPECT_EQ(answer(before.try_fetch_activities()), "superseded");
  EXPECT_EQ(answer(store().acquire_session(before.key, before.info.abilities, "gpu", {})), "superseded");
  EXPECT_EQ(
      answer(before.answer_with(
          {.id = work.id(), .token = work.token, .result = Finished{"x"}, .save = SessionSave{"stale"}})),
      "ok");
  EXPECT_EQ(session("gpu").saved, std::nullopt);
  EXPECT_EQ(told(after), Texts{"order-1: outcome 1/2: x"});
}

STORE_TEST(SessionEnds, ARestartLeavesASessionToAnIncarnationThatDrains) {
  const Worker before = join("a");
  const SessionHold hold{"gpu", before.acquire("gpu", fails()).session.generation};
  must(store().refresh(before.key, true));
  const Worker after = join("a");
  EXPECT_EQ(session("gpu").worker, before.key);
  EXPECT_EQ(answer(before.renew(hold)), "ok");
  EXPECT_EQ(after.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  EXPECT_EQ(answer(before.release(hold, SessionReason::drained)), "ok");
  EXPECT_EQ(after.acquire("gpu").kind, Acquired::Kind::reacquired);
}

// ---- releases under `fail` -----------------------------------------------------------------------

STORE_TEST(SessionEnds, UnderFailAReleaseNeedsNoStateBeforeItRan) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained)), "ok");
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquired);
}

STORE_TEST(SessionEnds, UnderFailAReleaseNeedsTheStateOnceItRan) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  must(a.finish(a.fetch_activity()));
  for (const SessionReason reason :
       {SessionReason::drained, SessionReason::idle, SessionReason::handed_over, SessionReason::operated}) {
    EXPECT_EQ(answer(a.release(hold, reason)), "conflict") << to_string(reason);
  }
  EXPECT_EQ(session("gpu").owner, "a");
  EXPECT_EQ(answer(a.release(hold, SessionReason::drained, "state")), "ok");
  a.commit(a.fetch_turn().schedules(of_session("gpu")));
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->session->saved, "state");
  EXPECT_EQ(work->session->previous_owner, "a");
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "released", "moved"}));
}

STORE_TEST(SessionEnds, UnderFailNoneIsDisplaced) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  EXPECT_EQ(answer(a.release(hold, SessionReason::displaced)), "conflict");
  EXPECT_EQ(answer(a.release(hold, SessionReason::displaced, "state")), "conflict");
}

// ---- beginning anew -------------------------------------------------------------------------------

STORE_TEST(SessionEnds, OneThatActivitiesNamedBeginsAnewWithTheNextOfThemAfterItsClose) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  must(a.answer_with({.id = work.id(),
                      .token = work.token,
                      .result = Finished{"x"},
                      .save = SessionSave{.bytes = "of the first life"}}));
  must(store().close_session("gpu", SessionReason::operated));
  EXPECT_EQ(session("gpu").state, SessionStatus::closed);
  a.commit(a.fetch_turn());
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  const Work next = a.fetch_activity();
  EXPECT_GT(next->session->hold.generation, work->session->hold.generation);
  EXPECT_EQ(next->session->held_since, next->session->hold.generation) << "what is in memory is old";
  EXPECT_EQ(next->session->saved, std::nullopt);
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "closed", "claimed"}));
}

STORE_TEST(SessionEnds, OneOnRecordStaysClosedForActivitiesThatNameIt) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"taken 1/2: session_closed"});
  a.acquire("named");
  must(store().close_session("named", SessionReason::operated));
  a.commit(a.begin("order-2").schedules(of_session("named", {.create_if_missing = false})));
  EXPECT_EQ(a.fetch_turn().messages(), Texts{"taken 1/2: session_closed"});
}

// What runs in its first life may finish, and none of its later attempts begins in the second.
STORE_TEST(SessionEnds, WhatRanInItsFirstLifeDoesNotGoOnInTheSecond) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 2U);
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  EXPECT_EQ(answer(a.finish(works.works[0])), "ok");
  EXPECT_EQ(answer(a.retry(works.works[1])), "ok");
  EXPECT_EQ(a.fetch_turn().messages(), (Texts{"outcome 1/2: result", "taken 1/3: session_closed"}));
  EXPECT_EQ(a.fetch_activity()->instance, "order-2");
}

STORE_TEST(SessionEnds, WhatRanInItsFirstLifeMayFinishWhateverBecomesOfTheSecond) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work first = a.fetch_activity();
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  const Work second = a.fetch_activity();
  must(a.answer_with(
      {.id = second.id(), .token = second.token, .result = Finished{"x"}, .abort_session = "on fire"}));
  EXPECT_TRUE(a.cancel_records().empty());
  EXPECT_EQ(answer(a.finish(first)), "ok");
}

// Its second life has nothing of the first, so nothing is missing in it either.
STORE_TEST(SessionEnds, WhatRanInItsFirstLifeCountsWithoutItsSave) {
  Worker a = join("a");
  a.activity_lease = 1h;
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  Turn turn = a.begin("order-2");
  turn.schedules(of_session("gpu"));
  a.commit(turn);
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 2U);
  must(store().close_session("gpu", SessionReason::operated));
  a.commit(a.begin("order-3").schedules(of_session("gpu")));
  const Work next = a.fetch_activity();
  for (const Work& work : works.works) {
    EXPECT_EQ(answer(a.answer_with({.id = work.id(),
                                    .token = work.token,
                                    .result = Finished{"x"},
                                    .save = SessionSave{.bytes = "old", .required = true}})),
              "ok");
  }
  EXPECT_EQ(session("gpu").saved_size, std::nullopt);
  must(a.answer_with({.id = next.id(),
                      .token = next.token,
                      .result = Finished{"x"},
                      .save = SessionSave{.bytes = "new", .required = true}}));
  EXPECT_EQ(session("gpu").saved_size, 3U);
}

// ---- what is told ---------------------------------------------------------------------------------

STORE_TEST(SessionEnds, WhatIsTakenAwayIsToldWhoHeldTheSessionAndWhyItEnded) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu", fails()).session.generation};
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  must(store().fail_session(a.key, hold, SessionReason::drain_deadline));
  const Turn told = a.fetch_turn();
  const auto& taken = std::get<ActivityTaken>(told->messages.at(0).body);
  EXPECT_EQ(taken.owner, "a");
  EXPECT_EQ(taken.session_reason, SessionReason::drain_deadline);
}

STORE_TEST(SessionEnds, WhatAnActivityAbortsForIsToldToTheOthers) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 2U);
  const Work& work = works.works[0];
  must(a.answer_with(
      {.id = work.id(), .token = work.token, .result = Finished{"x"}, .abort_session = "it burns"}));
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched), (Texts{"order-1", "order-2"}));
  const auto& taken = std::get<ActivityTaken>(fetched.turns[1]->messages[0].body);
  EXPECT_EQ(taken.note, "it burns");
  EXPECT_EQ(taken.session_reason, SessionReason::aborted);
  EXPECT_EQ(taken.owner, "a");
}

// ---- later attempts ------------------------------------------------------------------------------

/// Three of its activities run while the session ends: one is tried again, one put back, one finishes.
void ends_under(World& world, const SessionPolicy& policy, const std::function<void()>& end,
                const std::string& reason) {
  Worker a = world.join("a");
  a.activity_lease = 1h;
  a.acquire("gpu", policy);
  a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  const Works works = a.fetch_activities();
  ASSERT_EQ(works.works.size(), 3U);
  end();
  EXPECT_EQ(answer(a.retry(works.works[0], 1s, "broken")), "ok");
  EXPECT_EQ(answer(a.put_back(works.works[1])), "ok");
  EXPECT_EQ(answer(a.finish(works.works[2])), "ok");
  Turns fetched = a.fetch_turns();
  ASSERT_EQ(names(fetched), (Texts{"order-1", "order-2"}));
  EXPECT_EQ(fetched.turns[0].messages(), (Texts{"taken 1/2: " + reason, "taken 1/3: " + reason}));
  const auto& taken = std::get<ActivityTaken>(fetched.turns[0]->messages[0].body);
  EXPECT_EQ(taken.last_failure, "broken");
  EXPECT_EQ(taken.session, "gpu");
  EXPECT_EQ(taken.attempt, 1U);
  EXPECT_EQ(fetched.turns[1].messages(), Texts{"outcome 1/2: result"});
  EXPECT_TRUE(world.activities().empty());
}

STORE_TEST(SessionEnds, AfterACloseNoOtherAttemptBegins) {
  ends_under(
      *this, {.on_record = true}, [&] { must(store().close_session("gpu", SessionReason::operated)); },
      "session_closed");
}

STORE_TEST(SessionEnds, AfterTheTimeToLiveNoOtherAttemptBegins) {
  ends_under(
      *this, {.ttl = 1min, .on_record = true},
      [&] {
        pass(1min);
        EXPECT_EQ(sweep().sessions_expired, 1U);
      },
      "session_expired");
}

// Nobody has swept: the answers themselves find out.
STORE_TEST(SessionEnds, AfterTheTimeToLiveNoOtherAttemptBeginsAlsoWhenNobodySwept) {
  ends_under(*this, {.ttl = 1min, .on_record = true}, [&] { pass(1min); }, "session_expired");
}

STORE_TEST(SessionEnds, AfterACloseAnAttemptThatNobodyFinishesFails) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  a.fetch_activity();
  must(store().close_session("gpu", SessionReason::operated));
  pass(a.activity_lease);
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  sweep();
  EXPECT_EQ(told(a), Texts{"order-1: taken 1/2: session_closed"});
}

STORE_TEST(SessionEnds, WhatWaitsForAMissingSessionMayRunOutOfTime) {
  const Worker a = join("a");
  NewActivity waits = of_session("gpu", {.create_if_missing = false});
  waits.start_within = 10s;
  a.commit(a.begin("order-1").schedules(waits));
  pass(10s - 1us);
  EXPECT_EQ(sweep().activities_timed_out, 0U);
  pass(1us);
  EXPECT_EQ(sweep().activities_timed_out, 1U);
  EXPECT_EQ(told(a), Texts{"order-1: taken 1/2: schedule_to_start"});
}

// ---- aborts --------------------------------------------------------------------------------------

STORE_TEST(SessionEnds, OnlyTheCurrentGenerationMayAbort) {
  Worker a = join("a");
  a.activity_lease = 1h;
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  pass(a.info.abilities.session_lease);
  b.acquire("gpu");
  EXPECT_EQ(answer(a.answer_with(
                {.id = work.id(), .token = work.token, .result = Finished{"x"}, .abort_session = "late"})),
            "ok");
  EXPECT_EQ(session("gpu").state, SessionStatus::active);
  EXPECT_EQ(session("gpu").owner, "b");
  EXPECT_EQ(told(a), Texts{"order-1: outcome 1/2: x"});
}

// ---- beginning again -----------------------------------------------------------------------------

/// An activity of it ends it, with a state that was saved before.
void abort(const Worker& worker, const std::string& instance, const SessionPolicy& policy = {}) {
  worker.commit(worker.begin(instance).schedules(of_session("gpu", policy)));
  const Work work = worker.fetch_activity();
  must(worker.answer_with({.id = work.id(),
                           .token = work.token,
                           .result = Finished{"x"},
                           .save = SessionSave{"state"},
                           .abort_session = "on fire"}));
  worker.commit(worker.fetch_turn());
}

STORE_TEST(SessionEnds, AFailedOneMayBeAcquiredAgainUnderReclaim) {
  const Worker a = join("a");
  const Worker b = join("b");
  abort(a, "order-1", {.on_record = true});
  const SessionView failed = session("gpu");
  EXPECT_EQ(failed.state, SessionStatus::failed);
  a.commit(a.begin("order-2").schedules(of_session("gpu")));
  EXPECT_EQ(told(a), Texts{"order-2: taken 1/2: session_aborted"});

  const Acquired again = b.acquire("gpu");
  EXPECT_EQ(again.kind, Acquired::Kind::reacquired);
  EXPECT_EQ(again.session.state, SessionStatus::active);
  EXPECT_EQ(again.session.owner, "b");
  EXPECT_GT(again.session.generation, failed.generation);
  EXPECT_EQ(again.session.note, "");
  EXPECT_EQ(again.session.saved, std::nullopt);
  a.commit(a.begin("order-3").schedules(of_session("gpu")));
  EXPECT_EQ(names(a.fetch_activities()), Texts{});
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionEnds, AFailedOneMayNotBeAcquiredAgainUnderFail) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu", fails());
  lose_owner(*this, a);
  changes_nothing([&] {
    EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::reacquire_not_allowed);
    EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquire_not_allowed);
  });
}

STORE_TEST(SessionEnds, AnExpiredOneMayNotBeAcquiredAgain) {
  const Worker a = join("a");
  a.acquire("gpu", {.ttl = 1min, .on_record = true});
  pass(1min);
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::closed);  // nobody has swept
  sweep();
  EXPECT_EQ(a.acquire("gpu").kind, Acquired::Kind::closed);
  EXPECT_EQ(session("gpu").state, SessionStatus::expired);
}

/// What is opened under the id of one that has ended is a new one.
void opens_anew(World& world, const Worker& worker, Generation before) {
  worker.commit(worker.begin("order-9").opens_session("gpu", {.ttl = 2h, .on_record = true}, EventId{5}));
  EXPECT_EQ(told(worker), Texts{"order-9: session 1/5: opened"});
  EXPECT_EQ(world.session("gpu").state, SessionStatus::unclaimed);
  EXPECT_EQ(world.session("gpu").ttl_left, 2h);
  EXPECT_EQ(world.session("gpu").note, "");
  EXPECT_EQ(world.session("gpu").saved, std::nullopt);
  EXPECT_GT(worker.acquire("gpu").session.generation, before);
}

STORE_TEST(SessionEnds, AnExpiredOneMayBeOpenedAnew) {
  const Worker a = join("a");
  const Generation before = a.acquire("gpu", {.ttl = 1min, .on_record = true}).session.generation;
  pass(1min);
  opens_anew(*this, a, before);
}

STORE_TEST(SessionEnds, ALostOneMayBeOpenedAnew) {
  const Worker a = join("a");
  const Generation before = a.acquire("gpu", fails()).session.generation;
  lose_owner(*this, a);
  opens_anew(*this, a, before);
}

STORE_TEST(SessionEnds, AnAbortedOneMayBeOpenedAnew) {
  const Worker a = join("a");
  abort(a, "order-1", {.on_record = true});
  opens_anew(*this, a, session("gpu").generation);
}

// ---- what backs off ------------------------------------------------------------------------------

/// Its first attempt has failed, and the next one is far away.
void back_off(const Worker& worker, const SessionPolicy& policy) {
  worker.commit(worker.begin("order-1").opens_session("gpu", policy).schedules(of_session("gpu")));
  worker.fetch_turns();  // the answer to the opening
  must(worker.retry(worker.fetch_activity(), 1h));
}

STORE_TEST(SessionEnds, ALossFailsWhatBacksOff) {
  const Worker a = join("a");
  back_off(a, fails());
  pass(a.info.abilities.session_lease);
  sweep();
  pass(a.info.abilities.session_lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
  EXPECT_TRUE(activities().empty());
  EXPECT_EQ(told(a), (Texts{"order-1: news gpu: claimed", "order-1: taken 1/2: session_lost",
                            "order-1: news gpu: lost"}));
}

STORE_TEST(SessionEnds, ACloseFailsWhatBacksOff) {
  const Worker a = join("a");
  back_off(a, {.on_record = true});
  must(store().close_session("gpu", SessionReason::operated));
  EXPECT_TRUE(activities().empty());
}

STORE_TEST(SessionEnds, TheEndOfATimeToLiveFailsWhatBacksOff) {
  const Worker a = join("a");
  back_off(a, {.ttl = 1min, .on_record = true});
  pass(1min);
  EXPECT_EQ(sweep().sessions_expired, 1U);
  EXPECT_TRUE(activities().empty());
}

}  // namespace
}  // namespace holdfast::testing::conformance
