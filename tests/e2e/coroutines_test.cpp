// Activities that are coroutines, as users see them: many at once, how they end, how they are stopped.
#include "stores_test.hpp"

#include <holdfast/asio.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <thread>
#include <utility>

namespace holdfast::e2e::coroutines_test {
namespace {

using asio::use_awaitable;

/// A context with one thread, and a timer in it that many coroutines wait for until it is opened.
class Gate {
 public:
  Gate() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  ~Gate() {
    open();
    work_.reset();
    thread_.join();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  asio::io_context& context() { return context_; }
  asio::awaitable<void> wait() {
    ++waiting;
    asio::error_code opened;
    co_await timer_.async_wait(asio::redirect_error(use_awaitable, opened));
  }
  void open() {
    asio::post(context_, [this] { timer_.expires_at(asio::steady_timer::time_point::min()); });
  }

  std::atomic<int> waiting{0};

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer timer_{context_, asio::steady_timer::time_point::max()};
  std::thread thread_;
};

/// Waits for something that doesn't come. Ends by an exception when it is cancelled.
asio::awaitable<void> wait_for_ever() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(use_awaitable);
}

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "Threads:") continue;
    int count = 0;
    status >> count;
    return count;
  }
  return -1;
}

std::uint64_t abandoned_by(Runtime& rt) {
  return rt.metrics()
      .counter("holdfast_activities_abandoned_total", "Activities that went on after their grace.")
      .value();
}

Task<int> sum_of_waits(Context& ctx, int width) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < width; ++i) parts.push_back(ctx.activity<int>("wait", 1));
  const std::vector<int> all = co_await when_all(std::move(parts));
  co_return std::accumulate(all.begin(), all.end(), 0);
}

class CoroutinesTest : public OnEachStore {};
HOLDFAST_ON_EACH_STORE(CoroutinesTest);

