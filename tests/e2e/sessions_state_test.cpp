// SessionState<T>: what activities of a session share in memory, and what the next owner gets of it.
#include "sessions_test.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>

namespace holdfast::e2e::sessions_state_test {
namespace {

struct Lines {
  std::vector<std::string> lines{};
};

/// Objects that were made, and those that are still there.
struct Census {
  std::atomic<int> made{0};
  std::atomic<int> alive{0};
};

/// Counts itself; can neither be copied nor moved.
class Counted {
 public:
  explicit Counted(Census& census) : census_(census) {
    ++census_.made;
    ++census_.alive;
  }
  ~Counted() { --census_.alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  int uses = 0;
  std::atomic<int> inside{0};
  int most = 0;

 private:
  Census& census_;
};

struct Shared : Counted {
  using ConcurrentState = void;
  using Counted::Counted;
};

Task<int> count_in(Context& ctx, std::string session, int times) {
  int last = 0;
  for (int i = 0; i < times; ++i) {
    last = co_await ctx.activity<int>("count", {.session = session_or_none(session)});
  }
  co_return last;
}

Task<int> side_by_side(Context& ctx, std::string session, int times) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < times; ++i) parts.push_back(ctx.activity<int>("count", {.session = session}));
  int most = 0;
  for (const int part : co_await when_all(std::move(parts))) most = std::max(most, part);
  co_return most;
}

Task<std::vector<std::string>> recite(Context& ctx, std::string session, std::vector<std::string> lines) {
  std::vector<std::string> all;
  for (const std::string& line : lines)
    all = co_await ctx.activity<std::vector<std::string>>("add", {.session = session}, line);
  co_return all;
}

class SessionStates : public SessionsTest {
 protected:
  template <class T = Counted>
  void add_counting(Runtime& rt) {
    const auto counted =
        rt.session_state<T>("counted", {.make = [this](const SessionStart&) { return T(census); }});
    rt.activity("count", [counted](ActivityContext& ctx) { return ++counted.in(ctx).uses; });
    rt.orchestration("count_in", count_in);
  }

  /// Each line is added to what the session knows.
  std::unique_ptr<Runtime> reciting(const std::string& node, SaveState when, RuntimeOptions options) {
    return runtime(named(node, std::move(options)), [&](Runtime& rt) {
      const auto lines = rt.session_state<Lines>("lines", saved_by_codec<Lines>(when));
      rt.activity("add", [lines](ActivityContext& ctx, std::string line) {
        Lines& known = lines.in(ctx);
        known.lines.push_back(line);
        if (line == "fails once" && ctx.attempt() == 1) throw ActivityFailure("once", "in the middle");
        if (line == "fails") throw ActivityFailure("always", "for good", false);
        if (line == "aborts") ctx.abort_session("the lines are mixed up");
        return known.lines;
      });
      rt.orchestration("recite", recite);
    });
  }
  using Strings = std::vector<std::string>;

