// Activities that nobody wants any more: how they learn of it, how long they have, and what becomes of those
// that don't listen.
#include "stores_test.hpp"
#include "testkit/support/forwarding_store.hpp"

#include <holdfast/fault.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace holdfast::e2e::cancellation_test {
namespace {

using support::ForwardingStore;

/// Blocks until the activity is asked to stop.
void wait_for_stop(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait(lock, std::move(stop), [] { return false; });
}

/// What the activities of a test saw. Any thread.
class Seen {
 public:
  void begin() { ++begun_; }
  void stopped(const std::string& instance, std::optional<CancelReason> reason) {
    const std::lock_guard lock(mutex_);
    reasons_[instance] = reason;
    ++stopped_;
  }
  [[nodiscard]] bool has_begun(int count) const { return begun_ >= count; }
  [[nodiscard]] bool has_stopped(int count) const { return stopped_ >= count; }
  [[nodiscard]] std::optional<CancelReason> reason(const std::string& instance) {
    const std::lock_guard lock(mutex_);
    return reasons_[instance];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::optional<CancelReason>> reasons_;
  std::atomic<int> begun_{0};
  std::atomic<int> stopped_{0};
};

/// Code that does not listen, until the test lets it go.
class Stubborn {
 public:
  ~Stubborn() { release(); }
  Stubborn() = default;
  Stubborn(const Stubborn&) = delete;
  Stubborn& operator=(const Stubborn&) = delete;

  void hold() {
    ++inside;
    while (!released_) std::this_thread::sleep_for(1ms);
    --inside;
  }
  /// Returns when nobody is inside any more.
  void release() {
    released_ = true;
    while (inside > 0) std::this_thread::yield();
  }
  std::atomic<int> inside{0};

 private:
  std::atomic<bool> released_{false};
};

Task<int> watches(Context& ctx) { co_return co_await ctx.activity<int>("watch"); }
Task<int> races(Context& ctx) {
  const auto won = co_await race(ctx.activity<int>("watch"), ctx.event<int>("go"));
  co_await ctx.event<int>("end");
  co_return static_cast<int>(won.index());
}
Task<int> times_out(Context& ctx) {
  const std::optional<int> none = co_await with_timeout(ctx.activity<int>("watch"), 500ms);
  co_await ctx.event<int>("end");
  co_return none.value_or(-1);
}
Task<int> leaves_scope(Context& ctx) {
  {
    const Future<int> dropped = ctx.activity<int>("watch").start();
    co_await ctx.event<int>("go");
  }
  co_return co_await ctx.event<int>("end");
}
Task<int> completes(Context& ctx) {
  ctx.activity<int>("watch").start().detach();
  co_return co_await ctx.event<int>("go");
}
Task<int> fails(Context& ctx) {
  ctx.activity<int>("watch").start().detach();
  co_await ctx.event<int>("go");
  throw std::runtime_error("it had to be");
}
Task<int> goes_on_as_new(Context& ctx, int round) {
  if (round > 0) co_return co_await ctx.event<int>("end");
  ctx.activity<int>("watch").start().detach();
  co_await ctx.event<int>("go");
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}
Task<int> drops_child(Context& ctx) {
  const std::string child = ctx.instance_id() + "/child";
  const auto won = co_await race(ctx.child<int>("watches", {.id = child}), ctx.event<int>("go"));
  co_return static_cast<int>(won.index());
}

void add_orchestrations(Runtime& rt) {
  rt.orchestration("watches", watches);
  rt.orchestration("races", races);
  rt.orchestration("times_out", times_out);
  rt.orchestration("leaves_scope", leaves_scope);
  rt.orchestration("completes", completes);
  rt.orchestration("fails", fails);
  rt.orchestration("goes_on_as_new", goes_on_as_new);
  rt.orchestration("drops_child", drops_child);
}

class CancellationTest : public OnEachStore {
 protected:
  /// With the activity `watch`, which ends when it is asked to.
  std::unique_ptr<Runtime> watching(RuntimeOptions options = {}) {
    return runtime(std::move(options), [this](Runtime& r) {
      add_orchestrations(r);
      r.activity("watch", [this](ActivityContext& ctx) {
        EXPECT_FALSE(ctx.stop_token().stop_requested());
        EXPECT_FALSE(ctx.cancel_reason());
        seen.begin();
        wait_for_stop(ctx.stop_token());
        seen.stopped(ctx.instance(), ctx.cancel_reason());
        return 0;
      });
    });
  }
  /// With the activity `watch`, which listens to nobody but the test.
  std::unique_ptr<Runtime> ignoring(RuntimeOptions options) {
    return runtime(std::move(options), [this](Runtime& r) {
      add_program(r);
      add_orchestrations(r);
      r.activity("watch", [this](ActivityContext&) {
        stubborn.hold();
        return 0;
      });
    });
  }

