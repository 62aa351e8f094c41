// What instances send to each other, what they launch, and what activities send by a client.
#include "stores_test.hpp"

#include <atomic>

namespace holdfast::e2e::sending_test {
namespace {

class SendingTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(SendingTest);

Task<std::vector<int>> receives(Context& ctx, int count) {
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  std::vector<int> seen;
  while (static_cast<int>(seen.size()) < count) seen.push_back(co_await numbers.receive());
  co_await ctx.event<int>("end");
  for (const int more : co_await numbers.drain()) seen.push_back(more);
  co_return seen;
}

Task<void> sends(Context& ctx, std::string to, int count) {
  for (int i = 0; i < count; ++i) {
    ctx.send(to, "numbers", i);
    if (i % 3 == 2) co_await ctx.activity<void>("pass");
  }
  ctx.raise(to, "end", 1);
}

Task<int> waits(Context& ctx) {
  int answer = 0;
  try {
    co_await ctx.event<int>("never");
  } catch (const Cancelled&) {
    answer = 1;
  }
  if (answer == 1) throw ActivityFailure("stopped", "as it was asked");
  co_return answer;
}

Task<void> cancels(Context& ctx, std::string whom) {
  ctx.cancel(whom, "no longer needed");
  co_return;
}

void add_code(Runtime& rt) {
  rt.activity("pass", [](ActivityContext&) {});
  rt.orchestration("receives", receives).orchestration("sends", sends).orchestration("waits", waits);
  rt.orchestration("cancels", cancels).orchestration("told", told);
}

TEST_P(SendingTest, MessagesArriveOnceAndInTheirOrder) {
  const auto rt = runtime(add_code);
  const Run receiver = rt->client().start("receives", {.id = "r"}, 10);
  rt->client().start("sends", {.id = "s"}, "r", 10).wait(kSoon);
  EXPECT_EQ(receiver.wait<std::vector<int>>(kSoon), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(SendingTest, WhatIsSentToAnIdThatDoesNotExistYetIsKeptForIt) {
  const auto rt = runtime(add_code);
  rt->client().start("sends", {.id = "s"}, "later", 4).wait(kSoon);
  EXPECT_EQ(rt->client().start("receives", {.id = "later"}, 4).wait<std::vector<int>>(kSoon),
            (std::vector<int>{0, 1, 2, 3}));
}

Task<void> replaces(Context& ctx) {
  ctx.cancel("worker", "there is a newer one");
  ctx.raise("worker", "end", {.keep_for = 0s}, 1);
  ctx.launch("waits", {.id = "worker"});
  co_return;
}

TEST_P(SendingTest, WhatIsSentBeforeALaunchDoesNotReachWhatIsLaunched) {
  const auto rt = runtime([](Runtime& r) {
    add_code(r);
    r.orchestration("replaces", replaces);
  });
  rt->client().start("replaces", {.id = "r"}).wait(kSoon);
  ASSERT_TRUE(eventually([&] {
    const std::optional<Run> run = rt->client().find("worker");
    return run && waits_for(run->describe(), RunWait::Kind::event, "never");
  }));
  const RunInfo info = rt->client().run("worker").info();
  EXPECT_EQ(info.status, Status::running);
  EXPECT_FALSE(info.cancel_requested_at);
}

Task<int> waits_for_a_word(Context& ctx) {
  co_await ctx.event(Event<void>{"word"});
  co_return 1;
}

TEST_P(SendingTest, AnEventWithoutAValueMayBeDelayedAndHaveAKey) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("waits_for_a_word", waits_for_a_word); });
  Client client = rt->client();
  const Run a = client.start("waits_for_a_word", {.id = "a"});
  const Run b = client.start("waits_for_a_word", {.id = "b"});
  client.raise("a", Event<void>{"word"}, {.delay = 1ms, .key = "once"});
  client.raise("b", "word", {.delay = 1ms});
  EXPECT_EQ(a.wait<int>(kSoon) + b.wait<int>(kSoon), 2);
}

TEST_P(SendingTest, ARequestToCancelReachesTheOtherAndShows) {
  const auto rt = runtime(add_code);
  const Run victim = rt->client().start("waits", {.id = "v"});
  EXPECT_TRUE(eventually([&] { return waits_for(victim.describe(), RunWait::Kind::event, "never"); }));
  rt->client().start("cancels", {.id = "c"}, "v").wait(kSoon);
  EXPECT_EQ(victim.result<int>(kSoon).error().type, "stopped");
  EXPECT_TRUE(victim.info().cancel_requested_at.has_value());
}

Task<void> sends_without_keeping(Context& ctx, std::string to) {
  ctx.send(to, "numbers", {.keep_for = Duration::zero()}, 1);
  co_return;
}

TEST_P(SendingTest, WhatGoesNowhereFailsNothingAndIsSaid) {
  const auto rt = runtime([](Runtime& r) {
    add_code(r);
    r.orchestration("sends_without_keeping", sends_without_keeping);
  });
  Client client = rt->client();
  client.raise("ended", "end", 1);
  client.start("told", {.id = "ended"}).wait<int>(kSoon);
  client.start("sends", {.id = "s1"}, "ended", 1).wait(kSoon);
  client.start("cancels", {.id = "s2"}, "ended").wait(kSoon);
  client.start("cancels", {.id = "s3"}, "nobody").wait(kSoon);
  client.start("sends_without_keeping", {.id = "s4"}, "nobody").wait(kSoon);
  const std::string said =
      "warn  a message of an instance is dropped: its target has ended, or doesn't exist";
  EXPECT_TRUE(log->wait_for(said + " instance=s1 to=ended what=numbers")) << log->all();
  EXPECT_TRUE(log->wait_for(said + " instance=s1 to=ended what=end"));
  EXPECT_TRUE(log->wait_for(said + " instance=s2 to=ended what=cancel"));
  EXPECT_TRUE(log->wait_for(said + " instance=s3 to=nobody what=cancel"));
  EXPECT_TRUE(log->wait_for(said + " instance=s4 to=nobody what=numbers"));
}

Task<int> sends_to_itself(Context& ctx) {
  ctx.send(ctx.instance_id(), "numbers", 5);
  co_return co_await ctx.mailbox<int>("numbers").receive();
}

TEST_P(SendingTest, AnInstanceMaySendToItself) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("sends_to_itself", sends_to_itself); });
  EXPECT_EQ(rt->client().start("sends_to_itself", {.id = "i"}).wait<int>(kSoon), 5);
}

