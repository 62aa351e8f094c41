// Orchestrations that start others.
#include "stores_test.hpp"

#include <atomic>

namespace holdfast::e2e::families_test {
namespace {

class FamiliesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(FamiliesTest);

Task<int> doubles(Context&, int n) { co_return n * 2; }
Task<int> fails(Context& ctx, std::string type) {
  co_await ctx.sleep(1ms);
  throw ActivityFailure(type, "as it was told");
}
Task<int> waits(Context& ctx) { co_return co_await ctx.event<int>("end"); }

Task<std::string> parent(Context& ctx) {
  const int n = 21;
  const int answer = co_await ctx.child<int>("doubles", n);
  const std::string type = "bad";
  std::string text;
  try {
    co_await ctx.child<int>("fails", {.id = "fails-1"}, type);
  } catch (const ChildError& e) {
    text = e.failure().type + " of " + e.failure().source;
  }
  co_return std::to_string(answer) + ", " + text;
}

TEST_P(FamiliesTest, ResultsAndFailuresReachTheParent) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("doubles", doubles);
    r.orchestration("fails", fails);
    r.orchestration("parent", parent);
  });
  EXPECT_EQ(rt->client().start("parent", {.id = "p"}).wait<std::string>(kSoon),
            "42, bad of orchestration fails-1");
}

TEST_P(FamiliesTest, ListsBeginWithTheNewestAndFilterByParentAndVersion) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("doubles", doubles);
    r.orchestration("fails", fails);
    r.orchestration("parent", parent);
  });
  const Client& client = rt->client();
  const auto ids = [&](const ListFilter& filter) {
    std::vector<std::string> all;
    for (const RunInfo& run : client.list(filter).runs) all.push_back(run.id);
    return all;
  };
  using Ids = std::vector<std::string>;
  rt->client().start("parent", {.id = "p"}).wait<std::string>(kSoon);
  rt->client().start("doubles", {.id = "last-one"}, 1).wait<int>(kSoon);
  ASSERT_EQ(ids({}).size(), 4U);
  EXPECT_EQ(ids({}).front(), "last-one");
  EXPECT_EQ(ids({}).back(), "p");
  ASSERT_EQ(ids({.parent = "p"}).size(), 2U);
  EXPECT_EQ(ids({.parent = "p"}).front(), "fails-1");
  EXPECT_EQ(ids({.statuses = {Status::failed}, .parent = "p"}), Ids{"fails-1"});
  EXPECT_EQ(ids({.parent = "nobody"}), Ids{});
  const std::string version = client.run("last-one").info().version;
  EXPECT_EQ(ids({.orchestration = "doubles", .version = version, .prefix = "last"}), Ids{"last-one"});
  EXPECT_EQ(ids({.version = version + "0"}), Ids{});
}

// What fails inside of a child is the cause of the child's failure.
Task<std::string> broken_child(Context& ctx) {
  co_return co_await ctx.activity<std::string>("break", {.retry = {.max_attempts = 1}});
}
Task<std::string> careful_parent(Context& ctx) {
  try {
    co_return co_await ctx.child<std::string>("broken_child", {.id = "inner"});
  } catch (const ChildError& e) {
    co_return e.failure().source + " <- " + (e.failure().cause ? e.failure().cause->source : "?");
  }
}

TEST_P(FamiliesTest, AFailureInsideOfAChildIsAChildError) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("break", [](ActivityContext&) -> std::string { throw ActivityFailure("broken", "no"); });
    r.orchestration("broken_child", broken_child);
    r.orchestration("careful_parent", careful_parent);
  });
  EXPECT_EQ(rt->client().start("careful_parent", {.id = "p"}).wait<std::string>(kSoon),
            "orchestration inner <- activity break");
}

// ---- retry --------------------------------------------------------------------------------------

