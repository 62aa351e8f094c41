// The rules of sessions, one by one.
#include "testkit/conformance/session_story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_rules);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(SessionRules, GenerationsOfTheWholeStoreOnlyGrow) {
  const Worker a = join("a");
  const Worker b = join("b");
  std::vector<Generation> generations{a.acquire("gpu").session.generation,
                                      a.acquire("cpu").session.generation};
  pass(a.info.abilities.session_lease);
  generations.push_back(b.acquire("gpu").session.generation);
  pass(b.info.abilities.session_lease);
  generations.push_back(b.acquire("gpu").session.generation);
  EXPECT_EQ(generations, (std::vector{Generation{1}, Generation{2}, Generation{3}, Generation{4}}));
}

STORE_TEST(SessionRules, OneFetchClaimsNoMoreThanItsShareAmongTheWorkers) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  for (const char* id : {"one", "two", "three"}) {
    turn.schedules({.name = "charge", .session = SessionUse{.id = id}});
  }
  a.commit(turn.schedules("ship"));
  const Works fetched = a.fetch_activities();
  EXPECT_EQ(names(fetched), (Texts{"charge", "charge", "ship"}));
  EXPECT_EQ(fetched.next_due, 0s);
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionRules, AWorkerThatDrainsHasNoShare) {
  const Worker a = join("a");
  const Worker b = join("b");
  must(store().refresh(b.key, true));
  Turn turn = a.begin("order-1");
  for (const char* id : {"one", "two", "three"}) {
    turn.schedules({.name = "charge", .session = SessionUse{.id = id}});
  }
  a.commit(turn);
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"charge", "charge", "charge"}));
}

STORE_TEST(SessionRules, AWorkerThatDrainsGetsNothingButWhatItsSessionsBring) {
  const Worker a = join("a");
  a.acquire("mine");
  Turn turn = a.begin("order-1");
  turn.schedules({.name = "charge", .session = SessionUse{.id = "mine"}});
  turn.schedules({.name = "charge", .session = SessionUse{.id = "unclaimed"}});
  a.commit(turn.schedules("ship"));
  // A fetch that was asked for before the drain began may come after it.
  must(store().refresh(a.key, true));
  const Works fetched = a.fetch_activities();
  ASSERT_EQ(names(fetched), Texts{"charge"});
  EXPECT_EQ(fetched.works[0]->session->hold.id, "mine");
  EXPECT_FALSE(fetched.left_behind);
  EXPECT_EQ(session("unclaimed").state, SessionStatus::unclaimed);
  must(store().refresh(a.key, false));
  EXPECT_EQ(names(a.fetch_activities()), (Texts{"charge", "ship"}));
}

STORE_TEST(SessionRules, AnOutageOfTheStoreLosesNone) {
  const Worker a = join("a");
  a.acquire("gpu", {.when_lost = SessionPolicy::WhenLost::fail, .on_record = true});
  const Duration lease = a.info.abilities.session_lease;
  faults().clear();
  sweep();
  const auto points = faults().passed();
  if (points.empty()) GTEST_SKIP() << "the store asks its fault plan nothing";

  pass(lease);
  EXPECT_EQ(sweep().sessions_lost, 0U);
  pass(lease / 2);
  faults().inject(points.begin()->first, 1, Fault::fail_before);
  EXPECT_EQ(answer(store().sweep({})), "unavailable");
  EXPECT_EQ(sweep().sessions_lost, 0U);
  pass(lease / 2);
  EXPECT_EQ(sweep().sessions_lost, 1U);
}

STORE_TEST(SessionRules, AnOwnerWithoutTheHandlerIsAskedToHandOver) {
  store::NewWorker info = worker_info("a");
  info.abilities.handlers = {"ship"};
  const Worker a = join(info);
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  a.commit(a.begin("order-1").schedules({.name = "charge", .session = SessionUse{.id = "gpu"}}));
  EXPECT_TRUE(a.fetch_activities().to_hand_over.empty());
  const Worker b = join("b");
  const Works fetched = a.fetch_activities();
  EXPECT_EQ(names(fetched), Texts{});
  EXPECT_EQ(fetched.to_hand_over, std::vector{hold});
  must(a.release(hold, SessionReason::handed_over));
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionRules, ANewIncarnationTakesItsSessionsBackAtOnce) {
  const Worker before = join("a");
  const Generation generation = before.acquire("gpu").session.generation;
  before.commit(before.begin("order-1").schedules({.name = "charge", .session = SessionUse{.id = "gpu"}}));
  const Worker after = join("a");
  EXPECT_EQ(session("gpu").state, SessionStatus::unclaimed);
  const Work work = after.fetch_activity();
  EXPECT_TRUE(work->session->claimed);
  EXPECT_FALSE(work->session->same_owner);
  EXPECT_GT(work->session->hold.generation, generation);
}

