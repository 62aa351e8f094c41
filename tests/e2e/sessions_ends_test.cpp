// How sessions end, as orchestrations and activities see it: loss, time to live, abort; and how they go on.
#include "sessions_test.hpp"
#include "testkit/support/forwarding_store.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace holdfast::e2e::sessions_ends_test {
namespace {

using support::ForwardingStore;

class SessionEnds : public SessionsTest {
 protected:
  /// A worker whose activity `wait` remembers why it was asked to stop.
  std::unique_ptr<Runtime> curious(const std::string& node) {
    return runtime(named(node, quick(log)), [&](Runtime& rt) { add_curious(rt, node); });
  }
  void add_curious(Runtime& rt, const std::string& node) {
    rt.activity("wait", [this](ActivityContext& ctx) {
      ++waiting;
      while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
      const std::lock_guard lock(mutex);
      stopped_because.push_back(ctx.cancel_reason());
    });
    rt.activity("say", [node](ActivityContext& ctx, int) {
      return Said{.node = node, .generation = ctx.session()->generation.value, .fresh = ctx.session()->fresh};
    });
  }
  bool stopped_for(CancelReason reason) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return std::ranges::count(stopped_because, reason) == 1;
    });
  }

  std::mutex mutex;
  std::vector<std::optional<CancelReason>> stopped_because;
};
HOLDFAST_ON_EACH_STORE(SessionEnds);

Task<std::string> waits_for_its_end(Context& ctx, std::string id, Duration ttl) {
  const Session session = co_await ctx.open_session({.id = id, .ttl = ttl});
  const SessionEvent event = co_await session.moved();
  co_return event.kind == SessionEvent::Kind::closed ? "closed " + event.reason
  : event.kind == SessionEvent::Kind::expired        ? "expired " + event.reason
                                                     : "something else";
}
Task<std::string> waits_for_moves(Context& ctx, std::string id) {
  const Session session = ctx.session(id);
  const SessionEvent event = co_await session.moved();
  co_return event.kind == SessionEvent::Kind::closed ? "closed" : "something else";
}

// Nothing of the session runs or is scheduled: only its end can wake who waits for its events.
TEST_P(SessionEnds, WhoWaitsForEventsOfASessionHearsOfItsEnd) {
  const auto a = runtime(quick(log), [](Runtime& rt) {
    rt.orchestration("waits_for_its_end", waits_for_its_end);
    rt.orchestration("waits_for_moves", waits_for_moves);
  });
  const auto expires = client().start("waits_for_its_end", {.id = "w1"}, "s1", Duration(200ms));
  const auto closed = client().start("waits_for_its_end", {.id = "w2"}, "s2", Duration(1h));
  EXPECT_EQ(expires.wait<std::string>(kSoon), "expired ttl");
  ASSERT_TRUE(eventually([&] { return waits_for(closed.describe(), RunWait::Kind::session, "s2"); }));
  const auto watches = client().start("waits_for_moves", {.id = "w3"}, "s2");
  ASSERT_TRUE(eventually([&] { return waits_for(watches.describe(), RunWait::Kind::session, "s2"); }));
  EXPECT_TRUE(client().close_session("s2"));
  EXPECT_EQ(closed.wait<std::string>(kSoon), "closed operated");
  EXPECT_EQ(watches.wait<std::string>(kSoon), "closed");
  EXPECT_EQ(client().start("waits_for_moves", {.id = "w4"}, "s2").wait<std::string>(kSoon), "closed");
}

/// An opened session in which something runs until it is stopped.
Task<std::string> waits_in_opened(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu"});
  const Result<void> waited = co_await gpu.activity<void>("wait").result();
  co_return waited ? "done" : waited.error().type;
}

/// The same, and says what it was told.
Task<std::string> tells_of_its_end(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu"});
  const Result<void> waited = co_await gpu.activity<void>("wait").result();
  co_return waited ? "done" : waited.error().message;
}

TEST_P(SessionEnds, ALossSaysWhoHeldTheSessionAndWhatBecameOfThem) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("tells", tells_of_its_end); });
  const auto a = curious("a");
  const auto run = client().start("tells", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto again = curious("a");
  EXPECT_EQ(run.wait<std::string>(kSoon),
            "session 'gpu' is lost: worker 'a', which held it, was started again, and has nothing of it in "
            "memory; open it again to begin anew");
  EXPECT_TRUE(stopped_for(CancelReason::session_lost)) << log->all();
}

