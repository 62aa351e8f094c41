// What a client can see of a run, and do with it; typed names.
#include "stores_test.hpp"

#include <holdfast/fault.hpp>

// What a program sees that is `using` nothing of the library.
namespace a_program {
template <class E>
concept HasText = requires(E value) { std::string_view(to_string(value)); };
}  // namespace a_program

namespace holdfast::e2e::runs_test {
namespace {

struct Decision {
  bool approved = false;
  std::string by;
};

inline constexpr Orchestration<std::string(std::string, int)> kDecide{"decide"};
inline constexpr Orchestration<int()> kFails{"fails"};
inline constexpr Orchestration<int(int)> kParent{"parent"};
inline constexpr Event<Decision> kDecision{"decision"};
inline constexpr Event<void> kEnough{"enough"};
inline constexpr Mailbox<int> kNumbers{"numbers"};

Task<std::string> decide(Context& ctx, std::string what, int least) {
  const Receiver<int> numbers = ctx.mailbox(kNumbers);
  int sum = 0;
  while (sum < least) sum += co_await numbers.receive();
  ctx.set_status(sum);
  const Decision decision = co_await ctx.event(kDecision);
  co_await ctx.event(kEnough);
  co_return what + (decision.approved ? " approved by " : " refused by ") + decision.by;
}

Task<int> fails(Context&) {
  throw std::runtime_error("no way");
  co_return 0;
}

Task<int> child_of(Context& ctx, int in) {
  if (in == 0) co_return co_await ctx.event<int>("end");
  const std::string detached = co_await ctx.start_detached(kParent, {.id = "detached"}, 0);
  const int zero = 0;
  co_return co_await ctx.child(kParent, {.id = "child"}, zero) + static_cast<int>(detached.size());
}

class RunsTest : public OnEachStore {
 protected:
  static void add(Runtime& rt) {
    rt.orchestration(kDecide, decide);
    rt.orchestration(kFails, fails);
    rt.orchestration(kParent, child_of);
    rt.orchestration("told", told);
    rt.orchestration("told", {.version = "2"}, told);
  }
};
HOLDFAST_ON_EACH_STORE(RunsTest);

TEST_P(RunsTest, TypedNamesFitOnBothSides) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const TypedRun<std::string> run = client.start(kDecide, {.id = "o-1"}, "order", 10);
  run.send(kNumbers, 4);
  client.send("o-1", kNumbers, 5);
  client.send_all("o-1", kNumbers, {1});
  run.raise(kDecision, {.approved = true, .by = "Ada"});
  client.raise("o-1", kEnough);
  EXPECT_EQ(run.wait(kSoon), "order approved by Ada");
  EXPECT_EQ(client.run(kDecide, "o-1").result(kSoon).value(), "order approved by Ada");
  try {
    static_cast<void>(client.run(kFails, "o-1"));
    FAIL() << "it is another orchestration";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::conflict);
    EXPECT_STREQ(e.failure().message.c_str(), "instance 'o-1' runs 'decide', not 'fails'");
  }
}

TEST_P(RunsTest, AnInputIsNeverTakenForAnId) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration(
        "greet", +[](Context&, std::string who) -> Task<std::string> { co_return "Hello, " + who; });
  });
  Client client = rt->client();
  const Run one = client.start("greet", "Ada");
  const Run another = client.start("greet", "Ada");
  EXPECT_NE(one.id(), another.id());
  EXPECT_EQ(one.wait<std::string>(kSoon), "Hello, Ada");
  EXPECT_EQ(another.wait<std::string>(kSoon), "Hello, Ada");
  EXPECT_THROW(client.start("greet", {.id = ""}, "Ada"), Error);  // one that was meant, and came out empty
}

