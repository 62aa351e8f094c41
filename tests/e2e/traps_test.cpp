// What is known to break engines like this one, each by its name, at the level of a user. Others have tests
// elsewhere:
//
// - ten thousand messages in one go: ScaleTest.TenThousandMessagesAreDrainedInOneGo
// - a parent in its second execution, after a restart, on another node:
//   FamiliesTest.ChildrenReportToParentsOfAnyExecutionAfterAnyRestart
// - a detached start in the turn that ends:
//   FamiliesTest.DetachedOnesStartAlsoFromTheTurnThatEndsTheInstance
// - every failure path tells the parent: LimitsTest.ParentsAreTold..., PoisonTest.ATurnThatKills...,
//   ChangingTest.*, TroublesTest.CodeThatNobodyHasIsWaitedForInSight
// - shutdown: StoppingTest.*
// - completions that come twice or late: Execution.IgnoresOutcomesThatAreLateTwiceOrForSomebodyElse
// - no hash maps, pointers, locale: tests/layers (the engine has no hash map), tests/exchange
#include "stores_test.hpp"
#include "testkit/support/outage.hpp"

#include <holdfast/store.hpp>

#include <atomic>
#include <set>

namespace holdfast::e2e::traps_test {
namespace {

using support::Outage;

class TrapsTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(TrapsTest);

std::optional<ClientError::Kind> refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& e) {
    return e.kind();
  }
  return std::nullopt;
}

Task<int> fans_in(Context& ctx, int width) {
  std::vector<Future<int>> futures;
  for (int i = 0; i < width; ++i) futures.push_back(ctx.activity<int>("square", 1).start());
  int sum = 0;
  for (const Future<int>& future : futures) sum += co_await future;
  co_return sum;
}

TEST_P(TrapsTest, AFanInOfAThousandFuturesCompletes) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("fans_in", fans_in);
  });
  EXPECT_EQ(rt->client().start("fans_in", {.id = "f"}, 1'000).wait<int>(kSoon), 1'000);
}

// ---- children -----------------------------------------------------------------------------------

Task<int> loops(Context& ctx, int left) {
  if (left == 0) co_return 7;
  const int next = left - 1;
  co_await ctx.continue_as_new(next);
}
Task<int> asks_loops(Context& ctx) {
  const int rounds = 5;
  co_return co_await ctx.child<int>("loops", rounds);
}

TEST_P(TrapsTest, AChildThatContinuesAsNewStillCompletesItsParent) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("loops", loops);
    r.orchestration("asks_loops", asks_loops);
  });
  EXPECT_EQ(rt->client().start("asks_loops", {.id = "a"}).wait<int>(kSoon), 7);
}

Task<std::vector<std::string>> collects_ids(Context& ctx, std::vector<std::string> ids) {
  ids.push_back(co_await ctx.child<std::string>("own_id"));
  ids.push_back(co_await ctx.start_detached("own_id"));
  if (ids.size() == 10) co_return ids;
  co_await ctx.continue_as_new(ids);
}
Task<std::string> own_id(Context& ctx) { co_return ctx.instance_id(); }

TEST_P(TrapsTest, GeneratedIdsHave128BitsAndDoNotRepeatAfterContinueAsNew) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("collects_ids", collects_ids);
    r.orchestration("own_id", own_id);
  });
  const std::vector<std::string> none;
  const auto ids =
      rt->client().start("collects_ids", {.id = "c"}, none).wait<std::vector<std::string>>(kSoon);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 10U);
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 32U) << id;
}

Task<std::string> wants_id(Context& ctx, std::string id) {
  const Result<int> child = co_await ctx.child<int>("told", {.id = id}).result();
  const Result<std::string> detached = co_await ctx.start_detached("told", {.id = id}).result();
  co_return (child ? "child" : child.error().type) + " " + (detached ? "detached" : detached.error().type);
}

