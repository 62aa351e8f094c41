// Workers that are late or die: what they had goes on elsewhere, and what they begin too late is not begun.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::e2e::sessions_late_test {
namespace {

class SessionsLate : public SessionsTest {};
HOLDFAST_ON_EACH_STORE(SessionsLate);

/// While it is on, calls that pass this point take their time.
class Slow final : public FaultPlan {
 public:
  Slow(std::string_view point, Duration time) : point_(point), time_(time) {}
  Fault at(std::string_view point) override {
    if (on && point == point_) std::this_thread::sleep_for(time_);
    return Fault::none;
  }
  std::atomic<bool> on{true};

 private:
  const std::string_view point_;
  const Duration time_;
};

// The answer to a fetch comes when the lease that it tells of is over: somebody else may have the session.
TEST_P(SessionsLate, WhatIsFetchedTooLateIsNotBegun) {
  if (GetParam() == Kept::in_memory) GTEST_SKIP() << "its calls take no time that leases know of";
  const auto turns = turns_only();
  Slow slow(point("memory.fetch_activities", "sqlite.next_queue_lane", "postgres.sessions_for"), 200ms);
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 150ms;
  options.activity_lease = 3s;
  Runtime a(store(&slow), options);
  std::atomic<int> begun{0};
  a.activity("say", [&](ActivityContext& ctx, int) {
    ++begun;
    return Said{.node = std::to_string(ctx.delivery())};
  });
  a.start();
  const auto run = client().start("converse", {.id = "c"}, "s1", 1);
  EXPECT_TRUE(log->wait_for("activity is not begun: the lease of its session was over")) << log->all();
  EXPECT_EQ(begun, 0);
  slow.on = false;
  const auto said = run.wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(said[0].node, "1");  // nothing was tried before
}

/// Its activity is cut off on one worker and done by another.
TEST_P(SessionsLate, AnActivityThatWasCutOffIsRunByTheNextOwner) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  const auto run = client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const Generation before = client().describe_session("s1").generation;
  std::atomic<int> delivery{0};
  std::atomic<std::uint64_t> generation{0};
  const auto b = runtime(named("b", quick(log)), [&](Runtime& rt) {
    rt.activity("wait", [&](ActivityContext& ctx) {
      generation = ctx.session()->generation.value;
      delivery = ctx.delivery();
    });
  });
  death.begin();
  run.wait(kSoon);
  EXPECT_EQ(delivery, 2);
  EXPECT_GT(generation, before.value);
  go_on = true;
  death.end();
}

Task<std::vector<int>> counts_in(Context& ctx, std::string session) {
  std::vector<int> counts;
  counts.push_back(co_await ctx.activity<int>("count", {.session = session}));
  co_await ctx.event<int>("go on");
  counts.push_back(co_await ctx.activity<int>("count", {.session = session}));
  co_return counts;
}

// Nothing of it is saved, and others are there who sweep.
TEST_P(SessionsLate, AWorkerThatReachesTheStoreAgainHasItsQuietSessionsInMemory) {
  RuntimeOptions sweeping = named("b", quick(log));
  sweeping.session_limit = 0;
  sweeping.worker_stale_after = 30s;
  const auto b = runtime(sweeping, [&](Runtime& rt) { rt.orchestration("counts_in", counts_in); });
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  Runtime a(store(&death), options);
  std::atomic<int> made{0};
  const auto counters = a.session_state<int>("counter", {.make = [&](const SessionStart&) {
                                               ++made;
                                               return 0;
                                             }});
  a.activity("count", [counters](ActivityContext& ctx) { return ++counters.in(ctx); });
  a.start();
  const auto run = client().start("counts_in", {.id = "c"}, "s1");
  ASSERT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "go on"); }));
  const Generation before = client().describe_session("s1").generation;
  death.begin();
  pass(600ms);
  store()->sweep({}).value();
  death.end();
  ASSERT_TRUE(eventually([&] { return client().describe_session("s1").generation > before; })) << log->all();
  run.raise("go on", 1);
  EXPECT_EQ(run.wait<std::vector<int>>(kSoon), (std::vector<int>{1, 2}));
  EXPECT_EQ(made, 1);
}

/// While it is on, calls fail that pass this point.
class Fails final : public FaultPlan {
 public:
  explicit Fails(std::string_view point) : point_(point) {}
  Fault at(std::string_view point) override {
    if (!on || point != point_) return Fault::none;
    ++failed;
    return Fault::fail_before;
  }
  std::atomic<bool> on{false};
  std::atomic<int> failed{0};

 private:
  const std::string_view point_;
};

