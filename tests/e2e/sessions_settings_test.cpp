// Workers that are set up in different ways share sessions and plain work: each goes by its own settings.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::e2e::sessions_settings_test {
namespace {

class SessionSettings : public SessionsTest {
 protected:
  /// How many sessions each node holds.
  std::map<std::string, std::uint32_t> holds() {
    std::map<std::string, std::uint32_t> counts;
    for (const auto& view : store()->workers().value()) counts[view.info.node] = view.sessions_owned;
    return counts;
  }
};
HOLDFAST_ON_EACH_STORE(SessionSettings);

TEST_P(SessionSettings, PlainActivitiesGoToWhoeverIsFreeWhileSessionsStay) {
  const auto turns = turns_only();
  RuntimeOptions small = steady(log);
  small.activity_slots = 2;
  const auto a = worker("a", small);
  const auto first = client().start("waits_in", {.id = "w1"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto second = client().start("waits_in", {.id = "w2"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 2; }));  // both slots of a are taken
  const auto b = worker("b", small);
  for (const Said& said : client().start("converse", {.id = "plain"}, "", 4).wait<std::vector<Said>>(kSoon))
    EXPECT_EQ(said.node, "b");
  EXPECT_EQ(waiting, 2);
  go_on = true;
  first.wait(kSoon);
  second.wait(kSoon);
  for (const Said& said : client().start("converse", {.id = "c"}, "s1", 4).wait<std::vector<Said>>(kSoon))
    EXPECT_EQ(said.node, "a");
}

TEST_P(SessionSettings, AWorkerThatTakesNoSessionsServesPlainWork) {
  const auto turns = turns_only();
  RuntimeOptions none = steady(log);
  none.session_limit = 0;
  const auto a = worker("a", none);
  for (const Said& said : client().start("converse", {.id = "plain"}, "", 4).wait<std::vector<Said>>(kSoon))
    EXPECT_EQ(said.node, "a");
  const auto b = worker("b", steady(log));
  std::vector<Run> runs;
  for (int i = 0; i < 4; ++i)
    runs.push_back(client().start("converse", {.id = "c" + std::to_string(i)}, "s" + std::to_string(i), 3));
  for (const Run& run : runs) {
    for (const Said& said : run.wait<std::vector<Said>>(kSoon)) EXPECT_EQ(said.node, "b");
  }
}

TEST_P(SessionSettings, AnIdleSessionGoesToWhoeverIsThereNextAndByItsSettings) {
  const auto turns = turns_only();
  RuntimeOptions brief = quick(log);
  brief.session_idle_timeout = 150ms;
  brief.activity_slots = 1;
  const auto a = worker("a", brief);
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(first[0].node, "a");
  ASSERT_TRUE(eventually([&] { return story_of("s1").size() >= 2; })) << log->all();
  EXPECT_EQ(client().session_log("s1")[1].reason, SessionReason::idle);
  const auto busy = client().start("waits_in", {.id = "w"}, "");  // a has no slot left
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  RuntimeOptions patient = steady(log);
  patient.session_idle_timeout = 1h;
  const auto b = worker("b", patient);
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(second[0].node, "b");
  EXPECT_TRUE(second[0].fresh);
  pass(400ms);  // several idle timeouts of a
  EXPECT_EQ(client().describe_session("s1").owner, "b");
  go_on = true;
  busy.wait(kSoon);
}

// Its slot is taken for long, and before that its activities were so short that it would have the next one
// at hand: that must not bind a session to it.
TEST_P(SessionSettings, AWorkerWithoutASlotDoesNotKeepASessionFromOthers) {
  const auto turns = turns_only();
  RuntimeOptions one = steady(log);
  one.activity_slots = 1;
  const auto a = worker("a", one);
  client().start("converse", {.id = "c1"}, "", 3).wait<std::vector<Said>>(kSoon);
  const auto busy = client().start("waits_in", {.id = "w"}, "");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto run = client().start("converse", {.id = "c2"}, "s1", 1);
  ASSERT_TRUE(eventually([&] { return !run.describe().waits.empty(); }));
  const auto b = worker("b", steady(log));
  EXPECT_EQ(run.wait<std::vector<Said>>(kSoon)[0].node, "b");
  EXPECT_EQ(waiting, 1);
  go_on = true;
  busy.wait(kSoon);
}

// Idle is counted from the end of the last activity: pauses shorter than that never add up.
TEST_P(SessionSettings, ASessionIsIdleSinceTheEndOfItsLastActivity) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 400ms;
  const auto a = worker("a", options);
  const auto run = a->client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  pass(600ms);
  go_on = true;
  run.wait(kSoon);
  ASSERT_TRUE(eventually([&] { return story_of("s1").size() >= 2; }));
  const auto released = client().session_log("s1")[1];
  EXPECT_EQ(released.reason, SessionReason::idle);
  EXPECT_LT(released.quiet_for, released.at - client().session_log("s1")[0].at);
}

TEST_P(SessionSettings, TheOverflowOfAFullWorkerGoesToTheOther) {
  const auto turns = turns_only();
  RuntimeOptions small = steady(log);
  small.session_limit = 2;
  small.activity_slots = 8;
  RuntimeOptions large = small;
  large.session_limit = 100;
  const auto a = worker("a", small);
  std::vector<Run> runs;
  for (int i = 0; i < 5; ++i)
    runs.push_back(client().start("waits_in", {.id = "w" + std::to_string(i)}, "s" + std::to_string(i)));
  ASSERT_TRUE(eventually([&] { return waiting == 2; }));
  const auto b = worker("b", large);
  ASSERT_TRUE(eventually([&] { return waiting == 5; })) << log->all();
  EXPECT_EQ(holds()["a"], 2U);
  EXPECT_EQ(holds()["b"], 3U);
  go_on = true;
  for (const Run& run : runs) run.wait(kSoon);
  for (const SessionLogEntry& entry : client().session_log(""))
    EXPECT_NE(entry.kind, SessionLogEntry::Kind::displaced);
}

TEST_P(SessionSettings, ABusySessionOnASmallWorkerHoldsNobodyUp) {
  const auto turns = turns_only();
  RuntimeOptions small = steady(log);
  small.activity_slots = 1;
  const auto a = worker("a", small);
  const auto busy = client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto b = worker("b", steady(log));
  for (const char* session : {"", "s2"}) {
    const auto run = client().start("converse", {.id = "c" + std::string(session)}, session, 8);
    for (const Said& said : run.wait<std::vector<Said>>(kSoon)) EXPECT_EQ(said.node, "b");
  }
  EXPECT_EQ(waiting, 1);
  go_on = true;
  busy.wait(kSoon);
}

// ---- displacement --------------------------------------------------------------------------------

TEST_P(SessionSettings, TheLongestQuietSessionMakesRoom) {
  const auto turns = turns_only();
  RuntimeOptions options = steady(log);
  options.session_limit = 2;
  const auto a = worker("a", options);
  const auto use = [&](const std::string& instance, const std::string& session) {
    client().start("converse", {.id = instance}, session, 1).wait<std::vector<Said>>(kSoon);
  };
  use("c1", "s1");
  use("c2", "s2");
  use("c3", "s1");
  use("c4", "s3");  // there is room for two
  using Kind = SessionLogEntry::Kind;
  EXPECT_EQ(story_of("s1"), std::vector{Kind::claimed});
  const auto story = client().session_log("s2");
  ASSERT_GE(story.size(), 2U);
  EXPECT_EQ(story[1].kind, Kind::displaced);
}

// ---- queues --------------------------------------------------------------------------------------

Task<std::vector<Said>> on_queues(Context& ctx) {
  Session s = ctx.worker_session("s1", {.queue = "video"});
  std::vector<Said> said;
  for (int i = 0; i < 3; ++i) said.push_back(co_await s.activity<Said>("say", i));
  co_return said;
}

TEST_P(SessionSettings, TheQueueOfASessionIsThatOfItsActivities) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("on_queues", on_queues); });
  const auto a = worker("a", steady(log));
  const auto run = client().start("on_queues", {.id = "q"});
  ASSERT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].queue == "video";
  }));
  RuntimeOptions video = steady(log);
  video.queues = {"video"};
  const auto b = worker("b", video);
  for (const Said& said : run.wait<std::vector<Said>>(kSoon)) EXPECT_EQ(said.node, "b");
}

}  // namespace
}  // namespace holdfast::e2e::sessions_settings_test