store::NewWorker that_comes_back(Duration take_back_within) {
  store::NewWorker info = worker_info("a");
  info.take_back_within = take_back_within;
  return info;
}

// Others wait for it, and may be faster.
STORE_TEST(SessionRules, WhatANodeHeldIsKeptForItWhenItIsStartedAgain) {
  const Worker before = join(that_comes_back(5s));
  const Worker b = join("b");
  before.acquire("gpu");
  before.commit(before.begin("order-1").schedules(of_session("gpu")));
  const Worker after = join(that_comes_back(5s));
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  EXPECT_EQ(b.acquire("gpu").kind, Acquired::Kind::owned_by_another);
  pass(5s - 1us);
  EXPECT_EQ(names(b.fetch_activities()), Texts{});
  const Work work = after.fetch_activity();
  EXPECT_EQ(work->session->reason, SessionReason::taken_back);
  EXPECT_EQ(session("gpu").owner, "a");
}

STORE_TEST(SessionRules, WhatANodeDoesNotTakeBackInTimeIsForThoseWhoWait) {
  const Worker before = join(that_comes_back(5s));
  const Worker b = join("b");
  before.acquire("gpu");
  before.acquire("quiet");
  before.commit(before.begin("order-1").schedules(of_session("gpu")));
  const Worker after = join(that_comes_back(5s));
  EXPECT_EQ(b.fetch_activities().next_due, 5s);
  pass(5s);
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
  EXPECT_EQ(b.acquire("quiet").kind, Acquired::Kind::reacquired);
}

// Nobody has it, nothing is saved in it, and nothing waits for it.
STORE_TEST(SessionRules, WhatIsKeptForANodeIsNotSweptMeanwhile) {
  const Worker before = join(that_comes_back(5s));
  before.acquire("gpu");
  const Worker after = join(that_comes_back(5s));
  pass(1s);
  EXPECT_LE(sweep().next_due, 4s);
  EXPECT_TRUE(store().session("gpu"));
  pass(4s);
  sweep();
  EXPECT_FALSE(store().session("gpu"));
}

STORE_TEST(SessionRules, NothingIsKeptForANodeLongerThanItsLeaseWouldHaveLasted) {
  const Worker before = join(that_comes_back(1h));
  const Worker b = join("b");
  before.acquire("gpu", {.lease = 4s});
  before.acquire("over", {.lease = 1s});
  before.commit(before.begin("order-1").schedules(of_session("gpu")));
  pass(1s);
  join(that_comes_back(1h));
  EXPECT_EQ(b.fetch_activities().next_due, 3s);
  EXPECT_EQ(b.acquire("over").kind, Acquired::Kind::reacquired);
  pass(3s);
  EXPECT_EQ(names(b.fetch_activities()), Texts{"charge"});
}

STORE_TEST(SessionRules, WhatBacksOffIsDueWhenItIsNoLongerKeptForANode) {
  const Worker before = join(that_comes_back(5s));
  const Worker b = join("b");
  before.commit(before.begin("order-1").schedules(of_session("gpu")));
  must(before.retry(before.fetch_activity(), 2s));
  join(that_comes_back(5s));
  Duration waited{};
  Works fetched = b.fetch_activities();
  while (fetched.works.empty() && waited < 5s) {
    ASSERT_GT(fetched.next_due, 0s);
    waited += fetched.next_due;
    pass(fetched.next_due);
    fetched = b.fetch_activities();
  }
  EXPECT_EQ(waited, 5s);
  EXPECT_EQ(names(fetched), Texts{"charge"});
}

STORE_TEST(SessionRules, TheLastOwnerThatClaimsAgainIsToldSo) {
  const Worker a = join("a");
  a.acquire("gpu");
  pass(a.info.abilities.session_lease);
  a.commit(a.begin("order-1").schedules({.name = "charge", .session = SessionUse{.id = "gpu"}}));
  const Work work = a.fetch_activity();
  EXPECT_TRUE(work->session->claimed);
  EXPECT_TRUE(work->session->same_owner);
}

