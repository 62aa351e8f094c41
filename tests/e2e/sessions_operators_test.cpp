// What operators do with sessions while workers hold them: release, move, discard what was saved.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace holdfast::e2e::sessions_operators_test {
namespace {

Task<int> counts(Context& ctx, std::string session) {
  co_return co_await ctx.activity<int>("count", {.session = session});
}

/// One activity after the other, until it is told to end.
Task<void> keeps_busy(Context& ctx, std::string session) {
  auto end = ctx.event<int>("end").start();
  while (!end.ready()) co_await ctx.activity<void>("nap", {.session = session});
}

class SessionOperators : public SessionsTest {
 protected:
  /// Counts in memory how often it was asked, saves that when the session leaves, and says where.
  std::unique_ptr<Runtime> counting(const std::string& node) {
    return runtime(named(node, quick(log)), [&](Runtime& rt) {
      add_conversations(rt, node);
      const auto count = rt.session_state<int>("count", saved_by_codec<int>());
      rt.activity("count", [count](ActivityContext& ctx) { return ++count.in(ctx); });
      rt.activity("nap", [this](ActivityContext&) {
        ++told;
        std::this_thread::sleep_for(20ms);
      });
      rt.orchestration("counts", counts);
      rt.orchestration("keeps_busy", keeps_busy);
    });
  }
  int count(const std::string& instance, const std::string& session) {
    return client().start("counts", {.id = instance}, session).wait<int>(kSoon);
  }
  std::string owner_of(const std::string& session) { return client().describe_session(session).owner; }
  bool is_free(const std::string& session) {
    return eventually(
        [&] { return client().describe_session(session).state == store::SessionStatus::unclaimed; });
  }
};
HOLDFAST_ON_EACH_STORE(SessionOperators);

TEST_P(SessionOperators, AReleasedSessionIsSavedAndGoesOnWhereItIsNeededNext) {
  const auto a = counting("a");
  EXPECT_EQ(count("c1", "s"), 1);
  EXPECT_EQ(client().release_session("s"), SessionReleased::asked);
  EXPECT_TRUE(is_free("s")) << log->all();
  EXPECT_EQ(client().session_log("s").back().reason, SessionReason::operated);
  EXPECT_EQ(client().release_session("s"), SessionReleased::free);
  EXPECT_EQ(count("c2", "s"), 2) << "what was in memory was saved";
}

TEST_P(SessionOperators, AReleaseWaitsForWhatRuns) {
  const auto a = counting("a");
  const auto run = client().start("waits_in", {.id = "w"}, "s");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  EXPECT_EQ(client().release_session("s"), SessionReleased::asked);
  EXPECT_TRUE(
      log->wait_for("an operator asked for a session; it is released when none of its activities runs"))
      << log->all();
  EXPECT_EQ(owner_of("s"), "a");
  EXPECT_EQ(client().describe_session("s").wanted, "");
  go_on = true;
  run.wait(kSoon);
  EXPECT_TRUE(eventually([&] { return story_of("s").size() >= 2; })) << log->all();
  EXPECT_EQ(client().session_log("s")[1].reason, SessionReason::operated);
}

// Several take turns in it, so that there is no moment in which nothing of it runs.
TEST_P(SessionOperators, ASessionThatIsAlwaysBusyIsReleasedToo) {
  const auto a = counting("a");
  std::vector<Run> runs;
  for (int i = 0; i < 3; ++i)
    runs.push_back(client().start("keeps_busy", {.id = "b" + std::to_string(i)}, "s"));
  ASSERT_TRUE(eventually([&] { return told >= 6; }));
  EXPECT_EQ(client().release_session("s"), SessionReleased::asked);
  EXPECT_TRUE(eventually([&] { return story_of("s").size() >= 2; })) << log->all();
  EXPECT_EQ(client().session_log("s")[1].reason, SessionReason::operated);
  for (const Run& run : runs) run.raise("end", 1);
  for (const Run& run : runs) run.wait(kSoon);
}

TEST_P(SessionOperators, WorkOfASessionThatIsKeptForANodeSaysSo) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("counts", counts); });
  auto a = counting("a");
  const auto b = counting("b");
  EXPECT_TRUE(b->acquire_session("s").held());
  EXPECT_EQ(client().move_session("s", "a", {.force = true, .keep_for = 1h}), SessionReleased::released);
  a->stop();
  const auto run = client().start("counts", {.id = "c1"}, "s");
  EXPECT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].state.starts_with("session kept for node 'a', ");
  }));
}

TEST_P(SessionOperators, AMoveToAWorkerThatCannotHaveTheSessionIsRefused) {
  const auto a = counting("a");
  const auto none = turns_only();
  EXPECT_TRUE(a->acquire_session("s").held());
  try {
    client().move_session("s", "turns");
    ADD_FAILURE() << "it takes no sessions";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.failure().message,
              "session 's' can't be released: the worker of node 'turns' takes no sessions: its "
              "session_limit is 0");
  }
}

