// Activities as users see them: retries, timeouts, queues, priorities, heartbeats.
#include "stores_test.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace holdfast::e2e::activities_test {
namespace {

class ActivitiesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(ActivitiesTest);

Task<int> attempts_of(Context& ctx, int max_attempts, Backoff backoff) {
  co_return co_await ctx.activity<int>(
      "third_time", {.retry = {.max_attempts = max_attempts, .backoff = backoff, .first_delay = 1ms}});
}

TEST_P(ActivitiesTest, AreTriedAgainByEachKindOfBackoff) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("third_time", [](ActivityContext& ctx) {
      if (ctx.attempt() < 3) throw ActivityFailure("busy", "not now");
      return ctx.attempt();
    });
    r.orchestration("attempts_of", attempts_of);
  });
  Client client = rt->client();
  for (const Backoff backoff : {Backoff::fixed, Backoff::linear, Backoff::exponential}) {
    const std::string id = "backoff-" + std::to_string(static_cast<int>(backoff));
    EXPECT_EQ(client.start("attempts_of", {.id = id}, 3, backoff).wait<int>(kSoon), 3);
  }
  const Result<int> failed =
      client.start("attempts_of", {.id = "too few"}, 2, Backoff::fixed).result<int>(kSoon);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().type, "busy");
  EXPECT_EQ(failed.error().attempt, 2);
  EXPECT_EQ(failed.error().source, "activity third_time");
}

Task<std::string> declined(Context& ctx) {
  const Result<void> result =
      co_await ctx.activity<void>("charge", {.retry = {.max_attempts = 5, .non_retryable = {"declined"}}})
          .result();
  co_return result ? "charged" : result.error().type + " " + std::to_string(result.error().attempt);
}
Task<std::string> out_of_time(Context& ctx) {
  const Result<void> result =
      co_await ctx
          .activity<void>("never_works",
                          {.retry = {.max_attempts = 1000, .first_delay = 10ms, .total_deadline = 100ms}})
          .result();
  co_return result ? "worked" : "gave up";
}

TEST_P(ActivitiesTest, AreNotTriedAgainAfterFailuresThatAreFinalOrTheTotalDeadline) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("charge", [](ActivityContext&) { throw ActivityFailure("declined", "no money"); });
    r.activity("never_works", [](ActivityContext&) { throw std::runtime_error("no"); });
    r.orchestration("declined", declined);
    r.orchestration("out_of_time", out_of_time);
  });
  EXPECT_EQ(rt->client().start("declined", {.id = "d"}).wait<std::string>(kSoon), "declined 1");
  EXPECT_EQ(rt->client().start("out_of_time", {.id = "o"}).wait<std::string>(kSoon), "gave up");
}

Task<int> hurried(Context& ctx) {
  co_return co_await ctx.activity<int>("slow_at_first",
                                       {.timeout = 50ms, .retry = {.max_attempts = 3, .first_delay = 1ms}});
}

TEST_P(ActivitiesTest, AnAttemptThatTakesTooLongIsTriedAgain) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("slow_at_first", [](ActivityContext& ctx) {
      EXPECT_TRUE(ctx.deadline().has_value());
      EXPECT_LE(ctx.time_left(), Duration(50ms));
      if (ctx.attempt() == 1) {
        EXPECT_TRUE(eventually([&] { return ctx.stop_token().stop_requested(); }));
        EXPECT_EQ(ctx.cancel_reason(), CancelReason::attempt_timeout);
      }
      return ctx.attempt();
    });
    r.orchestration("hurried", hurried);
  });
  EXPECT_GE(rt->client().start("hurried", {.id = "h"}).wait<int>(kSoon), 2);
}

Task<std::string> who_am_i(Context& ctx) {
  co_return co_await ctx.activity<std::string>("tell", {.queue = "q"});
}