TEST_P(CoroutinesTest, FiveThousandWaitAtOnceInAFewThreads) {
  Gate gate;
  const int before = threads_of_this_process();
  const auto rt = runtime({.activity_slots = 5'000}, [&](Runtime& r) {
    r.activity("wait", asio_activity(gate.context(), [&](ActivityContext&, int n) -> asio::awaitable<int> {
                 co_await gate.wait();
                 co_return n;
               }));
    r.orchestration("sum_of_waits", sum_of_waits);
  });
  const auto runs = rt->client().start_all("sum_of_waits", many(10, 500));
  ASSERT_TRUE(eventually([&] { return gate.waiting == 5'000; })) << gate.waiting;
  EXPECT_LE(threads_of_this_process() - before, 12);
  gate.open();
  for (const Run& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 500);
  EXPECT_LE(threads_of_this_process() - before, 12);
}

// ---- states of sessions -------------------------------------------------------------------------

struct Book {
  int lines = 0;
  bool open = false;
};

Task<int> writers(Context& ctx, int width) {
  std::vector<Op<int>> parts;
  for (int i = 0; i < width; ++i) {
    parts.push_back(ctx.activity<int>("write", {.session = "book", .retry = {.max_attempts = 1}}));
  }
  const std::vector<int> lines = co_await when_all(std::move(parts));
  co_return *std::max_element(lines.begin(), lines.end());
}

TEST_P(CoroutinesTest, TheyWaitForTheStateOfTheirSessionAndHoldNoThread) {
  asio::thread_pool pool(2);
  const auto rt = runtime({.activity_slots = 50}, [&](Runtime& r) {
    const SessionState<Book> books = r.session_state<Book>("book");
    r.activity("write", asio_activity(pool, [books](ActivityContext& ctx) -> asio::awaitable<int> {
                 Book& book = co_await books.when_free(ctx);
                 if (std::exchange(book.open, true)) throw ActivityFailure("torn", "another one writes");
                 for (int i = 0; i < 3; ++i) co_await asio::post(use_awaitable);
                 book.open = false;
                 co_return ++book.lines;
               }));
    r.orchestration("writers", writers);
  });
  EXPECT_EQ(rt->client().start("writers", {.id = "w"}, 50).wait<int>(kSoon), 50);
}

TEST_P(CoroutinesTest, OneThatWaitsForAStateIsStoppedLikeAnyOther) {
  Gate gate;
  std::atomic<int> stopped{0};
  const auto rt = runtime({.activity_slots = 2}, [&](Runtime& r) {
    const SessionState<Book> books = r.session_state<Book>("book");
    r.activity("write",
               asio_activity(gate.context(), [&, books](ActivityContext& ctx) -> asio::awaitable<int> {
                 try {
                   Book& book = co_await books.when_free(ctx);
                   co_await gate.wait();
                   co_return ++book.lines;
                 } catch (const ActivityFailure&) {
                   ++stopped;
                   throw;
                 }
               }));
    r.orchestration("writers", writers);
  });
  const Run run = rt->client().start("writers", {.id = "w"}, 2);
  ASSERT_TRUE(eventually([&] { return gate.waiting == 1; }));
  run.cancel("enough");
  EXPECT_TRUE(eventually([&] { return stopped == 1; }));
  gate.open();
}

// ---- results and failures -----------------------------------------------------------------------

constexpr Activity<int(std::string)> kLength{"length"};

Task<std::string> asks_all(Context& ctx) {
  const std::string text = "four";
  const int length = co_await ctx.activity(kLength, text);
  co_await ctx.activity<void>("nothing");
  const Result<int> wrong = co_await ctx.activity<int>("length", {.retry = {.max_attempts = 1}}, 7).result();
  const Result<int> broken =
      co_await ctx.activity<int>("broken", {.retry = {.max_attempts = 3, .first_delay = 1ms}}).result();
  co_return std::to_string(length) + " " + wrong.error().type + " " + broken.error().type + " " +
      std::to_string(broken.error().attempt);
}

TEST_P(CoroutinesTest, ResultsAndFailuresAreThoseOfFunctions) {
  asio::thread_pool pool(2);
  const auto rt = runtime([&](Runtime& r) {
    r.activity(kLength,
               asio_activity(pool, [](ActivityContext&, const std::string& text) -> asio::awaitable<int> {
                 co_await asio::post(use_awaitable);
                 co_return static_cast<int>(text.size());
               }));
    r.activity("nothing", [](ActivityContext&) -> asio::awaitable<void> { co_return; });
    r.activity("broken", [](ActivityContext&) -> asio::awaitable<int> {
      co_await asio::post(use_awaitable);
      throw ActivityFailure("out_of_paper", "the printer is empty");
    });
    r.orchestration("asks_all", asks_all);
  });
  const auto text = rt->client().start("asks_all", {.id = "a"}).wait<std::string>(kSoon);
  EXPECT_EQ(text.substr(0, 2), "4 ");
  EXPECT_EQ(text.substr(text.find(' ', 2)), " out_of_paper 3") << text;
}

Task<std::string> hurried(Context& ctx) {
  co_return co_await ctx.activity<std::string>(
      "slow_at_first", {.timeout = 50ms, .retry = {.max_attempts = 2, .first_delay = 1ms}});
}

TEST_P(CoroutinesTest, TimeoutsAndHeartbeatsAreThoseOfFunctions) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("slow_at_first", [](ActivityContext& ctx) -> asio::awaitable<std::string> {
      EXPECT_LE(ctx.time_left(), Duration(50ms));
      if (ctx.attempt() == 2) co_return ctx.last_heartbeat<std::string>().value_or("nothing");
      ctx.heartbeat(std::string("half"));
      co_await ctx.cancelled();
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::attempt_timeout);
      co_return "too late";
    });
    r.orchestration("hurried", hurried);
  });
  EXPECT_EQ(rt->client().start("hurried", {.id = "h"}).wait<std::string>(kSoon), "half");
}

