// Sessions beside everything else: cancels, deletions, retries, code that kills its worker, workers that are
// set up in different ways, processes that come and go.
#include "sessions_test.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <set>

namespace holdfast::e2e::sessions_interplay_test {
namespace {

using support::Processes;
using support::Shared;

class SessionInterplay : public SessionsTest {};
HOLDFAST_ON_EACH_STORE(SessionInterplay);

TEST_P(SessionInterplay, ACancelOfAnActivityLeavesItsSessionWhereItIs) {
  const auto a = worker("a");
  const auto b = worker("b");
  const auto before = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  const Run waits = client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  waits.cancel("enough");
  EXPECT_EQ(waits.result<>(kSoon).error().category, Category::cancelled);
  const auto after = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(after[0].node, before[0].node);
  EXPECT_EQ(after[0].generation, before[0].generation);
  EXPECT_FALSE(after[0].fresh);
}

/// An activity of its session loses a race.
Task<std::vector<Said>> races(Context& ctx, std::string session) {
  std::vector<Said> said;
  said.push_back(co_await ctx.activity<Said>("say", {.session = session}, 0));
  auto race_of_two = race(ctx.event<int>("go"), ctx.activity<void>("watch", {.session = session}));
  const auto won = co_await std::move(race_of_two);
  said.push_back(co_await ctx.activity<Said>("say", {.session = session}, static_cast<int>(won.index())));
  co_return said;
}

TEST_P(SessionInterplay, AnActivityThatLosesARaceLeavesItsSessionWhereItIs) {
  std::atomic<bool> dropped{false};
  const auto add = [&](Runtime& rt, const std::string& node) {
    add_conversations(rt, node);
    rt.activity("watch", [&](ActivityContext& ctx) {
      ++waiting;
      while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
      dropped = ctx.cancel_reason() == CancelReason::dropped;
    });
    rt.orchestration("races", races);
  };
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) { add(rt, "a"); });
  const auto b = runtime(named("b", quick(log)), [&](Runtime& rt) { add(rt, "b"); });
  const auto run = client().start("races", {.id = "r"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  run.raise("go", 1);
  const auto said = run.wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[1].generation, said[0].generation);
  EXPECT_FALSE(said[1].fresh);
  EXPECT_TRUE(log->wait_for("activity has ended within its grace"));
  EXPECT_TRUE(dropped);
}

TEST_P(SessionInterplay, ADeletionOfAnInstanceLeavesTheSessionThatItNamed) {
  const auto a = worker("a");
  const auto before = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  client().delete_instance("w", {.force = true});
  const auto after = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(after[0].generation, before[0].generation);
}

Task<int> third_time(Context& ctx, std::string session) {
  co_return co_await ctx.activity<int>(
      "third_time",
      {.session = session, .retry = {.max_attempts = 5, .backoff = Backoff::fixed, .first_delay = 250ms}});
}

TEST_P(SessionInterplay, ARetryStaysInItsSessionAlsoWhenItsPauseIsLongerThanTheIdleTimeout) {
  std::set<std::pair<std::string, std::uint64_t>> where;
  std::mutex mutex;
  const auto start = [&](const std::string& node) {
    RuntimeOptions options = quick(log);
    options.node_id = node;
    options.session_idle_timeout = 150ms;
    return runtime(options, [&, node](Runtime& r) {
      r.orchestration("third_time", third_time);
      r.activity("third_time", [&, node](ActivityContext& ctx) {
        const std::lock_guard lock(mutex);
        where.emplace(node, ctx.session()->generation.value);
        if (ctx.attempt() < 3) throw std::runtime_error("not yet");
        return static_cast<int>(ctx.attempt());
      });
    });
  };
  const auto a = start("a");
  const auto b = start("b");
  EXPECT_EQ(client().start("third_time", {.id = "t"}, "s1").wait<int>(kSoon), 3);
  EXPECT_EQ(where.size(), 1U);
}

TEST_P(SessionInterplay, WorkersWithDifferentSettingsShareTheWork) {
  RuntimeOptions tiny = quick(log);
  tiny.session_limit = 1;
  tiny.session_lease = 300ms;
  tiny.session_idle_timeout = 150ms;
  RuntimeOptions slow = quick(log);
  slow.activity_slots = 1;
  slow.session_lease = 2s;
  RuntimeOptions none = quick(log);
  none.session_limit = 0;
  const auto a = worker("tiny", tiny);
  const auto b = worker("slow", slow);
  const auto c = worker("none", none);
  const auto d = worker("plain");
  std::vector<Run> runs;
  for (int i = 0; i < 24; ++i)
    runs.push_back(
        client().start("converse", {.id = "c" + std::to_string(i)}, "s" + std::to_string(i % 12), 5));
  std::map<std::uint64_t, std::string> owner;
  for (const Run& run : runs) {
    for (const Said& said : run.wait<std::vector<Said>>(kSoon)) {
      const auto [found, is_new] = owner.emplace(said.generation, said.node);
      EXPECT_EQ(found->second, said.node);
      EXPECT_NE(said.node, "none");
    }
  }
}

Task<std::vector<std::string>> throws_in(Context& ctx, std::string session) {
  std::vector<std::string> happened;
  for (const bool retried : {false, true}) {
    const Result<int> result =
        co_await ctx.activity<int>("throws", {.session = session, .retry = {.max_attempts = retried ? 2 : 1}})
            .result();
    happened.push_back(result ? std::to_string(*result) : std::string(to_string(result.error().category)));
  }
  co_return happened;
}

TEST_P(SessionInterplay, WhatIsThrownAndIsNoExceptionFailsTheAttemptAndLeavesItsSession) {
  const auto a = runtime(named("a", quick(log)), [](Runtime& rt) {
    rt.activity("throws", [](ActivityContext& ctx) -> int {
      if (ctx.attempt() == 1) throw 7;
      return ctx.attempt();
    });
    rt.orchestration("throws_in", throws_in);
  });
  const auto run = client().start("throws_in", {.id = "t"}, "s1");
  EXPECT_EQ(run.wait<std::vector<std::string>>(kSoon), (std::vector<std::string>{"application", "2"}));
  EXPECT_EQ(story_of("s1"), std::vector{SessionLogEntry::Kind::claimed});
}

// ---- processes ------------------------------------------------------------------------------------

/// What the processes of a test tell each other.
struct Board {
  std::array<std::atomic<int>, 4096> owner{};  ///< the process of each generation
  std::atomic<int> shared_generations{0};
  std::atomic<int> said{0};
  std::array<std::atomic<pid_t>, 3> engines{};
  std::atomic<bool> over{false};
};

class SessionProcesses : public ::testing::TestWithParam<Kept> {
 protected:
  SessionProcesses() {
    if (GetParam() == Kept::on_a_server) schema.emplace();
  }
  std::shared_ptr<Store> store() { return schema ? schema->open() : sqlite(file); }
  /// An engine in a process of its own, and another one whenever it has died. To be called before this
  /// process has threads.
  void keep_engine(std::size_t place, std::uint32_t poison_after) {
    processes.start([this, place, poison_after] {
      while (!board->over) {
        Processes engines;
        static_cast<void>(engines.exit_code(engines.start([&] {
          board->engines.at(place) = getpid();
          run_engine(poison_after);
        })));
      }
    });
  }
  void run_engine(std::uint32_t poison_after) {
    RuntimeOptions options = quick(null_logger());
    options.session_lease = 300ms;
    options.poison_after = poison_after;
    Runtime rt(store(), options);
    rt.orchestration("converse", converse);
    rt.orchestration("calls_killer", calls_killer);
    rt.activity("say", [this](ActivityContext& ctx, int) { return say(ctx); });
    rt.activity("kill", [](ActivityContext&) -> int { _exit(9); });
    rt.start();
    EXPECT_TRUE(eventually([this] { return board->over.load(); }));
  }
  Said say(ActivityContext& ctx) {
    const std::uint64_t generation = ctx.session()->generation.value;
    int nobody = 0;
    auto& owner = board->owner.at(generation);
    if (!owner.compare_exchange_strong(nobody, getpid()) && nobody != getpid()) ++board->shared_generations;
    ++board->said;
    return {.session = ctx.session()->id, .generation = generation};
  }
  // Fails as poison; what its session does after that is fine.
  static Task<std::string> calls_killer(Context& ctx) {
    const auto killed = co_await ctx.activity<int>("kill", {.session = "s1"}).result();
    const auto said = co_await ctx.activity<Said>("say", {.session = "s1"}, 1);
    co_return killed ? "survived"
                     : std::string(to_string(killed.error().category)) + ", then " + said.session;
  }