TEST_P(TrapsTest, AChildIdThatExistsFailsClearlyAlsoWhenItHasEnded) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration("told", told);
    r.orchestration("wants_id", wants_id);
  });
  Client client = rt->client();
  const Run taken = client.start("told", {.id = "taken"});
  EXPECT_EQ(client.start("wants_id", {.id = "w1"}, "taken").wait<std::string>(kSoon), "id_taken id_taken");
  taken.raise("end", 1);
  EXPECT_EQ(taken.wait<int>(kSoon), 1);
  EXPECT_EQ(client.start("wants_id", {.id = "w2"}, "taken").wait<std::string>(kSoon), "id_taken id_taken");
}

// ---- ids that nobody knows -----------------------------------------------------------------------

TEST_P(TrapsTest, MessagesForUnknownInstancesBlockNobody) {
  const auto rt = runtime(add_program);
  Client client = rt->client();
  for (int i = 0; i < 100; ++i) client.raise("unknown-" + std::to_string(i), "end", i);
  EXPECT_EQ(refusal([&] { client.cancel("unknown-1", "why not"); }), ClientError::Kind::not_found);
  EXPECT_EQ(refusal([&] { client.terminate("unknown-1", "why not"); }), ClientError::Kind::not_found);
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(client.start("told", {.id = "unknown-7"}).wait<int>(kSoon), 7);  // early ones are kept
}

TEST_P(TrapsTest, StartMakesAnIdKnownAtOnce) {
  Client client(store());  // and nobody who works
  client.start("told", {.id = "t"});
  EXPECT_EQ(client.run("t").status(), Status::running);
  client.raise("t", "end", 3);
  client.cancel("t", "enough");
  const auto rt = runtime(add_program);
  EXPECT_TRUE(eventually([&] { return has_ended(client.run("t").status()); }));
}

