// The three doors of sessions: an id on an activity, open_session, worker sessions; and how each of them
// ends.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

namespace holdfast::e2e::sessions_doors_test {
namespace {

class SessionDoors : public SessionsTest {
 protected:
  /// A worker with short leases.
  std::unique_ptr<Runtime> with(const std::string& node, const std::function<void(Runtime&)>& add,
                                std::vector<std::string> capabilities = {}) {
    RuntimeOptions options = named(node, quick(log));
    options.capabilities = std::move(capabilities);
    return runtime(options, [&](Runtime& rt) {
      add_conversations(rt, node);
      add(rt);
    });
  }
};
HOLDFAST_ON_EACH_STORE(SessionDoors);

/// What became of something that may fail, in a word.
Task<std::string> word_for(Op<Said> op) {
  const Result<Said> result = co_await std::move(op).result();
  co_return result ? "done" : result.error().type;
}

Task<std::string> opens_and_closes(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu"});
  const Said first = co_await gpu.activity<Said>("say", 1);
  const Said second = co_await gpu.activity<Said>("say", 2);
  co_await gpu.close();
  co_await gpu.close();  // a no-op
  std::string text = first.generation == second.generation ? "same, " : "others, ";
  try {
    co_await gpu.activity<Said>("say", 3);
  } catch (const SessionClosed& e) {
    text += e.failure().type;
  }
  co_return text;
}

TEST_P(SessionDoors, AnOpenedSessionHoldsUntilItIsClosed) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("opens", opens_and_closes); });
  EXPECT_EQ(rt->client().start("opens", {.id = "o"}).wait<std::string>(kSoon), "same, session_closed");
  const SessionInfo session = client().describe_session("gpu");
  EXPECT_EQ(session_status(session), "closed");
  EXPECT_EQ(session.opened_by, "o");
  EXPECT_EQ(session.policy.when_lost, store::SessionPolicy::WhenLost::fail);
}

// An operator closes the session of a conversation: what waits in it fails, and the conversation goes on.
TEST_P(SessionDoors, ASessionThatWasOnlyNamedBeginsAnewAfterItsClose) {
  const auto rt = with("a", [](Runtime&) {});
  const auto first = client().start("converse", {.id = "c1"}, "talk", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_TRUE(client().close_session("talk"));
  const auto second = client().start("converse", {.id = "c2"}, "talk", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_GT(second[0].generation, first[0].generation);
  EXPECT_TRUE(second[0].fresh);
  EXPECT_EQ(rt->close_session("talk"), SessionOutcome::closed);
  client().start("converse", {.id = "c3"}, "talk", 1).wait<std::vector<Said>>(kSoon);
}

Task<std::string> opens_and_ends(Context& ctx) {
  Session gpu = co_await ctx.open_session({});
  co_await gpu.activity<Said>("say", 1);
  co_return gpu.id();
}

TEST_P(SessionDoors, TheEndOfItsOpenerClosesIt) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("opens", opens_and_ends); });
  const auto id = rt->client().start("opens", {.id = "o"}).wait<std::string>(kSoon);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(client().describe_session(id).reason, SessionReason::opener_ended);
}

Task<std::string> opens_and_waits(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu", .lease = 300ms});
  co_await gpu.activity<Said>("say", 1);
  co_await ctx.activity<void>("tell");
  try {
    co_await gpu.activity<void>("wait");
    co_return "done";
  } catch (const SessionLost& e) {
    co_return e.failure().message;
  }
}

// Its owner can't reach the store any more, as if it were dead.
TEST_P(SessionDoors, AnOpenedSessionIsLostWithItsOwnerAndSaysSo) {
  Death death;
  Runtime gpu(store(&death), named("gpu-worker", quick(log)));
  add_conversations(gpu, "gpu-worker");
  gpu.start();
  const auto rt = runtime(named("a", quick(log)), [&](Runtime& r) {
    r.orchestration("opens", opens_and_waits);
    r.activity("tell", [this](ActivityContext&) { ++told; });
  });
  const auto run = client().start("opens", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  death.begin();
  EXPECT_EQ(
      run.wait<std::string>(kSoon),
      "session 'gpu' is lost: worker 'gpu-worker', which held it, gave no sign of life for longer than its "
      "lease; open it again to begin anew");
  EXPECT_EQ(client().describe_session("gpu").reason, SessionReason::owner_lost);
  EXPECT_EQ(session_status(client().describe_session("gpu")), "failed");
  death.end();
}

/// Uses its session again and again, until there is no end of it in sight.
Task<std::string> expires(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu", .ttl = 200ms});
  const CalendarTime begun = ctx.now();
  while (ctx.now() < begun + 20s) {
    const Result<Said> said = co_await gpu.activity<Said>("say", 1).result();
    if (!said) co_return said.error().type;
    co_await ctx.sleep(5ms);
  }
  co_return "still there";
}

TEST_P(SessionDoors, TheTimeToLiveIsNeverExtended) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("expires", expires); });
  EXPECT_EQ(rt->client().start("expires", {.id = "o"}).wait<std::string>(kSoon), "session_expired");
  EXPECT_EQ(session_status(client().describe_session("gpu")), "expired");
}