TEST_P(RunsTest, HowARunEndedIsTheTypeOfWhatIsThrown) {
  const auto rt = runtime(add);
  Client client = rt->client();
  try {
    client.start(kFails, {.id = "f"}).wait(kSoon);
    FAIL() << "it fails";
  } catch (const RunFailed& e) {
    EXPECT_EQ(e.failure().category, Category::application);
    EXPECT_NE(std::string(e.what()).find("no way"), std::string::npos);
  }
  const Run cancelled = client.start("told", {.id = "c"});
  cancelled.cancel("changed my mind");
  EXPECT_THROW(cancelled.wait<int>(kSoon), RunCancelled);
  const Run terminated = client.start("told", {.id = "t"});
  terminated.terminate("now");
  try {
    terminated.wait<int>(kSoon);
    FAIL() << "it was terminated";
  } catch (const RunCancelled& e) {
    EXPECT_EQ(e.failure().category, Category::terminated);
  }
  const Run waiting = client.start("told", {.id = "w"});
  EXPECT_THROW(waiting.wait<int>(1ms), RunTimedOut);
  EXPECT_EQ(waiting.result<int>(1ms).error().type, "wait_timeout");
}

TEST_P(RunsTest, AHandleMeansItsOwnLifeOfTheId) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run first = client.start("told", {.id = "x"});
  first.raise("end", 1);
  EXPECT_EQ(first.wait<int>(kSoon), 1);
  const Run second = client.start("told", {.id = "x", .reuse = Reuse::after_end});
  const auto refused = [](auto&& call) {
    try {
      call();
    } catch (const ClientError& e) {
      return e.kind() == ClientError::Kind::not_found;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { first.raise("end", 2); }));
  EXPECT_TRUE(refused([&] { first.send("numbers", 2); }));
  EXPECT_TRUE(refused([&] { first.cancel("no"); }));
  EXPECT_TRUE(refused([&] { first.terminate("no"); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(first.describe()); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(first.value<int>("v")); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(first.info()); }));
  second.raise("end", 3);
  EXPECT_EQ(second.wait<int>(kSoon), 3);
}

TEST_P(RunsTest, WhatItWasGivenAndWhatItGaveCanBeSeen) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const TypedRun<int> run = client.start(kParent, {.id = "p"}, 1);
  EXPECT_TRUE(eventually([&] { return client.find("child") && client.find("detached"); }));
  EXPECT_EQ(run.input<int>(), 1);
  EXPECT_EQ(client.run("child").info().parent, "p");
  EXPECT_EQ(client.run("detached").info().parent, "");
  EXPECT_EQ(run.info().parent, "");
  EXPECT_FALSE(run.info().output<int>());
  client.raise("child", "end", 5);
  EXPECT_EQ(run.wait(kSoon), 13);
  EXPECT_EQ(run.info().output<int>(), 13);
  for (const RunInfo& info : client.list().runs) EXPECT_EQ(info.parent, info.id == "child" ? "p" : "");
  client.run("detached").terminate("enough");
}

TEST_P(RunsTest, AnIdThatIsTakenSaysWhatDiffers) {
  const auto rt = runtime(add);
  Client client = rt->client();
  client.start("told", {.id = "x"});
  const auto conflict = [&](auto&&... start) -> std::string {
    try {
      client.start(start...);
    } catch (const ClientError& e) {
      if (e.kind() == ClientError::Kind::conflict) return e.failure().message;
    }
    return "no conflict";
  };
  EXPECT_NE(conflict("fails", StartOptions{.id = "x"}).find("was started as 'told', not as 'fails'"),
            std::string::npos);
  EXPECT_NE(conflict("told", StartOptions{.id = "x"}, 5).find("was started with another input"),
            std::string::npos);
  client.start("told", {.id = "second", .version = "2"});
  const std::string newest = "in the newest version, whichever that was";
  for (const bool begun : {false, true}) {
    if (begun) {
      ASSERT_TRUE(eventually([&] { return !client.run("x").info().version.empty(); }));
    }
    EXPECT_NE(conflict("told", StartOptions{.id = "x", .version = "1"})
                  .find("was started " + newest + ", not in version '1'"),
              std::string::npos);
    EXPECT_NE(
        conflict("told", StartOptions{.id = "second"}).find("was started in version '2', not " + newest),
        std::string::npos);
  }
  EXPECT_NE(conflict("told", StartOptions{.id = "second", .version = "2"}, 5)
                .find("was started with another input"),
            std::string::npos);
}

