// What people ask of sessions: that they leave their worker, go to another one, or forget what was saved.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_wishes);

namespace holdfast::testing::conformance {
namespace {

using store::SessionWish;

std::string asked(const World& world, const char* id, const SessionWish& wish = {}) {
  const auto answered = world.store().ask_for_session(id, wish);
  return answered ? std::string(to_string(*answered)) : answer(answered);
}

SessionHold acquired(const Worker& worker, const char* id, const SessionPolicy& policy = {}) {
  return {id, worker.acquire(id, policy).session.generation};
}

// ---- release --------------------------------------------------------------------------------------

STORE_TEST(SessionWishes, AreToldToTheOwnerWhichReleasesItAsOperated) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold = acquired(a, "gpu");
  acquired(a, "other");
  const auto ears = store().listen(kCancels, a.key);
  EXPECT_EQ(asked(*this, "gpu"), "asked");
  EXPECT_TRUE(hears(*this, *ears, kCancels));
  EXPECT_EQ(must(store().wanted_sessions(a.key)), std::vector{WantedSession{.hold = hold}});
  EXPECT_EQ(must(store().wanted_sessions(b.key)), std::vector<WantedSession>{});
  EXPECT_EQ(session("gpu").wanted, "");
  EXPECT_EQ(session("gpu").owner, "a") << "until it gives it up";
  must(a.renew(hold));
  must(a.release(hold, SessionReason::handed_over, "state"));
  EXPECT_EQ(session("gpu").reason, SessionReason::operated);
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
  EXPECT_EQ(must(store().wanted_sessions(a.key)), std::vector<WantedSession>{});
  const Acquired next = b.acquire("gpu");
  EXPECT_EQ(next.session.saved, "state");
  EXPECT_EQ(next.previous_owner, "a");
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "released", "moved"}));
  EXPECT_EQ(must(store().session_log("gpu", 0, 10)).back().reason, SessionReason::operated);
}

STORE_TEST(SessionWishes, ForWhatNobodyHasAreFulfilled) {
  const Worker a = join("a");
  EXPECT_EQ(asked(*this, "gpu"), "not_found");
  must(a.release(acquired(a, "gpu", {.on_record = true}), SessionReason::idle));
  EXPECT_EQ(asked(*this, "gpu"), "free");
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
  acquired(a, "lapsed", {.on_record = true});
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(asked(*this, "lapsed"), "released");
  EXPECT_EQ(session("lapsed").state, SessionStatus::unclaimed);
}

STORE_TEST(SessionWishes, ByForceTakeASessionFromItsOwner) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  EXPECT_EQ(asked(*this, "gpu", {.force = true}), "released");
  EXPECT_EQ(answer(a.renew(work->session->hold)), "lost");
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquired);
  EXPECT_EQ(answer(a.finish(work)), "ok") << "what runs keeps its own lease";
}

STORE_TEST(SessionWishes, AreRefusedWhereTheSessionCanNotLeave) {
  const Worker a = join("a");
  const SessionHold hold = acquired(a, "fails", fails());
  EXPECT_EQ(asked(*this, "fails"), "asked");
  a.commit(a.begin("order-1").schedules(of_session("fails")));
  a.fetch_activity();
  EXPECT_EQ(asked(*this, "fails", {.force = true}), "conflict");
  EXPECT_EQ(answer(a.release(hold, SessionReason::operated)), "conflict") << "its state was not saved";
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(asked(*this, "fails"), "conflict");
  must(store().close_session("fails", SessionReason::operated));
  EXPECT_EQ(asked(*this, "fails"), "conflict");
  EXPECT_EQ(session("fails").wanted, std::nullopt);
}

STORE_TEST(SessionWishes, EndWithTheNextClaim) {
  const Worker a = join("a");
  acquired(a, "gpu");
  EXPECT_EQ(asked(*this, "gpu"), "asked");
  pass(a.info.abilities.session_lease);
  a.acquire("gpu");
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
  EXPECT_EQ(must(store().wanted_sessions(a.key)), std::vector<WantedSession>{});
}

// ---- ends -----------------------------------------------------------------------------------------