  Seen seen;
  Stubborn stubborn;
};
HOLDFAST_ON_EACH_STORE(CancellationTest);

// ---- the token ----------------------------------------------------------------------------------

TEST_P(CancellationTest, TheStopTokenIsQuietWhileTheInstanceRuns) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("watches", watches);
    r.activity("watch", [](ActivityContext& ctx) { return ctx.stop_token().stop_requested() ? 1 : 0; });
  });
  EXPECT_EQ(rt->client().start("watches", {.id = "w"}).wait<int>(kSoon), 0);
  EXPECT_EQ(log->count("asked to stop"), 0U);
}

struct Trigger {
  std::string orchestration{};
  CancelReason reason{};
  std::function<void(const Client&, const std::string&)> pull{};
  std::string whose{};  ///< behind the id of the instance: whose activity it is
};

std::vector<Trigger> all_triggers() {
  const auto go = [](const Client& client, const std::string& id) { client.raise(id, "go", 1); };
  return {
      {"watches", CancelReason::cancel_requested,
       [](const Client& client, const std::string& id) { client.cancel(id, "enough"); }},
      {"watches", CancelReason::execution_terminated,
       [](const Client& client, const std::string& id) { client.terminate(id, "enough"); }},
      {"watches", CancelReason::instance_deleted,
       [](const Client& client, const std::string& id) { client.delete_instance(id, {.force = true}); }},
      {"completes", CancelReason::execution_completed, go},
      {"fails", CancelReason::execution_failed, go},
      {"goes_on_as_new", CancelReason::continued_as_new, go},
      {"races", CancelReason::dropped, go},
      {"leaves_scope", CancelReason::dropped, go},
      {"times_out", CancelReason::dropped, [](const Client&, const std::string&) {}},
      {"drops_child", CancelReason::cancel_requested, go, "/child"},
  };
}

TEST_P(CancellationTest, EveryTriggerFiresTheTokenWithItsReasonInContextLogAndDescription) {
  const auto rt = watching();
  const Client client = rt->client();
  int number = 0;
  for (const Trigger& trigger : all_triggers()) {
    const std::string id = trigger.orchestration + "-" + std::to_string(++number);
    SCOPED_TRACE(id);
    Client starter = client;
    if (trigger.orchestration == "goes_on_as_new") {
      starter.start(trigger.orchestration, {.id = id}, 0);
    } else {
      starter.start(trigger.orchestration, {.id = id});
    }
    ASSERT_TRUE(eventually([&] { return seen.has_begun(number); }));
    trigger.pull(client, id);
    ASSERT_TRUE(eventually([&] { return seen.has_stopped(number); }));
    const std::string whose = id + trigger.whose;
    EXPECT_EQ(seen.reason(whose), trigger.reason);
    EXPECT_TRUE(log->wait_for_parts({"asked to stop instance=" + whose + " activity=watch event=",
                                     "reason=" + std::string(to_string(trigger.reason))}));
    if (trigger.reason == CancelReason::instance_deleted) continue;
    const std::vector<RunCancel> cancels = client.describe(whose).cancels;
    ASSERT_EQ(cancels.size(), 1U);
    EXPECT_EQ(cancels[0].reason, trigger.reason);
  }
}

