// Queries: what code tells while it waits, and that nobody notices that it was asked.
#include "stores_test.hpp"
#include "testkit/support/outage.hpp"

#include <holdfast/asio.hpp>

#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::e2e::queries_test {
namespace {

struct Ledger {
  int sum = 0;
  std::vector<int> numbers{};
};

/// Adds what it is told until that is 0.
Task<int> adds(Context& ctx) {
  auto& ledger = ctx.state<Ledger>();
  ctx.on_query(ledger, "sum", [](const Ledger& now) { return now.sum; });
  ctx.on_query(ledger, "above", [](const Ledger& now, int limit) {
    int count = 0;
    for (const int number : now.numbers) count += number > limit ? 1 : 0;
    return count;
  });
  int rounds = 0;
  const auto guard = ctx.on_query("rounds", [&rounds] { return rounds; });
  const auto fails = ctx.on_query("fails", []() -> int { throw std::runtime_error("no luck"); });
  for (;; ++rounds) {
    const int number = co_await ctx.mailbox<int>("numbers").receive();
    if (number == 0) co_return ledger.sum;
    ledger.sum += number;
    ledger.numbers.push_back(number);
  }
}

/// The same, in a new execution after each number.
Task<int> adds_anew(Context& ctx, int sum) {
  const auto guard = ctx.on_query("sum", [&sum] { return sum; });
  const int number = co_await ctx.mailbox<int>("numbers").receive();
  if (number == 0) co_return sum;
  const int next = sum + number;
  co_await ctx.continue_as_new(next);
  co_return 0;
}

/// What somebody waits at until it is opened.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    changed_.notify_all();
  }
  void open(bool is_open) {
    const std::lock_guard lock(mutex_);
    open_ = is_open;
    changed_.notify_all();
  }
  void wait_for(int inside) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, inside] { return inside_ == inside; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int inside_ = 0;
};
Door door;

Task<int> hangs_when_asked(Context& ctx) {
  const auto hangs = ctx.on_query("hang", [] {
    door.pass();
    return 1;
  });
  const auto answers = ctx.on_query("answer", [] { return 42; });
  co_return co_await ctx.event<int>("end");
}

template <class Ask>
std::string type_of_refusal(Ask ask) {
  try {
    ask();
  } catch (const QueryError& e) {
    return e.failure().type;
  } catch (const ClientError& e) {
    return std::string(to_string(e.kind()));
  }
  return "answered";
}

class QueriesTest : public OnEachStore {
 protected:
  static void add(Runtime& rt) {
    rt.orchestration("adds", adds);
    rt.orchestration("adds_anew", adds_anew);
    rt.orchestration("hangs_when_asked", hangs_when_asked);
  }
};

TEST_P(QueriesTest, AreAnsweredByWhatWasCommittedBefore) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  EXPECT_EQ(run.query<int>("sum"), 0);
  run.send("numbers", 5);
  run.send("numbers", 70);
  eventually([&] { return run.query<int>("rounds") == 2; });
  EXPECT_EQ(run.query<int>("sum"), 75);
  EXPECT_EQ(run.query<int>("above", 10), 1);
  const auto answer = run.query<QueryAnswer>("sum");
  EXPECT_EQ(answer.as<int>(), 75);
  EXPECT_EQ(answer.execution, ExecutionNumber{1});
  EXPECT_FALSE(answer.behind);
  EXPECT_EQ(answer.event, run.history().events.back().id);
}

TEST_P(QueriesTest, AreAnsweredAfterTheEndIfTheyReadTheState) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  run.send("numbers", 7);
  run.send("numbers", 0);
  EXPECT_EQ(run.wait<int>(kSoon), 7);
  EXPECT_EQ(run.query<int>("sum"), 7);
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("rounds")); }), "query_handler_gone");
}

TEST_P(QueriesTest, LeaveNoTrace) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  run.send("numbers", 3);
  eventually([&] { return run.query<int>("sum") == 3; });
  eventually([&] { return run.describe().running_on.empty(); });
  const auto before = store()->state().value().instances.at(0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(run.query<int>("above", i % 5), i % 5 < 3 ? 1 : 0);
  auto after = store()->state().value().instances.at(0);
  after.lease_left = before.lease_left;
  EXPECT_EQ(after, before);
  run.send("numbers", 0);
  EXPECT_EQ(run.wait<int>(kSoon), 3);
}