TEST_P(TrapsTest, AStartForAnIdThatExistsIsTheSameOrAConflictAndNeverRunsTheWrongCode) {
  const auto rt = runtime(add_program);
  Client client = rt->client();
  const Run first = client.start("hello", {.id = "h"}, "Ada");
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").key(), first.key());
  EXPECT_EQ(refusal([&] { client.start("hello", {.id = "h"}, "Bob"); }), ClientError::Kind::conflict);
  EXPECT_EQ(refusal([&] { client.start("told", {.id = "h"}, "Ada"); }), ClientError::Kind::conflict);
  EXPECT_EQ(first.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(refusal([&] { client.start("hello", {.id = "h"}, "Bob"); }), ClientError::Kind::conflict);
  const Run next = client.start("hello", {.id = "h", .reuse = Reuse::after_end}, "Bob");
  EXPECT_NE(next.key(), first.key());
  EXPECT_EQ(next.wait<std::string>(kSoon), "Hello, Bob!");
}

TEST_P(TrapsTest, ALateCompletionOfAFormerLifeIsIgnored) {
  std::atomic<int> begun{0};
  std::atomic<bool> late{false};
  const auto rt = runtime([&](Runtime& r) {
    r.orchestration("waiting", waiting);
    r.activity("wait", [&](ActivityContext&) {
      if (++begun > 1) return 2;
      EXPECT_TRUE(eventually([&] { return late.load(); }));
      return 1;
    });
  });
  Client client = rt->client();
  const Run former = client.start("waiting", {.id = "w"});
  EXPECT_TRUE(eventually([&] { return begun == 1; }));
  former.terminate("make room");
  EXPECT_EQ(former.result<int>(kSoon).error().category, Category::terminated);
  const Run next = client.start("waiting", {.id = "w", .reuse = Reuse::after_end});
  late = true;
  EXPECT_EQ(next.wait<int>(kSoon), 2);
}

// ---- messages -----------------------------------------------------------------------------------

Task<int> ignores_then_counts(Context& ctx, int round) {
  if (round < 3) {
    co_await ctx.sleep(1ms);
    const int next = round + 1;
    co_await ctx.continue_as_new(next);
  }
  co_await ctx.event<int>("count");
  const std::vector<int> all = co_await ctx.mailbox<int>("numbers").drain();
  co_return static_cast<int>(all.size());
}

TEST_P(TrapsTest, UnreadMessagesAllSurviveContinueAsNew) {
  Client client(store());
  const Run run = client.start("ignores_then_counts", {.id = "i"}, 0);
  client.send_all("i", "numbers", std::vector<int>(1'000, 1));
  const auto rt = runtime([](Runtime& r) { r.orchestration("ignores_then_counts", ignores_then_counts); });
  run.raise("count", 1);
  EXPECT_EQ(run.wait<int>(kSoon), 1'000);
}

// Which of the two came first, and what the mailbox had in the end.
Task<std::string> races(Context& ctx) {
  const auto won = co_await race(ctx.mailbox<int>("numbers").receive(), ctx.sleep(100ms));
  ctx.set_status("raced");
  co_await ctx.event<int>("end");
  const std::vector<int> left = co_await ctx.mailbox<int>("numbers").drain();
  co_return (won.index() == 0 ? "message" : "timer") + (" " + std::to_string(left.size()));
}

TEST_P(TrapsTest, AMessageAndATimerInTheSameBatchRaceTheSameLiveOnReplayAndAfterACrash) {
  const auto add = [](Runtime& r) { r.orchestration("races", races); };
  auto rt = runtime(add);
  Client client(store());
  const Run run = client.start("races", {.id = "r"});
  EXPECT_TRUE(eventually([&] {
    return waits_for(run.describe(), RunWait::Kind::mailbox, "numbers") ||
           run.custom_status<std::string>().has_value();
  }));
  rt.reset();
  run.send("numbers", 1);
  rt = runtime(add);
  EXPECT_TRUE(eventually([&] { return run.custom_status<std::string>() == "raced"; }));
  rt.reset();  // and once more, from history
  rt = runtime(add);
  run.raise("end", 1);
  const std::string result = run.wait<std::string>(kSoon);
  EXPECT_TRUE(result == "message 0" || result == "timer 1") << result;
}

// ---- stores that fail ---------------------------------------------------------------------------

TEST_P(TrapsTest, AnOutageDuringATurnFailsNothing) {
  Outage outage;
  Runtime rt(store(&outage), quick(null_logger()));
  add_program(rt);
  rt.start();
  Client client(store());
  const std::vector<Run> runs = client.start_all("sum_of_squares", many(20, 5));
  outage.begin();
  client.start_all("hello", {start_item("h", "Ada")});
  outage.wait_for(10);
  outage.end();
  for (const Run& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 55);
  EXPECT_EQ(client.run("h").wait<std::string>(kSoon), "Hello, Ada!");
}

/// Loses the answers of some calls, after they took effect.
class LosesAnswers final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    const bool commit = point.find("commit") != std::string_view::npos;
    return commit && ++commits_ % 5 == 0 ? Fault::lose_answer : Fault::none;
  }

 private:
  std::atomic<int> commits_{0};
};

TEST_P(TrapsTest, ACommitWhoseAnswerWasLostLosesNothingAndDoesNothingTwice) {
  LosesAnswers plan;
  std::atomic<int> ran{0};
  RuntimeOptions options = quick(null_logger());
  Runtime rt(store(&plan), options);
  rt.orchestration("keeps_count", [](Context& ctx) -> Task<int> {
    for (int i = 1; i <= 5; ++i) {
      co_await ctx.activity<int>("square", i);
      ctx.set_value("count", ctx.value<int>("count").value_or(0) + 1);
    }
    co_return ctx.value<int>("count").value_or(0);
  });
  rt.activity("square", [&](ActivityContext&, int n) {
    ++ran;
    return n * n;
  });
  rt.start();
  Client client(store());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.start("keeps_count", {.id = std::to_string(i)}).wait<int>(kSoon), 5);
  }
  EXPECT_GE(ran, 15);
}

