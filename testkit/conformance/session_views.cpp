// What people see of sessions: the list, the record, the log.
#include "testkit/conformance/session_story.hpp"

#include <functional>
#include <map>

HOLDFAST_CONFORMANCE_FILE(session_views);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(SessionViews, OfOneThatIsNotThereIsNotFound) {
  EXPECT_EQ(answer(store().session("gpu")), "not_found");
}

STORE_TEST(SessionViews, AreListedById) {
  const Worker a = join("a");
  for (const char* id : {"c", "a", "d", "b"}) a.acquire(id);
  Texts ids;
  std::string after;
  for (auto page = must(store().sessions({.after = after, .limit = 3})); !page.empty();
       page = must(store().sessions({.after = after, .limit = 3}))) {
    for (const SessionView& view : page) ids.push_back(view.id);
    after = ids.back();
  }
  EXPECT_EQ(ids, (Texts{"a", "b", "c", "d"}));
}

// It may be long, and few who look at sessions want to see it.
STORE_TEST(SessionViews, BringWhatWasSavedOnlyWhereItIsAskedFor) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  EXPECT_EQ(session("gpu").saved_size, std::nullopt);
  must(a.release(hold, SessionReason::drained, "state"));
  const auto listed = must(store().sessions({.limit = 10}));
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].saved, std::nullopt);
  EXPECT_EQ(listed[0].saved_size, 5U);
  const SessionView brief = must(store().session("gpu"));
  EXPECT_EQ(brief.saved, std::nullopt);
  EXPECT_EQ(brief.saved_size, 5U);
  const SessionView full = must(store().session("gpu", Saved::bytes));
  EXPECT_EQ(full.saved, "state");
  EXPECT_EQ(full.saved_size, 5U);
  EXPECT_EQ(join("b").acquire("gpu").session.saved, "state") << "who owns it needs it";
  EXPECT_EQ(a.acquire("gpu").session.saved, std::nullopt) << "who does not, does not";
}

STORE_TEST(SessionViews, ShowAnEmptyStateAsSaved) {
  const Worker a = join("a");
  must(a.release({"gpu", a.acquire("gpu").session.generation}, SessionReason::drained, "state"));
  const Worker b = join("b");
  must(b.release({"gpu", b.acquire("gpu").session.generation}, SessionReason::drained, ""));
  EXPECT_EQ(session("gpu").saved, "");
  EXPECT_EQ(session("gpu").saved_size, 0U);
  EXPECT_EQ(a.acquire("gpu").session.saved, "");
}

STORE_TEST(SessionViews, TheLogTellsTheWholeStory) {
  const Worker a = join("a");
  const Worker b = join("b");
  const SessionHold hold{"gpu", a.acquire("gpu", {.on_record = true}).session.generation};
  a.acquire("other");
  must(a.release(hold, SessionReason::operated));
  b.acquire("gpu");
  must(store().close_session("gpu", SessionReason::operated));
  const auto log = must(store().session_log("gpu", 0, 100));
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[0].kind, SessionLogEntry::Kind::claimed);
  EXPECT_EQ(log[0].reason, SessionReason::acquired);
  EXPECT_EQ(log[0].owner, "a");
  EXPECT_EQ(log[0].generation, hold.generation);
  EXPECT_EQ(log[1].kind, SessionLogEntry::Kind::released);
  EXPECT_EQ(log[1].reason, SessionReason::operated);
  EXPECT_EQ(log[2].owner, "b");
  EXPECT_EQ(log[2].previous_owner, "a");
  EXPECT_EQ(log[3].kind, SessionLogEntry::Kind::closed);
  EXPECT_EQ(must(store().session_log("gpu", log[1].number, 1)), std::vector{log[2]});
  EXPECT_EQ(must(store().session_log("", 0, 100)).size(), 5U);
}

STORE_TEST(SessionViews, EachStateIsListed) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules(of_session("unclaimed", {.queue = "elsewhere", .on_record = true})));
  a.acquire("expired", {.ttl = 1min, .on_record = true});
  a.acquire("closed", {.on_record = true});
  a.acquire("failed", fails());
  a.acquire("lapsed", {.on_record = true});
  must(store().close_session("closed", SessionReason::operated));
  must(store().fail_session(a.key, {"failed", session("failed").generation}, SessionReason::drain_deadline));
  pass(1min);
  sweep();
  a.acquire("active");
  std::map<std::string, SessionStatus> states;
  for (const SessionView& view : must(store().sessions({.limit = 100}))) states[view.id] = view.state;
  EXPECT_EQ(states, (std::map<std::string, SessionStatus>{{"unclaimed", SessionStatus::unclaimed},
                                                          {"active", SessionStatus::active},
                                                          {"lapsed", SessionStatus::lapsed},
                                                          {"expired", SessionStatus::expired},
                                                          {"closed", SessionStatus::closed},
                                                          {"failed", SessionStatus::failed}}));
  EXPECT_EQ(
      must(store().count_sessions()),
      (store::SessionCounts{
          .unclaimed = 1, .active = 1, .lapsed = 1, .orphaned = 1, .expired = 1, .closed = 1, .failed = 1}));
  for (const auto& [id, state] : states) {
    const auto listed = must(store().sessions({.states = {state}}));
    ASSERT_EQ(listed.size(), 1U) << id;
    EXPECT_EQ(listed[0].id, id);
  }
}

