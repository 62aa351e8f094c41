// Sessions as the place where activities run: all of one session on one worker, until it leaves.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

namespace holdfast::e2e::sessions_affinity_test {
namespace {

class SessionAffinity : public SessionsTest {};
HOLDFAST_ON_EACH_STORE(SessionAffinity);

TEST_P(SessionAffinity, ActivitiesOfASessionRunOnOneWorkerInOneGeneration) {
  const auto a = worker("a");
  const auto b = worker("b");
  const auto run = a->client().start("converse", {.id = "c"}, "s1", 10);
  const auto where = run.wait<std::vector<Said>>(kSoon);
  ASSERT_EQ(where.size(), 10U);
  for (const Said& said : where) {
    EXPECT_EQ(said.node, where[0].node);
    EXPECT_EQ(said.generation, where[0].generation);
    EXPECT_EQ(said.session, "s1");
  }
}

TEST_P(SessionAffinity, OnlyTheFirstActivityIsFresh) {
  const auto a = worker("a");
  const auto said = a->client().start("converse", {.id = "c"}, "s1", 3).wait<std::vector<Said>>(kSoon);
  EXPECT_TRUE(said[0].fresh);
  EXPECT_FALSE(said[1].fresh);
  EXPECT_FALSE(said[2].fresh);
}

TEST_P(SessionAffinity, PlainActivitiesHaveNone) {
  const auto a = worker("a");
  const auto said = a->client().start("converse", {.id = "c"}, "", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[0].session, "");
  EXPECT_EQ(a->client().list_sessions().size(), 0U);
}

TEST_P(SessionAffinity, InstancesAndChildrenMayShareASession) {
  const auto a = worker("a");
  const auto b = worker("b");
  std::vector<Run> runs;
  for (int i = 0; i < 4; ++i)
    runs.push_back(a->client().start("parent", {.id = "p" + std::to_string(i)}, "shared", 3));
  std::set<std::string> nodes;
  for (const Run& run : runs) {
    for (const Said& said : run.wait<std::vector<Said>>(kSoon)) nodes.insert(said.node);
  }
  EXPECT_EQ(nodes.size(), 1U);
}

Task<std::vector<Said>> in_two(Context& ctx, int lines) {
  std::vector<Said> said;
  for (int i = 0; i < lines; ++i) {
    auto first = ctx.activity<Said>("say", {.session = "s1"}, i).start();
    auto second = ctx.activity<Said>("say", {.session = "s2"}, i).start();
    said.push_back(co_await first);
    said.push_back(co_await second);
  }
  co_return said;
}

TEST_P(SessionAffinity, AnOrchestrationMayUseTwoSessionsAtOnce) {
  const auto a = worker("a");
  const auto b = worker("b");
  const auto c = runtime([](Runtime& rt) { rt.orchestration("in_two", in_two); });
  const auto said = client().start("in_two", {.id = "t"}, 5).wait<std::vector<Said>>(kSoon);
  ASSERT_EQ(said.size(), 10U);
  EXPECT_NE(said[0].generation, said[1].generation);
  for (std::size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(said[i].session, i % 2 == 0 ? "s1" : "s2");
    EXPECT_EQ(said[i].node, said[i % 2].node);
    EXPECT_EQ(said[i].generation, said[i % 2].generation);
    EXPECT_EQ(said[i].fresh, i < 2);
  }
}

// Both find the same sessions, which nobody has, and the work that waits in them.
TEST_P(SessionAffinity, TwoWorkersThatStartAtOnceDoNotShareASession) {
  const auto turns = turns_only();
  std::vector<Run> runs;
  for (int i = 0; i < 40; ++i)
    runs.push_back(
        client().start("converse", {.id = "c" + std::to_string(i)}, "s" + std::to_string(i % 10), 3));
  ASSERT_TRUE(eventually([&] { return client().list_sessions().size() == 10; }));
  std::unique_ptr<Runtime> a;
  std::unique_ptr<Runtime> b;
  const auto file = store();  // so that neither has to make it
  RuntimeOptions options = quick(log);
  options.activity_slots = 40;  // what waits for a slot could go back, and its session with it
  {
    const std::jthread one([&] { a = worker("a", options); });
    const std::jthread other([&] { b = worker("b", options); });
  }
  std::map<std::string, std::set<std::pair<std::string, std::uint64_t>>> owners;
  for (const Run& run : runs) {
    for (const Said& said : run.wait<std::vector<Said>>(kSoon))
      owners[said.session].emplace(said.node, said.generation);
  }
  EXPECT_EQ(owners.size(), 10U);
  for (const auto& [session, all] : owners) {
    EXPECT_EQ(all.size(), 1U) << session;
    EXPECT_EQ(story_of(session), std::vector{SessionLogEntry::Kind::claimed}) << session;
  }
}

TEST_P(SessionAffinity, SessionsSurviveContinueAsNew) {
  const auto a = worker("a");
  const auto b = worker("b");
  const auto said =
      a->client().start("again", {.id = "c"}, "s1", 4, std::vector<Said>{}).wait<std::vector<Said>>(kSoon);
  ASSERT_EQ(said.size(), 4U);
  for (const Said& one : said) EXPECT_EQ(one.generation, said[0].generation);
}

TEST_P(SessionAffinity, AnIdleSessionIsReleasedAndClaimedAgainAsFresh) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 150ms;
  const auto a = worker("a", options);
  const auto first = a->client().start("converse", {.id = "c1"}, "s1", 2).wait<std::vector<Said>>(kSoon);
  ASSERT_TRUE(eventually([&] { return story_of("s1").size() >= 2; })) << log->all();
  const auto story = client().session_log("s1");
  EXPECT_EQ(story[1].kind, SessionLogEntry::Kind::released);
  EXPECT_EQ(story[1].reason, SessionReason::idle);
  const auto second = a->client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_TRUE(second[0].fresh);
}

TEST_P(SessionAffinity, ALongActivityOutlivesTheIdleTimeout) {
  RuntimeOptions options = quick(log);
  options.activity_lease = 3s;  // one that is lost would end its stay
  options.session_idle_timeout = 1200ms;
  const auto a = worker("a", options);
  const auto run = a->client().start("waits_in", {.id = "c"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  pass(3s);  // several idle timeouts
  EXPECT_EQ(client().describe_session("s1").state, store::SessionStatus::active);
  go_on = true;
  run.wait(kSoon);
  EXPECT_EQ(client().session_log("s1").front().kind, SessionLogEntry::Kind::claimed);
}

TEST_P(SessionAffinity, HeldSessionsAreRenewedPastTheirLease) {
  RuntimeOptions options = quick(log);
  options.session_lease = 1s;
  const auto a = worker("a", options);
  const auto b = worker("b", options);
  const auto first = a->client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  pass(2500ms);  // several leases
  const auto second = a->client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(first[0].generation, second[0].generation);
  EXPECT_EQ(first[0].node, second[0].node);
}

TEST_P(SessionAffinity, AFullWorkerMakesRoomForASessionThatWaits) {
  RuntimeOptions options = quick(log);
  options.session_limit = 2;
  options.session_idle_timeout = 1h;
  const auto a = worker("a", options);
  std::vector<Run> runs;
  for (int i = 0; i < 5; ++i)
    runs.push_back(
        a->client().start("converse", {.id = "c" + std::to_string(i)}, "s" + std::to_string(i), 2));
  for (const Run& run : runs) EXPECT_EQ(run.wait<std::vector<Said>>(kSoon).size(), 2U);
  int displaced = 0;
  for (const SessionLogEntry& entry : client().session_log(""))
    displaced += entry.kind == SessionLogEntry::Kind::displaced ? 1 : 0;
  EXPECT_GE(displaced, 3);
}

TEST_P(SessionAffinity, AWorkerWithALimitOfNoneTakesNone) {
  RuntimeOptions none = quick(log);
  none.session_limit = 0;
  const auto a = worker("a", none);
  const auto b = worker("b");
  const auto said = a->client().start("converse", {.id = "c"}, "s1", 2).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[0].node, "b");
}

TEST_P(SessionAffinity, ASessionMovesToTheWorkerThatHasTheHandler) {
  RuntimeOptions options = quick(log);
  const auto old = runtime(named("old", options), [&](Runtime& rt) { add_conversations(rt, "old"); });
  const auto run = old->client().start("upgraded", {.id = "c"}, "s1");
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  // Nobody could run it: the session stays, and what waits is seen, untried.
  ASSERT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].name == "only_new" && waits[0].state.find("no live worker") == 0;
  })) << wait_of(run.describe(), RunWait::Kind::activity).state;
  EXPECT_EQ(wait_of(run.describe(), RunWait::Kind::activity).delivery, 0);
  EXPECT_EQ(client().describe_session("s1").owner, "old");
  const auto renewed = runtime(named("new", options), [&](Runtime& rt) {
    add_conversations(rt, "new");
    rt.activity("only_new", [](ActivityContext&) { return std::string("new"); });
  });
  EXPECT_EQ(run.wait<std::string>(kSoon), "new");
  std::vector<SessionReason> reasons;
  for (const SessionLogEntry& entry : client().session_log("s1")) reasons.push_back(entry.reason);
  EXPECT_NE(std::ranges::find(reasons, SessionReason::handed_over), reasons.end());
}

}  // namespace
}  // namespace holdfast::e2e::sessions_affinity_test