// ---- stopping -----------------------------------------------------------------------------------

TEST_P(CoroutinesTest, ARequestToStopReachesTheOneThatWaitsForIt) {
  std::atomic<int> waiting{0};
  std::atomic<int> stopped{0};
  const auto rt = runtime([&](Runtime& r) {
    r.activity("wait", [&](ActivityContext& ctx) -> asio::awaitable<int> {
      ++waiting;
      co_await ctx.cancelled();
      EXPECT_TRUE(ctx.stop_token().stop_requested());
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::cancel_requested);
      co_await ctx.cancelled();  // again: at once
      ++stopped;
      co_return 1;
    });
    r.orchestration("waiting", e2e::waiting);
  });
  const Run run = rt->client().start("waiting", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return waiting == 1; }));
  run.cancel("enough");
  EXPECT_TRUE(eventually([&] { return stopped == 1; }));
  EXPECT_FALSE(run.result<int>(kSoon));
  EXPECT_EQ(run.status(), Status::cancelled);
}

Task<int> first_of_many(Context& ctx, int count) {
  std::vector<Op<int>> all;
  for (int i = 0; i < count; ++i) all.push_back(ctx.activity<int>("listen", i));
  const auto winner = co_await race(std::move(all));
  co_return winner.value;
}

TEST_P(CoroutinesTest, WaitingForAStopMayBeOnePartOfAWait) {
  using namespace asio::experimental::awaitable_operators;
  asio::thread_pool pool(4);
  std::atomic<int> waiting{0};
  std::atomic<int> stopped{0};
  const auto rt = runtime({.activity_slots = 100}, [&](Runtime& r) {
    r.activity("listen", asio_activity(pool, [&](ActivityContext& ctx, int i) -> asio::awaitable<int> {
                 asio::steady_timer timer(co_await asio::this_coro::executor);
                 if (i == 7) {
                   while (waiting < 49) {
                     timer.expires_after(1ms);
                     const auto timer_first = co_await (timer.async_wait(use_awaitable) || ctx.cancelled());
                     EXPECT_EQ(timer_first.index(), 0U);
                   }
                   co_return i;
                 }
                 ++waiting;
                 timer.expires_after(1h);
                 const auto stop_first = co_await (timer.async_wait(use_awaitable) || ctx.cancelled());
                 if (stop_first.index() == 1) ++stopped;
                 co_return i;
               }));
    r.orchestration("first_of_many", first_of_many);
  });
  EXPECT_EQ(rt->client().start("first_of_many", {.id = "f"}, 50).wait<int>(kSoon), 7);
  EXPECT_TRUE(eventually([&] { return stopped == 49; })) << stopped;
}

TEST_P(CoroutinesTest, OneThatDoesNotStopInItsGraceIsEnded) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  const auto rt = runtime({.activity_slots = 1, .cancel_grace = 50ms}, [&](Runtime& r) {
    add_program(r);
    r.activity("wait", [&](ActivityContext& ctx) -> asio::awaitable<int> {
      ++begun;
      try {
        co_await wait_for_ever();
      } catch (const asio::system_error& e) {
        EXPECT_EQ(e.code(), asio::error::operation_aborted);
        EXPECT_TRUE(ctx.stop_token().stop_requested());
        ++ended;
      }
      co_return 1;
    });
  });
  const Run run = rt->client().start("waiting", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return begun == 1; }));
  run.cancel("enough");
  EXPECT_TRUE(eventually([&] { return ended == 1; })) << log->all();
  EXPECT_EQ(rt->client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(abandoned_by(*rt), 0U);
}

// Takes no cancellation from anybody.
asio::awaitable<int> ignores_everything(Gate& gate, std::atomic<int>& ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await gate.wait();
  ++ended;
  co_return 1;
}

