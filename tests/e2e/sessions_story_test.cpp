// What can be read of sessions afterwards: lines of the log, hooks, counters, the verbs' answers.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <mutex>

namespace holdfast::e2e::sessions_story_test {
namespace {

class SessionStory : public SessionsTest {
 protected:
  /// Whether a line with all of these comes soon.
  bool says(const std::vector<std::string>& parts) { return log->wait_for_parts(parts); }
  static bool counts(Runtime& rt, const std::string& line) {
    return rt.metrics().prometheus().find(line + "\n") != std::string::npos;
  }
};
HOLDFAST_ON_EACH_STORE(SessionStory);

TEST_P(SessionStory, AClaimAndAnIdleReleaseAreLogged) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 150ms;
  const auto a = worker("a", options);
  a->client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_TRUE(says({"session claimed", "session=s1", "reason=work"})) << log->all();
  EXPECT_TRUE(says({"a session has left this worker", "session=s1", "reason=idle", "quiet_ms="}))
      << log->all();
}

// Nobody else had it in between.
TEST_P(SessionStory, ASessionThatItsOwnerClaimsAgainHasNotMoved) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 150ms;
  const auto a = worker("a", options);
  EXPECT_TRUE(a->acquire_session("s1", {.idle_timeout = 150ms}).held());
  ASSERT_TRUE(says({"a session has left this worker", "session=s1", "reason=idle"})) << log->all();
  EXPECT_EQ(a->acquire_session("s1").outcome, SessionOutcome::reacquired);
  EXPECT_EQ(log->count("a session has come from another worker"), 0U);
  EXPECT_EQ(log->count("session claimed"), 2U);
  EXPECT_TRUE(counts(*a, "holdfast_sessions_claimed_total 2"));
  EXPECT_TRUE(counts(*a, "holdfast_sessions_moved_total 0"));
}

TEST_P(SessionStory, AMoveIsLoggedCountedAndTold) {
  auto a = worker("a", quick(log));
  EXPECT_TRUE(a->acquire_session("s1").held());
  a->stop();
  EXPECT_TRUE(says({"a session has left this worker", "session=s1", "reason=drained"})) << log->all();
  std::mutex mutex;
  std::vector<SessionNotice> notices;
  const auto b = runtime(named("b", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "b");
    rt.on_session_acquired([&](const SessionNotice& notice) {
      const std::lock_guard lock(mutex);
      notices.push_back(notice);
    });
  });
  b->client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_TRUE(says({"a session has come from another worker", "session=s1", "from=a", "reason=drained"}))
      << log->all();
  EXPECT_TRUE(counts(*b, "holdfast_sessions_moved_total 1"));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return notices.size() == 1;
  }));
  EXPECT_EQ(notices[0].previous_owner, "a");
  EXPECT_EQ(notices[0].reason, SessionReason::drained);
}

TEST_P(SessionStory, ATakeOverByAcquiringIsLoggedCountedAndTold) {
  auto a = worker("a", quick(log));
  EXPECT_TRUE(a->acquire_session("s1").held());
  EXPECT_TRUE(says({"session claimed", "session=s1", "reason=acquired"})) << log->all();
  a->stop();
  std::mutex mutex;
  std::vector<SessionNotice> notices;
  const auto b = runtime(named("b", quick(log)), [&](Runtime& rt) {
    add_conversations(rt, "b");
    rt.on_session_acquired([&](const SessionNotice& notice) {
      const std::lock_guard lock(mutex);
      notices.push_back(notice);
    });
  });
  EXPECT_EQ(b->acquire_session("s1").outcome, SessionOutcome::reacquired);
  EXPECT_TRUE(says({"a session has come from another worker", "session=s1", "from=a", "reason=acquired"}))
      << log->all();
  EXPECT_TRUE(counts(*b, "holdfast_sessions_moved_total 1"));
  EXPECT_TRUE(counts(*b, "holdfast_sessions_claimed_total 0"));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return notices.size() == 1;
  }));
  EXPECT_EQ(notices[0].previous_owner, "a");
  EXPECT_EQ(notices[0].reason, SessionReason::acquired);
  // No figure is about one session.
  EXPECT_EQ(b->metrics().prometheus().find("s1"), std::string::npos);
}

