// Orchestrations that name the executor on which their frames live.
#include "runtime/turns_away.hpp"

#include "runtime/elsewhere_test.hpp"
#include "runtime/runtime_access.hpp"
#include "runtime/worker.hpp"
#include "testkit/support/lines.hpp"
#include "testkit/support/outage.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::runtime::turns_away_test {
namespace {

using namespace std::chrono_literals;
using support::Lines;
using support::Outage;

constexpr Duration kSoon = 60s;  // a deadline for what happens at once

/// Code of a test stands here until it is let go.
struct Door {
  std::mutex mutex{};
  std::condition_variable changed{};
  bool open = true;
  std::atomic<int> inside{0};

  void pass() {
    std::unique_lock lock(mutex);
    ++inside;
    changed.wait(lock, [this] { return open; });
    --inside;
  }
  void shut() {
    const std::lock_guard lock(mutex);
    open = false;
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

FrameWitness witness;
Door door;
std::atomic<bool> changed_code{false};

Task<int> adds(Context& ctx, int n) {
  const FrameWitnessed part(witness);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    witness.note(witness.ran);
    sum += co_await ctx.activity<int>("one");
  }
  co_return sum;
}

Task<int> waits(Context& ctx) {
  const FrameWitnessed part(witness);
  witness.note(witness.ran);
  ctx.set_status("waits");
  if (changed_code) co_await ctx.activity<int>("one");
  const int got = co_await ctx.event<int>("go");
  witness.note(witness.ran);
  co_return got;
}

Task<int> continues(Context& ctx, int n) {
  const FrameWitnessed part(witness);
  witness.note(witness.ran);
  co_await ctx.activity<int>("one");
  if (n > 0) co_await ctx.continue_as_new(n - 1);
  co_return 7;
}

Task<int> blocks(Context& ctx) {
  const FrameWitnessed part(witness);
  door.pass();
  co_return co_await ctx.activity<int>("one");
}

Task<int> asked(Context& ctx) {
  const FrameWitnessed part(witness);
  const auto guard = ctx.on_query("five", [] {
    witness.note(witness.ran);
    door.pass();
    return 5;
  });
  co_return co_await ctx.event<int>("go");
}

Task<int> in_place(Context& ctx) { co_return co_await ctx.activity<int>("one"); }

void begin_test() {
  witness.begun = witness.ran = witness.destroyed = witness.elsewhere = 0;
  changed_code = false;
}

std::shared_ptr<const detail::OrchestrationCode> on(
    detail::FrameExecutor& executor, const std::shared_ptr<const detail::OrchestrationCode>& code) {
  return std::make_shared<CodeOn>(executor, code, [] { witness.note(witness.begun); });
}

// ---- a runtime with its threads -----------------------------------------------------------------

class FramesElsewhereTest : public ::testing::Test {
 protected:
  FramesElsewhereTest() {
    begin_test();
    witness.home = executor.thread();
  }
  ~FramesElsewhereTest() override { door.let_go(); }

  template <class F>
  void add(Runtime& rt, std::string_view name, F function) {
    detail::RuntimeAccess::add_orchestration(rt, name, {},
                                             on(executor, detail::make_orchestration(function)));
  }
  std::unique_ptr<Runtime> started(RuntimeOptions options = {}) {
    options.activity_slots = 8;
    options.logger = lines;
    auto rt = std::make_unique<Runtime>(store, options);
    rt->activity("one", [](ActivityContext&) { return 1; });
    add(*rt, "adds", adds);
    add(*rt, "waits", waits);
    add(*rt, "continues", continues);
    add(*rt, "blocks", blocks);
    add(*rt, "asked", asked);
    rt->orchestration("in_place", in_place);
    rt->start();
    return rt;
  }
  std::vector<holdfast::Run> start_waiting(Client client, int count, const std::string& prefix = "w") {
    std::vector<holdfast::Run> runs;
    for (int i = 0; i < count; ++i) runs.push_back(client.start("waits", {.id = prefix + std::to_string(i)}));
    for (const auto& run : runs) {
      while (!run.info().custom_status) std::this_thread::yield();
    }
    return runs;
  }
  /// Everything happened on the executor, and nothing is left.
  static void expect_home() {
    EXPECT_EQ(witness.elsewhere, 0);
    EXPECT_EQ(witness.destroyed, witness.begun);
    EXPECT_GT(witness.begun, 0);
  }