Task<int> third_time(Context& ctx, int succeeds_at) {
  ctx.set_value("attempts", ctx.value<int>("attempts").value_or(0) + 1);
  co_await ctx.sleep(1ms);
  if (ctx.attempt() < succeeds_at)
    throw ActivityFailure("not_yet", "attempt " + std::to_string(ctx.attempt()));
  co_return ctx.attempt();
}
Task<std::string> patient(Context& ctx, int succeeds_at, int max_attempts) {
  const Result<int> result =
      co_await ctx
          .child<int>(
              "third_time",
              {.id = ctx.instance_id() + "/child",
               .retry = {.max_attempts = max_attempts, .first_delay = 5ms, .non_retryable = {"fatal"}}},
              succeeds_at)
          .result();
  co_return result ? "attempt " + std::to_string(*result) : result.error().type;
}

TEST_P(FamiliesTest, AChildThatFailsBeginsAnewUnderItsId) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("third_time", third_time);
    r.orchestration("patient", patient);
  });
  Client client = rt->client();
  EXPECT_EQ(client.start("patient", {.id = "p"}, 3, 5).wait<std::string>(kSoon), "attempt 3");
  EXPECT_EQ(client.run("p/child").info().execution, ExecutionNumber{3});
  EXPECT_EQ(client.run("p/child").value<int>("attempts"), 3);
  EXPECT_EQ(client.start("patient", {.id = "q"}, 3, 2).wait<std::string>(kSoon), "not_yet");
  EXPECT_EQ(client.run("q/child").status(), Status::failed);
}

Task<std::string> impatient(Context& ctx) {
  const int never_succeeds = 1'000;
  const auto won = co_await race(
      ctx.child<int>(
          "third_time",
          {.id = "slow-child",
           .retry = {.max_attempts = 1'000, .backoff = Backoff::fixed, .first_delay = 1h, .max_delay = 1h}},
          never_succeeds),
      ctx.event<int>("enough"));
  co_return won.index() == 0 ? "child" : "gave up";
}

TEST_P(FamiliesTest, AChildThatWaitsForItsNextAttemptCanBeCancelled) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("third_time", third_time);
    r.orchestration("impatient", impatient);
  });
  Client client = rt->client();
  const Run run = client.start("impatient", {.id = "i"});
  EXPECT_TRUE(eventually([&] {
    const auto child = client.find("slow-child");
    return child && child->info().execution == ExecutionNumber{2} &&
           waits_for(child->describe(), RunWait::Kind::timer, "");
  }));
  run.raise("enough", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "gave up");
  EXPECT_EQ(client.run("slow-child").result<int>(kSoon).error().category, Category::cancelled);
}

Task<int> fails_when_told(Context& ctx) {
  co_await ctx.event<int>("go");
  throw ActivityFailure("bad", "as told");
}
Task<std::string> retries_a_child(Context& ctx) {
  const Result<int> result =
      co_await ctx
          .child<int>("fails_when_told", {.id = "kid", .retry = {.max_attempts = 5, .first_delay = 1h}})
          .result();
  co_return std::string(result ? "done" : to_string(result.error().category));
}