TEST_P(CoroutinesTest, OneThatIgnoresEvenThatIsAbandonedAndItsSlotIsFree) {
  Gate gate;
  std::atomic<int> ended{0};
  // One is as many as may be abandoned, but it holds no thread.
  const auto rt = runtime({.activity_slots = 1, .cancel_grace = 10ms, .max_abandoned = 1}, [&](Runtime& r) {
    add_program(r);
    r.activity("wait", asio_activity(gate.context(), [&](ActivityContext&) -> asio::awaitable<int> {
                 co_return co_await ignores_everything(gate, ended);
               }));
  });
  const Run run = rt->client().start("waiting", {.id = "w"});
  ASSERT_TRUE(eventually([&] { return gate.waiting == 1; }));
  run.cancel("enough");
  EXPECT_EQ(rt->client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_EQ(abandoned_by(*rt), 1U);
  EXPECT_EQ(ended, 0);
  gate.open();
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  EXPECT_EQ(run.status(), Status::cancelled);
}

TEST_P(CoroutinesTest, AStopAsksThemToStopAndTheirWorkGoesOnElsewhere) {
  std::atomic<int> begun{0};
  std::atomic<int> asked{0};
  const auto add = [&](Runtime& r) {
    r.activity("wait", [&](ActivityContext& ctx, int n) -> asio::awaitable<int> {
      EXPECT_EQ(ctx.attempt(), 1);
      EXPECT_EQ(ctx.delivery(), 1);
      if (++begun > 100) co_return n;
      co_await ctx.cancelled();
      EXPECT_EQ(ctx.cancel_reason(), CancelReason::worker_stopping);
      ++asked;
      throw std::runtime_error("stopped");
    });
    r.orchestration("sum_of_waits", sum_of_waits);
  };
  auto rt = runtime({.activity_slots = 100}, add);
  const Run run = rt->client().start("sum_of_waits", {.id = "w"}, 100);
  ASSERT_TRUE(eventually([&] { return begun == 100; }));
  EXPECT_FALSE(rt->drain(0s));
  EXPECT_EQ(asked, 100);
  rt = runtime({.activity_slots = 100}, add);
  EXPECT_EQ(rt->client().run("w").wait<int>(kSoon), 100);
}

TEST_P(CoroutinesTest, AStopEndsThoseThatDoNotListen) {
  std::atomic<int> begun{0};
  const auto add = [&](Runtime& r) {
    r.activity("wait", [&](ActivityContext& ctx, int n) -> asio::awaitable<int> {
      EXPECT_EQ(ctx.delivery(), 1);
      if (++begun <= 100) co_await wait_for_ever();
      co_return n;
    });
    r.orchestration("sum_of_waits", sum_of_waits);
  };
  auto rt = runtime({.activity_slots = 100, .cancel_grace = 10ms}, add);
  const Run run = rt->client().start("sum_of_waits", {.id = "w"}, 100);
  ASSERT_TRUE(eventually([&] { return begun == 100; }));
  EXPECT_FALSE(rt->drain(0s));
  EXPECT_EQ(abandoned_by(*rt), 0U);
  rt = runtime({.activity_slots = 100}, add);
  EXPECT_EQ(rt->client().run("w").wait<int>(kSoon), 100);
}

TEST_P(CoroutinesTest, AStopDoesNotWaitForThoseThatIgnoreIt) {
  Gate gate;
  std::atomic<int> ended{0};
  {
    const auto rt = runtime({.activity_slots = 1, .cancel_grace = 10ms}, [&](Runtime& r) {
      add_program(r);
      r.activity("wait", asio_activity(gate.context(), [&](ActivityContext&) -> asio::awaitable<int> {
                   co_return co_await ignores_everything(gate, ended);
                 }));
    });
    static_cast<void>(rt->client().start("waiting", {.id = "w"}));
    ASSERT_TRUE(eventually([&] { return gate.waiting == 1; }));
  }
  EXPECT_EQ(ended, 0);
  gate.open();
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
}

}  // namespace
}  // namespace holdfast::e2e::coroutines_test