// ---- the grace ----------------------------------------------------------------------------------

TEST_P(CancellationTest, AnActivityThatEndsWithinItsGraceIsAcknowledgedWithoutAWarning) {
  const auto rt = watching();
  const Run run = rt->client().start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  run.cancel("enough");
  EXPECT_TRUE(log->wait_for("activity has ended within its grace instance=w"));
  EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(eventually([&] {
    const auto cancels = run.describe().cancels;
    return cancels.size() == 1 && cancels[0].state == CancelState::acknowledged;
  }));
  EXPECT_EQ(log->count("warn"), 0U) << log->all();
}

TEST_P(CancellationTest, CodeThatThrowsIfItIsStoppingEndsWithoutAWarning) {
  const auto rt = runtime([this](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [this](ActivityContext& ctx) -> int {
      ctx.throw_if_stopping();
      seen.begin();
      wait_for_stop(ctx.stop_token());
      ctx.throw_if_stopping();
      ADD_FAILURE() << "it goes on";
      return 0;
    });
  });
  const Run run = rt->client().start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  run.cancel("enough");
  EXPECT_TRUE(log->wait_for("info  activity has ended within its grace instance=w"));
  EXPECT_EQ(log->count("warn"), 0U) << log->all();
}

// What was half done when its worker had to go is not taken for the result.
TEST_P(CancellationTest, CodeThatThrowsWhenItsWorkerDrainsIsRunByAnotherWithoutCostingAnAttempt) {
  auto first = runtime([this](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [this](ActivityContext& ctx) -> int {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::worker_stopping);
      ctx.throw_if_stopping();
      return -1;
    });
  });
  const Run run = Client(store()).start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  first->drain(Duration::zero());
  first.reset();
  const auto second = runtime([](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [](ActivityContext& ctx) { return 10 * ctx.attempt() + ctx.delivery(); });
  });
  EXPECT_EQ(run.wait<int>(kSoon), 11);
}

TEST_P(CancellationTest, WhatCodeReturnsWhenItsWorkerDrainsIsItsResult) {
  auto rt = runtime([this](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [this](ActivityContext& ctx) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      return 7;
    });
  });
  const Run run = Client(store()).start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  rt->drain(Duration::zero());
  rt.reset();
  const auto next = runtime([](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [](ActivityContext&) { return 0; });
  });
  EXPECT_EQ(run.wait<int>(kSoon), 7);
}