// The lease is over and nobody has claimed it: only who acquires it again has it again, memory included.
TEST_P(SessionStory, AnOwnerThatAcquiresItsLapsedSessionAgainKeepsItsState) {
  Death death;
  Runtime a(store(&death), named("a", quick(log)));
  const auto count = a.session_state<int>("count");
  a.activity("say", [count](ActivityContext& ctx, int) {
    return Said{.session = std::to_string(++count.in(ctx)), .fresh = ctx.session()->fresh};
  });
  a.orchestration("converse", converse);
  a.start();
  EXPECT_TRUE(a.acquire_session("s1", {.lease = 300ms, .max_concurrent_activities = 0}).held());
  const auto first = client().start("converse", {.id = "c1"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  death.begin();
  ASSERT_TRUE(eventually([&] { return session_status(client().describe_session("s1")) == "expired"; }));
  death.end();
  EXPECT_EQ(a.renew_session("s1"), SessionOutcome::missing);
  EXPECT_EQ(a.acquire_session("s1").outcome, SessionOutcome::reacquired);
  EXPECT_TRUE(says({"session re-claimed; what is in memory stays", "session=s1"})) << log->all();
  EXPECT_TRUE(counts(a, "holdfast_sessions_reclaimed_total 1"));
  const auto second = client().start("converse", {.id = "c2"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(first[0].session, "1");
  EXPECT_EQ(second[0].session, "2");
  EXPECT_FALSE(second[0].fresh);
}

TEST_P(SessionStory, OnlyWhatIsHeldCanBeRenewed) {
  const auto a = worker("a", quick(log));
  auto b = worker("b", quick(log));
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::missing);
  EXPECT_TRUE(b->acquire_session("s1").held());
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::owned_by_another);
  b->stop();  // released: nobody holds it
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::missing);
  EXPECT_EQ(a->acquire_session("s1").outcome, SessionOutcome::reacquired);
  EXPECT_EQ(a->renew_session("s1"), SessionOutcome::reused);
}

Task<bool> opens_and_waits(Context& ctx) {
  Session gpu = co_await ctx.open_session({.id = "gpu", .lease = 300ms});
  const Result<void> waited = co_await gpu.activity<void>("wait").result();
  co_return waited.has_value();
}

TEST_P(SessionStory, ALossIsLogged) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("opens_and_waits", opens_and_waits); });
  Death death;
  Runtime a(store(&death), named("a", quick(log)));
  add_conversations(a, "a");
  a.start();
  const auto run = client().start("opens_and_waits", {.id = "o"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  death.begin();
  EXPECT_FALSE(run.wait<bool>(kSoon));
  EXPECT_TRUE(says({"sessions were swept", "lost=1"})) << log->all();
  EXPECT_EQ(story_of("gpu").back(), SessionLogEntry::Kind::lost);
  death.end();
}

TEST_P(SessionStory, RenewalsAreOneLineForAllOfThem) {
  const auto all = std::make_shared<Lines>(LogLevel::debug);
  RuntimeOptions options = quick(all);
  options.session_lease = 900ms;
  const auto a = worker("a", options);
  EXPECT_TRUE(a->acquire_session("s1", {.lease = 900ms}).held());
  EXPECT_TRUE(a->acquire_session("s2", {.lease = 900ms}).held());
  EXPECT_TRUE(all->wait_for("sessions renewed count=2 of=2")) << all->all();
}

/// Hears who gets a session that others name.
Task<std::vector<std::string>> overhears(Context& ctx, std::string session, int count) {
  auto next = ctx.session_events(session).start();
  co_await ctx.activity<void>("tell");
  std::vector<std::string> heard;
  while (heard.size() < static_cast<std::size_t>(count)) {
    const SessionEvent event = co_await std::move(next);
    if (!event.to.empty()) heard.push_back(event.from + " to " + event.to + ": " + event.reason);
    next = ctx.session_events(session).start();
  }
  co_return heard;
}

TEST_P(SessionStory, WhoeverAsksHearsOfASessionThatOthersUse) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("overhears", overhears); });
  const auto run = client().start("overhears", {.id = "o"}, "s1", 2);
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  auto a = worker("a", quick(log));
  client().start("converse", {.id = "c1"}, "s1", 2).wait<std::vector<Said>>(kSoon);
  a->stop();
  const auto b = worker("b", quick(log));
  EXPECT_EQ(b->acquire_session("s1").held(), true);
  const auto heard = run.wait<std::vector<std::string>>(kSoon);
  EXPECT_EQ(heard[0], " to a: work");
  EXPECT_EQ(heard[1].substr(heard[1].find(" to ")).substr(0, 5), " to b");
}