Task<std::string> aborted_beside(Context& ctx, std::string session) {
  auto waits = ctx.activity<void>("wait", {.session = session}).start();
  co_await ctx.activity<void>("abort", {.session = session});
  try {
    co_await waits;
  } catch (const SessionAborted& e) {
    co_return e.failure().type + ": " + e.failure().message;
  }
  co_return "done";
}

TEST_P(SessionDoors, AnActivityMayAbortItsSessionAndTheOthersFail) {
  std::atomic<bool> stopped{false};
  const auto rt = runtime(quick(log), [&](Runtime& r) {
    r.activity("wait", [&](ActivityContext& ctx) {
      ++waiting;
      while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::session_aborted);
      stopped = true;
    });
    r.activity("abort", [&](ActivityContext& ctx) {
      EXPECT_TRUE(eventually([&] { return waiting == 1; }));
      ctx.abort_session("the device is gone");
    });
    r.orchestration("aborted", aborted_beside);
  });
  EXPECT_EQ(rt->client().start("aborted", {.id = "o"}, "s1").wait<std::string>(kSoon),
            "session_aborted: session 's1' was aborted: the device is gone");
  EXPECT_TRUE(eventually([&] { return stopped.load(); }));
  EXPECT_EQ(client().describe_session("s1").note, "the device is gone");
}

Task<std::vector<Said>> renders(Context& ctx, int frames) {
  Session render = ctx.worker_session("render", {.requirements = {"gpu:l4"}});
  std::vector<Op<Said>> parts;
  for (int i = 0; i < frames; ++i) parts.push_back(render.activity<Said>("say", i));
  co_return co_await when_all(std::move(parts));
}

TEST_P(SessionDoors, RequirementsChooseTheWorkerOfAWorkerSession) {
  const auto add = [](Runtime& r) { r.orchestration("renders", renders); };
  const auto plain = with("plain", add);
  const auto gpu = with("gpu", add, {"gpu:l4", "nvme"});
  for (const Said& said : client().start("renders", {.id = "r"}, 4).wait<std::vector<Said>>(kSoon))
    EXPECT_EQ(said.node, "gpu");
  const SessionInfo session = client().describe_session("render");
  EXPECT_EQ(session.policy.max_concurrent, 1U);
  EXPECT_EQ(session.policy.ttl, 30min);
  EXPECT_EQ(session.policy.lease, 2min);
}

Task<std::vector<std::string>> connects(Context& ctx) {
  std::vector<std::string> to;
  const Session gpu = co_await ctx.open_session({.id = "gpu", .connection = "cuda:0"});
  to.push_back(co_await gpu.activity<std::string>("connection"));
  to.push_back(co_await gpu.activity<std::string>("connection", {.connection = "cuda:1"}));
  to.push_back(co_await ctx.activity<std::string>("connection", {.session = "gpu"}));
  to.push_back(co_await ctx.activity<std::string>("connection", {.connection = "account-7"}));
  to.push_back(co_await ctx.activity<std::string>("connection"));
  co_return to;
}

TEST_P(SessionDoors, AnActivityGetsItsConnectionOrThatOfItsSession) {
  const auto rt = with("a", [](Runtime& r) {
    r.activity("connection", [](ActivityContext& ctx) { return ctx.connection(); });
    r.orchestration("connects", connects);
  });
  EXPECT_EQ(rt->client().start("connects", {.id = "o"}).wait<std::vector<std::string>>(kSoon),
            (std::vector<std::string>{"cuda:0", "cuda:1", "cuda:0", "account-7", ""}));
  EXPECT_EQ(client().describe_session("gpu").policy.connection, "cuda:0");
}