TEST_P(CancellationTest, AWorkerWhoseSlotsAllIgnoreTheirStopServesNewWorkAfterTheGrace) {
  const auto rt = ignoring({.activity_slots = 4, .cancel_grace = 50ms});
  std::vector<Run> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(rt->client().start("watches", {.id = "w" + std::to_string(i)}));
  ASSERT_TRUE(eventually([&] { return stubborn.inside == 4; }));
  const Run waits = rt->client().start("hello", {.id = "h"}, "Ada");
  for (const Run& run : runs) run.cancel("enough");
  EXPECT_EQ(waits.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(stubborn.inside, 4);
  EXPECT_TRUE(eventually([&] { return log->count("activity goes on after its grace") == 4; }));
  for (const Run& run : runs) {
    EXPECT_TRUE(eventually([&] {
      const auto cancels = run.describe().cancels;
      return cancels.size() == 1 && cancels[0].state == CancelState::abandoned;
    }));
  }
  stubborn.release();
}

TEST_P(CancellationTest, WithTooManyAbandonedActivitiesAWorkerBeginsNoMoreAndSaysSo) {
  const auto rt = ignoring({.activity_slots = 4, .cancel_grace = 10ms, .max_abandoned = 2});
  for (const std::string id : {"a", "b"}) rt->client().start("watches", {.id = id});
  ASSERT_TRUE(eventually([&] { return stubborn.inside == 2; }));
  for (const std::string id : {"a", "b"}) rt->client().cancel(id, "enough");
  EXPECT_TRUE(log->wait_for("this worker begins no more activities"));
  EXPECT_EQ(rt->metrics()
                .gauge("holdfast_abandoned_activities", "Activities that go on after their grace.")
                .value(),
            2);
  const Run waits = rt->client().start("hello", {.id = "h"}, "Ada");
  EXPECT_TRUE(eventually([&] { return waits_for(waits.describe(), RunWait::Kind::activity, "greet"); }));
  EXPECT_EQ(waits.result<std::string>(50ms).error().type, "wait_timeout");
  EXPECT_EQ(wait_of(waits.describe(), RunWait::Kind::activity).running_on, "");
  stubborn.release();
  EXPECT_EQ(waits.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_TRUE(log->wait_for("this worker begins activities again"));
}

Task<std::string> ends_three_ways(Context& ctx) {
  std::vector<Op<int>> parts;
  for (const std::string how : {"returns", "fails", "throws"}) parts.push_back(ctx.activity<int>("end", how));
  co_await when_all(std::move(parts));
  co_return "nobody asked for it";
}

TEST_P(CancellationTest, WhatActivitiesReturnOrThrowDuringTheirGraceIsDropped) {
  const auto rt = runtime([this](Runtime& r) {
    r.orchestration("ends_three_ways", ends_three_ways);
    r.activity("end", [this](ActivityContext& ctx, std::string how) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      seen.stopped(how, ctx.cancel_reason());
      if (how == "fails") throw ActivityFailure("stopped", "as asked");
      if (how == "throws") throw std::runtime_error("out of memory");
      return 1;
    });
  });
  const Run run = rt->client().start("ends_three_ways", {.id = "e"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(3); }));
  run.cancel("enough");
  EXPECT_EQ(run.result<std::string>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(eventually([&] { return seen.has_stopped(3); }));
  EXPECT_TRUE(eventually([&] { return log->count("its failure is dropped") == 2; }));
  EXPECT_TRUE(log->wait_for("activity has ended within its grace"));
  EXPECT_EQ(run.describe().unread_messages, 0U);
  EXPECT_TRUE(run.describe().waits.empty());
}

Task<int> three_at_once(Context& ctx) {
  std::vector<Op<int>> parts;
  for (const std::string how : {"at once", "slowly", "never"})
    parts.push_back(ctx.activity<int>("stop", how));
  int sum = 0;
  for (const int part : co_await when_all(std::move(parts))) sum += part;
  co_return sum;
}

TEST_P(CancellationTest, ActivitiesInParallelAreCancelledTogetherAndEachEndsInItsOwnTime) {
  const auto rt = runtime({.cancel_grace = 200ms}, [this](Runtime& r) {
    r.orchestration("three_at_once", three_at_once);
    r.activity("stop", [this](ActivityContext& ctx, std::string how) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      seen.stopped(how, ctx.cancel_reason());
      if (how == "slowly") std::this_thread::sleep_for(20ms);
      if (how == "never") stubborn.hold();
      return 1;
    });
  });
  const Run run = rt->client().start("three_at_once", {.id = "t"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(3); }));
  run.cancel("enough");
  EXPECT_TRUE(eventually([&] { return seen.has_stopped(3); }));
  EXPECT_TRUE(log->wait_for("activity goes on after its grace"));
  EXPECT_TRUE(eventually([&] { return log->count("activity has ended within its grace") == 2; }));
  stubborn.release();
  for (const std::string how : {"at once", "slowly", "never"})
    EXPECT_EQ(seen.reason(how), CancelReason::cancel_requested);
}

// ---- threads of activities ------------------------------------------------------------------------

TEST_P(CancellationTest, ThreadsThatShareTheTokenStopWithTheirActivity) {
  std::atomic<int> children{0};
  const auto rt = runtime([&](Runtime& r) {
    r.orchestration("watches", watches);
    r.activity("watch", [&](ActivityContext& ctx) {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, stop = ctx.stop_token()] {
          ++children;
          wait_for_stop(stop);
          --children;
        });
      }
      seen.begin();
      return 0;  // after its threads, which its scope waits for
    });
  });
  const Run run = rt->client().start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return children == 3; }));
  run.cancel("enough");
  EXPECT_TRUE(log->wait_for("activity has ended within its grace"));
  EXPECT_EQ(children, 0);
}