TEST_P(QueriesTest, WaitForTheFirstTurn) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a", .delay = 300ms});
  EXPECT_EQ(run.query<int>("sum", {.timeout = kSoon}), 0);
  EXPECT_EQ(type_of_refusal([&] {
              static_cast<void>(
                  rt->client().start("adds", {.id = "b", .delay = 1h}).query<int>("sum", {.timeout = 50ms}));
            }),
            "query_timeout");
}

TEST_P(QueriesTest, OfTheNextExecutionAreAnsweredByThat) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds_anew", {.id = "a"}, 0);
  for (int i = 1; i <= 5; ++i) {
    run.send("numbers", i);
    eventually([&] { return run.query<int>("sum") == i * (i + 1) / 2; });
  }
  EXPECT_EQ(run.query<QueryAnswer>("sum").execution, ExecutionNumber{6});
}

TEST_P(QueriesTest, SeeWhatAnotherWorkerHasCommitted) {
  const auto one = runtime(add);
  const Run run = one->client().start("adds", {.id = "a"});
  EXPECT_EQ(run.query<int>("sum"), 0);
  const auto other = runtime(add);
  const Run same = other->client().run("a");
  for (int i = 1; i <= 10; ++i) {
    const int before = run.query<int>("sum");
    same.send("numbers", 1);
    eventually([&] { return same.query<int>("sum") == before + 1; });
    EXPECT_EQ(run.query<int>("sum"), before + 1) << "it was committed before this question";
  }
}

TEST_P(QueriesTest, ThatNobodyCanAnswerSayWhatIsMissing) {
  const auto rt = runtime(add);
  Client client(rt->client());
  const Run run = client.start("unknown", {.id = "a", .version = "2.1"});
  try {
    static_cast<void>(run.query<int>("sum"));
    ADD_FAILURE() << "somebody has answered";
  } catch (const QueryError& e) {
    EXPECT_EQ(e.failure().type, "query_no_worker");
    EXPECT_NE(e.failure().message.find("orchestration 'unknown', version 2.1"), std::string::npos)
        << e.what();
    EXPECT_NE(e.failure().message.find("adds 1"), std::string::npos) << e.what();
  }
  const Run known = client.start("adds", {.id = "b"});
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(known.query<int>("som")); }), "query_not_found");
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(known.query<int>("fails")); }), "std::runtime_error");
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(known.query<int>("sum", {.timeout = 0ms})); }),
            "invalid");
}

TEST_P(QueriesTest, OfWhatIsGoneSayThat) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  EXPECT_EQ(run.query<int>("sum"), 0);
  rt->client().delete_instance("a", {.force = true});
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("sum")); }), "not_found");
}

TEST_P(QueriesTest, AreAnsweredWhileTheInstanceIsSuspended) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  run.send("numbers", 3);
  eventually([&] { return run.query<int>("sum") == 3; });
  run.suspend();
  run.send("numbers", 4);
  EXPECT_EQ(run.query<int>("sum"), 3);
}

TEST_P(QueriesTest, OfCodeThatNoLongerFitsAreAnsweredAsFarAsItDoes) {
  const auto before = [](Context& ctx) -> Task<> {
    int stage = 1;
    const auto guard = ctx.on_query("stage", [&stage] { return stage; });
    co_await ctx.event<int>("first");
    stage = 2;
    co_await ctx.event<int>("second");
    stage = 3;
    co_await ctx.event<int>("third");
  };
  const auto after = [](Context& ctx) -> Task<> {
    int stage = 1;
    const auto guard = ctx.on_query("stage", [&stage] { return stage; });
    co_await ctx.event<int>("first");
    stage = 2;
    co_await ctx.sleep(1h);
  };
  auto rt = runtime([&](Runtime& r) { r.orchestration("staged", before); });
  Run run = rt->client().start("staged", {.id = "a"});
  EXPECT_EQ(run.query<int>("stage"), 1);
  run.raise("first", 1);
  run.raise("second", 1);
  eventually([&] { return run.query<int>("stage") == 3; });
  rt = runtime([&](Runtime& r) { r.orchestration("staged", after); });
  run = rt->client().run("a");
  run.raise("third", 1);
  eventually([&] { return run.status() == Status::parked; });
  const auto answer = run.query<QueryAnswer>("stage");
  EXPECT_TRUE(answer.behind);
  EXPECT_LT(answer.event, run.history().events.back().id);
  EXPECT_EQ(answer.as<int>(), 1) << "the last turn that it fits ends with the wait for 'first'";
}