// They are tried again for as long as the lease lasts.
TEST_P(SessionsLate, RenewalsThatFailForAMomentLoseNothing) {
  const auto turns = turns_only();
  Fails fails(point("memory.renew_sessions", "sqlite.update_session", "postgres.upsert_sessions"));
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 3s;
  Runtime a(store(&fails), options);
  add_conversations(a, "a");
  a.start();
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  const BootTime held = store()->clock().boot_now();
  fails.on = true;
  ASSERT_TRUE(eventually([&] { return fails.failed >= 2; }));
  fails.on = false;
  const bool in_time = store()->clock().boot_now() - held < 3s;
  pass(3s);  // without a renewal it would be over
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_FALSE(second[0].fresh);
  if (in_time) {
    EXPECT_EQ(second[0].generation, first[0].generation) << log->all();
  }
}

TEST_P(SessionsLate, RenewalsThatFailForLongerThanTheLeaseCostAGenerationAndNothingElse) {
  const auto turns = turns_only();
  Fails fails(point("memory.renew_sessions", "sqlite.update_session", "postgres.upsert_sessions"));
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  Runtime a(store(&fails), options);
  add_conversations(a, "a");
  a.start();
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  fails.on = true;
  // Whether it is noticed by the failing call or after it is a matter of moments.
  ASSERT_TRUE(eventually([&] {
    return log->count("the lease of a session could not be kept") +
               log->count("the lease of a session is over") >
           0;
  })) << log->all();
  fails.on = false;
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_FALSE(second[0].fresh);
}

// By the setting of the worker that held it.
TEST_P(SessionsLate, WhatADeadWorkerHeldIsShownAsOrphanedUntilAnotherHasIt) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  options.worker_stale_after = 1s;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(session_status(client().describe_session("s1")), "active");
  a.acquire_session("listed", {.lease = 300ms, .ttl = never});
  death.begin();
  EXPECT_TRUE(eventually([&] { return session_status(client().describe_session("listed")) == "orphaned"; }));
  const auto b = worker("b", quick(log));
  EXPECT_EQ(b->acquire_session("listed").outcome, SessionOutcome::reacquired);
  EXPECT_EQ(session_status(client().describe_session("listed")), "active");
  EXPECT_EQ(client().describe_session("listed").owner, "b");
  death.end();
}

// Its lease is far longer: the worker is gone, and so is its hold.
TEST_P(SessionsLate, WhatADeadWorkerHeldIsFreeWhenTheWorkerCountsAsGone) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 1h;
  options.worker_stale_after = 1s;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  death.begin();
  RuntimeOptions sweeps = quick(log);
  sweeps.worker_stale_after = 1s;
  const auto b = worker("b", sweeps);
  const auto said = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[0].node, "b");
  death.end();
}

// The lease of the activity is far longer than that of its session.
TEST_P(SessionsLate, AnActivityOfADeadWorkerDoesNotKeepTheNextOwnerFromLeaving) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  options.activity_lease = options.session_idle_timeout = 1h;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  const auto run = client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  death.begin();
  const auto b = worker("b", quick(log));
  const auto said = client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[0].node, "b");
  EXPECT_TRUE(b->drain(kSoon)) << log->all();
  using Kind = SessionLogEntry::Kind;
  EXPECT_EQ(story_of("s1"), (std::vector{Kind::claimed, Kind::reclaimed, Kind::released}));
  EXPECT_EQ(client().describe_session("s1").state, store::SessionStatus::unclaimed);
  const auto c = worker("c", quick(log));
  const auto next = client().start("converse", {.id = "d"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(next[0].node, "c");
  go_on = true;
  death.end();
}

// Nobody can tell that it is the same one that comes back.
TEST_P(SessionsLate, AWorkerWithoutANameWaitsForTheLeaseOfItsFormerSelf) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = quick(log);
  options.session_lease = 300ms;
  const auto add = [&](Runtime& rt) {
    rt.activity("say", [](ActivityContext& ctx, int) {
      return Said{.generation = ctx.session()->generation.value, .fresh = ctx.session()->fresh};
    });
  };
  Runtime before(store(&death), options);
  add(before);
  before.start();
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  const SessionInfo held = client().describe_session("s1");
  EXPECT_EQ(held.owner.size(), 32U);
  death.begin();
  const auto after = runtime(options, add);
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_TRUE(second[0].fresh);
  EXPECT_NE(client().describe_session("s1").owner, held.owner);
  // Nobody took it from the first one before its lease was over.
  EXPECT_EQ(story_of("s1"), (std::vector{SessionLogEntry::Kind::claimed, SessionLogEntry::Kind::reclaimed}));
  death.end();
}