TEST_P(CancellationTest, AThreadWithoutTheTokenMayOutliveItsActivity) {
  std::jthread child;
  const auto rt = runtime([&](Runtime& r) {
    r.orchestration("watches", watches);
    r.activity("watch", [&](ActivityContext& ctx) {
      child = std::jthread([&] { stubborn.hold(); });
      wait_for_stop(ctx.stop_token());
      return 0;
    });
  });
  const Run run = rt->client().start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return stubborn.inside == 1; }));
  run.cancel("enough");
  EXPECT_TRUE(log->wait_for("activity has ended within its grace"));
  EXPECT_EQ(stubborn.inside, 1);
  stubborn.release();
}

// ---- what never runs ------------------------------------------------------------------------------

Task<int> drops_at_once(Context& ctx) {
  {
    const Future<int> dropped = ctx.activity<int>("watch").start();
  }
  co_return 7;
}

TEST_P(CancellationTest, WhatIsScheduledAndDroppedInOneTurnNeverRuns) {
  const auto rt = runtime([this](Runtime& r) {
    r.orchestration("drops_at_once", drops_at_once);
    r.activity("watch", [this](ActivityContext&) {
      seen.begin();
      return 0;
    });
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(rt->client().start("drops_at_once", {.id = std::to_string(i)}).wait<int>(kSoon), 7);
  EXPECT_TRUE(rt->client().queues().empty());
  rt->stop();
  EXPECT_FALSE(seen.has_begun(1));
}

TEST_P(CancellationTest, WhatIsQueuedWhenItsInstanceEndsIsNeverStarted) {
  const auto decides = runtime({.queues = {}}, [](Runtime& r) { add_orchestrations(r); });
  const Client client = decides->client();
  const auto queued = [&](std::uint64_t count) {
    const auto queues = client.queues();
    return count == 0 ? queues.empty() : !queues.empty() && queues.front().ready == count;
  };
  Client starter = client;
  for (const std::string id : {"cancelled", "terminated", "deleted"}) starter.start("watches", {.id = id});
  starter.start("completes", {.id = "completed"});
  ASSERT_TRUE(eventually([&] { return queued(4); }));
  client.cancel("cancelled", "enough");
  client.terminate("terminated", "enough");
  client.delete_instance("deleted", {.force = true});
  client.raise("completed", "go", 1);
  EXPECT_TRUE(eventually([&] { return queued(0); }));
  const auto runs_them = watching();
  runs_them->stop();
  EXPECT_FALSE(seen.has_begun(1));
}

// ---- whichever commits first ------------------------------------------------------------------------

Task<int> begins_at_once(Context& ctx) {
  ctx.set_value("began", true);
  co_return co_await ctx.activity<int>("work");
}
Task<std::string> starts_one(Context& ctx) {
  co_await ctx.event<int>("go");
  const Result<int> child = co_await ctx.child<int>("begins_at_once", {.id = "child"}).result();
  co_return child ? "done" : std::string(to_string(child.error().category));
}

TEST_P(CancellationTest, WhatIsTerminatedBeforeItsFirstTurnNeverRuns) {
  std::atomic<int> worked{0};
  Client client(store());
  const auto add = [&](Runtime& r) {
    r.activity("work", [&](ActivityContext&) { return ++worked; });
    r.orchestration("begins_at_once", begins_at_once);
  };
  for (int i = 0; i < 5; ++i)
    client.start("begins_at_once", {.id = "i" + std::to_string(i)}).terminate("never mind");
  const auto rt = runtime(add);
  for (int i = 0; i < 5; ++i) {
    const Run run = client.run("i" + std::to_string(i));
    EXPECT_EQ(run.result<int>(kSoon).error().category, Category::terminated);
    EXPECT_EQ(run.status(), Status::terminated);
    EXPECT_FALSE(run.value<bool>("began").has_value());
  }
  EXPECT_EQ(worked, 0);
}

// It is started by code that a worker has, and has a turn of its own on one that comes later.
TEST_P(CancellationTest, AChildThatIsTerminatedBeforeItsFirstTurnNeverRunsAndTellsItsParent) {
  std::atomic<int> worked{0};
  Client client(store());
  auto starter = runtime([](Runtime& r) { r.orchestration("starts_one", starts_one); });
  const Run parent = client.start("starts_one", {.id = "p"});
  parent.raise("go", 1);
  EXPECT_TRUE(eventually([&] { return client.find("child").has_value(); }));
  client.terminate("child", "never mind");
  const auto rt = runtime([&](Runtime& r) {
    r.activity("work", [&](ActivityContext&) { return ++worked; });
    r.orchestration("begins_at_once", begins_at_once);
  });
  EXPECT_EQ(parent.wait<std::string>(kSoon), "terminated");
  EXPECT_FALSE(client.run("child").value<bool>("began").has_value());
  EXPECT_EQ(worked, 0);
}

TEST_P(CancellationTest, ACompletionThatIsCommittedBeforeTheRequestWins) {
  const auto rt = runtime([](Runtime& r) {
    add_orchestrations(r);
    r.activity("watch", [](ActivityContext&) { return 0; });
  });
  const Run run = rt->client().start("races", {.id = "r"});
  EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "end"); }));
  run.cancel("too late for the activity");
  EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(run.describe().cancels.empty());
  EXPECT_EQ(log->count("asked to stop"), 0U);
}