// Its code ignores that it is asked to stop.
TEST_P(SessionEnds, ADrainThatRunsOutOfTimeFailsWhatRunsInASessionThatCannotMove) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opened", waits_in_opened); });
  RuntimeOptions options = named("a", quick(log));
  options.cancel_grace = 50ms;
  const auto a = runtime(options, [&](Runtime& rt) {
    rt.activity("wait", [this](ActivityContext&) {
      ++waiting;
      while (!go_on) std::this_thread::sleep_for(1ms);
      --waiting;
    });
  });
  const auto run = client().start("opened", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  EXPECT_FALSE(a->drain(50ms));
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  go_on = true;  // nobody waits for its thread any more, which is not to outlive what it looks at
  EXPECT_TRUE(eventually([&] { return waiting == 0; }));
  const SessionInfo session = client().describe_session("gpu");
  EXPECT_EQ(session.reason, SessionReason::drain_deadline);
  EXPECT_EQ(session_status(session), "failed");
}

// Another process has begun under its name: what runs in a session that is lost by that is told why.
TEST_P(SessionEnds, ALossAsksWhatRunsInTheSessionToStopAndSaysWhy) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opened", waits_in_opened); });
  const auto a = curious("a");
  const auto run = client().start("opened", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto hold = client().describe_session("gpu");
  ASSERT_TRUE(store()->fail_session(hold.worker, {"gpu", hold.generation}, SessionReason::owner_lost));
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  EXPECT_TRUE(stopped_for(CancelReason::session_lost)) << log->all();
}

/// Has no records of why it took activities away: they went with their leases.
class WithoutCancelRecords final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  StoreResult<std::vector<store::CancelRecord>> cancel_records(WorkerKey) override {
    return std::vector<store::CancelRecord>{};
  }
  std::vector<StoreResult<void>> renew_activities(
      WorkerKey worker, Duration lease, std::span<const store::ActivityRenewal> activities) override {
    auto answers = ForwardingStore::renew_activities(worker, lease, activities);
    for (auto& answer : answers) {
      if (!answer && answer.error().kind == StoreError::Kind::gone)
        answer.error().reason = CancelReason::dropped;
    }
    return answers;
  }
};

TEST_P(SessionEnds, ALossIsToldAsOneAlsoWhereTheRecordOfItIsGone) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opened", waits_in_opened); });
  RuntimeOptions options = named("a", quick(log));
  options.activity_lease = 3s;  // a renewal tells it, and comes in time on a busy machine, too
  Runtime a(std::make_shared<WithoutCancelRecords>(store()), options);
  add_curious(a, "a");
  a.start();
  const auto run = client().start("opened", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto hold = client().describe_session("gpu");
  ASSERT_TRUE(store()->fail_session(hold.worker, {"gpu", hold.generation}, SessionReason::owner_lost));
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  EXPECT_TRUE(stopped_for(CancelReason::session_lost)) << log->all();
}

// What the lost owner answers later is dropped.
TEST_P(SessionEnds, WhatALostOwnerAnswersLaterDoesNotCount) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opened", waits_in_opened); });
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.activity_lease = 1h;
  options.session_idle_timeout = 2h;
  Runtime a(store(&death), options);
  add_conversations(a, "a");
  a.start();
  const auto run = client().start("opened", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  death.begin();
  const auto hold = client().describe_session("gpu");
  ASSERT_TRUE(store()->fail_session(hold.worker, {"gpu", hold.generation}, SessionReason::owner_lost));
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_lost");
  go_on = true;
  death.end();
  EXPECT_TRUE(eventually([&] {
    const std::string figures = a.metrics().prometheus();
    return figures.find("holdfast_answers_refused_total 1") != std::string::npos ||
           log->count("activity has ended within its grace") == 1;
  })) << log->all();
}

/// Begins again when its session is lost.
Task<std::vector<Said>> opens_again(Context& ctx) {
  std::vector<Said> said;
  for (int round = 0; round < 2; ++round) {
    Session gpu = co_await ctx.open_session({.id = "gpu"});
    said.push_back(co_await gpu.activity<Said>("say", round));
    co_await ctx.activity<void>("tell");
    if (round == 1) break;
    const Result<void> waited = co_await gpu.activity<void>("wait").result();
    if (waited || waited.error().type != "session_lost") break;
  }
  co_return said;
}

TEST_P(SessionEnds, ALostSessionIsOpenedAgainAndTheWorkGoesOn) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opens_again", opens_again); });
  auto a = curious("a");
  const auto run = client().start("opens_again", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto again = curious("a");  // its former incarnation is gone, and so is what it had in memory
  const auto said = run.wait<std::vector<Said>>(kSoon);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_GT(said[1].generation, said[0].generation);
  EXPECT_TRUE(said[1].fresh);
  EXPECT_EQ(client().describe_session("gpu").reason, SessionReason::opener_ended);
}

