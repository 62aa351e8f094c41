// Code that is missing, code that no longer fits, code that kills its worker.
#include "stores_test.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"

#include <holdfast/fault.hpp>

#include <unistd.h>

#include <array>
#include <atomic>

namespace holdfast::e2e::troubles_test {
namespace {

using support::Processes;
using support::Shared;

class TroublesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(TroublesTest);

Task<int> asks_activity(Context& ctx) { co_return co_await ctx.activity<int>("number"); }
Task<int> asks_child(Context& ctx) { co_return co_await ctx.child<int>("asks_activity", {.id = "child"}); }

// ---- code that nobody has -----------------------------------------------------------------------

TEST_P(TroublesTest, CodeThatNobodyHasIsWaitedForInSight) {
  auto parent_only = runtime([](Runtime& r) { r.orchestration("asks_child", asks_child); });
  Client client(store());
  const Run parent = client.start("asks_child", {.id = "parent"});
  EXPECT_TRUE(eventually([&] { return waits_for(parent.describe(), RunWait::Kind::child, "child"); }));
  RunWait wait = wait_of(client.describe("child"), RunWait::Kind::worker);
  EXPECT_FALSE(wait.served);
  EXPECT_EQ(wait.state, "no live worker has the code of 'asks_activity'");

  // Now there is the child's code, but not its activity.
  const auto child_too = runtime([](Runtime& r) { r.orchestration("asks_activity", asks_activity); });
  EXPECT_TRUE(
      eventually([&] { return waits_for(client.describe("child"), RunWait::Kind::activity, "number"); }));
  wait = wait_of(client.describe("child"), RunWait::Kind::activity);
  EXPECT_FALSE(wait.served);
  EXPECT_EQ(wait.delivery, 0);  // waiting for a deploy is no delivery: it never poisons
  wait = wait_of(parent.describe(), RunWait::Kind::child);
  EXPECT_EQ(wait.state,
            "running, orchestration 'asks_activity', waits for activity 'number' (no live worker has it and "
            "serves the default queue, attempt 1)");
  ASSERT_EQ(wait.waits.size(), 1U);
  EXPECT_EQ(wait.waits[0].kind, RunWait::Kind::activity);
  EXPECT_FALSE(wait.waits[0].served);

  // The parent's code goes away: what it waits for could not reach it.
  parent_only.reset();
  EXPECT_TRUE(eventually([&] { return waits_for(parent.describe(), RunWait::Kind::worker, "asks_child"); }));
  const auto all = runtime([](Runtime& r) {
    r.activity("number", [](ActivityContext& ctx) { return ctx.delivery(); });
    r.orchestration("asks_child", asks_child);
  });
  EXPECT_EQ(parent.wait<int>(kSoon), 1);
}

TEST_P(TroublesTest, ADelayedInstanceSaysWhenItStarts) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("asks_activity", asks_activity); });
  const Run run = rt->client().start("asks_activity", {.id = "later", .delay = 1h});
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::worker);
  EXPECT_TRUE(wait.served);
  EXPECT_TRUE(wait.state.starts_with("starts in ")) << wait.state;
  EXPECT_TRUE(wait.state.ends_with(" s")) << wait.state;
}

// ---- code that does not fit its history ------------------------------------------------------------

Task<int> old_code(Context& ctx) {
  const int number = co_await ctx.activity<int>("number");
  co_await ctx.event<int>("go");
  co_return number;
}
Task<int> wrong_code(Context& ctx) {
  co_await ctx.activity<int>("another");
  co_await ctx.event<int>("go");
  co_return 0;
}
Task<int> asks_changing(Context& ctx) { co_return co_await ctx.child<int>("changing", {.id = "child"}); }