  Census census;
};
HOLDFAST_ON_EACH_STORE(SessionStates);

TEST_P(SessionStates, AreMadeOnFirstUseAndSharedByTheActivitiesOfTheSession) {
  const auto rt = runtime([&](Runtime& r) { add_counting(r); });
  EXPECT_EQ(rt->client().start("count_in", {.id = "a"}, "s1", 5).wait<int>(kSoon), 5);
  EXPECT_EQ(rt->client().start("count_in", {.id = "b"}, "s1", 2).wait<int>(kSoon), 7);
  EXPECT_EQ(rt->client().start("count_in", {.id = "c"}, "s2", 1).wait<int>(kSoon), 1);
  EXPECT_EQ(census.made, 2);
}

TEST_P(SessionStates, AreDestroyedOnceWhenTheSessionIsIdle) {
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 150ms;
  const auto rt = runtime(options, [&](Runtime& r) { add_counting(r); });
  EXPECT_EQ(rt->client().start("count_in", {.id = "a"}, "s1", 1).wait<int>(kSoon), 1);
  EXPECT_TRUE(eventually([&] { return census.alive == 0; }));
  EXPECT_EQ(rt->client().start("count_in", {.id = "b"}, "s1", 1).wait<int>(kSoon), 1) << "it was not saved";
  EXPECT_EQ(census.made, 2);
}

TEST_P(SessionStates, AreDestroyedWhenTheRuntimeHasStopped) {
  auto rt = runtime([&](Runtime& r) { add_counting(r); });
  EXPECT_EQ(rt->client().start("count_in", {.id = "a"}, "s1", 1).wait<int>(kSoon), 1);
  EXPECT_EQ(census.alive, 1);
  rt->stop();
  EXPECT_EQ(census.alive, 0);
}

TEST_P(SessionStates, OfAClosedSessionLiveUntilTheLastActivityInItEnds) {
  RuntimeOptions options = quick(log);
  options.session_lease = 300ms;
  const auto rt = runtime(options, [&](Runtime& r) {
    const auto counted = r.session_state<Counted>(
        "counted", {.make = [this](const SessionStart&) { return Counted(census); }});
    r.activity("wait", [this, counted](ActivityContext& ctx) {
      Counted& mine = counted.in(ctx);
      ++waiting;
      while (!go_on) std::this_thread::sleep_for(1ms);
      ++mine.uses;  // still there
    });
    r.orchestration("waits_in", waits_in);
  });
  const auto run = rt->client().start("waits_in", {.id = "a"}, "s1");
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  EXPECT_TRUE(client().close_session("s1"));
  ASSERT_TRUE(log->wait_for("a session has left this worker"));
  EXPECT_EQ(census.alive, 1);
  go_on = true;
  run.wait(kSoon);
  EXPECT_TRUE(eventually([&] { return census.alive == 0; }));
}

TEST_P(SessionStates, AreUsedByOneActivityAtATime) {
  const auto rt = runtime([&](Runtime& r) {
    const auto counted = r.session_state<Counted>(
        "counted", {.make = [this](const SessionStart&) { return Counted(census); }});
    r.activity("count", [counted](ActivityContext& ctx) {
      Counted& mine = counted.in(ctx);
      EXPECT_EQ(&counted.in(ctx), &mine);
      const int inside = ++mine.inside;
      std::this_thread::yield();
      --mine.inside;
      return inside;
    });
    r.orchestration("side_by_side", side_by_side);
  });
  EXPECT_EQ(rt->client().start("side_by_side", {.id = "a"}, "s1", 50).wait<int>(kSoon), 1);
}

TEST_P(SessionStates, ThatSayThatTheyAreConcurrentAreUsedAtOnce) {
  const auto rt = runtime([&](Runtime& r) {
    const auto shared =
        r.session_state<Shared>("shared", {.make = [this](const SessionStart&) { return Shared(census); }});
    r.activity("count", [shared](ActivityContext& ctx) {
      Shared& ours = shared.in(ctx);
      ++ours.inside;
      EXPECT_TRUE(eventually([&] { return ours.inside >= 3; }));
      return ours.inside.load();
    });
    r.orchestration("side_by_side", side_by_side);
  });
  EXPECT_EQ(rt->client().start("side_by_side", {.id = "a"}, "s1", 3).wait<int>(kSoon), 3);
  EXPECT_EQ(census.made, 1);
}

TEST_P(SessionStates, MoveWithTheirSessionWhenItsWorkerDrains) {
  auto a = reciting("a", SaveState::when_handed_over, quick(log));
  const auto client = a->client();
  EXPECT_EQ(a->client().start("recite", {.id = "r1"}, "s1", Strings{"one", "two"}).wait<Strings>(kSoon),
            (Strings{"one", "two"}));
  EXPECT_TRUE(a->drain(kSoon));
  const auto b = reciting("b", SaveState::when_handed_over, quick(log));
  EXPECT_EQ(b->client().start("recite", {.id = "r2"}, "s1", Strings{"three"}).wait<Strings>(kSoon),
            (Strings{"one", "two", "three"}));
  const auto story = client.session_log("s1");
  ASSERT_EQ(story.size(), 3U);
  EXPECT_EQ(story[1].reason, SessionReason::drained);
  EXPECT_EQ(story[2].kind, SessionLogEntry::Kind::moved);
  EXPECT_EQ(story[2].previous_owner, "a");
  EXPECT_EQ(story[2].owner, "b");
}

// The owner of before is replaced without having saved anything by itself.
TEST_P(SessionStates, SavedWithEachActivitySurviveTheirWorker) {
  const auto a = reciting("node", SaveState::with_each_activity, quick(log));
  EXPECT_EQ(a->client().start("recite", {.id = "r1"}, "s1", Strings{"one", "two"}).wait<Strings>(kSoon),
            (Strings{"one", "two"}));
  const auto b = reciting("node", SaveState::with_each_activity, quick(log));
  EXPECT_EQ(b->client().start("recite", {.id = "r2"}, "s1", Strings{"three"}).wait<Strings>(kSoon),
            (Strings{"one", "two", "three"}));
}

TEST_P(SessionStates, ThatWereSavedAreReadByName) {
  const auto rt = reciting("a", SaveState::with_each_activity, quick(log));
  rt->client().start("recite", {.id = "r"}, "s", Strings{"x", "y"}).wait<Strings>(kSoon);
  const auto saved = client().saved_state<Lines>("s", "lines");
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->lines, (Strings{"x", "y"}));
  EXPECT_GT(client().describe_session("s").saved_size, 4U);
  EXPECT_FALSE(client().saved_state<Lines>("s", "others"));
  EXPECT_THROW(static_cast<void>(client().saved_state<int>("s", "lines")), DecodeError);
  EXPECT_THROW(static_cast<void>(client().saved_state<Lines>("nobody", "lines")), ClientError);
}

