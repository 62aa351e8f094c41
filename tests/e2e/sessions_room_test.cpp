// Who makes room for sessions that wait, and when a session that has ended leaves room behind.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::e2e {
namespace {

using Strings = std::vector<std::string>;

/// Opens a session, uses it, and leaves it in the way that it is told.
Task<void> leaves(Context& ctx, std::string how) {
  Session s = co_await ctx.open_session(
      {.id = "s", .lease = 1h, .ttl = how == "expires" ? Duration(1s) : Duration(2h)});
  co_await s.activity<Said>("say", 0);
  if (how == "closes") co_await s.close();
  if (how == "aborts") co_await s.activity<void>("abort");
  if (how == "expires") co_await ctx.event<int>("never");
}

class SessionRoom : public SessionsTest {
 protected:
  /// Renews nothing, and finds nothing idle, while a test runs: what it hears of was told to it.
  RuntimeOptions patient(std::uint32_t limit = 10) {
    RuntimeOptions options = quick(log);
    options.session_limit = limit;
    options.session_lease = 1h;
    options.session_idle_timeout = 2h;
    return options;
  }
  std::unique_ptr<Runtime> telling(RuntimeOptions options) {
    return runtime(named("a", std::move(options)), [&](Runtime& rt) {
      add_conversations(rt, "a");
      rt.activity("abort", [](ActivityContext& ctx) { ctx.abort_session("it is of no use"); });
      rt.orchestration("leaves", leaves);
      rt.on_session_released([this](const SessionNotice& notice) {
        const std::lock_guard lock(mutex_);
        left_.emplace_back(to_string(notice.reason));
      });
    });
  }
  /// Why the only session that has left did.
  std::string why_it_left() {
    EXPECT_TRUE(eventually([&] { return !left().empty(); })) << log->all();
    const Strings reasons = left();
    return reasons.size() == 1 ? reasons.front() : std::to_string(reasons.size()) + " have left";
  }
  Strings left() {
    const std::lock_guard lock(mutex_);
    return left_;
  }
  std::size_t displaced() {
    const auto all = client().session_log("");
    return static_cast<std::size_t>(
        std::ranges::count(all, SessionLogEntry::Kind::displaced, &SessionLogEntry::kind));
  }

 private:
  std::mutex mutex_;
  Strings left_;
};
HOLDFAST_ON_EACH_STORE(SessionRoom);

// ---- displacement --------------------------------------------------------------------------------

TEST_P(SessionRoom, OneThatWaitsDisplacesOneHoweverManyWorkersAreFull) {
  const auto turns = turns_only();
  std::vector<std::unique_ptr<Runtime>> workers;
  for (const char* node : {"a", "b", "c", "d"}) {
    workers.push_back(worker(node, patient(1)));
    EXPECT_TRUE(workers.back()->acquire_session("of " + std::string(node), {.lease = 1h}).held());
  }
  client().start("converse", {.id = "c1"}, "waits", 1).wait<std::vector<Said>>(kSoon);
  pass(2s);  // the others have looked again
  EXPECT_EQ(displaced(), 1U) << log->all();
}

TEST_P(SessionRoom, AsManyAreDisplacedAsWait) {
  const auto turns = turns_only();
  std::vector<std::unique_ptr<Runtime>> workers;
  for (const char* node : {"a", "b", "c"}) {
    workers.push_back(worker(node, patient(1)));
    EXPECT_TRUE(workers.back()->acquire_session("of " + std::string(node), {.lease = 1h}).held());
  }
  const Run first = client().start("converse", {.id = "c1"}, "first", 1);
  const Run second = client().start("converse", {.id = "c2"}, "second", 1);
  first.wait<std::vector<Said>>(kSoon);
  second.wait<std::vector<Said>>(kSoon);
  pass(2s);
  EXPECT_EQ(displaced(), 2U) << log->all();
}

// ---- what has ended ------------------------------------------------------------------------------

TEST_P(SessionRoom, ASessionThatSomebodyClosesLeavesItsWorkerAndMakesRoom) {
  const auto a = telling(patient(1));
  EXPECT_TRUE(a->acquire_session("s", {.lease = 1h}).held());
  EXPECT_TRUE(client().close_session("s"));
  EXPECT_EQ(why_it_left(), "operated");
  client().start("converse", {.id = "c1"}, "next", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_EQ(displaced(), 0U);
}

TEST_P(SessionRoom, ASessionThatCodeClosesLeavesItsWorker) {
  const auto a = telling(patient());
  client().start("leaves", {.id = "l"}, "closes").wait(kSoon);
  EXPECT_EQ(why_it_left(), "closed_by_code");
}

TEST_P(SessionRoom, ASessionWhoseOpenerEndsLeavesItsWorker) {
  const auto a = telling(patient());
  client().start("leaves", {.id = "l"}, "ends").wait(kSoon);
  EXPECT_EQ(why_it_left(), "opener_ended");
}

TEST_P(SessionRoom, ASessionWhoseTimeIsOverLeavesItsWorker) {
  const auto a = telling(patient());
  client().start("leaves", {.id = "l"}, "expires");
  EXPECT_EQ(why_it_left(), "ttl");
}

TEST_P(SessionRoom, ASessionThatIsAbortedLeavesItsWorker) {
  const auto a = telling(patient());
  client().start("leaves", {.id = "l"}, "aborts").wait(kSoon);
  EXPECT_EQ(why_it_left(), "aborted");
}

// ---- what its worker finds out by itself ---------------------------------------------------------

TEST_P(SessionRoom, ASessionThatIsTakenByForceLeftBecauseSomebodyAskedForIt) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 1h;
  const auto a = telling(options);
  const auto b = worker("b", options);
  EXPECT_TRUE(a->acquire_session("s", {.lease = 300ms}).held());
  EXPECT_EQ(client().release_session("s", {.force = true}), SessionReleased::released);
  EXPECT_TRUE(b->acquire_session("s").held());
  EXPECT_EQ(why_it_left(), "operated");
}

TEST_P(SessionRoom, ASessionThatAnotherWorkerHasAfterAnOutageLeftBecauseItLapsed) {
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_idle_timeout = 1h;
  Runtime a(store(&death), options);
  std::mutex mutex;
  Strings reasons;
  a.on_session_released([&](const SessionNotice& notice) {
    const std::lock_guard lock(mutex);
    reasons.emplace_back(to_string(notice.reason));
  });
  a.start();
  EXPECT_TRUE(a.acquire_session("s", {.lease = 300ms}).held());
  death.begin();
  const auto b = worker("b", patient());
  EXPECT_TRUE(eventually([&] { return b->acquire_session("s").held(); }));
  death.end();
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return reasons == Strings{"lapsed"};
  })) << log->all();
}

}  // namespace
}  // namespace holdfast::e2e