STORE_TEST(SessionViews, OfOneMomentAreCountedAndTheLapsedOnesWhoseOwnerIsGoneApart) {
  EXPECT_EQ(must(store().count_sessions()), store::SessionCounts{});
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("of a", {.on_record = true});
  b.acquire("of b", {.on_record = true});
  pass(50s);
  must(store().refresh(b.key, false));
  pass(50s);
  EXPECT_EQ(must(store().count_sessions()), (store::SessionCounts{.lapsed = 2, .orphaned = 1}));
}

STORE_TEST(SessionViews, AreFilteredByStateOwnerAndQueue) {
  store::NewWorker info = worker_info("a");
  info.abilities.queues.names = {"", "gpu"};
  const Worker a = join(info);
  const Worker b = join("b");
  for (const char* id : {"a1", "a2", "a3"}) a.acquire(id, {.queue = "gpu", .on_record = true});
  a.acquire("a4", {.on_record = true});
  for (const char* id : {"b1", "b2"}) b.acquire(id, {.queue = "gpu", .on_record = true});
  must(store().close_session("a2", SessionReason::operated));
  const auto ids = [this](const store::SessionFilter& filter) {
    Texts texts;
    for (const SessionView& view : must(store().sessions(filter))) texts.push_back(view.id);
    return texts;
  };
  EXPECT_EQ(ids({.owner = "a"}), (Texts{"a1", "a2", "a3", "a4"})) << "one that has ended says who held it";
  EXPECT_EQ(ids({.states = {SessionStatus::active}, .owner = "a"}), (Texts{"a1", "a3", "a4"}));
  EXPECT_EQ(ids({.states = {SessionStatus::closed, SessionStatus::failed}}), Texts{"a2"});
  EXPECT_EQ(ids({.queue = "gpu"}), (Texts{"a1", "a2", "a3", "b1", "b2"}));
  EXPECT_EQ(ids({.queue = ""}), Texts{"a4"});
  EXPECT_EQ(ids({.owner = "nobody"}), Texts{});
  // Pages are full, or the last.
  EXPECT_EQ(ids({.queue = "gpu", .limit = 2}), (Texts{"a1", "a2"}));
  EXPECT_EQ(ids({.queue = "gpu", .after = "a2", .limit = 2}), (Texts{"a3", "b1"}));
  EXPECT_EQ(ids({.queue = "gpu", .after = "b1", .limit = 2}), Texts{"b2"});
  EXPECT_EQ(ids({.limit = 0}), Texts{});
}

STORE_TEST(SessionViews, TellWhatAnOperatorAsks) {
  store::NewWorker info = worker_info("a");
  info.abilities.capabilities = {"gpu:l4"};
  info.abilities.queues.names = {"gpu"};
  const Worker a = join(info);
  const SessionPolicy policy{.queue = "gpu",
                             .connection = "cuda:0",
                             .requirements = {"gpu:l4"},
                             .lease = 20s,
                             .ttl = 1h,
                             .max_concurrent = 2,
                             .on_record = true};
  a.acquire("gpu", policy);
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules(of_session("gpu")).schedules(of_session("gpu")).schedules(of_session("gpu")));
  EXPECT_EQ(a.fetch_activities().works.at(0)->session->connection, "cuda:0");
  pass(5s);
  const SessionView view = session("gpu");
  EXPECT_EQ(view.owner, "a");
  EXPECT_EQ(view.policy, policy);
  EXPECT_EQ(view.lease_left, 15s);
  EXPECT_EQ(view.ttl_left, 1h - 5s);
  EXPECT_EQ(view.in_flight, 2U);
  EXPECT_EQ(view.queued, 1U);
  EXPECT_EQ(must(store().sessions({.limit = 100})).at(0), view);
}

/// Acts at a later time, and tells what was added to the log of the session by that.
SessionLogEntry logged(const World& world, const char* id, const std::function<void()>& act) {
  const std::size_t before = log_of(world, id).size();
  world.pass(7s);
  act();
  const auto log = must(world.store().session_log(id, 0, 100));
  EXPECT_EQ(log.size(), before + 1);
  EXPECT_EQ(log.back().at, world.clock().calendar_now());
  return log.back();
}