TEST_P(QueriesTest, OfCodeThatFitsNoTurnSayThat) {
  const auto before = [](Context& ctx) -> Task<> { co_await ctx.event<int>("first"); };
  const auto after = [](Context& ctx) -> Task<> { co_await ctx.sleep(1h); };
  auto rt = runtime([&](Runtime& r) { r.orchestration("staged", before); });
  const Run run = rt->client().start("staged", {.id = "a"});
  EXPECT_EQ(run.query<std::vector<QueryWait>>("holdfast.waits").size(), 1U);
  rt.reset();
  rt = runtime([&](Runtime& r) { r.orchestration("staged", after); });
  EXPECT_EQ(type_of_refusal([&] {
              static_cast<void>(rt->client().run("a").query<std::vector<QueryWait>>("holdfast.waits"));
            }),
            "query_unfit");
}

// ---- from another process: here another handle of the same database -----------------------------------

TEST_P(QueriesTest, AreAnsweredByWorkersElsewhere) {
  const auto rt = runtime(add);
  Client client(store());
  const Run run = client.start("adds", {.id = "a"});
  for (int i = 1; i <= 5; ++i) {
    run.send("numbers", i);
    eventually([&] { return run.query<int>("sum", {.timeout = kSoon}) == i * (i + 1) / 2; });
  }
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("som")); }), "query_not_found");
  run.send("numbers", 0);
  EXPECT_EQ(run.wait<int>(kSoon), 15);
  EXPECT_EQ(run.query<int>("sum", {.timeout = kSoon}), 15);
  EXPECT_TRUE(store()->state().value().asks.empty()) << "nothing is left of them";
}

TEST_P(QueriesTest, OfWhatIsGoneOrUnknownElsewhereSayThat) {
  const auto rt = runtime(add);
  Client client(store());
  const Run unknown = client.start("unknown", {.id = "a"});
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(unknown.query<int>("sum")); }), "query_no_worker");
  const Run run = client.start("adds", {.id = "b"});
  EXPECT_EQ(run.query<int>("sum", {.timeout = kSoon}), 0);
  client.delete_instance("b", {.force = true});
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("sum")); }), "not_found");
}

TEST_P(QueriesTest, FromManyClientsElsewhereAreAllAnswered) {
  const auto one = runtime(add);
  const auto other = runtime(add);
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(store());
  std::vector<Run> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(clients[0].start("adds", {.id = "a" + std::to_string(i)}));
  std::vector<std::future<int>> answers;
  for (int i = 0; i < 60; ++i) {
    const Run run = clients[static_cast<std::size_t>(i % 3)].run("a" + std::to_string(i % 6));
    answers.push_back(run.query_async<int>("sum", {.timeout = kSoon}).future());
  }
  for (std::future<int>& answer : answers) EXPECT_EQ(answer.get(), 0);
}

TEST_P(QueriesTest, ComeThroughAnOutageOfTheStore) {
  support::Outage outage;
  const auto rt = runtime(add);
  Client client(store(&outage));
  const Run run = client.start("adds", {.id = "a"});
  EXPECT_EQ(run.query<int>("sum", {.timeout = kSoon}), 0);
  outage.begin();
  auto answer = run.query_async<int>("sum", {.timeout = kSoon}).future();
  outage.wait_for(5);
  outage.end();
  EXPECT_EQ(answer.get(), 0);
}

// ---- handlers that take too long --------------------------------------------------------------------

class SlowQueriesTest : public QueriesTest {
 protected:
  void SetUp() override { door.open(false); }
  void TearDown() override {
    door.open(true);
    door.wait_for(0);
  }
};