Task<void> sends_to_itself_at_last(Context& ctx) {
  ctx.send(ctx.instance_id(), "numbers", 5);
  co_return;
}

TEST_P(SendingTest, WhatAnInstanceSendsToItselfInItsLastTurnIsSaidToBeDropped) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("sends_to_itself", sends_to_itself_at_last); });
  rt->client().start("sends_to_itself", {.id = "i"}).wait(kSoon);
  EXPECT_TRUE(log->wait_for("its target has ended, or doesn't exist instance=i to=i what=numbers"));
}

// ---- launches -----------------------------------------------------------------------------------

Task<std::vector<std::string>> launches(Context& ctx) {
  const std::string drawn = ctx.launch("receives", 1);
  const std::string named = ctx.launch("receives", {.id = "launched"}, 1);
  for (const std::string& id : {drawn, named}) {
    ctx.send(id, "numbers", 3);
    ctx.raise(id, "end", 1);
  }
  std::vector<std::string> ids{drawn, named};
  co_return ids;
}

TEST_P(SendingTest, LaunchedOrchestrationsLiveOnAndGetWhatTheSameTurnSendsThem) {
  const auto rt = runtime([](Runtime& r) {
    add_code(r);
    r.orchestration("launches", launches);
  });
  const auto ids = rt->client().start("launches", {.id = "l"}).wait<std::vector<std::string>>(kSoon);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(ids[1], "launched");
  for (const std::string& id : ids)
    EXPECT_EQ(rt->client().run(id).wait<std::vector<int>>(kSoon), std::vector<int>{3});
  EXPECT_EQ(rt->client().run("l").describe().unread_messages, 0U)
      << "nobody tells the one that launched them";
}

