// A worker without threads on the memory store: steps run when a test says so, at times that it chooses.
#include "runtime/worker.hpp"

#include "testkit/support/forwarding_store.hpp"
#include "testkit/support/lines.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::runtime::worker_test {
namespace {

using support::ForwardingStore;
using support::Lines;
using namespace std::chrono_literals;

/// Decides about each call by what the test says at that time.
class Script final : public FaultPlan {
 public:
  Fault at(std::string_view point) override { return decide ? decide(point) : Fault::none; }
  std::function<Fault(std::string_view)> decide{};
};

/// Runs what was posted when it is told to.
class Hand final : public Executor {
 public:
  void post(Work work) override { posted_.push_back(std::move(work)); }
  void post_at_once(Work work) override { words_.push_back(std::move(work)); }
  [[nodiscard]] std::size_t posted() const { return posted_.size(); }
  void run_posted() { run(posted_); }
  void tell() { run(words_); }
  /// Forgets what was posted, as if its threads had ended: while those are here whom it refers to.
  void drop() {
    for (auto* list : {&posted_, &words_}) {
      while (!list->empty()) {
        const Work dropped = std::move(list->front());
        list->pop_front();
      }
    }
  }

 private:
  static void run(std::deque<Work>& list) {
    while (!list.empty()) {
      Work next = std::move(list.front());
      list.pop_front();
      next();
    }
  }
  std::deque<Work> posted_;
  std::deque<Work> words_;
};

std::function<void()> in_turn;  // what the code of the orchestration does before it waits

Task<int> works(Context& ctx) {
  if (in_turn) in_turn();
  co_return co_await ctx.activity<int>("work");
}
Task<int> works_in_its_session(Context& ctx) {
  const std::string session = "session of " + ctx.instance_id();
  co_return co_await ctx.activity<int>("work", {.session = session});
}
Task<int> works_in_a_session(Context& ctx) { co_return co_await ctx.activity<int>("work", {.session = "s"}); }
Task<int> helps_in_a_session(Context& ctx) { co_return co_await ctx.activity<int>("help", {.session = "s"}); }
Task<int> works_for_a_second(Context& ctx) { co_return co_await ctx.activity<int>("work", {.timeout = 1s}); }

constexpr RetryPolicy kTwice{.max_attempts = 2, .first_delay = 1s, .jitter = 0.0};
Task<int> fails(Context& ctx) { co_return co_await ctx.activity<int>("fail", {.retry = kTwice}); }
Task<int> fails_in_a_session(Context& ctx) {
  co_return co_await ctx.activity<int>("fail", {.session = "s", .retry = kTwice});
}

/// One run of the activity.
struct Seen {
  int delivery = 0;
  std::optional<CancelReason> told{};
};

class WorkerTest : public ::testing::Test {
 protected:
  struct Process {
    explicit Process(WorkerTest& test, const std::string& name, Registry registry)
        : worker(test.open(&script), {.node_id = name, .activity_slots = 4, .logger = test.lines},
                 std::move(registry), hand, test.random, [](Step) {}) {
      EXPECT_TRUE(worker.join().has_value());
    }
    ~Process() { hand.drop(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    void run(std::initializer_list<Step> steps) {
      for (const Step step : steps) worker.run(step);
    }
    Script script{};
    Hand hand{};
    Worker worker;
  };

  std::shared_ptr<Store> open(FaultPlan* plan = nullptr) {
    return memory({.database = database, .clock = &clock, .faults = plan});
  }
  void add_orchestrations(Registry& registry) {
    registry.add_orchestration("works", "1", detail::make_orchestration(works));
    registry.add_orchestration("fails", "1", detail::make_orchestration(fails));
    registry.add_orchestration("fails_in_a_session", "1", detail::make_orchestration(fails_in_a_session));
    registry.add_orchestration("works_for_a_second", "1", detail::make_orchestration(works_for_a_second));
    registry.add_orchestration("works_in_its_session", "1", detail::make_orchestration(works_in_its_session));
    registry.add_orchestration("works_in_a_session", "1", detail::make_orchestration(works_in_a_session));
    registry.add_orchestration("helps_in_a_session", "1", detail::make_orchestration(helps_in_a_session));
  }
  void add_activity(Registry& registry) {
    registry.add_activity("work", detail::make_activity([this](ActivityContext& ctx) {
                            seen.push_back({ctx.delivery(), ctx.cancel_reason()});
                            return static_cast<int>(seen.size());
                          }));
    registry.add_activity("fail", detail::make_activity([](ActivityContext&) -> int {
                            throw ActivityFailure("bad", "no luck");
                          }));
  }
  std::unique_ptr<Process> process(const std::string& name, bool with_turns, bool with_activities) {
    Registry registry;
    if (with_turns) add_orchestrations(registry);
    if (with_activities) add_activity(registry);
    return std::make_unique<Process>(*this, name, std::move(registry));
  }
  /// A process that runs both, and has begun the activity of an instance.
  std::unique_ptr<Process> at_work(std::string_view orchestration = "works") {
    auto one = process("one", true, true);
    run = client.start(orchestration, {.id = "i"});
    one->run({Step::keep, Step::turns});
    EXPECT_EQ(one->hand.posted(), 1U);
    return one;
  }
  [[nodiscard]] int result() { return run->wait<int>(Duration::zero()); }
  void SetUp() override { in_turn = {}; }

  ManualClock clock;
  SeededRandom random{1};
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  Client client{open()};
  std::optional<holdfast::Run> run;
  std::vector<Seen> seen;
};

Fault away(std::string_view) { return Fault::fail_before; }

// ---- limits -------------------------------------------------------------------------------------

// The call hangs for as long as the time that passes inside of it.
TEST_F(WorkerTest, LimitsHoldWhileACallToTheStoreHangs) {
  const auto one = at_work();
  bool hung = false;
  one->script.decide = [&](std::string_view point) {
    if (point != "memory.renew_activities" || std::exchange(hung, true)) return Fault::none;
    clock.advance(33s);
    one->run({Step::limits});
    one->hand.tell();
    one->hand.run_posted();
    return Fault::none;
  };
  one->run({Step::keep});  // it learns when to renew
  clock.advance(11s);
  one->run({Step::keep});
  ASSERT_TRUE(hung);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].told, CancelReason::lease_lost);
}

TEST_F(WorkerTest, TimeoutsHoldWhileTheStoreIsAway) {
  const auto one = at_work("works_for_a_second");
  one->script.decide = away;
  clock.advance(1s);
  one->run({Step::limits});
  one->hand.tell();
  one->hand.run_posted();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].told, CancelReason::attempt_timeout);
}