TEST_P(SessionDoors, AcquiringTellsWhatHappened) {
  RuntimeOptions one = named("a", quick(log));
  one.session_limit = 1;
  one.capabilities = {"gpu:l4"};
  const auto a = runtime(one, [&](Runtime& r) { add_conversations(r, "a"); });
  const auto b = worker("b", quick(log));
  const auto created = a->acquire_session("s1", {.requirements = {"gpu:l4"}});
  EXPECT_EQ(created.outcome, SessionOutcome::created);
  EXPECT_TRUE(created.held());
  EXPECT_EQ(created.session.owner, "a");
  EXPECT_EQ(a->acquire_session("s1").outcome, SessionOutcome::reused);
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::reused);
  EXPECT_EQ(b->acquire_session("s1").outcome, SessionOutcome::owned_by_another);
  EXPECT_EQ(b->renew_session("s1"), SessionOutcome::owned_by_another);
  EXPECT_EQ(a->acquire_session("s2").outcome, SessionOutcome::limit_exceeded);
  EXPECT_EQ(b->acquire_session("s2", {.requirements = {"gpu:l4"}}).outcome,
            SessionOutcome::requirements_not_met);
  EXPECT_EQ(b->acquire_session("s2", {.create_if_missing = false}).outcome, SessionOutcome::missing);
  EXPECT_EQ(b->renew_session("s2"), SessionOutcome::missing);
  EXPECT_EQ(b->close_session("s2"), SessionOutcome::missing);
  EXPECT_EQ(b->close_session("s1"), SessionOutcome::closed);
  EXPECT_EQ(a->close_session("s1"), SessionOutcome::already_closed);
  EXPECT_EQ(a->acquire_session("s1").outcome, SessionOutcome::closed);
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::closed);
}

TEST_P(SessionDoors, AnAcquiredSessionIsKeptAndItsWorkComesToItsOwner) {
  const auto a = worker("a", quick(log));
  const auto b = worker("b", quick(log));
  const auto acquired = b->acquire_session("s1", {.lease = 1s, .max_concurrent_activities = 0});
  pass(2500ms);  // several leases
  const auto said = a->client().start("converse", {.id = "c"}, "s1", 3).wait<std::vector<Said>>(kSoon);
  for (const Said& one : said) {
    EXPECT_EQ(one.node, "b");
    EXPECT_EQ(one.generation, acquired.session.generation.value);
  }
  EXPECT_TRUE(said[0].fresh);
}

Task<std::string> refused(Context& ctx) {
  try {
    co_await ctx.open_session({.id = "gpu", .idle_timeout = 1ms});
  } catch (const LimitError& e) {
    co_return e.failure().message;
  }
  co_return "opened";
}

/// A session that is on its way out when somebody asks for it.
class AskedForLate : public SessionDoors {
 protected:
  /// `verb` is called while what the session knows is being saved: then its idle time begins anew.
  void expect_to_stay_after(const std::function<SessionOutcome(Runtime&)>& verb) {
    constexpr Duration kIdle = 200ms;
    std::atomic<bool> saving{false};
    std::atomic<bool> may_save{false};
    std::atomic<bool> left{false};
    const auto clock = store();
    BootTime left_at{};
    RuntimeOptions options = named("a", quick(log));
    options.session_idle_timeout = kIdle;
    const auto rt = runtime(options, [&](Runtime& r) {
      const auto states = r.session_state<int>("count", {.save = [&](const int& count) {
                                                 saving = true;
                                                 while (!may_save) std::this_thread::sleep_for(1ms);
                                                 return encode(count);
                                               }});
      r.activity("count", [states](ActivityContext& ctx) { return ++states.in(ctx); });
      r.orchestration("counts", [](Context& ctx) -> Task<int> {
        co_return co_await ctx.activity<int>("count", {.session = "s"});
      });
      r.on_session_released([&](const SessionNotice&) {
        left_at = clock->clock().boot_now();
        left = true;
      });
    });
    EXPECT_EQ(rt->client().start("counts", {.id = "c"}).wait<int>(kSoon), 1);
    EXPECT_TRUE(eventually([&] { return saving.load(); }));
    const BootTime asked_at = clock->clock().boot_now();
    EXPECT_EQ(verb(*rt), SessionOutcome::reused);
    may_save = true;
    EXPECT_TRUE(eventually([&] { return left.load(); }));
    EXPECT_GE(left_at - asked_at, kIdle) << "it left although it was asked for";
  }
};
HOLDFAST_ON_EACH_STORE(AskedForLate);

TEST_P(AskedForLate, WhatIsAcquiredOnItsWayOutStays) {
  expect_to_stay_after([](Runtime& rt) { return rt.acquire_session("s").outcome; });
}

TEST_P(AskedForLate, WhatIsRenewedOnItsWayOutStays) {
  expect_to_stay_after([](Runtime& rt) { return rt.renew_session("s"); });
}

TEST_P(SessionDoors, APolicyUnderWhichARunningActivityCouldLoseItsSessionIsRefused) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("refused", refused); });
  const auto message = rt->client().start("refused", {.id = "o"}).wait<std::string>(kSoon);
  EXPECT_NE(message.find("idle timeout (1 ms)"), std::string::npos) << message;
  EXPECT_NE(message.find("(100 ms)"), std::string::npos) << message;
  EXPECT_THROW(rt->acquire_session("gpu", {.idle_timeout = 1ms}), std::invalid_argument);
  EXPECT_THROW(rt->acquire_session("gpu", {.lease = 0s}), std::invalid_argument);
  EXPECT_TRUE(client().list_sessions().empty());
}