TEST_P(SendingTest, ALaunchUnderAnIdThatIsTakenLeavesTheOtherAloneAndIsSaid) {
  const auto rt = runtime([](Runtime& r) {
    add_code(r);
    r.orchestration("launches", launches);
  });
  const Run other = rt->client().start("told", {.id = "launched"});
  rt->client().start("launches", {.id = "l"}).wait<std::vector<std::string>>(kSoon);
  EXPECT_TRUE(
      log->wait_for("warn  an orchestration is not launched: its id is taken instance=l id=launched "
                    "orchestration=receives"))
      << log->all();
  EXPECT_EQ(other.wait<int>(kSoon), 1) << "the event, though, is for whoever lives there";
}

// ---- calls from activities ----------------------------------------------------------------------

Task<int> calls(Context& ctx) {
  co_return co_await ctx.activity<int>("call", {.retry = {.max_attempts = 5, .first_delay = 1ms}});
}

TEST_P(SendingTest, CallsOfAClientInAnActivityTakeEffectOnceOverAllAttempts) {
  std::atomic<int> attempts{0};
  std::vector<std::string> started;
  const std::shared_ptr<Store> same = store();
  const auto rt = runtime([&](Runtime& r) {
    add_code(r);
    r.orchestration("calls", calls);
    r.activity("call", [&](ActivityContext& ctx) {
      Client client(same);
      ++attempts;
      client.send("r", "numbers", 1);
      client.send("r", "numbers", 1);  // another message
      if (ctx.attempt() >= 2) client.run("r").send("numbers", 2);
      started.push_back(client.start("told", StartOptions{}).id());
      started.push_back(client.start("told", StartOptions{}).id());
      if (ctx.attempt() < 3) throw ActivityFailure("again", "after all of its calls");
      client.raise("r", "end", 0);
      return ctx.attempt();
    });
  });
  const Run receiver = rt->client().start("receives", {.id = "r"}, 3);
  EXPECT_EQ(rt->client().start("calls", {.id = "c"}).wait<int>(kSoon), 3);
  EXPECT_EQ(receiver.wait<std::vector<int>>(kSoon), (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(attempts, 3);
  ASSERT_EQ(started.size(), 6U);
  EXPECT_NE(started[0], started[1]);
  for (const std::size_t i : {2U, 4U}) {
    EXPECT_EQ(started[i], started[0]);
    EXPECT_EQ(started[i + 1], started[1]);
  }
}

TEST_P(SendingTest, TwoActivitiesOfOneKindAreTwoCallers) {
  const std::shared_ptr<Store> same = store();
  const auto rt = runtime([&](Runtime& r) {
    add_code(r);
    r.orchestration("calls", calls);
    r.activity("call", [&](ActivityContext&) {
      const Client client(same);
      client.send("r", "numbers", 1);
      return 1;
    });
  });
  rt->client().start("calls", {.id = "c1"}).wait<int>(kSoon);
  rt->client().start("calls", {.id = "c2"}).wait<int>(kSoon);
  rt->client().raise("r", "end", 0);
  EXPECT_EQ(rt->client().start("receives", {.id = "r"}, 2).wait<std::vector<int>>(kSoon),
            (std::vector<int>{1, 1}));
}

TEST_P(SendingTest, OfMessagesWithOneKeyTheFirstCounts) {
  const auto rt = runtime(add_code);
  Client client = rt->client();
  client.send("r", "numbers", {.key = "order-7"}, 1);
  client.send("r", "numbers", {.key = "order-7"}, 2);
  client.send("r", "numbers", {.key = "order-8"}, 3);
  client.send("s", "numbers", {.key = "order-7"}, 4);  // another target
  for (const char* id : {"r", "s"}) client.raise(id, "end", 0);
  EXPECT_EQ(client.start("receives", {.id = "r"}, 2).wait<std::vector<int>>(kSoon), (std::vector<int>{1, 3}));
  EXPECT_EQ(client.start("receives", {.id = "s"}, 1).wait<std::vector<int>>(kSoon), std::vector<int>{4});
}

}  // namespace
}  // namespace holdfast::e2e::sending_test