TEST_F(WorkerTest, TheLimitsStepAsksTheStoreNothing) {
  const auto one = at_work("works_for_a_second");
  int calls = 0;
  one->script.decide = [&](std::string_view) {
    ++calls;
    return Fault::none;
  };
  for (int i = 0; i < 60; ++i) {
    clock.advance(1s);
    one->run({Step::limits});
  }
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(one->worker.slots_in_use(), 0U);  // and did all that it has to: the code ignored it
}

// ---- leases -------------------------------------------------------------------------------------

TEST_F(WorkerTest, TheLeaseOfWhatIsHandedOffBeginsWithTheCommit) {
  in_turn = [this] { clock.advance(31s); };
  const auto one = at_work();
  one->run({Step::limits});
  one->hand.tell();
  one->hand.run_posted();
  one->run({Step::turns});
  EXPECT_EQ(result(), 1);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].told, std::nullopt);
}

TEST_F(WorkerTest, WhatComesWhenItsLeaseIsOverIsNotBegun) {
  const auto turns = process("turns", true, false);
  const auto one = process("one", false, true);
  run = client.start("works", {.id = "i"});
  turns->run({Step::keep, Step::turns});
  // The call is under way for longer than the lease.
  one->script.decide = [&](std::string_view) {
    one->script.decide = {};
    clock.advance(31s);
    return Fault::none;
  };
  one->run({Step::activities});
  EXPECT_EQ(one->hand.posted(), 0U);
  one->run({Step::answers, Step::activities});
  ASSERT_EQ(one->hand.posted(), 1U);
  one->hand.run_posted();
  EXPECT_EQ(seen.at(0).delivery, 1);
}

// ---- results ------------------------------------------------------------------------------------