  ThreadExecutor executor;
  Outage outage;
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::shared_ptr<Store> store = memory({.database = database, .faults = &outage});
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
};

TEST_F(FramesElsewhereTest, AreBegunRunAndDestroyedThere) {
  auto rt = started();
  std::vector<holdfast::Run> runs;
  for (int i = 0; i < 50; ++i) runs.push_back(rt->client().start("adds", {.id = "a" + std::to_string(i)}, 5));
  for (const auto& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 5);
  EXPECT_EQ(rt->client().start("continues", {.id = "c"}, 5).wait<int>(kSoon), 7);
  EXPECT_TRUE(rt->drain(kSoon)) << lines->all();
  expect_home();
}

TEST_F(FramesElsewhereTest, AreAskedThere) {
  auto rt = started();
  const auto run = rt->client().start("asked", {.id = "a"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run.query<int>("five"), 5);
  EXPECT_EQ(witness.ran, 5);
  run.raise("go", 3);
  EXPECT_EQ(run.wait<int>(kSoon), 3);
  EXPECT_TRUE(rt->drain(kSoon)) << lines->all();
  expect_home();
}

TEST_F(FramesElsewhereTest, ThatHangWhenTheyAreAskedHoldUpNobodyElse) {
  auto rt = started({.query_time_limit = 20ms});
  const auto run = rt->client().start("asked", {.id = "a"});
  EXPECT_EQ(run.query<int>("five"), 5);
  door.shut();
  EXPECT_THROW(static_cast<void>(run.query<int>("five", {.timeout = kSoon})), QueryError);
  EXPECT_EQ(rt->client().start("in_place", {.id = "p"}).wait<int>(kSoon), 1);
  EXPECT_EQ(rt->client().run("p").query<std::vector<std::string>>("holdfast.queries"),
            std::vector<std::string>{});
  door.let_go();
  run.raise("go", 3);
  EXPECT_EQ(run.wait<int>(kSoon), 3);
  EXPECT_TRUE(rt->drain(kSoon)) << lines->all();
  expect_home();
}

// An executor may come to what it was given when the runtime is gone.
TEST_F(FramesElsewhereTest, ThatAreToBeAskedMayBeLeftBehind) {
  auto rt = started();
  const auto run = rt->client().start("asked", {.id = "a"});
  EXPECT_EQ(run.query<int>("five"), 5);
  executor.hold_up();
  const std::size_t before = executor.posted();
  auto answer = run.query_async<int>("five", {.timeout = kSoon}).future();
  while (executor.posted() == before) std::this_thread::yield();
  Client client = rt->client();
  rt.reset();
  client.close();
  EXPECT_ANY_THROW(static_cast<void>(answer.get()));
  executor.go_on();
}

TEST_F(FramesElsewhereTest, AreEvictedAndReplayedThere) {
  auto rt = started({.cached_instances = 1});
  const auto runs = start_waiting(rt->client(), 10);
  for (const auto& run : runs) run.raise("go", 3);
  for (const auto& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 3);
  rt->stop();
  EXPECT_GT(witness.begun, 10) << "none was evicted";
  expect_home();
}

TEST_F(FramesElsewhereTest, ThatDivergeAreDestroyedThere) {
  auto rt = started();
  const auto run = start_waiting(rt->client(), 1).front();
  rt.reset();
  changed_code = true;
  rt = started();
  run.raise("go", 3);
  EXPECT_TRUE(lines->wait_for("instance can't go on and is parked")) << lines->all();
  rt->stop();
  EXPECT_GE(witness.begun, 2);
  expect_home();
}

TEST_F(FramesElsewhereTest, WhoseCommitsFailAreDestroyedThere) {
  auto rt = started();
  const auto runs = start_waiting(rt->client(), 5);
  for (const auto& run : runs) run.raise("go", 3);
  outage.begin();
  outage.wait_for(50);
  outage.end();
  for (const auto& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 3);
  rt->stop();
  expect_home();
}

TEST_F(FramesElsewhereTest, OfTerminatedAndCancelledInstancesAreDestroyedThere) {
  auto rt = started();
  const auto runs = start_waiting(rt->client(), 2);
  runs[0].terminate("enough");
  runs[1].cancel("enough");
  EXPECT_EQ(runs[0].result<int>(kSoon).error().category, Category::terminated);
  EXPECT_EQ(runs[1].result<int>(kSoon).error().category, Category::cancelled);
  rt->stop();
  expect_home();
}

TEST_F(FramesElsewhereTest, ThatWaitWhenTheRuntimeStopsAreDestroyedThere) {
  auto rt = started();
  start_waiting(rt->client(), 20);
  EXPECT_EQ(witness.destroyed, 0);
  EXPECT_TRUE(rt->drain(kSoon)) << lines->all();
  EXPECT_EQ(witness.destroyed, 20);
  expect_home();
}

TEST_F(FramesElsewhereTest, OfARuntimeThatIsDestroyedAreDestroyedThere) {
  start_waiting(started()->client(), 20);
  EXPECT_EQ(witness.destroyed, 20);
  expect_home();
}

TEST_F(FramesElsewhereTest, AnExecutorThatDoesNotBeginHoldsUpNobodyElse) {
  auto rt = started({.turn_threads = 1, .turn_time_limit = 300ms});
  executor.hold_up();
  const auto run = rt->client().start("adds", {.id = "a"}, 2);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(rt->client().start("in_place", {.id = "i" + std::to_string(i)}).wait<int>(kSoon), 1);
  EXPECT_TRUE(lines->wait_for("has not begun with its turns within turn_time_limit")) << lines->all();
  EXPECT_EQ(rt->client().start("in_place", {.id = "i"}).wait<int>(kSoon), 1);
  EXPECT_EQ(run.status(), Status::running) << "its code is not to blame";
  EXPECT_EQ(executor.posted(), 1U) << "it gets no more until it comes back";
  executor.go_on();
  EXPECT_EQ(run.wait<int>(kSoon), 2);
  EXPECT_TRUE(lines->wait_for("an executor of orchestrations has come back"));
  rt->stop();
  expect_home();
}

TEST_F(FramesElsewhereTest, ATurnThatBlocksItsExecutorIsGivenUpAndHoldsUpNobodyElse) {
  door.shut();
  auto rt = started({.turn_threads = 1, .turn_time_limit = 300ms});
  const auto stuck = rt->client().start("blocks", {.id = "b"});
  EXPECT_TRUE(lines->wait_for("a turn has not come back within turn_time_limit"));
  const auto run = rt->client().start("adds", {.id = "a"}, 2);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(rt->client().start("in_place", {.id = "i" + std::to_string(i)}).wait<int>(kSoon), 1);
  while (stuck.status() != Status::parked) std::this_thread::yield();
  EXPECT_EQ(run.status(), Status::running);
  door.let_go();
  EXPECT_EQ(run.wait<int>(kSoon), 2);
  EXPECT_EQ(stuck.status(), Status::parked);
  rt->stop();
  expect_home();
}

TEST_F(FramesElsewhereTest, AStopDoesNotWaitForAnExecutorThatIsStuck) {
  door.shut();
  auto rt = started({.cancel_grace = 10ms});
  rt->client().start("blocks", {.id = "b"});
  while (door.inside == 0) std::this_thread::yield();
  EXPECT_FALSE(rt->drain(10ms));
  EXPECT_EQ(Client(store).run("b").status(), Status::running) << "it is run again by the next";
  EXPECT_EQ(lines->count("frames of orchestrations are left to their executors"), 1U) << lines->all();
  rt.reset();
  door.let_go();
  while (witness.destroyed == 0) std::this_thread::yield();
  EXPECT_EQ(witness.elsewhere, 0);
  EXPECT_EQ(started()->client().run("b").wait<int>(kSoon), 1);
}

TEST_F(FramesElsewhereTest, WhoseExecutorIsGoneAreNeverDestroyed) {
  auto rt = started();
  const auto runs = start_waiting(rt->client(), 3);
  executor.go();
  runs[0].raise("go", 3);
  EXPECT_TRUE(lines->wait_for("an executor of orchestrations takes nothing more")) << lines->all();
  EXPECT_EQ(rt->client().start("in_place", {.id = "i"}).wait<int>(kSoon), 1);
  EXPECT_FALSE(rt->drain(kSoon));
  EXPECT_EQ(
      lines->count("frames of orchestrations are left to their executors, which have not destroyed them "
                   "count=3 executor_gone=3"),
      1U)
      << lines->all();
  EXPECT_EQ(witness.destroyed, 0);
  EXPECT_EQ(witness.elsewhere, 0);
}

// ---- a worker step by step ----------------------------------------------------------------------

/// Runs what was posted when it is told to.
class HandExecutor final : public detail::FrameExecutor {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "hand"; }
  bool post(std::function<void()> work) override {
    ++posted;
    work_.push_back(std::move(work));
    return true;
  }
  void run_posted() {
    while (!work_.empty()) {
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      running = true;
      next();
      running = false;
    }
  }
  std::size_t posted = 0;
  bool running = false;

 private:
  std::deque<std::function<void()>> work_;
};

/// Runs the code of activities when it is told to.
class Later final : public Executor {
 public:
  void post(Work work) override { work_.push_back(std::move(work)); }
  void run_all() {
    while (!work_.empty()) {
      Work next = std::move(work_.front());
      work_.pop_front();
      next();
    }
  }