TEST_P(ActivitiesTest, KnowWhoTheyAre) {
  std::mutex mutex;
  std::set<std::string> keys;
  const auto rt = runtime({.queues = {"", "q"}}, [&](Runtime& r) {
    r.activity("tell", [&](ActivityContext& ctx) {
      const std::lock_guard lock(mutex);
      keys.insert(ctx.idempotency_key());
      if (ctx.attempt() == 1) throw std::runtime_error("once more");
      EXPECT_FALSE(ctx.deadline().has_value());
      EXPECT_EQ(ctx.time_left(), never);
      return ctx.name() + " of " + ctx.instance() + "/" + to_string(ctx.execution()) + " #" +
             to_string(ctx.activity_id()) + " attempt " + std::to_string(ctx.attempt()) + " delivery " +
             std::to_string(ctx.delivery()) + " queue " + ctx.queue();
    });
    r.orchestration("who_am_i", who_am_i);
  });
  EXPECT_EQ(rt->client().start("who_am_i", {.id = "w"}).wait<std::string>(kSoon),
            "tell of w/1 #3 attempt 2 delivery 1 queue q");
  EXPECT_EQ(keys.size(), 1U);
}

Task<int> counts(Context& ctx) {
  co_return co_await ctx.activity<int>("count", {.retry = {.max_attempts = 2, .first_delay = 1ms}});
}

TEST_P(ActivitiesTest, HeartbeatsAreSeenByClientsAndByTheNextAttempt) {
  std::atomic<bool> go_on{false};
  RuntimeOptions options{.activity_lease = 300ms};
  const auto rt = runtime(options, [&](Runtime& r) {
    r.activity("count", [&](ActivityContext& ctx) {
      if (ctx.attempt() == 1) {
        ctx.heartbeat(41);
        EXPECT_TRUE(eventually([&] { return go_on.load(); }));
        throw std::runtime_error("crash");
      }
      return ctx.last_heartbeat<int>().value_or(0) + 1;
    });
    r.orchestration("counts", counts);
  });
  const Run run = rt->client().start("counts", {.id = "c"});
  EXPECT_TRUE(eventually([&] {
    const RunDetail detail = run.describe();
    return !detail.waits.empty() && detail.waits.front().heartbeat<int>() == 41;
  }));
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::activity);
  EXPECT_EQ(wait.name, "count");
  EXPECT_EQ(wait.running_on, rt->node_id());
  EXPECT_TRUE(wait.served);
  go_on = true;
  EXPECT_EQ(run.wait<int>(kSoon), 42);
}

// ---- locked ahead -------------------------------------------------------------------------------

Task<int> asks(Context& ctx, std::string what) { co_return co_await ctx.activity<int>(what); }

// A worker of one slot that has learnt that activities are short, and then meets one that is not.
class AheadTest : public OnEachStore {
 protected:
  AheadTest() { first = worker("first"); }
  ~AheadTest() override { go_on = true; }

  std::unique_ptr<Runtime> worker(const std::string& name) {
    return runtime({.node_id = name, .activity_slots = 1, .cancel_grace = 1ms}, [this, name](Runtime& r) {
      r.orchestration("asks", asks);
      r.activity("quick", [this](ActivityContext&) { return ++quick; });
      r.activity("block", [this](ActivityContext&) {
        blocks = true;
        while (!go_on) std::this_thread::sleep_for(1ms);
        return 0;
      });
    });
  }
  void occupy_first() {
    Client client(store());
    const std::string round = std::to_string(rounds++);
    for (int i = 0; i < 20; ++i) {
      client.start("asks", {.id = "q" + round + "/" + std::to_string(i)}, "quick").wait<int>(kSoon);
    }
    blocks = false;
    blocking.emplace(client.start("asks", {.id = "b" + round}, "block"));
    ASSERT_TRUE(eventually([&] { return blocks.load(); }));
  }
  // It has its lock, and no slot. That is so for a tenth of a second, which a busy machine may miss: then it
  // is tried again with a new worker.
  void lock_one_ahead() {
    for (;;) {
      occupy_first();
      if (HasFatalFailure()) return;
      Client client(store());
      ahead.emplace(client.start("asks", {.id = "ahead" + std::to_string(rounds)}, "quick"));
      const auto missed = std::chrono::steady_clock::now() + 1s;
      while (std::chrono::steady_clock::now() < missed) {
        const RunDetail detail = ahead->describe();
        if (!detail.waits.empty() && detail.waits.front().running_on == "first") return;
      }
      ahead_is_missed();
      if (HasFatalFailure()) return;
    }
  }
  void ahead_is_missed() {
    ASSERT_LT(rounds, 50) << "it is never locked ahead";
    go_on = true;
    static_cast<void>(ahead->result<int>(kSoon));
    first.reset();
    go_on = false;
    first = worker("first");
  }