TEST_F(WorkerTest, AResultThatTheStoreCouldNotTakeInTimeIsNotLostToAFetchOfItsOwnWorker) {
  const auto one = at_work();
  one->hand.run_posted();
  one->script.decide = away;
  one->run({Step::turns, Step::answers});
  clock.advance(31s);
  one->run({Step::limits, Step::keep, Step::answers});
  one->script.decide = {};
  clock.advance(2s);
  one->run({Step::activities});
  EXPECT_EQ(one->hand.posted(), 0U);
  one->run({Step::answers, Step::answers, Step::turns});  // by the lock that is over, and by the new one
  EXPECT_EQ(result(), 1);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(WorkerTest, NorIsOneWhoseAnswerIsUnderWay) {
  const auto one = at_work();
  one->hand.run_posted();
  one->script.decide = away;
  one->run({Step::turns});
  one->script.decide = [&](std::string_view point) {
    if (point != "memory.finish_activities") return Fault::none;
    one->script.decide = {};
    clock.advance(31s);
    one->run({Step::activities});
    return Fault::none;
  };
  one->run({Step::answers});
  EXPECT_EQ(one->hand.posted(), 0U);
  one->run({Step::answers, Step::turns});
  EXPECT_EQ(result(), 1);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(WorkerTest, AResultAfterTheLeaseCountsWhenNobodyElseHasTakenTheActivity) {
  const auto one = at_work();
  one->script.decide = away;
  clock.advance(31s);
  one->run({Step::limits, Step::keep});
  one->hand.tell();
  one->script.decide = {};
  clock.advance(2s);
  one->run({Step::activities});
  one->hand.run_posted();
  one->run({Step::keep, Step::answers, Step::turns, Step::answers, Step::turns});
  EXPECT_EQ(result(), 1);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].told, CancelReason::lease_lost);
}

// What it has in its hands is the memory of a session that somebody else had in between.
TEST_F(WorkerTest, ButNotInASessionThatAnotherWorkerHadMeanwhile) {
  const auto one = process("one", true, true);
  run = client.start("works_in_a_session", {.id = "i"});
  one->run({Step::keep, Step::turns, Step::activities});
  ASSERT_EQ(one->hand.posted(), 1U);
  one->script.decide = away;
  clock.advance(31s);
  one->run({Step::limits, Step::keep});
  one->hand.tell();
  Registry registry;
  registry.add_activity("help", detail::make_activity([](ActivityContext&) { return 7; }));
  add_orchestrations(registry);
  Process other(*this, "other", std::move(registry));
  client.start("helps_in_a_session", {.id = "helped"});
  other.run({Step::keep, Step::turns, Step::activities});
  ASSERT_EQ(other.hand.posted(), 1U);
  other.hand.run_posted();
  other.run({Step::answers, Step::turns, Step::answers});
  other.worker.stop_accepting();
  other.run({Step::keep, Step::keep});
  one->script.decide = {};
  clock.advance(2s);
  one->run({Step::activities});
  EXPECT_EQ(one->hand.posted(), 2U) << lines->all();
  one->hand.run_posted();
  one->run({Step::answers, Step::turns, Step::answers, Step::turns});
  EXPECT_EQ(result(), 2);
  EXPECT_EQ(seen.at(1).delivery, 2);
}

TEST_F(WorkerTest, AResultThatIsDroppedIsSaid) {
  const auto one = at_work();
  const auto other = process("other", false, true);
  one->script.decide = away;
  clock.advance(31s);
  one->run({Step::limits});
  one->hand.tell();
  other->run({Step::activities});
  EXPECT_EQ(other->hand.posted(), 1U);
  one->script.decide = {};
  one->hand.run_posted();
  one->run({Step::answers, Step::turns, Step::answers});
  EXPECT_EQ(lines->count("the result of an activity is refused"), 1U) << lines->all();
  other->hand.run_posted();
  other->run({Step::answers});
  one->run({Step::turns});
  EXPECT_EQ(result(), 2);
  EXPECT_EQ(seen[1].delivery, 2);
}

/// Writes what nobody can read into the rows of activities.
class Scribbles final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override {
    std::vector<store::TurnCommit> changed(commits.begin(), commits.end());
    for (store::TurnCommit& commit : changed) {
      for (store::NewActivity& activity : commit.activities) activity.body = "\xff";
    }
    return ForwardingStore::commit_turns(request, changed);
  }
};

TEST_F(WorkerTest, AnActivityThatNobodyCanReadIsSetAsideAndItsSessionStays) {
  Registry registry;
  add_orchestrations(registry);
  Script script;
  Hand hand;
  Worker turns(std::make_shared<Scribbles>(open(&script)), {.node_id = "turns", .logger = lines},
               std::move(registry), hand, random, [](Step) {});
  ASSERT_TRUE(turns.join());
  run = client.start("works_in_a_session", {.id = "i"});
  const auto one = process("one", false, true);
  for (int i = 0; i < 3; ++i) {
    turns.run(Step::keep);
    turns.run(Step::turns);
    one->run({Step::activities, Step::answers, Step::keep});
  }
  EXPECT_EQ(lines->count("the body of an activity can't be read; it is set aside"), 1U) << lines->all();
  const auto result = run->result<int>(Duration::zero());
  ASSERT_FALSE(result);
  EXPECT_TRUE(seen.empty());
  const auto rows = open()->set_aside(0, 10);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().bytes, "\xff");
  EXPECT_EQ(open()->session("s")->owner, "one");
  EXPECT_EQ(open()->session("s")->state, store::SessionStatus::active);
}