 private:
  std::deque<Work> work_;
};

/// Counts what is asked for while an executor runs something.
class Asked final : public FaultPlan {
 public:
  explicit Asked(const HandExecutor& executor) : executor_(executor) {}
  Fault at(std::string_view point) override {
    if (executor_.running) ++while_running;
    if (point == "memory.read_history") ++reads;
    if (point == "memory.commit_turns" && fail_commits) return Fault::fail_before;
    return Fault::none;
  }
  int while_running = 0;
  int reads = 0;
  bool fail_commits = false;

 private:
  const HandExecutor& executor_;
};

class TurnsAwayTest : public ::testing::Test {
 protected:
  TurnsAwayTest() {
    begin_test();
    witness.home = std::this_thread::get_id();
    worker = make("one");
  }
  ~TurnsAwayTest() override {
    worker->leave();
    executor.run_posted();
    EXPECT_EQ(worker->frames_elsewhere(), 0U);
  }

  std::unique_ptr<Worker> make(const std::string& name, std::size_t cached = 10'000) {
    Registry registry;
    registry.add_orchestration("waits", "1", on(executor, detail::make_orchestration(waits)));
    registry.add_orchestration("adds", "1", on(executor, detail::make_orchestration(adds)));
    registry.add_orchestration("in_place", "1", detail::make_orchestration(in_place));
    registry.add_activity("one", detail::make_activity([](ActivityContext&) { return 1; }));
    auto made = std::make_unique<Worker>(
        memory({.database = database, .clock = &clock, .faults = &asked}),
        RuntimeOptions{.node_id = name, .activity_slots = 4, .cached_instances = cached, .logger = lines},
        std::move(registry), later, random, [](Step) {});
    EXPECT_TRUE(made->join());
    return made;
  }
  void start(std::string_view orchestration, int count, const std::string& prefix = "w") {
    for (int i = 0; i < count; ++i) client.start(orchestration, {.id = prefix + std::to_string(i)});
  }
  /// Turns are fetched and sent, or settled; activities are run.
  void turns(Worker& of) {
    of.hear({.work = store::kAllWork});
    for (const Step step : {Step::turns, Step::activities, Step::answers}) of.run(step);
    later.run_all();
  }
  void turns() { turns(*worker); }
  [[nodiscard]] Status status(const std::string& id) { return client.run(id).info().status; }