TEST_P(CancellationTest, ARequestToWhatHasEndedOrIsUnknownIsAnsweredClearly) {
  const auto rt = runtime([](Runtime& r) { add_program(r); });
  const Client client = rt->client();
  const Run run = rt->client().start("hello", {.id = "h"}, "Ada");
  EXPECT_EQ(run.wait<std::string>(kSoon), "Hello, Ada!");
  const auto kind_of = [](const std::function<void()>& call) -> std::optional<ClientError::Kind> {
    try {
      call();
    } catch (const ClientError& e) {
      EXPECT_NE(std::string(e.what()).find("'"), std::string::npos) << e.what();  // names whom
      return e.kind();
    }
    return std::nullopt;
  };
  EXPECT_EQ(kind_of([&] { client.cancel("h", "late"); }), ClientError::Kind::conflict);
  EXPECT_EQ(kind_of([&] { client.terminate("h", "late"); }), ClientError::Kind::conflict);
  EXPECT_EQ(kind_of([&] { client.cancel("nobody", "x"); }), ClientError::Kind::not_found);
  EXPECT_EQ(kind_of([&] { client.terminate("nobody", "x"); }), ClientError::Kind::not_found);
  EXPECT_EQ(kind_of([&] { client.delete_instance("nobody"); }), ClientError::Kind::not_found);
}

// ---- many at once ---------------------------------------------------------------------------------

Task<int> five_watches(Context& ctx) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < 5; ++i) parts.push_back(ctx.activity<int>("watch"));
  co_await when_all(std::move(parts));
  co_return 0;
}

/// Takes the last message of a call alone, as a store may, and is away until that has ended its instance.
class TakesTheLastOnly final : public ForwardingStore {
 public:
  TakesTheLastOnly(std::shared_ptr<Store> to, std::function<bool()> has_ended)
      : ForwardingStore(std::move(to)), has_ended_(std::move(has_ended)) {}
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override {
    if (std::exchange(done_, true)) return ForwardingStore::send(messages);
    std::vector<StoreResult<InstanceKey>> answers = ForwardingStore::send(messages.last(1));
    EXPECT_TRUE(eventually(has_ended_));
    answers.insert(
        answers.begin(), messages.size() - 1,
        Unexpected(StoreError{.kind = StoreError::Kind::unavailable, .message = "nothing happened"}));
    return answers;
  }

 private:
  std::function<bool()> has_ended_;
  bool done_ = false;
};