// ---- what is said ---------------------------------------------------------------------------------

TEST_F(WorkerTest, AWorkerSaysThatItHasStartedAndStopped) {
  const auto one = process("one", true, true);
  EXPECT_EQ(lines->count("info  worker started build=0 slots=4 store="), 1U) << lines->all();
  EXPECT_EQ(lines->count("worker=one"), 1U);
  one->worker.stop_accepting();
  EXPECT_TRUE(one->worker.leave());
  EXPECT_EQ(lines->count("info  worker stopped worker=one"), 1U) << lines->all();
}

TEST_F(WorkerTest, AttemptsThatFailAreSaidAndSoIsTheInstanceThatFailsByThem) {
  const auto one = process("one", true, true);
  run = client.start("fails", {.id = "i"});
  one->run({Step::keep, Step::turns});
  one->hand.run_posted();
  EXPECT_EQ(lines->count("warn  attempt failed; it is retried instance=i activity=fail event=3 attempt=1 "
                         "retry_in_ms=1000 type=bad failure=\"no luck\" worker=one"),
            1U)
      << lines->all();
  one->run({Step::answers});
  clock.advance(1s);
  one->run({Step::activities});
  one->hand.run_posted();
  EXPECT_EQ(
      lines->count("warn  activity failed for good instance=i activity=fail event=3 attempt=2 type=bad"), 1U)
      << lines->all();
  EXPECT_EQ(lines->count("instance failed"), 0U) << "nothing of it is committed";
  one->run({Step::answers, Step::turns});
  EXPECT_EQ(lines->count("warn  instance failed instance=i orchestration=fails execution=1 type=bad"), 1U)
      << lines->all();
}

TEST_F(WorkerTest, ALineAboutAnActivityOfASessionNamesTheSession) {
  const auto one = process("one", true, true);
  run = client.start("fails_in_a_session", {.id = "i"});
  one->run({Step::keep, Step::turns, Step::activities});
  one->hand.run_posted();
  EXPECT_EQ(lines->count("instance=i activity=fail event=3 attempt=1 session=s"), 1U) << lines->all();
}

TEST_F(WorkerTest, WorkThatIsTakenOverFromAWorkerThatIsGoneIsSaid) {
  const auto one = at_work();
  one->script.decide = away;
  clock.advance(31s);
  const auto other = process("other", true, true);
  other->run({Step::keep, Step::activities});
  EXPECT_EQ(
      lines->count("activity taken over: the worker that had it gave no answer before its lease was over "
                   "instance=i activity=work event=3 attempt=1 delivery=2 worker=other"),
      1U)
      << lines->all();
  client.start("works", {.id = "j"});
  Registry registry;
  add_orchestrations(registry);
  Process dies(*this, "dies", std::move(registry));
  dies.script.decide = [](std::string_view point) {
    return point == "memory.commit_turns" ? Fault::fail_before : Fault::none;
  };
  dies.run({Step::turns});
  clock.advance(6s);
  other->run({Step::turns});
  EXPECT_EQ(lines->count("instance taken over: the worker that had it committed nothing before its lease was "
                         "over instance=j orchestration=works delivery=2 worker=other"),
            1U)
      << lines->all();
}

TEST_F(WorkerTest, AWorkerThatWasSupersededSaysSoAndBlamesNotTheStore) {
  const auto one = process("one", true, true);
  const auto again = process("one", true, true);
  client.start("works", {.id = "i"});
  one->run({Step::turns, Step::activities, Step::keep, Step::turns, Step::activities, Step::keep});
  EXPECT_EQ(lines->count("this worker was superseded"), 1U) << lines->all();
  EXPECT_EQ(lines->count("could not answer"), 0U) << lines->all();
}

// ---- fetches ------------------------------------------------------------------------------------

