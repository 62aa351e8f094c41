// Stopping, and what happens to a runtime whose file is taken away.
#include "program_test.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

namespace holdfast::e2e::stopping_test {
namespace {

using support::Processes;
using support::Shared;

class StoppingTest : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  const std::string file = folder / "app.db";
};

// Nothing else would end before the test's own time limit.
RuntimeOptions patient() {
  RuntimeOptions options = quiet();
  options.cancel_grace = 1h;
  return options;
}

TEST_F(StoppingTest, AnIdleRuntimeStopsAtOnce) {
  Runtime rt(sqlite(file), patient());
  add_program(rt);
  rt.start();
  const auto waits = rt.client().start("told", {.id = "t"});
  EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  rt.stop();
  EXPECT_EQ(waits.status(), Status::running);
}

TEST_F(StoppingTest, ABusyRuntimeFinishesWhatItHasBegunAndLeavesTheRest) {
  std::atomic<int> begun{0};
  std::atomic<bool> may_end{false};
  Client client(sqlite(file));
  std::vector<StartItem> items;
  for (int i = 0; i < 12; ++i) items.push_back(start_item("w" + std::to_string(i)));
  const auto runs = client.start_all("waiting", items);
  {
    Runtime rt(sqlite(file), patient());
    add_program(rt);
    rt.activity("wait", [&](ActivityContext&) {
      ++begun;
      while (!may_end) std::this_thread::sleep_for(1ms);
      return 1;
    });
    rt.start();
    while (begun < 4) std::this_thread::sleep_for(1ms);
    std::thread ender([&] { may_end = true; });
    EXPECT_TRUE(rt.drain(kSoon));
    ender.join();
  }
  const int first = begun;
  EXPECT_LT(first, 12);
  Runtime next(sqlite(file), patient());
  add_program(next);
  next.activity("wait", [&](ActivityContext& ctx) {
    ++begun;
    EXPECT_EQ(ctx.delivery(), 1) << "it was left locked";
    return 2;
  });
  next.start();
  int done_before = 0;
  for (const auto& run : runs) done_before += run.wait<int>(kSoon) == 1 ? 1 : 0;
  EXPECT_EQ(done_before, first);
  EXPECT_EQ(begun, 12) << "something ran twice";
}

/// A worker in a process of its own, whose activity runs until it is asked to stop, or for ever.
class SignalledTest : public StoppingTest {
 protected:
  pid_t start_worker(bool stops) {
    const pid_t pid = processes.start([this, stops] {
      Runtime rt(sqlite(file), patient());
      add_program(rt);
      rt.activity("wait", [this, stops](ActivityContext& ctx) {
        *busy = true;
        while (!stops || !*signalled) std::this_thread::sleep_for(1ms);
        return ctx.attempt();
      });
      EXPECT_TRUE(rt.run_until_signal(kSoon, [this] { *ready = true; }));
    });
    while (!*ready) std::this_thread::sleep_for(1ms);
    return pid;
  }
  // In a process of its own: this one has no threads, and no file open, while it starts others.
  void start_instance() {
    EXPECT_TRUE(
        processes.succeeds(processes.start([this] { Client(sqlite(file)).start("waiting", {.id = "w"}); })));
  }
  static bool has_ended(pid_t pid) {
    siginfo_t about{};
    return waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           about.si_pid == pid;
  }
  void wait_until_busy() {
    while (!*busy) std::this_thread::sleep_for(1ms);
  }

  const Shared<std::atomic<bool>> ready;
  const Shared<std::atomic<bool>> busy;
  const Shared<std::atomic<bool>> signalled;
  Processes processes;
};

TEST_F(SignalledTest, AWorkerThatIsIdleEndsWithEitherSignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    *ready = false;
    const pid_t worker = start_worker(true);
    kill(worker, signal);
    EXPECT_EQ(processes.exit_code(worker), 0);
  }
}

TEST_F(SignalledTest, AWorkerThatWasStartedWithItsSignalsBlockedHearsThem) {
  sigset_t both{};
  sigset_t before{};
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  const pid_t worker = start_worker(true);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  kill(worker, SIGTERM);
  EXPECT_EQ(processes.exit_code(worker), 0);
}

TEST_F(SignalledTest, WhatAChildOfTheWorkerIsSentIsNotForTheWorker) {
  const pid_t worker = processes.start([this] {
    Runtime rt(sqlite(file), patient());
    add_program(rt);
    EXPECT_TRUE(rt.run_until_signal(kSoon, [this] {
      const pid_t child = fork();
      if (child == 0) {
        raise(SIGTERM);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
      *ready = true;
    }));
  });
  while (!*ready) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(has_ended(worker));
  kill(worker, SIGTERM);
  EXPECT_EQ(processes.exit_code(worker), 0);
}

TEST_F(SignalledTest, AWorkerThatIsBusyFinishesWhatItHas) {
  const pid_t worker = start_worker(true);
  start_instance();
  wait_until_busy();
  kill(worker, SIGTERM);
  *signalled = true;
  EXPECT_EQ(processes.exit_code(worker), 0);
  EXPECT_TRUE(Client(sqlite(file)).workers().empty()) << "it has not left in good order";
}

TEST_F(SignalledTest, ASecondSignalEndsTheProcessAtOnce) {
  const pid_t worker = start_worker(false);
  start_instance();
  wait_until_busy();
  // Until it ends: two that come before the first is heard are one.
  while (!has_ended(worker)) {
    kill(worker, SIGTERM);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(processes.exit_code(worker), -1);
}

TEST_F(StoppingTest, NothingIsLeftLockedAfterAStop) {
  {
    Runtime rt(sqlite(file), patient());
    add_program(rt);
    rt.start();
    static_cast<void>(rt.client().start_all("sum_of_squares", many(50, 5)));
  }
  const auto state = sqlite(file)->state().value();
  for (const store::InstanceRow& row : state.instances) EXPECT_FALSE(row.locked_by) << row.view.instance;
  for (const store::ActivityRow& row : state.activities) EXPECT_FALSE(row.view.running) << row.view.name;
  EXPECT_TRUE(state.workers.empty());
}

TEST_F(StoppingTest, ARuntimeWhoseFileVanishedSaysSoAcceptsNothingAndStops) {
  const auto lines = std::make_shared<Lines>();
  const auto store = sqlite(file, {.logger = lines.get()});
  Runtime rt(store, quick(lines));
  add_program(rt);
  rt.start();
  const auto waits = rt.client().start("told", {.id = "t"});
  std::filesystem::rename(file, folder / "elsewhere.db");
  EXPECT_TRUE(lines->wait_for("has been moved or deleted")) << lines->all();
  try {
    Client(store, {.retry_for = 10ms}).start("hello", {.id = "lost"}, "x");
    FAIL() << "it was accepted, and would be lost";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::unavailable);
  }
  // It is put back: everything goes on.
  std::filesystem::rename(folder / "elsewhere.db", file);
  waits.raise("end", 7);
  EXPECT_EQ(waits.wait<int>(kSoon), 7);

  std::filesystem::remove(file);
  EXPECT_TRUE(lines->wait_for("has been moved or deleted"));
  rt.stop();
}

}  // namespace
}  // namespace holdfast::e2e::stopping_test