TEST_P(TrapsTest, WhatCannotBeDecodedIsSetAsideWithItsBytesAndBlocksNobody) {
  const std::shared_ptr<Store> direct = store();
  Client client(direct);
  const Run run = client.start("told", {.id = "t"});
  const store::ClientMessage garbage{.instance = "t",
                                     .message = {.kind = store::MessageKind::delivery,
                                                 .address = {Address::Kind::event, "end"},
                                                 .body = std::string("\xFF\x00\xFF garbage", 11)},
                                     .request = RequestId{1, 2}};
  ASSERT_TRUE(direct->send({&garbage, 1}).front());
  const auto rt = runtime(add_program);
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  run.raise("end", 9);
  EXPECT_EQ(run.wait<int>(kSoon), 9);
  const auto rows = direct->set_aside(0, 10).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().bytes, garbage.message.body);
}

// ---- stopping -----------------------------------------------------------------------------------

TEST_P(TrapsTest, ALongActivityThatIsInterruptedByElevenDeploymentsIsNotPoison) {
  std::atomic<int> begun{0};
  Client client(store());
  const Run run = client.start("waiting", {.id = "w"});
  for (int deployment = 0; deployment <= 11; ++deployment) {
    RuntimeOptions options{.poison_after = 3};
    const auto rt = runtime(options, [&](Runtime& r) {
      r.orchestration("waiting", waiting);
      r.activity("wait", [&, deployment](ActivityContext& ctx) {
        ++begun;
        if (deployment == 11) return 10 * ctx.attempt() + ctx.delivery();
        EXPECT_TRUE(eventually([&] { return ctx.stop_token().stop_requested(); }));
        throw ActivityFailure("interrupted", "asked to stop");
      });
    });
    EXPECT_TRUE(eventually([&] { return begun > deployment; }));
    if (deployment < 11) EXPECT_FALSE(rt->drain(1ms));
    if (deployment == 11) EXPECT_EQ(run.wait<int>(kSoon), 11);
  }
}

TEST_P(TrapsTest, AWorkerThatDrainsKeepsRenewingWhatStillRuns) {
  std::atomic<bool> begun{false};
  std::atomic<int> deliveries{0};
  RuntimeOptions options = quick(null_logger());
  options.activity_lease = 1s;
  const auto add = [&](Runtime& r) {
    r.orchestration("waiting", waiting);
    r.activity("wait", [&](ActivityContext& ctx) {
      begun = true;
      ++deliveries;
      const auto began = std::chrono::steady_clock::now();
      EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - began > 1500ms; }));
      return ctx.delivery();
    });
  };
  auto rt = runtime(options, add);
  Client client(store());
  const Run run = client.start("waiting", {.id = "w"});
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  const auto other = runtime(options, add);  // would take it as soon as its lease is over
  EXPECT_TRUE(rt->drain(kSoon));
  EXPECT_EQ(run.wait<int>(kSoon), 1);
  EXPECT_EQ(deliveries, 1);
}

Task<int> stubborn(Context& ctx) {
  for (;;) {
    try {
      co_await ctx.event<int>("never");
    } catch (...) {  // whatever it is, it goes on
    }
  }
}

TEST_P(TrapsTest, CodeThatCatchesEverythingInALoopCannotHangATurn) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("stubborn", stubborn);
  });
  const Run run = rt->client().start("stubborn", {.id = "s"});
  run.cancel("enough");
  EXPECT_EQ(run.result<int>(kSoon).error().category, Category::cancelled);
  EXPECT_EQ(rt->client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
}

// ---- values -------------------------------------------------------------------------------------