// It may have much in memory, and would find out only when it renews its lease.
STORE_TEST(SessionWishes, EndsAreToldToTheOwnerUntilItKnows) {
  const Worker a = join("a");
  const SessionHold closed = acquired(a, "closed");
  const SessionHold expired = acquired(a, "expired", {.ttl = 5s, .on_record = true});
  const SessionHold lost = acquired(a, "lost", fails());
  acquired(a, "stays");
  const auto ears = store().listen(kCancels, a.key);
  must(store().close_session("closed", SessionReason::operated));
  EXPECT_TRUE(hears(*this, *ears, kCancels));
  EXPECT_EQ(session("closed").wanted, std::nullopt) << "nobody asks for it";
  pass(5s);
  sweep();
  EXPECT_TRUE(hears(*this, *ears, kCancels));
  must(store().fail_session(a.key, lost, SessionReason::drain_deadline));
  using Wanted = std::vector<WantedSession>;
  EXPECT_EQ(must(store().wanted_sessions(a.key)), (Wanted{{closed, SessionReason::operated},
                                                          {expired, SessionReason::ttl},
                                                          {lost, SessionReason::drain_deadline}}));
  const Worker b = join("b");
  must(store().acknowledge_ends(b.key, one(closed)));
  const SessionHold before{"lost", Generation{lost.generation.value - 1}};
  must(store().acknowledge_ends(a.key, one(before)));
  EXPECT_EQ(must(store().wanted_sessions(a.key)).size(), 3U) << "another's hold, or another generation";
  must(store().acknowledge_ends(a.key, std::vector{closed, lost}));
  EXPECT_EQ(must(store().wanted_sessions(a.key)), (Wanted{{expired, SessionReason::ttl}}));
}

STORE_TEST(SessionWishes, TheEndByAnOpenerIsToldToTheOwner) {
  const Worker a = join("a");
  const Worker b = join("b");
  b.commit(b.begin("order-1").opens_session("gpu", {.on_record = true}));
  const SessionHold hold = acquired(a, "gpu");
  const auto ears = store().listen(kCancels, a.key);
  must(store().delete_instance("order-1", true, {}));
  EXPECT_TRUE(hears(*this, *ears, kCancels));
  EXPECT_EQ(must(store().wanted_sessions(a.key)),
            (std::vector<WantedSession>{{hold, SessionReason::opener_ended}}));
}

STORE_TEST(SessionWishes, EndsOfWhatNobodyHoldsOrBeginsAnewAreToldToNobody) {
  const Worker a = join("a");
  must(a.release(acquired(a, "free", {.on_record = true}), SessionReason::idle));
  must(store().close_session("free", SessionReason::operated));
  acquired(a, "named");
  must(store().close_session("named", SessionReason::operated));
  a.commit(a.begin("order-1").schedules(of_session("named")));
  EXPECT_EQ(must(store().wanted_sessions(a.key)), std::vector<WantedSession>{});
}

// ---- move -----------------------------------------------------------------------------------------

STORE_TEST(SessionWishes, ForANodeKeepTheSessionForIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Worker c = join("c");
  const SessionHold hold = acquired(a, "gpu");
  EXPECT_EQ(asked(*this, "gpu", {.to = "b", .keep_for = 1min}), "asked");
  EXPECT_EQ(session("gpu").wanted, "b");
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  must(a.release(hold, SessionReason::handed_over));
  EXPECT_EQ(session("gpu").wanted, "b");
  EXPECT_EQ(c.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  EXPECT_TRUE(c.fetch_activities().works.empty());
  EXPECT_TRUE(a.fetch_activities().works.empty());
  const Work work = b.fetch_activity();
  EXPECT_EQ(work->session->previous_owner, "a");
  EXPECT_EQ(work->session->reason, SessionReason::operated);
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
}

STORE_TEST(SessionWishes, ForANodeEndWhenItDoesNotCome) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Worker c = join("c");
  must(a.release(acquired(a, "gpu"), SessionReason::idle));
  EXPECT_EQ(asked(*this, "gpu", {.to = "b", .keep_for = 20s}), "free");
  EXPECT_EQ(sweep().sessions_removed, 0U) << "it is kept for b";
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Works none = c.fetch_activities();
  EXPECT_TRUE(none.works.empty());
  EXPECT_LE(none.next_due, 20s);
  pass(20s);
  EXPECT_EQ(c.fetch_activity()->session->hold.id, "gpu");
}

STORE_TEST(SessionWishes, ForANodeKeepTheRecordAndNoLonger) {
  const Worker a = join("a");
  const Worker b = join("b");
  must(a.release(acquired(a, "gpu"), SessionReason::idle));
  EXPECT_EQ(asked(*this, "gpu", {.to = "b", .keep_for = 20s}), "free");
  EXPECT_EQ(sweep().next_due, 20s);
  pass(20s);
  EXPECT_EQ(sweep().sessions_removed, 1U);
}

STORE_TEST(SessionWishes, ForANodeThatIsNotAtWorkAreRefused) {
  const Worker a = join("a");
  const Worker b = join("b");
  acquired(a, "gpu");
  EXPECT_EQ(asked(*this, "gpu", {.to = "nobody"}), "conflict");
  must(store().refresh(b.key, true));
  EXPECT_EQ(asked(*this, "gpu", {.to = "b"}), "conflict") << "it drains";
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
  EXPECT_EQ(asked(*this, "gpu", {.to = "a"}), "there");
}