class ChangingTest : public OnEachStore {
 protected:
  static void add(Runtime& rt, Task<int> (*code)(Context&)) {
    rt.activity("number", [](ActivityContext&) { return 5; });
    rt.orchestration("changing", code);
    rt.orchestration("asks_changing", asks_changing);
  }
  std::unique_ptr<Runtime> deploy(Task<int> (*code)(Context&)) {
    return runtime([code](Runtime& r) { add(r, code); });
  }
  // Until the old code waits for its event, and then the wrong code is deployed.
  void break_it() {
    parent = client.start("asks_changing", {.id = "parent"});
    auto rt = deploy(old_code);
    EXPECT_TRUE(eventually([&] {
      const auto child = client.find("child");
      return child && waits_for(child->describe(), RunWait::Kind::event, "go");
    }));
    rt.reset();
    broken = deploy(wrong_code);
    client.raise("child", "go", 1);
    EXPECT_TRUE(eventually([&] { return client.run("child").status() == Status::parked; }));
  }
  Client client{store()};
  std::optional<Run> parent;
  std::unique_ptr<Runtime> broken;
};
HOLDFAST_ON_EACH_STORE(ChangingTest);

TEST_P(ChangingTest, AHistoryThatTodaysCodeCannotFollowParksTheInstanceWithTheReportUntilAFixedDeploy) {
  break_it();
  const RunInfo info = client.run("child").info();
  EXPECT_NE(info.parked_because.find("activity 'number'"), std::string::npos) << info.parked_because;
  EXPECT_NE(info.parked_because.find("activity 'another'"), std::string::npos) << info.parked_because;
  const RunWait wait = wait_of(parent->describe(), RunWait::Kind::child);
  EXPECT_FALSE(wait.served);
  EXPECT_NE(wait.state.find("parked"), std::string::npos) << wait.state;
  const RunWait own = wait_of(client.describe("child"), RunWait::Kind::worker);
  EXPECT_FALSE(own.served);
  EXPECT_TRUE(own.state.starts_with("parked: the code no longer matches its history")) << own.state;
  EXPECT_TRUE(
      log->wait_for("error instance can't go on and is parked instance=child orchestration=changing"));
  broken.reset();
  const auto fixed = deploy(old_code);
  EXPECT_EQ(parent->wait<int>(kSoon), 5);
}

TEST_P(ChangingTest, AFixedDeployTriesParkedInstancesAlsoWhenTheStoreDoesNotAnswerAtFirst) {
  break_it();
  broken.reset();
  FaultScript faults;
  faults.inject(point("memory.wake_parked", "sqlite.parked", "postgres.parked"), 1, Fault::fail_before);
  Runtime fixed(store(&faults), {.activity_slots = 4, .logger = log});
  add(fixed, old_code);
  fixed.start();
  EXPECT_EQ(parent->wait<int>(kSoon), 5);
  EXPECT_EQ(faults.pending(), 0U);
}

TEST_P(ChangingTest, AParkedInstanceCanBeTerminatedAndItsParentIsTold) {
  break_it();
  client.terminate("child", "hopeless");
  const Result<int> result = parent->result<int>(kSoon);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().category, Category::terminated);
  EXPECT_EQ(result.error().message, "hopeless");
  EXPECT_EQ(client.run("child").status(), Status::terminated);
}

TEST_P(ChangingTest, AParkedInstanceThatIsAskedToStopIsTriedNowAndThenAndCanStillBeTerminated) {
  break_it();
  const auto times_parked = [&] {
    return log->count("error instance can't go on and is parked instance=child");
  };
  const std::size_t before = times_parked();
  client.cancel("child", "not needed");
  ASSERT_TRUE(eventually([&] { return times_parked() > before; }));
  client.terminate("child", "hopeless");
  EXPECT_TRUE(eventually([&] { return client.run("child").status() == Status::terminated; }));
  EXPECT_LE(times_parked(), before + 3) << "its code was tried again and again, without a pause";
}

// ---- code that kills its worker --------------------------------------------------------------------

/// What the processes of a test tell each other.
struct Board {
  std::atomic<int> deaths{0};
  std::atomic<bool> over{false};
};