TEST_P(SessionOperators, AMovedSessionGoesOnAtTheWorkerThatWasNamedWithItsState) {
  const auto a = counting("a");
  EXPECT_EQ(count("c1", "s"), 1);
  const auto b = counting("b");
  const auto c = counting("c");
  EXPECT_EQ(client().move_session("s", "b"), SessionReleased::asked);
  EXPECT_TRUE(is_free("s")) << log->all();
  EXPECT_EQ(count("c2", "s"), 2);
  EXPECT_EQ(owner_of("s"), "b");
  EXPECT_EQ(client().move_session("s", "b"), SessionReleased::there);
  EXPECT_EQ(client().move_session("s", "a"), SessionReleased::asked);
  EXPECT_TRUE(is_free("s")) << log->all();
  EXPECT_EQ(count("c3", "s"), 3);
  EXPECT_EQ(owner_of("s"), "a");
  using Kind = SessionLogEntry::Kind;
  EXPECT_EQ(story_of("s"),
            (std::vector{Kind::claimed, Kind::released, Kind::moved, Kind::released, Kind::moved}));
}

TEST_P(SessionOperators, ASessionIsTakenByForceFromAWorkerThatHangs) {
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 1h;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  const auto turns = turns_only();
  client().start("converse", {.id = "c1"}, "s", 1).wait<std::vector<Said>>(kSoon);
  death.begin();
  EXPECT_EQ(client().release_session("s", {.force = true}), SessionReleased::released);
  const auto b = worker("b", quick(log));
  EXPECT_EQ(client().start("converse", {.id = "c2"}, "s", 1).wait<std::vector<Said>>(kSoon)[0].node, "b");
  death.end();
}

TEST_P(SessionOperators, WhatCannotBeDoneIsRefusedWithTheReason) {
  const auto a = counting("a");
  const auto refused = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const ClientError& e) {
      return std::string(to_string(e.kind())) + ": " + e.failure().message;
    }
    return "done";
  };
  const Client operates = client();
  EXPECT_EQ(refused([&] { operates.release_session("s"); }), "not_found: there is no session 's'");
  EXPECT_EQ(refused([&] { operates.discard_session_state("s"); }), "not_found: there is no session 's'");
  EXPECT_TRUE(a->acquire_session("s").held());
  EXPECT_EQ(refused([&] { operates.move_session("s", "nobody"); }),
            "conflict: session 's' can't be released: no worker of node 'nobody' is at work");
  EXPECT_EQ(a->close_session("s"), SessionOutcome::closed);
  EXPECT_EQ(refused([&] { operates.release_session("s"); }),
            "conflict: session 's' can't be released: it has ended");
}

// Two activities that run side by side after it has come back: both can tell that what is in memory is old.
TEST_P(SessionOperators, AWorkerThatHasASessionAgainKnowsWhatInItsMemoryIsOld) {
  const auto a = worker("a", quick(log));
  const auto first = client().start("converse", {.id = "c1"}, "s", 1).wait<std::vector<Said>>(kSoon);
  const auto b = worker("b", quick(log));
  for (const char* to : {"b", "a"}) {
    client().move_session("s", to);
    ASSERT_TRUE(is_free("s")) << log->all();
    client().start("converse", {.id = "to " + std::string(to)}, "s", 1).wait<std::vector<Said>>(kSoon);
    EXPECT_EQ(owner_of("s"), to);
  }
  EXPECT_GT(client().describe_session("s").held_since.value, first[0].generation);
}

// The next version of the program saves it in another form.
TEST_P(SessionOperators, AStateThatCannotBeReadIsDiscarded) {
  auto a = counting("a");
  EXPECT_EQ(count("c1", "s"), 1);
  EXPECT_TRUE(a->drain(kSoon));
  const auto b = runtime(named("b", quick(log)), [&](Runtime& rt) {
    const auto words = rt.session_state<std::string>("count", saved_by_codec<std::string>());
    rt.activity("count",
                [words](ActivityContext& ctx) { return static_cast<int>((words.in(ctx) += "+").size()); });
    rt.orchestration("counts", counts);
  });
  const auto unreadable = client().start("counts", {.id = "c2"}, "s").result<int>(kSoon);
  ASSERT_FALSE(unreadable);
  EXPECT_NE(describe(unreadable.error()).find("what was saved of session 's' as state 'count' can't be read"),
            std::string::npos)
      << describe(unreadable.error());
  EXPECT_TRUE(client().discard_session_state("s"));
  EXPECT_FALSE(client().discard_session_state("s"));
  EXPECT_EQ(count("c3", "s"), 1);
}

}  // namespace
}  // namespace holdfast::e2e::sessions_operators_test