  std::atomic<int> quick{0};
  std::atomic<bool> blocks{false};
  std::atomic<bool> go_on{false};
  int rounds = 0;
  std::unique_ptr<Runtime> first;
  std::optional<Run> blocking;
  std::optional<Run> ahead;
};
HOLDFAST_ON_EACH_STORE(AheadTest);

TEST_P(AheadTest, WhatWaitsForASlotGoesToAWorkerThatHasOne) {
  lock_one_ahead();
  const int before = quick;
  const auto second = worker("second");
  EXPECT_EQ(ahead->wait<int>(kSoon), before + 1);
  EXPECT_FALSE(go_on);
}

TEST_P(AheadTest, WhatIsCancelledWhileItWaitsForASlotNeverRuns) {
  int before = 0;
  for (;;) {
    lock_one_ahead();
    ASSERT_FALSE(HasFatalFailure());
    before = quick;
    ahead->cancel("enough");
    EXPECT_EQ(ahead->result<int>(kSoon).error().category, Category::cancelled);
    if (!ahead->describe().cancels.empty()) break;
    ahead_is_missed();  // it had been given back, and was nobody's when it was cancelled
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_TRUE(eventually([&] {  // the worker has heard of it
    const auto cancels = ahead->describe().cancels;
    return !cancels.empty() && cancels.front().state == CancelState::acknowledged;
  }));
  go_on = true;
  EXPECT_EQ(blocking->wait<int>(kSoon), 0);
  EXPECT_EQ(quick, before);
}

TEST_P(AheadTest, WhatWaitsForASlotIsGivenBackByAStop) {
  lock_one_ahead();
  const int before = quick;
  go_on = true;
  first.reset();
  const auto second = worker("second");
  EXPECT_EQ(ahead->wait<int>(kSoon), before + 1);
}

// ---- queues -------------------------------------------------------------------------------------

Task<std::string> in_queue(Context& ctx, std::string queue) {
  co_return co_await ctx.activity<std::string>("where", {.queue = queue});
}
Task<std::string> waits_for_a_worker(Context& ctx, std::string queue, Duration limit) {
  const Result<std::string> result =
      co_await ctx.activity<std::string>("where", {.queue = queue, .schedule_to_start = limit}).result();
  co_return result ? *result : result.error().type;
}

class QueuesTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker(const std::string& name, std::vector<std::string> queues) {
    return runtime({.node_id = name, .queues = std::move(queues)}, [name](Runtime& r) {
      r.activity("where", [name](ActivityContext&) { return name; });
      r.orchestration("in_queue", in_queue);
      r.orchestration("waits_for_a_worker", waits_for_a_worker);
    });
  }
};
HOLDFAST_ON_EACH_STORE(QueuesTest);

TEST_P(QueuesTest, EachWorkerServesThoseThatItWasGiven) {
  const auto orchestrates = worker("none", {});
  const auto gpu = worker("some", {"gpu", "tpu"});
  Client client = orchestrates->client();
  EXPECT_EQ(client.start("in_queue", {.id = "1"}, "gpu").wait<std::string>(kSoon), "some");
  EXPECT_EQ(client.start("in_queue", {.id = "2"}, "tpu").wait<std::string>(kSoon), "some");
  const Run in_default = client.start("in_queue", {.id = "3"}, "");
  const Run elsewhere = client.start("in_queue", {.id = "4"}, "fpga");
  EXPECT_TRUE(eventually([&] { return client.queues().size() == 2; }));
  const auto only_default = worker("default", {""});
  EXPECT_EQ(in_default.wait<std::string>(kSoon), "default");
  EXPECT_EQ(elsewhere.status(), Status::running);
  const auto any = worker("any", {"*"});
  EXPECT_EQ(elsewhere.wait<std::string>(kSoon), "any");
}

TEST_P(QueuesTest, TheDefaultAndSomeOthers) {
  const auto rt = worker("both", {"", "gpu"});
  EXPECT_EQ(rt->client().start("in_queue", {.id = "1"}, "gpu").wait<std::string>(kSoon), "both");
  EXPECT_EQ(rt->client().start("in_queue", {.id = "2"}, "").wait<std::string>(kSoon), "both");
}