Task<std::vector<std::string>> echoes(Context& ctx, std::vector<std::string> texts) {
  std::vector<std::string> back;
  for (const std::string& text : texts) back.push_back(co_await ctx.activity<std::string>("echo", text));
  co_return back;
}
Task<std::string> misreads(Context& ctx) {
  const std::string text = "not a number";
  try {
    co_await ctx.activity<int>("echo", text);
  } catch (const DecodeError&) {
    co_return "caught";
  }
  co_return "missed";
}

TEST_P(TrapsTest, StringsAndBytesRoundTripExactlyAndATypedDecodeFailureCanBeCaught) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("echo", [](ActivityContext&, std::string text) { return text; });
    r.orchestration("echoes", echoes);
    r.orchestration("misreads", misreads);
  });
  const std::vector<std::string> texts{"null",     "\"null\"",   "", std::string("a\0b", 3),
                                       "\xFF\xFE", "caf\xC3\xA9"};
  EXPECT_EQ(rt->client().start("echoes", {.id = "e"}, texts).wait<std::vector<std::string>>(kSoon), texts);
  EXPECT_EQ(rt->client().start("misreads", {.id = "m"}).wait<std::string>(kSoon), "caught");
}

// ---- many rows ----------------------------------------------------------------------------------

Task<int> sleeps(Context& ctx, int count) {
  std::vector<Op<void>> timers;
  for (int i = 0; i < count; ++i) timers.push_back(ctx.sleep(24h));
  ctx.set_status("sleeps");  // seen once all of them are committed
  co_await when_all(std::move(timers));
  co_return count;
}
Task<int> unserved(Context& ctx, int count) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < count; ++i) parts.push_back(ctx.activity<int>("nobody_has_it", i));
  ctx.set_status("waits");
  co_await when_all(std::move(parts));
  co_return count;
}

TEST_P(TrapsTest, AHundredThousandTimersAndRowsThatNobodyServesSlowNobody) {
  // The store in memory is a plain model, and looks at all rows.
  const int each = GetParam() == Kept::in_memory ? 500 : 10'000;
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("sleeps", sleeps);
    r.orchestration("unserved", unserved);
  });
  Client client = rt->client();
  std::vector<Run> crowd;
  for (int i = 0; i < 10; ++i) {
    crowd.push_back(client.start("sleeps", {.id = "sleeps-" + std::to_string(i)}, each));
    crowd.push_back(client.start("unserved", {.id = "unserved-" + std::to_string(i)}, each));
  }
  for (const Run& run : crowd) EXPECT_TRUE(run.wait_for_change(RunInfo{}, kSoon).has_value());
  for (const Run& run : client.start_all("sum_of_squares", many(100, 10)))
    EXPECT_EQ(run.wait<int>(kSoon), 385);
}

// ---- history is not read without need ---------------------------------------------------------------

/// History can't be read, and everything else can.
class NoHistory final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    return point.find("read_history") != std::string_view::npos && hidden ? Fault::fail_before : Fault::none;
  }
  std::atomic<bool> hidden{false};
};

TEST_P(TrapsTest, ReadingTheStatusOrStartingAnActivityDoesNotReadHistory) {
  NoHistory plan;
  const auto rt = runtime({.queues = {}}, [](Runtime& r) { r.orchestration("waiting", waiting); });
  const Run started = rt->client().start("waiting", {.id = "w"});
  EXPECT_TRUE(eventually([&] { return waits_for(started.describe(), RunWait::Kind::activity, "wait"); }));
  plan.hidden = true;
  const std::shared_ptr<Store> blind = store(&plan);
  Client client(blind);
  EXPECT_EQ(client.run("w").status(), Status::running);
  EXPECT_FALSE(client.describe("w").waits.empty());
  Runtime worker(blind, {.activity_slots = 1, .logger = null_logger()});
  worker.activity("wait", [](ActivityContext&) { return 4; });
  worker.start();
  EXPECT_EQ(client.run("w").wait<int>(kSoon), 4);
}

}  // namespace
}  // namespace holdfast::e2e::traps_test