TEST_P(RunsTest, WhatMakesNoSenseIsRefused) {
  const auto rt = runtime(add);
  const Client client = rt->client();
  client.raise("x", "end", {.delay = 1h}, 1);
  EXPECT_THROW(client.raise("x", "end", {.delay = -1s}, 1), std::invalid_argument);
  EXPECT_THROW(client.send("x", "numbers", {.delay = -1s}, 1), std::invalid_argument);
  EXPECT_THROW(client.send("x", "numbers", {.keep_for = -1s}, 1), std::invalid_argument);
  const auto refused = [](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "an empty page is no page";
    } catch (const ClientError& e) {
      EXPECT_EQ(e.kind(), ClientError::Kind::invalid);
    }
  };
  for (const std::string& id : {std::string("a\0b", 3), std::string("\xff"), std::string(256, 'x')}) {
    const auto is_no_name = [&](const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "it was asked for";
      } catch (const Error& e) {
        EXPECT_EQ(e.failure().type, "invalid_name");
      }
    };
    is_no_name([&] { static_cast<void>(client.find(id)); });
    is_no_name([&] { static_cast<void>(client.run(id)); });
    is_no_name([&] { client.cancel(id, "why"); });
    is_no_name([&] { client.delete_instance(id); });
    is_no_name([&] { static_cast<void>(client.prune_executions(id, 1)); });
    is_no_name([&] { static_cast<void>(client.list({.orchestration = id})); });
    is_no_name([&] { static_cast<void>(client.list({.prefix = id})); });
    is_no_name([&] { static_cast<void>(client.list({.parent = id})); });
  }
  refused([&] { static_cast<void>(client.list({.limit = 0})); });
  refused([&] { static_cast<void>(client.list_sessions({.limit = 0})); });
  refused([&] { static_cast<void>(client.list_sessions("", 0)); });
  refused([&] { static_cast<void>(client.session_log("s", 0, 0)); });
}

TEST_P(RunsTest, TheTextOfACancelSaysSo) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const auto text_after = [&](const std::string& id, auto end) -> std::string {
    const Run run = client.start("told", {.id = id});
    end(run);
    try {
      run.wait<int>(kSoon);
    } catch (const RunCancelled& e) {
      return e.what();
    }
    return "no RunCancelled";
  };
  EXPECT_EQ(text_after("c", [](const Run& run) { run.cancel("enough"); }),
            "orchestration c was cancelled: enough (cancel_requested)");
  EXPECT_EQ(text_after("t", [](const Run& run) { run.terminate("enough"); }),
            "orchestration t was terminated: enough (terminated)");
}

Task<int> keeps_values(Context& ctx) {
  ctx.set_value("second", 2);
  ctx.set_value("first", 1);
  co_return co_await ctx.event<int>("end");
}

TEST_P(RunsTest, TheKeysOfItsValuesAndWhetherItHasEndedCanBeSeen) {
  const auto rt = runtime([](Runtime& r) { r.orchestration("keeps_values", keeps_values); });
  const Run run = rt->client().start("keeps_values", {.id = "k"});
  EXPECT_TRUE(eventually([&] { return !run.describe().value_keys.empty(); }));
  EXPECT_EQ(run.describe().value_keys, (std::vector<std::string>{"first", "second"}));
  EXPECT_FALSE(run.info().has_ended());
  run.raise("end", 1);
  run.wait<int>(kSoon);
  EXPECT_TRUE(run.info().has_ended());
}

// Nobody has the code of the activity for which the child waits.
TEST_P(RunsTest, AChildWhoseWaitNobodyServesIsNotServed) {
  const auto rt = runtime([](Runtime& r) {
    r.orchestration(
        "inner", +[](Context& ctx) -> Task<int> { co_return co_await ctx.activity<int>("nobodys"); });
    r.orchestration(
        "outer",
        +[](Context& ctx) -> Task<int> { co_return co_await ctx.child<int>("inner", {.id = "in"}); });
  });
  const Run run = rt->client().start("outer", {.id = "out"});
  ASSERT_TRUE(eventually([&] {
    const auto child = rt->client().find("in");
    return child && waits_for(child->describe(), RunWait::Kind::activity, "nobodys");
  }));
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::child);
  EXPECT_FALSE(wait.served);
  ASSERT_EQ(wait.waits.size(), 1U);
  EXPECT_FALSE(wait.waits.front().served);
  EXPECT_EQ(run.describe().more_children, 0U);
}