STORE_TEST(SessionWishes, ForANodeThatCouldNotClaimItAreRefusedWithWhatItLacks) {
  const Worker a = join("a");
  const auto why_not = [&](const char* id, const char* node) {
    const auto answered = store().ask_for_session(id, {.to = node, .keep_for = 1min});
    return answered ? std::string(to_string(*answered)) : answered.error().message;
  };
  NewWorker none = worker_info("none");
  none.abilities.session_limit = 0;
  join(none);
  NewWorker gpu = worker_info("gpu");
  gpu.abilities.capabilities = {"gpu"};
  gpu.abilities.queues.names = {"gpu"};
  gpu.abilities.handlers = {"ship"};
  const Worker with_gpu = join(gpu);
  acquired(a, "plain");
  EXPECT_EQ(why_not("plain", "none"),
            "session 'plain' can't be released: the worker of node 'none' takes no sessions: its "
            "session_limit is 0");
  EXPECT_EQ(why_not("plain", "gpu"), "asked") << "its activities may name the queue";
  must(store().ask_for_session("plain", {.to = "a"}));
  a.commit(a.begin("order-1").schedules(of_session("plain")));
  EXPECT_EQ(why_not("plain", "gpu"),
            "session 'plain' can't be released: the worker of node 'gpu' has no code for the activities that "
            "wait in it, or does not serve their queue");
  must(with_gpu.release(acquired(with_gpu, "on gpu", {.requirements = {"gpu"}, .on_record = true}),
                        SessionReason::idle));
  EXPECT_EQ(why_not("on gpu", "a"),
            "session 'on gpu' can't be released: the worker of node 'a' lacks the capability 'gpu'");
  EXPECT_EQ(why_not("on gpu", "gpu"), "free");
  acquired(a, "queued", {.queue = "slow"});
  EXPECT_EQ(why_not("queued", "gpu"),
            "session 'queued' can't be released: the worker of node 'gpu' does not serve the queue 'slow' of "
            "its activities");
}

STORE_TEST(SessionWishes, AreTakenBackByOthers) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Worker c = join("c");
  acquired(a, "gpu");
  EXPECT_EQ(asked(*this, "gpu", {.to = "b", .keep_for = 1min}), "asked");
  EXPECT_EQ(asked(*this, "gpu", {.to = "c", .keep_for = 1min}), "asked");
  EXPECT_EQ(session("gpu").wanted, "c");
  EXPECT_EQ(asked(*this, "gpu", {.to = "a"}), "there");
  EXPECT_EQ(session("gpu").wanted, std::nullopt);
}

// The node that is to have it gets it, and not the one that comes back.
STORE_TEST(SessionWishes, OutliveARestartOfTheOwner) {
  const Worker a = join("a");
  const Worker b = join("b");
  acquired(a, "gpu");
  EXPECT_EQ(asked(*this, "gpu", {.to = "b", .keep_for = 1min}), "asked");
  const Worker again = join("a");
  EXPECT_EQ(again.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::reacquired);
}

STORE_TEST(SessionWishes, ThatARestartFulfilsLeaveTheReasonOfTheNextClaim) {
  const Worker a = join("a");
  const Worker b = join("b");
  for (const char* id : {"first", "second"}) {
    acquired(a, id);
    EXPECT_EQ(asked(*this, id), "asked");
  }
  const Worker again = join("a");
  b.acquire("first");
  again.acquire("second");
  EXPECT_EQ(must(store().session_log("first", 0, 10)).back().reason, SessionReason::owner_restarted);
  EXPECT_EQ(must(store().session_log("second", 0, 10)).back().reason, SessionReason::taken_back);
}

// ---- what was saved -------------------------------------------------------------------------------

STORE_TEST(SessionWishes, WhatWasSavedIsDiscarded) {
  const Worker a = join("a");
  const Worker b = join("b");
  EXPECT_EQ(answer(store().discard_session_state("gpu")), "not_found");
  must(a.release(acquired(a, "gpu", {.on_record = true}), SessionReason::idle, "state"));
  const std::uint64_t version = session("gpu").saved_version;
  EXPECT_TRUE(must(store().discard_session_state("gpu")));
  EXPECT_FALSE(must(store().discard_session_state("gpu")));
  EXPECT_EQ(session("gpu").saved_size, std::nullopt);
  EXPECT_GT(session("gpu").saved_version, version);
  EXPECT_EQ(b.acquire("gpu").session.saved, std::nullopt);
}

}  // namespace
}  // namespace holdfast::testing::conformance
