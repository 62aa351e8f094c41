// Sessions change hands: their worker drains, restarts, loses the store, or is replaced.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

namespace holdfast::e2e::sessions_moves_test {
namespace {

/// One line after the other, until it is told to end.
Task<std::vector<Said>> talk(Context& ctx, std::string session) {
  auto end = ctx.event<int>("end").start();
  std::vector<Said> said;
  for (int i = 0; !end.ready(); ++i) {
    said.push_back(co_await ctx.activity<Said>("say", {.session = session}, i));
    co_await ctx.sleep(1ms);
  }
  co_return said;
}

/// Tells what happens to its session, and goes on with it.
Task<std::vector<std::string>> watches(Context& ctx, int count) {
  Session s = co_await ctx.open_session({.id = "watched", .allow_reacquire_after_failure = true});
  co_await s.activity<Said>("say", 0);
  co_await ctx.activity<void>("tell");
  std::vector<std::string> heard;
  for (int i = 0; i < count; ++i) {
    const SessionEvent event = co_await s.moved();
    heard.push_back(event.from + " to " + event.to + ": " + event.reason);
  }
  co_return heard;
}

/// An opened session with work before and after a word from outside.
Task<std::string> opened(Context& ctx, std::string id) {
  Session s = co_await ctx.open_session({.id = id, .lease = 2s});
  co_await s.activity<Said>("say", 0);
  co_await ctx.activity<void>("tell");
  co_await ctx.event<int>("go on");
  const Result<Said> result = co_await s.activity<Said>("say", 1).result();
  co_await s.close();
  co_return result ? result->node : result.error().type;
}

class SessionMoves : public SessionsTest {
 protected:
  /// Its record may be gone while nobody needs it.
  bool is_with(const std::string& node, const std::string& id) {
    return std::ranges::any_of(client().list_sessions(), [&](const SessionInfo& session) {
      return session.id == id && session.owner == node;
    });
  }
  /// Runs turns, and activities that belong to no session.
  std::unique_ptr<Runtime> coordinator() {
    RuntimeOptions options = named("coordinator", quick(log));
    options.session_limit = 0;
    return runtime(options, [&](Runtime& rt) {
      rt.activity("tell", [this](ActivityContext&) { ++told; });
      rt.orchestration("talk", talk);
      rt.orchestration("watches", watches);
      rt.orchestration("opened", opened);
      rt.orchestration("converse", converse);
    });
  }
};
HOLDFAST_ON_EACH_STORE(SessionMoves);

TEST_P(SessionMoves, ADrainHandsOverEverySessionAndNoLineIsLostOrSaidTwice) {
  const auto turns = coordinator();
  auto a = worker("a", quick(log));
  std::vector<Run> runs;
  for (int i = 0; i < 5; ++i)
    runs.push_back(turns->client().start("talk", {.id = "t" + std::to_string(i)}, "s" + std::to_string(i)));
  for (const Run& run : runs) {
    ASSERT_TRUE(eventually([&] { return is_with("a", "s" + run.id().substr(1)); }));
  }
  const auto b = worker("b", quick(log));
  EXPECT_TRUE(a->drain(kSoon));
  for (const Run& run : runs) {
    ASSERT_TRUE(eventually([&] { return is_with("b", "s" + run.id().substr(1)); }));
    run.raise("end", 1);
    const auto said = run.wait<std::vector<Said>>(kSoon);
    // First those of a, then those of b, each in one generation of its own.
    std::map<std::uint64_t, std::set<std::string>> nodes;
    for (std::size_t i = 0; i < said.size(); ++i) {
      nodes[said[i].generation].insert(said[i].node);
      if (i > 0) EXPECT_LE(said[i - 1].generation, said[i].generation);
    }
    EXPECT_EQ(nodes.size(), 2U);
    EXPECT_EQ(*nodes.begin()->second.begin(), "a");
    EXPECT_EQ(*nodes.rbegin()->second.begin(), "b");
    for (const auto& [generation, names] : nodes) EXPECT_EQ(names.size(), 1U);
  }
  EXPECT_TRUE(store()->workers().value().size() == 2);
}

TEST_P(SessionMoves, FiguresTellHowManyAreHeldInWhichState) {
  const auto turns = coordinator();
  const auto a = worker("a", quick(log));
  client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  client().start("converse", {.id = "c2"}, "s2", 1).wait<std::vector<Said>>(kSoon);
  const std::string held = a->metrics().prometheus();
  EXPECT_NE(held.find("holdfast_sessions{state=\"active\"} 2\n"), std::string::npos) << held;
  EXPECT_TRUE(a->drain(kSoon));
  const std::string left = a->metrics().prometheus();
  for (const char* state : {"active", "leaving", "lapsed"}) {
    EXPECT_NE(left.find("holdfast_sessions{state=\"" + std::string(state) + "\"} 0\n"), std::string::npos);
  }
}

// All that docs/operations.md lists, before anything has happened.
TEST_P(SessionMoves, AllFiguresOfSessionsAreThereFromTheBeginning) {
  RuntimeOptions options = quick(log);
  options.session_limit = 7;
  const auto a = worker("a", options);
  const std::string text = a->metrics().prometheus();
  std::vector<std::string> figures{"holdfast_sessions_held 0",
                                   "holdfast_session_limit 7",
                                   "holdfast_sessions{state=\"active\"} 0",
                                   "holdfast_sessions{state=\"leaving\"} 0",
                                   "holdfast_sessions{state=\"lapsed\"} 0",
                                   "holdfast_sessions_claimed_total 0",
                                   "holdfast_sessions_moved_total 0",
                                   "holdfast_sessions_reclaimed_total 0",
                                   "holdfast_sessions_lapsed_total 0",
                                   "holdfast_session_saves_failed_total 0",
                                   "holdfast_superseded_workers 0"};
  for (const char* reason :
       {"idle", "drained", "displaced", "handed_over", "operated", "owner_lost", "owner_restarted",
        "drain_deadline", "ttl", "closed_by_code", "opener_ended", "aborted", "lapsed"})
    figures.push_back("holdfast_sessions_left_total{reason=\"" + std::string(reason) + "\"} 0");
  for (const char* end : {"expired", "lost", "removed"})
    figures.push_back("holdfast_sessions_swept_total{end=\"" + std::string(end) + "\"} 0");
  for (const std::string& figure : figures) {
    EXPECT_NE(text.find("\n" + figure + "\n"), std::string::npos) << figure << " is not in\n" << text;
  }
}

TEST_P(SessionMoves, WhatLeavesAndWhatIsSweptIsCounted) {
  const auto a = worker("a", quick(log));
  EXPECT_TRUE(a->acquire_session("s1").held());
  client().release_session("s1");
  const auto counts = [&](const std::string& figure) {
    return eventually([&] { return a->metrics().prometheus().find(figure) != std::string::npos; });
  };
  EXPECT_TRUE(counts("holdfast_sessions_left_total{reason=\"operated\"} 1\n")) << log->all();
  EXPECT_TRUE(a->acquire_session("s2", {.ttl = 50ms}).held());
  EXPECT_TRUE(counts("holdfast_sessions_swept_total{end=\"expired\"} 1\n")) << log->all();
}

// Whoever runs the turns: history says which session it was.
TEST_P(SessionMoves, ASessionStaysWhenTheTurnsOfItsInstanceMove) {
  auto turns = coordinator();
  const auto a = worker("a", quick(log));
  const auto run = client().start("talk", {.id = "t"}, "s1");
  ASSERT_TRUE(eventually([&] { return is_with("a", "s1"); }));
  const auto b = worker("b", quick(log));
  turns.reset();
  turns = coordinator();
  run.raise("end", 1);
  const auto said = run.wait<std::vector<Said>>(kSoon);
  for (const Said& one : said) {
    EXPECT_EQ(one.node, "a");
    EXPECT_EQ(one.generation, said[0].generation);
  }
}

TEST_P(SessionMoves, ANewIncarnationTakesItsSessionsBackAtOnce) {
  const auto turns = coordinator();
  RuntimeOptions options = quick(log);
  options.session_lease = 1h;
  const auto a = worker("a", options);
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  const auto again = worker("a", options);
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(second[0].node, "a");
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_TRUE(second[0].fresh);
  EXPECT_TRUE(log->wait_for("this worker was superseded"));
}

TEST_P(SessionMoves, ADeadWorkersSessionsGoToAnotherAfterTheLease) {
  const auto turns = coordinator();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(first[0].node, "a");
  const auto b = worker("b", quick(log));
  death.begin();
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(second[0].node, "b");
  EXPECT_TRUE(second[0].fresh);
  EXPECT_TRUE(log->wait_for("the lease of a session could not be kept"));
  death.end();
  // The former owner finds out, and lets go.
  EXPECT_TRUE(log->wait_for("the lease of a session is over"));
  EXPECT_TRUE(eventually([&] { return log->count("a session has left this worker") == 1; }));
}

// Nobody else had it in between: what is in memory is still true.
TEST_P(SessionMoves, AnOwnerThatClaimsItsLapsedSessionAgainKeepsItsState) {
  const auto turns = coordinator();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  Runtime a(store(&death), options);
  const auto count = a.session_state<int>("count");
  a.activity("say", [count](ActivityContext& ctx, int) {
    return Said{.session = std::to_string(++count.in(ctx)),
                .generation = ctx.session()->generation.value,
                .fresh = ctx.session()->fresh};
  });
  a.start();
  // Its record stays when it has lapsed: it was given a policy.
  EXPECT_TRUE(a.acquire_session("s1", {.lease = 300ms, .max_concurrent_activities = 0}).held());
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  death.begin();
  ASSERT_TRUE(eventually([&] { return session_status(client().describe_session("s1")) == "expired"; }));
  death.end();
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(first[0].session, "1");
  EXPECT_EQ(second[0].session, "2");
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_FALSE(second[0].fresh);
}

TEST_P(SessionMoves, TheirStoryReachesWhoeverWaitsForIt) {
  const auto turns = coordinator();
  auto a = worker("a", quick(log));
  const auto run = client().start("watches", {.id = "w"}, 2);
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  auto b = worker("b", quick(log));
  a->stop();
  // Nobody needs it at the moment: it moves when it is acquired.
  EXPECT_EQ(b->acquire_session("watched").outcome, SessionOutcome::reacquired);
  auto c = worker("c", quick(log));
  b->stop();
  EXPECT_EQ(c->acquire_session("watched").outcome, SessionOutcome::reacquired);
  EXPECT_EQ(run.wait<std::vector<std::string>>(kSoon),
            (std::vector<std::string>{"a to b: drained", "b to c: drained"}));
}

TEST_P(SessionMoves, ADrainGoesOnWithAnOpenedSessionThatCannotMoveUntilItIsClosed) {
  const auto turns = coordinator();
  auto a = worker("a", quick(log));
  const auto run = client().start("opened", {.id = "o"}, "gpu");
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  std::thread drains([&] { EXPECT_TRUE(a->drain(kSoon)); });
  ASSERT_TRUE(eventually([&] {
    const auto workers = store()->workers().value();
    return std::ranges::any_of(workers, [](const auto& one) { return one.info.node == "a" && one.draining; });
  }));
  run.raise("go on", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "a");
  drains.join();
  EXPECT_EQ(client().describe_session("gpu").reason, SessionReason::closed_by_code);
}

TEST_P(SessionMoves, ADrainThatRunsOutOfTimeLosesWhatCannotMove) {
  const auto turns = coordinator();
  auto a = worker("a", quick(log));
  const auto run = client().start("opened", {.id = "o"}, "gpu");
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_FALSE(a->drain(50ms));
  run.raise("go on", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  EXPECT_EQ(client().describe_session("gpu").reason, SessionReason::drain_deadline);
}

// What it has in memory is saved, so it may move, and says so.
TEST_P(SessionMoves, AnOpenedSessionMovesWithItsSavedState) {
  const auto turns = coordinator();
  const auto with_state = [&](const std::string& node) {
    return runtime(named(node, quick(log)), [&](Runtime& rt) {
      const auto count = rt.session_state<int>("count", saved_by_codec<int>());
      rt.activity("say", [count, node](ActivityContext& ctx, int) {
        return Said{.node = node + std::to_string(++count.in(ctx))};
      });
    });
  };
  auto a = with_state("a");
  const auto run = client().start("opened", {.id = "o"}, "gpu");
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  const auto b = with_state("b");
  EXPECT_TRUE(a->drain(kSoon));
  run.raise("go on", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "b2");
  const auto story = client().session_log("gpu");
  EXPECT_TRUE(std::ranges::any_of(story, [](const SessionLogEntry& entry) {
    return entry.kind == SessionLogEntry::Kind::moved && entry.previous_owner == "a" && entry.owner == "b";
  }));
}

TEST_P(SessionMoves, ANewIncarnationLosesTheOpenedSessionsOfTheFormerOne) {
  const auto turns = coordinator();
  const auto a = worker("a", quick(log));
  const auto run = client().start("opened", {.id = "o"}, "gpu");
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  const auto again = worker("a", quick(log));
  run.raise("go on", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  EXPECT_EQ(client().describe_session("gpu").reason, SessionReason::owner_restarted);
}

// At no time do two workers run an activity of a session in one generation.
TEST_P(SessionMoves, WorkersThatComeAndGoNeverShareAGeneration) {
  const auto turns = coordinator();
  std::mutex mutex;
  std::map<std::uint64_t, std::string> owners;
  const auto careful = [&](const std::string& node) {
    return runtime(named(node, quick(log)), [&, node](Runtime& rt) {
      rt.activity("say", [&, node](ActivityContext& ctx, int) {
        const std::uint64_t generation = ctx.session()->generation.value;
        const std::lock_guard lock(mutex);
        const auto owner = owners.emplace(generation, node).first;
        EXPECT_EQ(owner->second, node) << "generation " << generation;
        return Said{.node = node, .generation = generation};
      });
    });
  };
  std::vector<Run> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back(
        turns->client().start("talk", {.id = "t" + std::to_string(i)}, "s" + std::to_string(i % 3)));
  auto one = careful("w0");
  for (int round = 1; round <= 5; ++round) {
    auto next = careful("w" + std::to_string(round % 2 == 0 ? round : 100 + round));
    EXPECT_TRUE(one->drain(kSoon));
    one = std::move(next);
  }
  for (const Run& run : runs) {
    run.raise("end", 1);
    EXPECT_FALSE(run.wait<std::vector<Said>>(kSoon).empty());
  }
}

}  // namespace
}  // namespace holdfast::e2e::sessions_moves_test