TEST_P(SlowQueriesTest, CostTheirFrameAndNeverTheInstance) {
  auto rt = runtime({.query_time_limit = 20ms}, add);
  const Run run = rt->client().start("hangs_when_asked", {.id = "a"});
  EXPECT_EQ(run.query<int>("answer"), 42);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("hang", {.timeout = kSoon})); }),
              "query_slow");
    EXPECT_EQ(run.query<int>("answer"), 42) << "by another thread";
    door.wait_for(i);
  }
  EXPECT_TRUE(log->wait_for("a query took too long; its frame is dropped, and its instance goes on"));
  run.raise("end", 5);
  EXPECT_EQ(run.wait<int>(kSoon), 5);
  door.open(true);
  EXPECT_TRUE(log->wait_for("a query that was given up has come back"));
}

TEST_P(SlowQueriesTest, ThatWaitBehindAreRefusedWhenThereAreTooMany) {
  const auto rt = runtime({.query_time_limit = 10min, .queued_queries = 1}, add);
  const Run run = rt->client().start("hangs_when_asked", {.id = "a"});
  auto hangs = run.query_async<int>("hang", {.timeout = kSoon}).future();
  door.wait_for(1);
  auto waits = run.query_async<int>("answer", {.timeout = kSoon}).future();
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("answer")); }), "query_busy");
  door.open(true);
  EXPECT_EQ(hangs.get(), 1);
  EXPECT_EQ(waits.get(), 42);
}

TEST_P(SlowQueriesTest, EndWhenNobodyWaitsForThemAnyMore) {
  auto rt = runtime({.query_time_limit = 10min}, add);
  Client client(rt->client());
  const Run run = client.start("hangs_when_asked", {.id = "a"});
  std::stop_source stop;
  std::promise<std::string> given_up;
  run.query_async<int>("hang", {.timeout = kSoon})
      .then(
          [&](const ClientAnswer<int>& answer) {
            try {
              given_up.set_value(answer ? "answered" : (std::rethrow_exception(answer.error()), ""));
            } catch (const std::system_error& e) {
              given_up.set_value(e.code() == std::errc::operation_canceled ? "cancelled" : e.what());
            }
          },
          stop.get_token());
  door.wait_for(1);
  stop.request_stop();
  EXPECT_EQ(given_up.get_future().get(), "cancelled");
  EXPECT_EQ(type_of_refusal([&] { static_cast<void>(run.query<int>("answer", {.timeout = 20ms})); }),
            "query_timeout");
  auto abandoned = run.query_async<int>("answer", {.timeout = kSoon}).future();
  client.close();
  EXPECT_EQ(type_of_refusal([&] { abandoned.get(); }), "unavailable");
  door.open(true);
}

// ---- without a thread that waits ----------------------------------------------------------------------

TEST_P(QueriesTest, AreAwaitedInCoroutinesOfAsio) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("adds", {.id = "a"});
  run.send("numbers", 3);
  asio::io_context io;
  auto asks = [run]() -> asio::awaitable<int> {
    int sum = 0;
    for (int i = 0; i < 10; ++i) sum += co_await async(run.query_async<int>("sum"), asio::use_awaitable);
    co_return sum >= 0 ? co_await async(run.query_async<int>("above", 100), asio::use_awaitable) : -1;
  };
  auto asked = asio::co_spawn(io, asks(), asio::use_future);
  io.run();
  EXPECT_EQ(asked.get(), 0);
}

TEST_P(QueriesTest, FromManyThreadsAreAllAnswered) {
  const auto rt = runtime(add);
  std::vector<Run> runs;
  for (int i = 0; i < 10; ++i) runs.push_back(rt->client().start("adds", {.id = "a" + std::to_string(i)}));
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const Run& run = runs[static_cast<std::size_t>((t + i) % 10)];
        if (i % 10 == 0) run.send("numbers", 1);
        if (run.query<int>("sum", {.timeout = kSoon}) >= 0) ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
  int sum = 0;
  for (const Run& run : runs) {
    run.send("numbers", 0);
    sum += run.wait<int>(kSoon);
  }
  EXPECT_EQ(sum, 40);
}

INSTANTIATE_TEST_SUITE_P(OnEachStore, QueriesTest,
                         ::testing::Values(Kept::in_memory, Kept::in_a_file, Kept::on_a_server), kept_name);
INSTANTIATE_TEST_SUITE_P(OnEachStore, SlowQueriesTest, ::testing::Values(Kept::in_memory, Kept::in_a_file),
                         kept_name);

}  // namespace
}  // namespace holdfast::e2e::queries_test