TEST_P(CancellationTest, ARequestWhoseTerminationAloneWasTakenIsNoConflict) {
  const auto rt = watching();
  Client plain(store());
  plain.start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  Client client(std::make_shared<TakesTheLastOnly>(
      store(), [&] { return plain.run("w").status() == Status::terminated; }));
  client.cancel("w", {.terminate_after = 10ms}, "enough");
  EXPECT_EQ(plain.run("w").status(), Status::terminated);
}

TEST_P(CancellationTest, AHundredInstancesOfFiveActivitiesAreCancelledAtOnce) {
  constexpr int kInstances = 100;
  const auto rt = runtime({.activity_slots = 5 * kInstances}, [this](Runtime& r) {
    r.orchestration("five_watches", five_watches);
    r.activity("watch", [this](ActivityContext& ctx) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      seen.stopped(ctx.instance(), ctx.cancel_reason());
      return 0;
    });
  });
  std::vector<Run> runs;
  for (int i = 0; i < kInstances; ++i)
    runs.push_back(rt->client().start("five_watches", {.id = "i" + std::to_string(i)}));
  ASSERT_TRUE(eventually([&] { return seen.has_begun(5 * kInstances); }));
  for (const Run& run : runs) run.cancel("all of them");
  for (const Run& run : runs) EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_TRUE(eventually([&] { return seen.has_stopped(5 * kInstances); }));
  for (const Run& run : runs) EXPECT_EQ(seen.reason(run.id()), CancelReason::cancel_requested);
  EXPECT_TRUE(eventually([&] {
    return rt->metrics().prometheus().find("holdfast_activities_stopped_total 500\n") != std::string::npos;
  })) << rt->metrics().prometheus();
  EXPECT_LE(log->count("ended within its grace"), 200U) << "a burst is cut short";
  EXPECT_TRUE(rt->client().queues().empty());
}

TEST_P(CancellationTest, UnderFullLoadCancelsArriveAndTheWorkThatWaitedGoesOn) {
  const auto rt = runtime({.activity_slots = 4}, [this](Runtime& r) {
    add_program(r);
    add_orchestrations(r);
    r.activity("watch", [this](ActivityContext& ctx) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      seen.stopped(ctx.instance(), ctx.cancel_reason());
      return 0;
    });
  });
  std::vector<Run> holders;
  for (int i = 0; i < 4; ++i)
    holders.push_back(rt->client().start("watches", {.id = "w" + std::to_string(i)}));
  ASSERT_TRUE(eventually([&] { return seen.has_begun(4); }));  // every slot is taken
  const std::vector<Run> behind = rt->client().start_all("sum_of_squares", many(50, 10));
  EXPECT_TRUE(eventually([&] {
    const auto queues = rt->client().queues();
    return std::ranges::any_of(queues, [](const QueueInfo& q) { return q.name == "square" && q.ready > 0; });
  }));
  for (const Run& run : holders) run.cancel("make room");
  EXPECT_TRUE(eventually([&] { return seen.has_stopped(4); }));
  for (const Run& run : behind) EXPECT_EQ(run.wait<int>(kSoon), 385);
  EXPECT_EQ(rt->client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
}

// ---- figures --------------------------------------------------------------------------------------

TEST_P(CancellationTest, TheStatesAndTheTimeToTheTokenAreCounted) {
  const auto rt = watching();
  const Run run = rt->client().start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  run.cancel("enough");
  EXPECT_TRUE(log->wait_for("activity has ended within its grace"));
  const std::string figures = rt->metrics().prometheus();
  for (const std::string line :
       {"holdfast_activities_asked_to_stop_total 1", "holdfast_activities_stopped_total 1",
        "holdfast_activities_abandoned_total 0", "holdfast_abandoned_activities 0",
        "holdfast_refusing_workers 0", "holdfast_cancel_seconds_count 1"}) {
    EXPECT_NE(figures.find(line), std::string::npos) << line << "\n" << figures;
  }
}

// ---- renewals -------------------------------------------------------------------------------------