TEST_P(FamiliesTest, ARequestToCancelThatComesWithTheFailureOfAnAttemptIsNotLost) {
  const auto add = [](Runtime& r) {
    r.orchestration("fails_when_told", fails_when_told);
    r.orchestration("retries_a_child", retries_a_child);
  };
  Client client(store());
  auto rt = runtime(add);
  const Run parent = client.start("retries_a_child", {.id = "p"});
  EXPECT_TRUE(eventually([&] {
    const auto kid = client.find("kid");
    return kid && waits_for(kid->describe(), RunWait::Kind::event, "go");
  }));
  rt.reset();
  client.raise("kid", "go", 1);  // nobody runs: both are in one batch
  client.cancel("kid", "stop it");
  rt = runtime(add);
  EXPECT_EQ(client.run("kid").result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_EQ(parent.wait<std::string>(kSoon), "cancelled");
}

// ---- what becomes of children when their parent ends ---------------------------------------------

Task<int> leaves_children(Context& ctx) {
  Future<int> cancelled = ctx.child<int>("waits", {.id = "cancelled"}).start();
  Future<int> abandoned =
      ctx.child<int>("waits", {.id = "abandoned", .on_parent_close = ParentClosePolicy::abandon}).start();
  Future<int> terminated =
      ctx.child<int>("waits", {.id = "terminated", .on_parent_close = ParentClosePolicy::terminate}).start();
  co_await ctx.event<int>("leave");
  co_return 1;
}

TEST_P(FamiliesTest, ThePolicySaysWhatBecomesOfChildrenWhenTheirParentEnds) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("waits", waits);
    r.orchestration("leaves_children", leaves_children);
  });
  Client client = rt->client();
  const Run run = client.start("leaves_children", {.id = "p"});
  EXPECT_TRUE(eventually([&] { return run.describe().waits.size() == 4; }));  // three children, one event
  EXPECT_TRUE(waits_for(run.describe(), RunWait::Kind::child, "abandoned"));
  run.raise("leave", 1);
  EXPECT_EQ(run.wait<int>(kSoon), 1);
  EXPECT_EQ(client.run("cancelled").result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_EQ(client.run("terminated").result<int>(kSoon).error().category, Category::terminated);
  const Run abandoned = client.run("abandoned");
  EXPECT_EQ(abandoned.status(), Status::running);
  abandoned.raise("end", 5);
  EXPECT_EQ(abandoned.wait<int>(kSoon), 5);
}

// ---- detached -----------------------------------------------------------------------------------

Task<int> starts_at_its_end(Context& ctx, std::string how) {
  const std::string id = "left-by-" + how;
  const int n = 4;
  ctx.start_detached("doubles", {.id = id}, n).start().detach();
  if (how == "failing") throw std::runtime_error("on purpose");
  const std::string completing = "completing";
  if (how == "continuing") co_await ctx.continue_as_new(completing);
  co_return 0;
}

TEST_P(FamiliesTest, DetachedOnesStartAlsoFromTheTurnThatEndsTheInstance) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("doubles", doubles);
    r.orchestration("starts_at_its_end", starts_at_its_end);
  });
  Client client = rt->client();
  for (const std::string how : {"completing", "failing", "continuing"}) {
    static_cast<void>(client.start("starts_at_its_end", {.id = how}, how).result<int>(kSoon));
    const std::string id = "left-by-" + how;
    EXPECT_TRUE(eventually([&] { return client.find(id).has_value(); }));
    EXPECT_EQ(client.run(id).wait<int>(kSoon), 8);
  }
}

// ---- restarts -----------------------------------------------------------------------------------

Task<int> grandparent(Context& ctx, int round) {
  const int sum = co_await ctx.child<int>("middle", round);
  if (round == 2) co_return sum;
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}
Task<int> middle(Context& ctx, int round) {
  const int told_now = co_await ctx.event<int>("go");
  if (round > 0) {
    const int again = round - 1;
    co_await ctx.continue_as_new(again);
  }
  co_return told_now;
}

TEST_P(FamiliesTest, ChildrenReportToParentsOfAnyExecutionAfterAnyRestart) {
  const auto add = [](Runtime& r) {
    r.orchestration("grandparent", grandparent);
    r.orchestration("middle", middle);
  };
  auto rt = runtime(add);
  Client client(store());
  const Run run = client.start("grandparent", {.id = "g"}, 0);
  int sent = 0;
  for (int restart = 0; restart < 3; ++restart) {
    std::string child;
    EXPECT_TRUE(eventually([&] {
      for (const RunWait& wait : run.describe().waits) {
        if (wait.kind == RunWait::Kind::child) child = wait.name;
      }
      return !child.empty() && waits_for(client.describe(child), RunWait::Kind::event, "go");
    }));
    rt.reset();
    for (int i = 0; i <= restart; ++i) client.raise(child, "go", ++sent);
    rt = runtime(add);
    EXPECT_TRUE(eventually([&] { return client.run(child).status() == Status::completed; }));
  }
  EXPECT_EQ(run.wait<int>(kSoon), 6);
}

}  // namespace
}  // namespace holdfast::e2e::families_test