/// Opens a session, goes on as new with nothing but its id, and lets a child use it too.
Task<std::vector<Said>> carried_on(Context& ctx, std::string id, std::vector<Said> said) {
  if (id.empty()) {
    Session gpu = co_await ctx.open_session({});
    said.push_back(co_await gpu.activity<Said>("say", 1));
    co_await ctx.continue_as_new(gpu.id(), said);
  }
  Session gpu = ctx.session(id);
  said.push_back(co_await gpu.activity<Said>("say", 2));
  const auto child = co_await ctx.child<std::vector<Said>>("converse", id, 1);
  said.insert(said.end(), child.begin(), child.end());
  co_return said;
}

TEST_P(SessionEnds, AnOpenedSessionIsCarriedOnByItsIdUntilItsOpenerEnds) {
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "a");
    rt.orchestration("carried_on", carried_on);
  });
  const auto b = worker("b", quick(log));
  const auto said =
      a->client().start("carried_on", {.id = "c"}, "", std::vector<Said>{}).wait<std::vector<Said>>(kSoon);
  ASSERT_EQ(said.size(), 3U);
  for (const Said& one : said) {
    EXPECT_EQ(one.session, said[0].session);
    EXPECT_EQ(one.generation, said[0].generation);
    EXPECT_EQ(one.node, said[0].node);
  }
  EXPECT_EQ(client().describe_session(said[0].session).reason, SessionReason::opener_ended);
}

Task<std::string> waits_in_vain(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu", .queue = "nobody", .ttl = 200ms});
  const Result<Said> said = co_await gpu.activity<Said>("say", 1).result();
  co_return said ? "done" : said.error().type;
}

// No worker ever touches it: a sweep finds out, in time.
TEST_P(SessionEnds, WorkThatNobodyTakesFailsWithTheTimeToLive) {
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "a");
    rt.orchestration("waits_in_vain", waits_in_vain);
  });
  EXPECT_EQ(a->client().start("waits_in_vain", {.id = "w"}).wait<std::string>(kSoon), "session_expired");
}

Task<std::string> aborted_and_thrown(Context& ctx) {
  const Result<void> burnt =
      co_await ctx.activity<void>("burn", {.session = "s1", .retry = {.max_attempts = 5, .first_delay = 1ms}})
          .result();
  const Result<Said> after = co_await ctx.activity<Said>("say", {.session = "s1"}, 1).result();
  co_return (burnt ? "done" : burnt.error().type) + ", then " + (after ? "done" : after.error().type);
}

// Its own failure is what counts for it, and there is no session to try again in.
TEST_P(SessionEnds, AnActivityThatAbortsItsSessionMayFailItself) {
  std::atomic<int> burnt{0};
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "a");
    rt.activity("burn", [&](ActivityContext& ctx) {
      ++burnt;
      ctx.abort_session("the device is gone");
      throw ActivityFailure("on_fire", "it burns");
    });
    rt.orchestration("aborted", aborted_and_thrown);
  });
  EXPECT_EQ(a->client().start("aborted", {.id = "o"}).wait<std::string>(kSoon),
            "on_fire, then session_aborted");
  EXPECT_EQ(burnt, 1);
  EXPECT_EQ(client().describe_session("s1").note, "the device is gone");
}

TEST_P(SessionEnds, AFailedSessionMayBeAcquiredAgainByWhoeverMay) {
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "a");
    rt.activity("burn", [](ActivityContext& ctx) { ctx.abort_session("the device is gone"); });
    rt.orchestration(
        "burns", [](Context& ctx) -> Task<void> { co_await ctx.activity<void>("burn", {.session = "s1"}); });
  });
  EXPECT_TRUE(a->acquire_session("s1", {.allow_reacquire_after_failure = true}).held());
  a->client().start("burns", {.id = "b"}).wait(kSoon);
  ASSERT_TRUE(eventually([&] { return session_status(client().describe_session("s1")) == "failed"; }));
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::closed);
  EXPECT_EQ(a->acquire_session("s1").outcome, SessionOutcome::reacquired);
  EXPECT_EQ(a->client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon)[0].node, "a");

  const auto lost = a->acquire_session("s2", {.allow_reacquire_after_failure = false});
  ASSERT_TRUE(
      store()->fail_session(lost.session.worker, {"s2", lost.session.generation}, SessionReason::owner_lost));
  EXPECT_EQ(a->acquire_session("s2").outcome, SessionOutcome::reacquire_not_allowed);
  EXPECT_TRUE(a->acquire_session("s3", {.ttl = 1ms}).held());
  ASSERT_TRUE(eventually([&] { return a->acquire_session("s3").outcome == SessionOutcome::closed; }));
  EXPECT_EQ(session_status(client().describe_session("s3")), "expired");
}

}  // namespace
}  // namespace holdfast::e2e::sessions_ends_test