STORE_TEST(SessionRules, AFetchOfWhatIsOwnedTakesAndClaimsNothingElse) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.commit(a.begin("order-1")
               .schedules("ship")
               .schedules({.name = "charge", .session = SessionUse{.id = "cpu"}})
               .schedules({.name = "charge", .session = SessionUse{.id = "gpu"}}));
  const auto fetched = must(store().fetch_activities({.worker = a.key,
                                                      .abilities = &a.info.abilities,
                                                      .token = token<LockToken>(),
                                                      .lease = 30s,
                                                      .max = 10,
                                                      .owned_only = true}));
  ASSERT_EQ(fetched.activities.size(), 1U);
  EXPECT_EQ(fetched.activities[0].session->hold.id, "gpu");
  EXPECT_EQ(session("cpu").state, SessionStatus::unclaimed);
}

STORE_TEST(SessionRules, RequirementsThatNobodyMetInTimeAreNamed) {
  const Worker a = join("a");
  const auto schedule = [&](const char* instance, std::vector<std::string> requirements) {
    a.commit(a.begin(instance).schedules(
        {.name = "charge",
         .start_within = 10s,
         .session = SessionUse{.id = instance, .policy = {.requirements = std::move(requirements)}}}));
  };
  schedule("order-1", {"gpu:l4"});
  schedule("order-2", {});
  pass(10s);
  EXPECT_EQ(sweep().activities_timed_out, 2U);
  const auto told = a.fetch_turns();
  EXPECT_EQ(told.turns.at(0).messages(), Texts{"taken 1/2: requirements_not_met"});
  EXPECT_EQ(std::get<ActivityTaken>(told.turns.at(0)->messages.at(0).body).session, "order-1");
  EXPECT_EQ(told.turns.at(1).messages(), Texts{"taken 1/2: schedule_to_start"});
}

STORE_TEST(SessionRules, ThatNobodyHadRoomInTimeIsNamed) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 1;
  const Worker full = join(info);
  const auto schedule = [&](const char* instance, const char* session) {
    full.commit(full.begin(instance).schedules(
        {.name = "charge", .start_within = 10s, .session = SessionUse{.id = session}}));
  };
  full.acquire("gpu");
  schedule("order-1", "free");
  schedule("order-2", "gpu");
  pass(10s);
  EXPECT_EQ(sweep().activities_timed_out, 2U);
  const auto told = full.fetch_turns();
  EXPECT_EQ(told.turns.at(0).messages(), Texts{"taken 1/2: no_session_capacity"});
  EXPECT_EQ(std::get<ActivityTaken>(told.turns.at(0)->messages.at(0).body).session, "free");
  EXPECT_EQ(told.turns.at(1).messages(), Texts{"taken 1/2: schedule_to_start"});
}

STORE_TEST(SessionRules, ItIsNotForWantOfRoomWhileAnyWorkerHasSome) {
  store::NewWorker info = worker_info("a");
  info.abilities.session_limit = 0;
  const Worker full = join(info);
  join("b");
  full.commit(full.begin("order-1").schedules(
      {.name = "charge", .start_within = 10s, .session = SessionUse{.id = "free"}}));
  pass(10s);
  EXPECT_EQ(sweep().activities_timed_out, 1U);
  EXPECT_EQ(full.fetch_turns().turns.at(0).messages(), Texts{"taken 1/2: schedule_to_start"});
}

STORE_TEST(SessionRules, ImplicitOnesGoOnceNobodyNeedsThem) {
  const Worker a = join("a");
  a.acquire("gpu");
  a.acquire("kept", {.on_record = true});
  EXPECT_EQ(sweep().sessions_removed, 0U);
  pass(a.info.abilities.session_lease);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  must(store().leave(a.key));
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(answer(store().session("gpu")), "not_found");
  EXPECT_EQ(session("kept").state, SessionStatus::lapsed);
}

STORE_TEST(SessionRules, RecordsOfEndedOnesAreKeptForAWhile) {
  const Worker a = join("a");
  a.acquire("gpu", {.on_record = true});
  must(store().close_session("gpu", SessionReason::operated));
  pass(24h - 1s);
  EXPECT_EQ(sweep().sessions_removed, 0U);
  pass(1s);
  EXPECT_EQ(sweep().sessions_removed, 1U);
  EXPECT_EQ(answer(store().session("gpu")), "not_found");
}

}  // namespace
}  // namespace holdfast::testing::conformance