TEST_P(SessionStory, SessionsAreCountedAndListedByStateOwnerAndQueue) {
  const auto a = worker("a", quick(log));
  EXPECT_TRUE(a->acquire_session("s1", {.queue = "video"}).held());
  EXPECT_TRUE(a->acquire_session("s2").held());
  EXPECT_TRUE(a->acquire_session("s3").held());
  EXPECT_EQ(a->close_session("s3"), SessionOutcome::closed);
  const Client operates = client();
  EXPECT_EQ(operates.count_sessions(), (SessionCounts{.active = 2, .closed = 1}));
  EXPECT_EQ(operates.list_sessions({.owner = "a"}).size(), 3U);
  const auto active = operates.list_sessions({.states = {store::SessionStatus::active}});
  ASSERT_EQ(active.size(), 2U);
  EXPECT_EQ(active[0].id, "s1");
  const auto video = operates.list_sessions({.queue = "video"});
  ASSERT_EQ(video.size(), 1U);
  EXPECT_EQ(video[0].id, "s1");
  EXPECT_TRUE(operates.list_sessions({.owner = "b"}).empty());
}

TEST_P(SessionStory, WhatCannotBeAnIdIsRefused) {
  const auto a = worker("a", quick(log));
  const Client operates = client();
  const auto refused = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const ClientError& e) {
      return "asked the store: " + std::string(e.what());
    } catch (const Error& e) {
      return e.failure().type;
    }
    return "done";
  };
  for (const std::string& id : {std::string("a\nb"), std::string(256, 'x'), std::string("\xff")}) {
    EXPECT_EQ(refused([&] { static_cast<void>(operates.describe_session(id)); }), "invalid_name");
    EXPECT_EQ(refused([&] { static_cast<void>(operates.session_log(id)); }), "invalid_name");
    EXPECT_EQ(refused([&] { static_cast<void>(operates.list_sessions(id)); }), "invalid_name");
    EXPECT_EQ(refused([&] { operates.close_session(id); }), "invalid_name");
    EXPECT_EQ(refused([&] { a->acquire_session(id); }), "invalid_name");
    EXPECT_EQ(refused([&] { a->renew_session(id); }), "invalid_name");
    EXPECT_EQ(refused([&] { a->close_session(id); }), "invalid_name");
  }
  EXPECT_EQ(refused([&] { static_cast<void>(operates.describe_session("")); }), "invalid_name");
  EXPECT_EQ(refused([&] { operates.close_session(""); }), "invalid_name");
}

TEST(SessionLogEntries, AreReadable) {
  using Kind = SessionLogEntry::Kind;
  const SessionLogEntry moved{.kind = Kind::moved,
                              .reason = SessionReason::work,
                              .owner = "b",
                              .previous_owner = "a",
                              .generation = Generation{7},
                              .quiet_for = 250ms};
  EXPECT_EQ(to_string(moved), "moved from a to b (work), generation 7, quiet for 250 ms");
  const SessionLogEntry idle{.kind = Kind::released,
                             .reason = SessionReason::idle,
                             .previous_owner = "b",
                             .generation = Generation{7},
                             .quiet_for = 5min};
  EXPECT_EQ(to_string(idle), "released, was with b (idle), generation 7, quiet for 300000 ms");
  const SessionLogEntry claimed{
      .kind = Kind::claimed, .reason = SessionReason::work, .owner = "a", .generation = Generation{1}};
  EXPECT_EQ(to_string(claimed), "claimed by a (work), generation 1, quiet for 0 ms");
}

}  // namespace
}  // namespace holdfast::e2e::sessions_story_test