/// Lets one kind of call fail for as long as it is wanted.
class Deaf final : public FaultPlan {
 public:
  explicit Deaf(std::string_view point) : point_(point) {}
  Fault at(std::string_view point) override {
    if (!on || point != point_) return Fault::none;
    ++met;
    return Fault::fail_before;
  }
  std::atomic<bool> on{true};
  std::atomic<int> met{0};

 private:
  std::string_view point_;
};

class RenewalTest : public ::testing::Test {
 protected:
  using Run = holdfast::Run;
  std::unique_ptr<Runtime> start(FaultPlan& faults, RuntimeOptions options,
                                 std::function<int(ActivityContext&)> watch) {
    options.logger = log;
    auto rt = std::make_unique<Runtime>(memory({.database = database, .faults = &faults}), options);
    add_orchestrations(*rt);
    rt->activity("watch", [watch = std::move(watch)](ActivityContext& ctx) { return watch(ctx); });
    rt->start();
    return rt;
  }
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  Client client{memory({.database = database})};
  Seen seen;
};

TEST_F(RenewalTest, APushThatIsLostIsMadeUpForByTheNextRenewal) {
  Deaf deaf("memory.cancel_records");
  const auto rt = start(deaf, {.activity_lease = 300ms}, [this](ActivityContext& ctx) {
    seen.begin();
    wait_for_stop(ctx.stop_token());
    seen.stopped(ctx.instance(), ctx.cancel_reason());
    return 0;
  });
  const Run run = client.start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return seen.has_begun(1); }));
  run.cancel("enough");
  EXPECT_TRUE(eventually([&] { return seen.has_stopped(1); }));
  EXPECT_EQ(seen.reason("w"), CancelReason::cancel_requested);
  EXPECT_GT(deaf.met, 0);
}

TEST_F(RenewalTest, AStoreThatDoesNotAnswerRenewalsForAWhileCancelsNothing) {
  Deaf deaf("memory.renew_activities");
  std::atomic<bool> may_end{false};
  const auto rt = start(deaf, {.activity_lease = 3s}, [&](ActivityContext& ctx) {
    seen.begin();
    while (!may_end) std::this_thread::sleep_for(1ms);
    return ctx.stop_token().stop_requested() ? 1 : 0;
  });
  const Run run = client.start("watches", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return deaf.met >= 3; }));  // the first one and repeats of it
  deaf.on = false;
  may_end = true;
  EXPECT_EQ(run.wait<int>(kSoon), 0);
  EXPECT_EQ(log->count("asked to stop"), 0U);
}

TEST_F(RenewalTest, ALeaseThatCouldNotBeKeptIsToldAndTheResultCountsWhenNobodyElseHasTheActivity) {
  // With its one slot in use the worker doesn't take the activity itself when the lease is over.
  Deaf deaf("memory.renew_activities");
  const auto rt = start(deaf, {.activity_slots = 1, .activity_lease = 200ms}, [&](ActivityContext& ctx) {
    seen.begin();
    wait_for_stop(ctx.stop_token());
    seen.stopped(ctx.instance(), ctx.cancel_reason());
    return 40 + ctx.delivery();
  });
  const Run run = client.start("watches", {.id = "w"});
  EXPECT_EQ(run.wait<int>(kSoon), 41);
  EXPECT_EQ(seen.reason("w"), CancelReason::lease_lost);
  EXPECT_TRUE(run.describe().cancels.empty());
  EXPECT_TRUE(log->wait_for("the lock of an activity could not be kept"));
}

TEST_F(RenewalTest, AnActivityThatEndsEarlyBecauseItsLeaseWasLostIsRunAgainAndThatCostsNoAttempt) {
  Deaf deaf("memory.renew_activities");
  const auto rt = start(deaf, {.activity_lease = 200ms}, [&](ActivityContext& ctx) {
    if (!seen.has_begun(1)) {
      seen.begin();
      wait_for_stop(ctx.stop_token());
      throw ActivityFailure("stopped", "the lease is over");
    }
    return ctx.attempt();
  });
  EXPECT_EQ(client.start("watches", {.id = "w"}).wait<int>(kSoon), 1);
}

}  // namespace
}  // namespace holdfast::e2e::cancellation_test