// Another worker waits for the session, and asks the store while the one that was started again is slow.
TEST_P(SessionsLate, AWorkerThatIsStartedAgainHasItsSessionsBackAlsoWhenOthersAreFaster) {
  const auto turns = turns_only();
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = options.session_take_back = 1h;
  options.activity_lease = 10s;
  Runtime before(store(&death), options);
  add_conversations(before, "a");
  before.start();
  client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  death.begin();
  const auto b = worker("b", quick(log));
  const auto run = client().start("converse", {.id = "c2"}, "s1", 1);
  Slow slow(point("memory.fetch_activities", "sqlite.next_queue_lane", "postgres.sessions_for"), 100ms);
  Runtime after(store(&slow), options);
  add_conversations(after, "a");
  after.start();
  EXPECT_EQ(run.wait<std::vector<Said>>(kSoon)[0].node, "a") << log->all();
  slow.on = false;
  death.end();
}

TEST_P(SessionsLate, ALongActivityKeepsItsSessionAgainstOthersPastItsLease) {
  const auto turns = turns_only();
  RuntimeOptions options = quick(log);
  options.session_lease = 300ms;
  const auto a = worker("a", options);
  const auto run = client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto b = worker("b", options);
  pass(700ms);  // several leases
  const auto said = client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(said[0].node, "a");
  go_on = true;
  run.wait(kSoon);
  EXPECT_EQ(story_of("s1"), std::vector{SessionLogEntry::Kind::claimed});
}

/// A session with one activity at a time, of which the first is dropped while it runs.
Task<std::string> one_after_the_other(Context& ctx) {
  Session s = ctx.worker_session("s1", {.max_concurrent_activities = 1});
  {
    auto dropped = s.activity<void>("ignores").start();
    co_await ctx.event<int>("drop it");
  }
  co_return (co_await s.activity<Said>("say", 1)).node;
}

// It was asked to stop, and goes on: until it has ended, it is one of those that run.
TEST_P(SessionsLate, WhatIgnoresItsStopTokenStillCountsAsRunningInItsSession) {
  RuntimeOptions options = named("a", quick(log));
  options.activity_lease = 1h;
  options.session_idle_timeout = 2h;
  options.cancel_grace = 20ms;
  std::atomic<bool> ended{false};
  const auto a = runtime(options, [&](Runtime& rt) {
    rt.activity("ignores", [&](ActivityContext&) {
      ++waiting;
      while (!go_on) std::this_thread::sleep_for(1ms);
      ended = true;
    });
    rt.activity("say", [&](ActivityContext&, int) { return Said{.node = ended ? "after it" : "beside it"}; });
    rt.orchestration("one_after_the_other", one_after_the_other);
  });
  const auto run = a->client().start("one_after_the_other", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  run.raise("drop it", 1);
  EXPECT_TRUE(log->wait_for("activity goes on after its grace; its slot is given to others"));
  ASSERT_TRUE(eventually([&] { return !run.describe().waits.empty(); }));
  EXPECT_EQ(run.status(), Status::running);
  go_on = true;
  EXPECT_EQ(run.wait<std::string>(kSoon), "after it");
}

Task<std::string> tried_again(Context& ctx) {
  Session s = ctx.worker_session("s1", {.max_concurrent_activities = 1});
  co_return co_await s.activity<std::string>(
      "too_slow", {.timeout = 50ms, .retry = {.max_attempts = 2, .first_delay = 1ms}});
}

TEST_P(SessionsLate, WhatOutlivesItsTimeoutStillCountsAsRunningInItsSession) {
  RuntimeOptions options = named("a", quick(log));
  options.activity_lease = 1h;
  options.session_idle_timeout = 2h;
  options.cancel_grace = 20ms;
  std::atomic<bool> ended{false};
  const auto a = runtime(options, [&](Runtime& rt) {
    rt.activity("too_slow", [&](ActivityContext& ctx) {
      if (ctx.attempt() == 2) return std::string(ended ? "after it" : "beside it");
      while (!go_on) std::this_thread::sleep_for(1ms);
      ended = true;
      return std::string("too late");
    });
    rt.orchestration("tried_again", tried_again);
  });
  const auto run = a->client().start("tried_again", {.id = "t"});
  EXPECT_TRUE(log->wait_for("activity goes on after its grace; its slot is given to others"));
  ASSERT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].attempt == 2;
  }));
  go_on = true;
  EXPECT_EQ(run.wait<std::string>(kSoon), "after it");
}

}  // namespace
}  // namespace holdfast::e2e::sessions_late_test