STORE_TEST(SessionViews, TheLogTellsEachChangeAndWhen) {
  using Kind = SessionLogEntry::Kind;
  const Worker a = join("a");
  const Worker b = join("b");
  const Duration lease = a.info.abilities.session_lease;
  const auto is = [](const SessionLogEntry& entry, Kind kind, SessionReason reason, std::string_view owner,
                     std::string_view previous) {
    EXPECT_EQ(entry.kind, kind);
    EXPECT_EQ(entry.reason, reason);
    EXPECT_EQ(entry.owner, owner);
    EXPECT_EQ(entry.previous_owner, previous);
  };
  const auto last_of = [&](const char* id) { return must(store().session_log(id, 0, 100)).back(); };

  // One that may be re-claimed: lapsed, taken over, idle, moved, aborted.
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  pass(lease);
  is(logged(*this, "gpu", [&] { b.acquire("gpu"); }), Kind::reclaimed, SessionReason::lapsed, "b", "a");
  const SessionHold taken{"gpu", session("gpu").generation};
  const SessionLogEntry idle =
      logged(*this, "gpu", [&] { must(b.release(taken, SessionReason::idle, "state")); });
  is(idle, Kind::released, SessionReason::idle, "", "b");
  EXPECT_EQ(idle.quiet_for, 7s);
  EXPECT_EQ(idle.generation, taken.generation);
  a.commit(a.begin("order-1").schedules(of_session("gpu")));
  const Work work = a.fetch_activity();
  is(last_of("gpu"), Kind::moved, SessionReason::idle, "a", "b");
  const SessionLogEntry aborted = logged(*this, "gpu", [&] {
    must(a.answer_with(
        {.id = work.id(), .token = work.token, .result = Finished{"x"}, .abort_session = "on fire"}));
  });
  is(aborted, Kind::aborted, SessionReason::aborted, "", "a");

  // Its record goes, the story stays.
  pass(24h);
  const SessionLogEntry swept = logged(*this, "gpu", [&] { sweep(); });
  is(swept, Kind::swept, SessionReason::swept, "", "a");
  EXPECT_EQ(answer(store().session("gpu")), "not_found");
  EXPECT_EQ(log_of(*this, "gpu"), (Texts{"claimed", "reclaimed", "released", "moved", "aborted", "swept"}));

  // The other ends.
  a.acquire("lost", fails());
  a.acquire("expired", {.ttl = 10s, .on_record = true});
  pass(10s);
  sweep();
  is(last_of("expired"), Kind::expired, SessionReason::ttl, "", "a");
  pass(lease);
  sweep();
  pass(lease / 2);
  sweep();
  is(last_of("lost"), Kind::lost, SessionReason::owner_lost, "", "a");
  a.commit(a.fetch_turn().ends());
  NewWorker small = worker_info("small");
  small.abilities.session_limit = 1;
  const Worker c = join(small);
  const SessionHold full{"full", c.acquire("full").session.generation};
  c.commit(c.begin("order-2").schedules(of_session("waits")));
  pass(kWaitsForRoom);
  must(c.release(full, SessionReason::displaced));
  is(last_of("full"), Kind::displaced, SessionReason::displaced, "", "small");
}

STORE_TEST(SessionViews, TheLogSaysWhyItIsNoLongerWithTheOneBefore) {
  const Worker a = join("a");
  const Worker b = join("b");
  const Duration lease = a.info.abilities.session_lease;
  a.acquire("gpu");
  must(a.release({"gpu", session("gpu").generation}, SessionReason::drained));
  b.acquire("gpu");
  pass(lease);
  a.acquire("gpu");
  pass(lease);
  a.acquire("gpu");
  must(a.release({"gpu", session("gpu").generation}, SessionReason::idle));
  a.acquire("gpu");
  join("a");
  b.acquire("gpu");
  const Worker again = join("b");
  again.acquire("gpu");
  std::vector<SessionReason> reasons;
  for (const SessionLogEntry& entry : must(store().session_log("gpu", 0, 100))) {
    if (!entry.owner.empty()) reasons.push_back(entry.reason);
  }
  using enum SessionReason;
  EXPECT_EQ(reasons, (std::vector{acquired, drained, lapsed, lapsed, acquired, owner_restarted, taken_back}));
}

STORE_TEST(SessionViews, WhoeverClaimsItByAFetchIsToldWhy) {
  const Worker a = join("a");
  const Worker b = join("b");
  a.acquire("gpu");
  must(a.release({"gpu", session("gpu").generation}, SessionReason::handed_over));
  b.commit(b.begin("order-1").schedules(of_session("gpu")));
  const Work work = b.fetch_activity();
  EXPECT_TRUE(work->session->claimed);
  EXPECT_EQ(work->session->reason, SessionReason::handed_over);
}

}  // namespace
}  // namespace holdfast::testing::conformance