Task<std::string> waits_for_session(Context& ctx) {
  Session later = ctx.worker_session("later", {.create_if_missing = false});
  co_return co_await word_for(later.activity<Said>("say", 1));
}

TEST_P(SessionDoors, WorkOfAMissingSessionWaitsForItInSight) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("waits", waits_for_session); });
  const auto run = rt->client().start("waits", {.id = "o"});
  ASSERT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].state.find("session missing") != std::string::npos;
  })) << wait_of(run.describe(), RunWait::Kind::activity).state;
  EXPECT_EQ(rt->acquire_session("later").outcome, SessionOutcome::created);
  EXPECT_EQ(run.wait<std::string>(kSoon), "done");
}

Task<std::string> wants_gpu(Context& ctx) {
  Session gpu = ctx.worker_session("gpu", {.requirements = {"gpu:h100"}});
  try {
    co_await gpu.activity<Said>("say", {.schedule_to_start = 300ms}, 1);
  } catch (const TimeoutError& e) {
    co_return e.failure().type;
  }
  co_return "done";
}

TEST_P(SessionDoors, RequirementsThatNobodyMeetsAreSeenAndTimeOutByName) {
  const auto rt = with("a", [](Runtime& r) { r.orchestration("wants", wants_gpu); });
  const auto run = rt->client().start("wants", {.id = "o"});
  EXPECT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return run.status() != Status::running ||
           (waits.size() == 1 && waits[0].state.find("requirements not met") != std::string::npos);
  }));
  EXPECT_EQ(run.wait<std::string>(kSoon), "requirements_not_met");
}

TEST_P(SessionDoors, WorkWithoutRoomAnywhereIsSeen) {
  RuntimeOptions options = named("a", quick(log));
  options.session_limit = 1;
  const auto rt = runtime(options, [&](Runtime& r) { add_conversations(r, "a"); });
  const auto holds = rt->client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  const auto run = rt->client().start("converse", {.id = "c"}, "s2", 1);
  EXPECT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].state.find("no session capacity") != std::string::npos;
  }));
  go_on = true;
  EXPECT_EQ(run.wait<std::vector<Said>>(kSoon).size(), 1U);
}

Task<std::string> needs_both(Context& ctx) {
  const Session session = co_await ctx.open_session({.id = "s1"});
  co_await session.activity<Said>("say", 1);
  const Result<std::string> other = co_await session.activity<std::string>("only_new").result();
  co_return other ? *other : other.error().type;
}

// Nothing of it is saved, so it may not leave; and the worker that holds it lacks the code.
TEST_P(SessionDoors, WorkThatTheOwnerOfAnOpenedSessionCannotRunIsSeenAndCanBeEnded) {
  const auto a = worker("a", quick(log));
  const auto turns = runtime(quick(log), [](Runtime& rt) { rt.orchestration("needs_both", needs_both); });
  const auto run = client().start("needs_both", {.id = "n"});
  ASSERT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::activity, "only_new"); }));
  const auto b = with(
      "b", [](Runtime& rt) { rt.activity("only_new", [](ActivityContext&) { return std::string("ran"); }); });
  EXPECT_TRUE(eventually([&] {
    const auto waits = run.describe().waits;
    return waits.size() == 1 && waits[0].state.starts_with("session owner has no code for it: 'a'");
  })) << run.describe().waits.at(0).state;
  EXPECT_TRUE(log->wait_for("a session has work that this worker has no code for")) << log->all();
  client().close_session("s1");
  EXPECT_EQ(run.wait<std::string>(kSoon), "session_closed");
}

Task<std::string> wants_room(Context& ctx) {
  try {
    co_await ctx.activity<Said>("say", {.session = "s2", .schedule_to_start = 300ms}, 1);
  } catch (const TimeoutError& e) {
    co_return e.failure().type;
  }
  co_return "done";
}

TEST_P(SessionDoors, WorkWithoutRoomAnywhereTimesOutByName) {
  RuntimeOptions options = named("a", quick(log));
  options.session_limit = 1;
  const auto rt = runtime(options, [&](Runtime& r) {
    add_conversations(r, "a");
    r.orchestration("wants", wants_room);
  });
  const auto holds = rt->client().start("waits_in", {.id = "w"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  EXPECT_EQ(rt->client().start("wants", {.id = "o"}).wait<std::string>(kSoon), "no_session_capacity");
  go_on = true;
}

}  // namespace
}  // namespace holdfast::e2e::sessions_doors_test