using a_program::HasText;

TEST(Names, EveryPublicEnumHasAText) {
  static_assert(HasText<Category> && HasText<ClientError::Kind> && HasText<StoreOpenError::Kind> &&
                HasText<CancelReason> && HasText<Backoff> && HasText<ParentClosePolicy> &&
                HasText<LogLevel> && HasText<Status> && HasText<Reuse> && HasText<RunWait::Kind> &&
                HasText<CancelState> && HasText<SessionOutcome> && HasText<SessionReason> &&
                HasText<SessionEvent::Kind> && HasText<SessionLogEntry::Kind> &&
                HasText<decltype(SessionInfo::state)> && HasText<Durability> && HasText<SaveState> &&
                HasText<Address::Kind> && HasText<Fault>);
  EXPECT_EQ(to_string(Status::parked), "parked");
  EXPECT_EQ(to_string(Reuse::after_end), "after_end");
  EXPECT_EQ(to_string(ClientError::Kind::not_found), "not_found");
  EXPECT_EQ(to_string(RunWait::Kind::mailbox), "mailbox");
  EXPECT_EQ(to_string(Durability::normal), "normal");
  EXPECT_EQ(to_string(SaveState::with_each_activity), "with_each_activity");
  EXPECT_EQ(to_string(Address::Kind::mailbox), "mailbox");
  EXPECT_EQ(to_string(Fault::lose_answer), "lose_answer");
}

TEST_P(RunsTest, AWaitSaysSinceWhen) {
  const auto rt = runtime(add);
  const CalendarTime before = real_clock().calendar_now() - 1min;
  const Run run = rt->client().start(kParent, {.id = "parent"}, 1);
  ASSERT_TRUE(eventually([&] {
    const std::optional<Run> child = rt->client().find("child");
    return child && waits_for(child->describe(), RunWait::Kind::event, "end");
  }));
  const RunWait child = wait_of(run.describe(), RunWait::Kind::child);
  ASSERT_EQ(child.waits.size(), 1U);
  for (const RunWait& wait : {child, child.waits.front()}) {
    ASSERT_TRUE(wait.since) << to_string(wait.kind);
    EXPECT_GT(*wait.since, before);
    EXPECT_LT(*wait.since, real_clock().calendar_now() + 1min);
  }

  // The second wait for the same mailbox is younger than the first.
  const Run decision = rt->client().start(kDecide, {.id = "d"}, "order", 10);
  ASSERT_TRUE(eventually([&] { return waits_for(decision.describe(), RunWait::Kind::mailbox, "numbers"); }));
  const auto first = wait_of(decision.describe(), RunWait::Kind::mailbox).since;
  decision.send(kNumbers, 1);
  EXPECT_TRUE(eventually([&] {
    const RunDetail detail = decision.describe();
    return waits_for(detail, RunWait::Kind::mailbox, "numbers") &&
           wait_of(detail, RunWait::Kind::mailbox).since > first;
  }));
}

TEST_P(RunsTest, ManyAreStartedAlsoWhenSomeAreRefused) {
  Client client(store());
  client.start("other", {.id = "i-1"});
  std::vector<StartItem> items;
  for (int i = 0; i < 1200; ++i) items.push_back(start_item("i-" + std::to_string(i), i));
  try {
    client.start_all("count", items);
    FAIL() << "one id is taken";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientError::Kind::conflict);
    EXPECT_NE(error.failure().message.find("'i-1'"), std::string::npos) << error.failure().message;
  }
  EXPECT_TRUE(client.find("i-1199"));
  items.push_back(start_item("", 0));
  items.push_back(start_item("later", 0));
  EXPECT_THROW(client.start_all("count", items), Error);
}

}  // namespace
}  // namespace holdfast::e2e::runs_test