TEST_P(SessionStates, SavedWithEachActivityDontKnowWhatAFailedAttemptDid) {
  const auto a = reciting("a", SaveState::with_each_activity, quick(log));
  EXPECT_EQ(a->client()
                .start("recite", {.id = "r1"}, "s1", Strings{"one", "fails once", "two"})
                .wait<Strings>(kSoon),
            (Strings{"one", "fails once", "two"}));
  EXPECT_THROW(a->client().start("recite", {.id = "r2"}, "s1", Strings{"fails"}).wait<Strings>(kSoon),
               RunFailed);
  EXPECT_EQ(a->client().start("recite", {.id = "r3"}, "s1", Strings{"three"}).wait<Strings>(kSoon),
            (Strings{"one", "fails once", "two", "three"}));
}

TEST_P(SessionStates, ThatCannotBeMadeFailTheAttemptAndAreTriedAgain) {
  std::atomic<int> tries{0};
  const auto rt = runtime([&](Runtime& r) {
    const auto counted = r.session_state<Counted>("counted", {.make = [&](const SessionStart& start) {
                                                    EXPECT_EQ(start.id, "s1");
                                                    if (++tries < 3) throw std::runtime_error("not yet");
                                                    return Counted(census);
                                                  }});
    r.activity("count", [counted](ActivityContext& ctx) { return ++counted.in(ctx).uses; });
    r.orchestration("count_in", count_in);
  });
  EXPECT_EQ(rt->client().start("count_in", {.id = "a"}, "s1", 1).wait<int>(kSoon), 1);
  EXPECT_EQ(tries, 3);
}

TEST_P(SessionStates, ThatCannotBeSavedWithAnActivityFailItAndSayWhich) {
  const auto rt = runtime(quick(log), [&](Runtime& r) {
    const auto counts =
        r.session_state<int>("count", {.save = [](const int& count) -> Payload {
                                         if (count < 3) throw ActivityFailure("too_few", "less than three");
                                         return encode(count);
                                       },
                                       .save_when = SaveState::with_each_activity});
    r.activity("count", [counts](ActivityContext& ctx, int by) { return counts.in(ctx) += by; });
    r.orchestration("counts", [](Context& ctx) -> Task<std::string> {
      const auto one =
          co_await ctx.activity<int>("count", {.session = "s", .retry = {.max_attempts = 1}}, 1).result();
      const auto three = co_await ctx.activity<int>("count", {.session = "s"}, 3).result();
      co_return one.error().type + ": " + one.error().message + ", then " + std::to_string(*three);
    });
  });
  EXPECT_EQ(rt->client().start("counts", {.id = "c"}).wait<std::string>(kSoon),
            "state_not_saved: state 'count' of session 's' could not be saved: less than three, then 3");
  EXPECT_NE(rt->metrics().prometheus().find("holdfast_session_saves_failed_total 1"), std::string::npos);
}

TEST_P(SessionStates, ThatCannotBeSavedKeepTheirSessionHereUntilTheWorkerGoes) {
  std::atomic<int> saves{0};
  RuntimeOptions options = named("a", quick(log));
  options.session_idle_timeout = 150ms;
  const auto a = runtime(options, [&](Runtime& r) {
    const auto counts = r.session_state<int>("count", {.save = [&](const int&) -> Payload {
                                               ++saves;
                                               throw std::runtime_error("no room for it");
                                             }});
    r.activity("count", [counts](ActivityContext& ctx) { return ++counts.in(ctx); });
    r.orchestration("count_in", count_in);
  });
  EXPECT_EQ(a->client().start("count_in", {.id = "c"}, "s1", 1).wait<int>(kSoon), 1);
  EXPECT_TRUE(eventually([&] { return saves >= 1; }));
  EXPECT_TRUE(log->wait_for("the state of a session could not be saved")) << log->all();
  EXPECT_EQ(client().describe_session("s1").owner, "a");
  EXPECT_EQ(a->client().start("count_in", {.id = "d"}, "s1", 1).wait<int>(kSoon), 2) << "it is still there";
  EXPECT_FALSE(a->drain(kSoon)) << "a state is lost";
  EXPECT_EQ(log->count("a session is released without being saved: changes since its state was saved last"),
            1)
      << log->all();
  EXPECT_EQ(client().describe_session("s1").state, store::SessionStatus::unclaimed);
}