// Both have slots and room for all of them, and whoever is faster asks again.
TEST_F(WorkerTest, EqualWorkersEachGetTheirShareOfTheSessionsThatWait) {
  const auto turns = process("turns", true, false);
  const auto one = process("one", false, true);
  const auto other = process("other", false, true);
  for (int i = 0; i < 6; ++i) client.start("works_in_its_session", {.id = "i" + std::to_string(i)});
  turns->run({Step::keep, Step::turns});
  one->run({Step::activities, Step::activities, Step::activities, Step::activities});
  EXPECT_EQ(one->hand.posted(), 2U);  // of three workers
  other->run({Step::activities, Step::activities});
  EXPECT_EQ(other->hand.posted(), 2U);
  clock.advance(10ms);
  one->run({Step::activities});
  other->run({Step::activities});
  EXPECT_EQ(one->hand.posted() + other->hand.posted(), 6U);
}

TEST_F(WorkerTest, WhatAFetchLockedWhoseAnswerWasLostIsRunAtTheNextOne) {
  const auto turns = process("turns", true, false);
  const auto one = process("one", false, true);
  run = client.start("works", {.id = "i"});
  turns->run({Step::keep, Step::turns});
  one->script.decide = [&](std::string_view point) {
    if (point != "memory.fetch_activities") return Fault::none;
    one->script.decide = {};
    return Fault::lose_answer;
  };
  one->run({Step::activities});
  EXPECT_EQ(one->hand.posted(), 0U);
  clock.advance(1s);
  one->run({Step::activities});
  ASSERT_EQ(one->hand.posted(), 1U);
  one->hand.run_posted();
  EXPECT_EQ(seen.at(0).delivery, 1);
}

TEST_F(WorkerTest, AnInstanceThatAFetchLockedWhoseAnswerWasLostRunsAtTheNextOne) {
  const auto one = process("one", true, true);
  run = client.start("works", {.id = "i"});
  one->script.decide = [&](std::string_view point) {
    if (point != "memory.fetch_turns") return Fault::none;
    one->script.decide = {};
    return Fault::lose_answer;
  };
  one->run({Step::turns});
  EXPECT_EQ(one->hand.posted(), 0U);
  clock.advance(1s);
  one->run({Step::turns});
  EXPECT_EQ(one->hand.posted(), 1U);
}

TEST_F(WorkerTest, AWorkerThatDrainsGivesBackWhatAFetchLockedWhoseAnswerWasLost) {
  const auto turns = process("turns", true, false);
  const auto one = process("one", false, true);
  const auto other = process("other", false, true);
  run = client.start("works", {.id = "i"});
  turns->run({Step::keep, Step::turns});
  one->script.decide = [&](std::string_view point) {
    if (point != "memory.fetch_activities") return Fault::none;
    one->script.decide = {};
    return Fault::lose_answer;
  };
  one->run({Step::activities});
  one->worker.stop_accepting();
  clock.advance(1s);
  one->run({Step::activities});
  EXPECT_EQ(one->hand.posted(), 0U);
  other->run({Step::activities});
  EXPECT_EQ(other->hand.posted(), 1U);
}

// ---- leaving ------------------------------------------------------------------------------------

TEST_F(WorkerTest, AStoreThatDoesNotAnswerIsAskedNothingMoreOnceThereIsNoMoreTime) {
  const auto one = at_work();
  one->hand.run_posted();
  int calls = 0;
  one->script.decide = [&](std::string_view) {
    ++calls;
    return Fault::fail_before;
  };
  one->worker.give_up_store_at(clock.boot_now() + 10s);
  one->worker.stop_accepting();
  one->run({Step::keep, Step::answers, Step::turns});
  EXPECT_GT(calls, 0);
  clock.advance(10s);
  calls = 0;
  one->run({Step::keep, Step::answers, Step::turns, Step::activities});
  EXPECT_FALSE(one->worker.ends_soon());
  EXPECT_FALSE(one->worker.leave());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(lines->count("not everything could be released"), 1U) << lines->all();
}

TEST_F(WorkerTest, WhatTheStoreHasTakenBackIsNotSaidToBeLeft) {
  const auto one = at_work();
  one->hand.run_posted();
  one->worker.give_up_store_at(clock.boot_now());
  one->worker.stop_accepting();
  one->run({Step::turns, Step::answers, Step::keep});
  EXPECT_TRUE(one->worker.leave()) << lines->all();
  EXPECT_EQ(lines->count("not everything could be released"), 0U) << lines->all();
}

}  // namespace
}  // namespace holdfast::runtime::worker_test
