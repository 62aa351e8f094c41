// Engines and clients in processes of their own, on one file.
#include "testkit/support/processes.hpp"

#include "program_test.hpp"
#include "testkit/support/eventually.hpp"
#include "testkit/support/shared.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace holdfast::e2e::processes_test {
namespace {

using support::eventually;
using support::Processes;
using support::Shared;

/// What the processes of a test tell each other.
struct Board {
  std::atomic<int> ready{0};
  std::atomic<int> begun{0};
  std::atomic<int> stopped{0};
  std::atomic<bool> over{false};
  std::array<std::atomic<int>, 2> ran{};
};

class ProcessesTest : public ::testing::Test {
 protected:
  /// An engine in a process of its own, until the test is over.
  template <class Add>
  pid_t start_engine(Add add) {
    return start_engine(quick(null_logger()), [add](Runtime& rt) {
      add_program(rt);
      add(rt);
    });
  }
  /// With these settings and this code, and no other.
  template <class Add>
  pid_t start_engine(RuntimeOptions options, Add add) {
    const int before = board->ready;
    const pid_t pid = processes.start([this, options, add] {
      Runtime rt(sqlite(file), options);
      add(rt);
      rt.start();
      ++board->ready;
      EXPECT_TRUE(eventually([this] { return board->over.load(); }));
    });
    EXPECT_TRUE(eventually([&] { return board->ready > before; }));
    return pid;
  }
  pid_t start_engine() {
    return start_engine([](Runtime&) {});
  }
  void end_engines() {
    board->over = true;
    EXPECT_TRUE(processes.all_succeed());
  }

  TemporaryFolder folder;
  const std::string file = folder / "app.db";
  Shared<Board> board;
  Processes processes;
};

TEST_F(ProcessesTest, AClientTalksToAnEngineInAnotherProcess) {
  start_engine();
  Client client(sqlite(file));
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  auto run = client.start("told", {.id = "t"});
  run.raise("end", 7);
  EXPECT_EQ(run.wait<int>(kSoon), 7);
  auto cancelled = client.start("told", {.id = "c"});
  cancelled.cancel("enough");
  EXPECT_EQ(cancelled.result<int>(kSoon).error().category, Category::cancelled);
  end_engines();
}

// Each activity waits until both engines have one: neither could do it alone.
TEST_F(ProcessesTest, TwoEnginesShareTheWork) {
  for (const std::size_t engine : {0U, 1U}) {
    start_engine([this, engine](Runtime& rt) {
      rt.activity("meet", [this, engine](ActivityContext&, int n) {
        ++board->ran[engine];
        EXPECT_TRUE(eventually([this] { return board->ran[0] > 0 && board->ran[1] > 0; }));
        return n;
      });
      rt.orchestration("meeting", [](Context& ctx, int n) -> Task<int> {
        std::vector<Op<int>> parts;
        for (int i = 0; i < n; ++i) parts.push_back(ctx.activity<int>("meet", 1));
        int sum = 0;
        for (const int part : co_await when_all(std::move(parts))) sum += part;
        co_return sum;
      });
    });
  }
  Client client(sqlite(file));
  EXPECT_EQ(client.start("meeting", {.id = "m"}, 8).wait<int>(kSoon), 8);
  end_engines();
}

// Each round trip is two pieces of news between processes. If they came with the slow poll only, a second
// each, so many of them would not end within the deadline.
TEST_F(ProcessesTest, NewsIsPushedBetweenProcesses) {
  constexpr int kTrips = 100;
  start_engine();
  Client client(sqlite(file));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kTrips; ++i) {
    ASSERT_EQ(client.start("hello", {.id = std::to_string(i)}, "x").wait<std::string>(kSoon), "Hello, x!");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTrips * 1s);
  end_engines();
}

TEST_F(ProcessesTest, ACancelReachesARunningActivityInAnotherProcess) {
  start_engine([this](Runtime& rt) {
    rt.activity("wait", [this](ActivityContext& ctx) {
      ++board->begun;
      EXPECT_TRUE(eventually([&] { return ctx.stop_token().stop_requested(); }));
      ++board->stopped;
      return 0;
    });
  });
  Client client(sqlite(file));
  auto run = client.start("waiting", {.id = "w"});
  ASSERT_TRUE(eventually([this] { return board->begun == 1; }));
  run.cancel("enough");
  EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(eventually([this] { return board->stopped == 1; }));
  end_engines();
}

// One process decides, another one runs the activity. Its lock is renewed every twenty minutes, so that no
// renewal brings the news.
TEST_F(ProcessesTest, ACancelIsPushedToTheOwnerInAnotherProcess) {
  RuntimeOptions runs_activities = quick(null_logger());
  runs_activities.activity_lease = 1h;
  runs_activities.session_idle_timeout = 2h;
  start_engine(runs_activities, [this](Runtime& rt) {
    rt.activity("wait", [this](ActivityContext& ctx) {
      ++board->begun;
      EXPECT_TRUE(eventually([&] { return ctx.stop_token().stop_requested(); }));
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::cancel_requested);
      ++board->stopped;
      return 0;
    });
  });
  start_engine(quick(null_logger()), [](Runtime& rt) { rt.orchestration("waiting", waiting); });
  Client client(sqlite(file));
  auto run = client.start("waiting", {.id = "w"});
  ASSERT_TRUE(eventually([this] { return board->begun == 1; }));
  run.cancel("enough");
  EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(eventually([this] { return board->stopped == 1; }));
  EXPECT_TRUE(eventually([&] {
    const auto cancels = run.describe().cancels;
    return cancels.size() == 1 && cancels[0].state == CancelState::acknowledged;
  }));
  end_engines();
}

TEST_F(ProcessesTest, AnotherEngineTakesOverFromOneThatWasKilled) {
  const pid_t first = start_engine([this](Runtime& rt) {
    rt.activity("wait", [this](ActivityContext&) {
      ++board->begun;
      for (;;) pause();
      return 0;
    });
  });
  pid_t client_process = processes.start(
      [this] { EXPECT_EQ(Client(sqlite(file)).start("waiting", {.id = "w"}).wait<int>(kSoon), 42); });
  ASSERT_TRUE(eventually([this] { return board->begun == 1; }));
  processes.crash(first);
  start_engine(
      [](Runtime& rt) { rt.activity("wait", [](ActivityContext& ctx) { return 40 + ctx.delivery(); }); });
  EXPECT_TRUE(processes.succeeds(client_process));
  end_engines();
}

}  // namespace
}  // namespace holdfast::e2e::processes_test