TEST_P(QueuesTest, WorkThatNobodyServesShowsUpWithItsTimeoutAndSlowsNobody) {
  const auto rt = worker("default", {""});
  Client client = rt->client();
  const Duration limit = 1h;
  std::vector<StartItem> items;
  for (int i = 0; i < 200; ++i) items.push_back(start_item("stuck-" + std::to_string(i), "gpu", limit));
  const std::vector<Run> stuck = client.start_all("waits_for_a_worker", items);
  EXPECT_TRUE(eventually([&] {
    const std::vector<QueueInfo> queues = client.queues();
    return queues.size() == 1 && queues.front().ready == 200;
  }));
  const QueueInfo info = client.queues().front();
  EXPECT_EQ(info.queue, "gpu");
  EXPECT_EQ(info.name, "where");
  EXPECT_EQ(info.workers, 0U);
  const RunWait wait = wait_of(stuck.front().describe(), RunWait::Kind::activity);
  EXPECT_FALSE(wait.served);
  EXPECT_EQ(wait.queue, "gpu");
  ASSERT_TRUE(wait.gives_up_in.has_value());
  EXPECT_GT(*wait.gives_up_in, Duration(50min));
  EXPECT_NE(wait.state.find("no live worker has it and serves queue 'gpu'"), std::string::npos) << wait.state;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.start("in_queue", {.id = "free-" + std::to_string(i)}, "").wait<std::string>(kSoon),
              "default");
  }
}

TEST_P(QueuesTest, WhatNobodyTakesInTimeFails) {
  const auto rt = worker("default", {""});
  const Duration limit = 50ms;
  EXPECT_EQ(rt->client().start("waits_for_a_worker", {.id = "1"}, "gpu", limit).wait<std::string>(kSoon),
            "schedule_to_start");
}

Task<int> schedules_all(Context& ctx, int count) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < count; ++i)
    parts.push_back(ctx.activity<int>("note", {.queue = "one", .priority = i % 3}, i));
  co_await when_all(std::move(parts));
  co_return count;
}

TEST_P(QueuesTest, HigherPriorityGoesFirst) {
  std::vector<int> order;
  const auto orchestrates =
      runtime({.queues = {}}, [](Runtime& r) { r.orchestration("schedules_all", schedules_all); });
  const Run run = orchestrates->client().start("schedules_all", {.id = "s"}, 9);
  EXPECT_TRUE(eventually([&] {
    const std::vector<QueueInfo> queues = orchestrates->client().queues();
    return !queues.empty() && queues.front().ready == 9;
  }));
  const auto one_by_one = runtime({.queues = {"one"}, .activity_slots = 1}, [&](Runtime& r) {
    r.activity("note", [&](ActivityContext&, int i) {
      order.push_back(i);  // one slot: nobody else is here
      return i;
    });
  });
  EXPECT_EQ(run.wait<int>(kSoon), 9);
  EXPECT_EQ(order, (std::vector<int>{2, 5, 8, 1, 4, 7, 0, 3, 6}));
}

// ---- untyped ------------------------------------------------------------------------------------

// Passes on what it does not know the type of.
Task<Payload> untyped(Context& ctx, Payload input) {
  const std::string name = "echo";
  const Payload output = co_await ctx.activity<Payload>(name, input);
  ctx.set_value("last", output);
  const Payload event = co_await ctx.event<Payload>("more");
  ctx.set_status(event);
  co_return co_await ctx.child<Payload>("mirror", event);
}
Task<Payload> mirror(Context&, Payload input) { co_return input; }

TEST_P(ActivitiesTest, ValuesMayBeOfTypesThatTheCodeDoesNotKnow) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("echo", [](ActivityContext&, Payload input) { return input; });
    r.orchestration("untyped", untyped);
    r.orchestration("mirror", mirror);
  });
  const Payload bytes{kBytesEncoding, std::string("\x00\xFF\x80null", 7)};
  const Run run = rt->client().start("untyped", {.id = "u"}, bytes);
  const Payload text{kJsonEncoding, "\"null\""};
  run.raise("more", text);
  EXPECT_EQ(run.wait<Payload>(kSoon), text);
  EXPECT_EQ(run.value<Payload>("last"), bytes);
  EXPECT_EQ(run.info().custom_status, text);
}

}  // namespace
}  // namespace holdfast::e2e::activities_test