class PoisonTest : public ::testing::Test {
 protected:
  // Engines one after the other, each as long as it lives.
  void run_engines(const std::function<void(Runtime&)>& add, const std::function<bool(Client&)>& until) {
    const std::string path = file;
    const pid_t nurse = processes.start([this, add, path] {
      while (!board->over) {
        Processes engines;
        const pid_t pid = engines.start([this, add, path] {
          Runtime rt(sqlite(path), {.activity_slots = 4,
                                    .activity_lease = 500ms,  // a busy machine lets shorter ones run out
                                    .instance_lease = 500ms,
                                    .hold_instances = 20ms,
                                    .poison_after = 6,
                                    .logger = null_logger()});
          add(rt);
          rt.start();
          EXPECT_TRUE(eventually([this] { return board->over.load(); }));
        });
        if (engines.exit_code(pid) != 0) ++board->deaths;
      }
    });
    Client client{sqlite(file)};
    EXPECT_TRUE(eventually([&] { return until(client); }));
    board->over = true;
    EXPECT_TRUE(processes.succeeds(nurse));
  }

  TemporaryFolder folder;
  const std::string file = folder / "app.db";
  Shared<Board> board;
  Processes processes;
};

Task<std::string> calls_killer(Context& ctx) {
  const Result<int> result = co_await ctx.activity<int>("kill").result();
  co_return result ? "survived"
                   : std::string(to_string(result.error().category)) + " " + result.error().source;
}
Task<int> calls_innocent(Context& ctx, int n) { co_return co_await ctx.activity<int>("innocent", n); }
Task<int> kills(Context& ctx) {
  co_await ctx.sleep(1ms);
  _exit(9);
}
Task<std::string> parent_of_killer(Context& ctx) {
  try {
    co_return "ended " + std::to_string(co_await ctx.child<int>("kills", {.id = "killer"}));
  } catch (const ChildError& e) {
    co_return std::string(to_string(e.failure().category)) + " " + e.failure().source;
  }
}

bool ended(Client& client, const std::string& id) {
  const auto run = client.find(id);
  return run && has_ended(run->status());
}

TEST_F(PoisonTest, AnActivityThatKillsItsWorkersEndsAsAnErrorThatCodeCanCatch) {
  {
    Client client{sqlite(file)};
    client.start("calls_killer", {.id = "killer"});
    for (int i = 0; i < 5; ++i) client.start("calls_innocent", {.id = "innocent-" + std::to_string(i)}, i);
  }
  run_engines(
      [](Runtime& rt) {
        rt.activity("kill", [](ActivityContext&) -> int { _exit(9); });
        rt.activity("innocent", [](ActivityContext&, int n) { return n; });
        rt.orchestration("calls_killer", calls_killer);
        rt.orchestration("calls_innocent", calls_innocent);
      },
      [](Client& client) {
        for (int i = 0; i < 5; ++i) {
          if (!ended(client, "innocent-" + std::to_string(i))) return false;
        }
        return ended(client, "killer");
      });
  Client client{sqlite(file)};
  EXPECT_EQ(client.run("killer").wait<std::string>(kSoon), "poison activity kill");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.run("innocent-" + std::to_string(i)).wait<int>(kSoon), i);
  // A lease that runs out before the handler begins counts as well: then fewer have died.
  EXPECT_GT(board->deaths, 0);
  EXPECT_LE(board->deaths, 6);
}

TEST_F(PoisonTest, ATurnThatKillsItsWorkersEndsItsInstanceAndTheParentIsToldWhileOthersGoOn) {
  {
    Client client{sqlite(file)};
    client.start("parent_of_killer", {.id = "parent"});
    for (int i = 0; i < 5; ++i) client.start("calls_innocent", {.id = "innocent-" + std::to_string(i)}, i);
  }
  run_engines(
      [](Runtime& rt) {
        rt.activity("innocent", [](ActivityContext&, int n) { return n; });
        rt.orchestration("kills", kills);
        rt.orchestration("parent_of_killer", parent_of_killer);
        rt.orchestration("calls_innocent", calls_innocent);
      },
      [](Client& client) {
        for (int i = 0; i < 5; ++i) {
          if (!ended(client, "innocent-" + std::to_string(i))) return false;
        }
        return ended(client, "parent");
      });
  Client client{sqlite(file)};
  EXPECT_EQ(client.run("parent").wait<std::string>(kSoon), "poison orchestration killer");
  EXPECT_EQ(client.run("killer").status(), Status::failed);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.run("innocent-" + std::to_string(i)).wait<int>(kSoon), i);
}

}  // namespace
}  // namespace holdfast::e2e::troubles_test