  TemporaryFolder folder;
  const std::string file = folder / "app.db";
  std::optional<postgres_store::TestSchema> schema{};
  Shared<Board> board;
  Processes processes;
};
INSTANTIATE_TEST_SUITE_P(OnEachStore, SessionProcesses, ::testing::Values(Kept::in_a_file, Kept::on_a_server),
                         kept_name);

TEST_P(SessionProcesses, NoTwoOfThemRunActivitiesOfOneGeneration) {
  for (std::size_t i = 0; i < 3; ++i) keep_engine(i, 10);
  Client client{store()};
  std::vector<holdfast::Run> runs;
  for (int i = 0; i < 12; ++i)
    runs.push_back(
        client.start("converse", {.id = "c" + std::to_string(i)}, "s" + std::to_string(i % 6), 20));
  for (const auto& engine : board->engines) {
    const int before = board->said;
    EXPECT_TRUE(eventually([&] { return board->said > before + 10 && engine != 0; }));
    kill(engine, SIGKILL);
  }
  for (const auto& run : runs) EXPECT_EQ(run.wait<std::vector<Said>>(kSoon).size(), 20U);
  EXPECT_EQ(board->shared_generations, 0);
  board->over = true;
  EXPECT_TRUE(processes.all_succeed());
}

TEST_P(SessionProcesses, PoisonHitsOneActivityAndNeverItsSession) {
  keep_engine(0, 2);
  Client client{store()};
  EXPECT_EQ(client.start("calls_killer", {.id = "k"}).wait<std::string>(kSoon), "poison, then s1");
  board->over = true;
  EXPECT_TRUE(processes.all_succeed());
}

}  // namespace
}  // namespace holdfast::e2e::sessions_interplay_test