// Its worker has lost the session while it ran: what it changed can't be saved any more, so it is done again
// where the session is now.
TEST_P(SessionStates, WhatIsSavedWithAnActivityDoesNotCountOnceTheSessionIsAnothers) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("recite", recite); });
  Death death;
  RuntimeOptions options = named("a", quick(log));
  options.session_lease = 300ms;
  options.activity_lease = 1h;
  options.session_idle_timeout = 2h;
  Runtime a(store(&death), options);
  const auto lines = a.session_state<Lines>("lines", saved_by_codec<Lines>(SaveState::with_each_activity));
  a.activity("add", [&, lines](ActivityContext& ctx, std::string line) {
    Lines& known = lines.in(ctx);
    known.lines.push_back("too late: " + line);
    ++waiting;
    while (!go_on) std::this_thread::sleep_for(1ms);
    return known.lines;
  });
  a.start();
  const auto run = client().start("recite", {.id = "r"}, "s1", Strings{"one"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  death.begin();
  const auto b = reciting("b", SaveState::with_each_activity, quick(log));
  EXPECT_TRUE(eventually([&] { return b->acquire_session("s1").held(); }));
  death.end();
  go_on = true;
  EXPECT_EQ(run.wait<Strings>(kSoon), Strings{"one"});
}

// What it has done counts, and the session's second life begins with nothing of it.
TEST_P(SessionStates, WhatRunsWhenItsSessionIsClosedAndBegunAnewCounts) {
  const auto turns = turns_only([](Runtime& rt) { rt.orchestration("recite", recite); });
  const auto a = runtime(named("a", quick(log)), [&](Runtime& rt) {
    const auto lines = rt.session_state<Lines>("lines", saved_by_codec<Lines>(SaveState::with_each_activity));
    rt.activity("add", [this, lines](ActivityContext& ctx, std::string line) {
      Lines& known = lines.in(ctx);
      known.lines.push_back(line);
      if (line == "waits") {
        ++waiting;
        while (!go_on) std::this_thread::sleep_for(1ms);
      }
      return known.lines;
    });
  });
  const auto first = client().start("recite", {.id = "r1"}, "s1", Strings{"before", "waits"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  EXPECT_TRUE(client().close_session("s1"));
  EXPECT_EQ(client().start("recite", {.id = "r2"}, "s1", Strings{"after"}).wait<Strings>(kSoon),
            Strings{"after"});
  go_on = true;
  EXPECT_EQ(first.wait<Strings>(kSoon), (Strings{"before", "waits"})) << log->all();
  EXPECT_EQ(client().start("recite", {.id = "r3"}, "s1", Strings{"last"}).wait<Strings>(kSoon),
            (Strings{"after", "last"}));
}

/// Loses the answers of commits, or keeps everything from the store, when it is told to.
class Hiccup final : public FaultPlan {
 public:
  explicit Hiccup(std::string_view commit) : commit_(commit) {}
  Fault at(std::string_view point) override {
    if (away) return Fault::fail_before;
    return answers_lost && point == commit_ ? Fault::lose_answer : Fault::none;
  }
  std::atomic<bool> answers_lost{false};
  std::atomic<bool> away{false};

 private:
  const std::string commit_;
};

// The worker holds the session without having heard so, and has to read what was saved.
TEST_P(SessionStates, ThatCannotBeReadForAMomentCostNoAttempt) {
  Hiccup hiccup(point("memory.acquire_session", "sqlite.commit", "postgres.commit"));
  std::atomic<int> runs{0};
  Runtime rt(store(&hiccup), named("a", quick(log)));
  const auto lines = rt.session_state<Lines>("lines", saved_by_codec<Lines>(SaveState::with_each_activity));
  rt.activity("add", [&, lines](ActivityContext& ctx) {
    hiccup.away = ++runs == 1;
    try {
      lines.in(ctx).lines.emplace_back("a line");
    } catch (...) {
      hiccup.away = false;
      throw;
    }
    return ctx.attempt();
  });
  rt.orchestration("adds", [](Context& ctx) -> Task<int> {
    co_return co_await ctx.activity<int>("add", {.session = "s", .retry = {.max_attempts = 1}});
  });
  rt.start();
  hiccup.answers_lost = true;
  EXPECT_THROW(rt.acquire_session("s"), ClientError);
  hiccup.answers_lost = false;
  EXPECT_EQ(rt.client().start("adds", {.id = "a"}).wait<int>(kSoon), 1);
  EXPECT_EQ(runs, 2);
}

TEST_P(SessionStates, AreNotForActivitiesWithoutASession) {
  const auto rt = runtime([&](Runtime& r) { add_counting(r); });
  const auto result = rt->client().start("count_in", {.id = "a"}, "", 1).result<int>(kSoon);
  ASSERT_FALSE(result);
  EXPECT_NE(describe(result.error()).find("was scheduled without one"), std::string::npos)
      << describe(result.error());
}

TEST_P(SessionStates, OfAnAbortedSessionAreGoneWithIt) {
  const auto a = reciting("a", SaveState::when_handed_over, quick(log));
  EXPECT_EQ(a->client().start("recite", {.id = "r1"}, "s1", Strings{"one", "aborts"}).wait<Strings>(kSoon),
            (Strings{"one", "aborts"}));
  const SessionInfo session = client().describe_session("s1");
  EXPECT_EQ(session.state, store::SessionStatus::failed);
  EXPECT_EQ(session.note, "the lines are mixed up");
  const auto late = a->client().start("recite", {.id = "r2"}, "s1", Strings{"two"}).result<Strings>(kSoon);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().type, "session_aborted");
}

TEST_P(SessionStates, OfDifferentNamesAreSavedTogether) {
  const auto both = [&](Runtime& r) {
    const auto lines = r.session_state<Lines>("lines", saved_by_codec<Lines>());
    const auto numbers = r.session_state<std::vector<int>>("numbers", saved_by_codec<std::vector<int>>());
    r.activity("count", [lines, numbers](ActivityContext& ctx) {
      lines.in(ctx).lines.emplace_back("x");
      numbers.in(ctx).push_back(1);
      return static_cast<int>(lines.in(ctx).lines.size() * 10 + numbers.in(ctx).size());
    });
    r.orchestration("count_in", count_in);
  };
  auto a = runtime(named("a", quick(log)), both);
  EXPECT_EQ(a->client().start("count_in", {.id = "c1"}, "s1", 2).wait<int>(kSoon), 22);
  a->stop();
  // One that knows only a part of it keeps the rest for the next.
  auto b = reciting("b", SaveState::when_handed_over, quick(log));
  EXPECT_EQ(b->client().start("recite", {.id = "r1"}, "s1", Strings{"y"}).wait<Strings>(kSoon),
            (Strings{"x", "x", "y"}));
  b->stop();
  const auto c = runtime(named("c", quick(log)), both);
  EXPECT_EQ(c->client().start("count_in", {.id = "c2"}, "s1", 1).wait<int>(kSoon), 43);
}

TEST_P(SessionStates, HooksHearOfSessionsThatComeAndGo) {
  std::mutex mutex;
  Strings heard;
  RuntimeOptions options = quick(log);
  options.session_idle_timeout = 150ms;
  const auto rt = runtime(named("a", options), [&](Runtime& r) {
    add_conversations(r, "a");
    r.on_session_acquired([&](const SessionNotice& notice) {
      const std::lock_guard lock(mutex);
      heard.push_back("+" + notice.id + " " + std::string(to_string(notice.reason)));
    });
    r.on_session_released([&](const SessionNotice& notice) {
      const std::lock_guard lock(mutex);
      heard.push_back("-" + notice.id + " " + std::string(to_string(notice.reason)));
    });
  });
  rt->client().start("converse", {.id = "c"}, "s1", 1).wait<std::vector<Said>>(kSoon);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return heard == Strings{"+s1 work", "-s1 idle"};
  }));
}

TEST(SessionStateOptionsTest, ThatCannotWorkAreRefused) {
  Runtime rt(memory(), quiet());
  EXPECT_THROW(rt.session_state<Counted>("counted"), std::invalid_argument);
  Census census;
  EXPECT_THROW(
      rt.session_state<Shared>("shared", {.make = [&](const SessionStart&) { return Shared(census); },
                                          .save = [](const Shared&) { return encode(1); },
                                          .save_when = SaveState::with_each_activity}),
      std::invalid_argument);
  rt.session_state<Lines>("lines");
  EXPECT_THROW(rt.session_state<Lines>("lines"), std::logic_error);
}

}  // namespace
}  // namespace holdfast::e2e::sessions_state_test