  ManualClock clock;
  SeededRandom random{1};
  HandExecutor executor;
  Asked asked{executor};
  Later later;
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  Client client{memory({.database = database, .clock = &clock})};
  std::unique_ptr<Worker> worker;
};

TEST_F(TurnsAwayTest, ABatchIsPostedOnce) {
  start("waits", 100);
  turns();
  EXPECT_EQ(executor.posted, 1U);
  EXPECT_EQ(witness.begun, 0) << "nothing happens in place";
  executor.run_posted();
  EXPECT_EQ(witness.begun, 100);
  turns();
  EXPECT_EQ(executor.posted, 1U);
  for (int i = 0; i < 100; ++i) client.raise("w" + std::to_string(i), "go", 1);
  turns();
  EXPECT_EQ(executor.posted, 2U);
  executor.run_posted();
  turns();
  EXPECT_EQ(status("w99"), Status::completed);
  EXPECT_EQ(executor.posted, 2U) << "frames of instances that end need no post of their own";
  EXPECT_EQ(witness.destroyed, 100);
}

TEST_F(TurnsAwayTest, CodeThatRunsInPlacePostsNothing) {
  start("in_place", 20);
  for (int i = 0; i < 20; ++i) turns();
  EXPECT_EQ(status("w19"), Status::completed);
  EXPECT_EQ(executor.posted, 0U);
}

TEST_F(TurnsAwayTest, WhatBecomesReadyMeanwhileCrossesTogether) {
  start("waits", 3, "a");
  turns();
  for (const char* prefix : {"b", "c", "d"}) {
    start("waits", 3, prefix);
    turns();
  }
  EXPECT_EQ(executor.posted, 1U);
  executor.run_posted();
  turns();
  EXPECT_EQ(executor.posted, 2U);
  executor.run_posted();
  EXPECT_EQ(witness.begun, 12);
}

TEST_F(TurnsAwayTest, NothingOnTheExecutorAsksTheStore) {
  start("waits", 5);
  turns();
  executor.run_posted();
  turns();
  auto other = make("other");
  worker->leave();
  for (int i = 0; i < 5; ++i) client.raise("w" + std::to_string(i), "go", 1);
  turns(*other);
  EXPECT_GE(asked.reads, 5);
  executor.run_posted();
  turns(*other);
  EXPECT_EQ(status("w4"), Status::completed);
  EXPECT_EQ(asked.while_running, 0);
  worker = std::move(other);
}

TEST_F(TurnsAwayTest, FramesThatAreEvictedAreDestroyedTogether) {
  start("waits", 50);
  turns();
  executor.run_posted();
  turns();
  clock.advance(1h);
  worker->run(Step::keep);
  EXPECT_EQ(witness.destroyed, 0) << "not in place";
  EXPECT_EQ(executor.posted, 2U);
  executor.run_posted();
  EXPECT_EQ(witness.destroyed, 50);
}

TEST_F(TurnsAwayTest, FramesWhoseCommitsFailAreDestroyedTogether) {
  start("waits", 50);
  turns();
  executor.run_posted();
  asked.fail_commits = true;
  turns();
  EXPECT_EQ(executor.posted, 2U);
  executor.run_posted();
  EXPECT_EQ(witness.destroyed, 50);
  asked.fail_commits = false;
}

TEST_F(TurnsAwayTest, WhatAnExecutorDoesNotBeginGoesToOtherWorkers) {
  start("waits", 3, "a");
  turns();
  start("waits", 3, "b");  // these wait for it
  turns();
  clock.advance(11s);
  worker->run(Step::limits);
  worker->run(Step::keep);
  EXPECT_EQ(lines->count("has not begun with its turns within turn_time_limit"), 1U) << lines->all();
  turns();
  EXPECT_EQ(executor.posted, 1U) << "it is not fetched for an executor that is away";
  EXPECT_EQ(worker->idle(), true);
  Registry registry;
  registry.add_orchestration("waits", "1", detail::make_orchestration(waits));
  Worker other(memory({.database = database, .clock = &clock}), {.node_id = "other", .logger = lines},
               std::move(registry), later, random, [](Step) {});
  ASSERT_TRUE(other.join());
  turns(other);
  EXPECT_EQ(witness.ran, 6);
  EXPECT_EQ(witness.begun, 0);
  executor.run_posted();  // too late
  EXPECT_EQ(witness.begun, 0);
  EXPECT_EQ(lines->count("an executor of orchestrations has come back"), 1U);
  start("waits", 1, "c");
  turns();
  EXPECT_EQ(executor.posted, 2U);
}

TEST_F(TurnsAwayTest, AWorkerThatLeavesGivesBackWhatIsAway) {
  start("waits", 3, "a");
  turns();
  start("waits", 3, "b");
  turns();
  EXPECT_FALSE(worker->idle());
  EXPECT_TRUE(worker->leave()) << lines->all();
  executor.run_posted();
  EXPECT_EQ(witness.begun, 0);
  auto other = make("other");
  turns(*other);
  executor.run_posted();
  EXPECT_EQ(witness.begun, 6);
  worker = std::move(other);
}

TEST_F(TurnsAwayTest, ABatchThatCameBackIsGivenBackByAWorkerThatLeaves) {
  start("waits", 3);
  turns();
  executor.run_posted();
  EXPECT_TRUE(worker->leave()) << lines->all();
  executor.run_posted();
  EXPECT_EQ(witness.destroyed, 3);
  auto other = make("other");
  turns(*other);
  executor.run_posted();
  EXPECT_EQ(witness.begun, 6);
  worker = std::move(other);
}

}  // namespace
}  // namespace holdfast::runtime::turns_away_test
