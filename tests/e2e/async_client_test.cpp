// Calls of clients that no thread waits for: callbacks, futures, Asio.
#include "stores_test.hpp"
#include "testkit/support/outage.hpp"

#include <holdfast/asio.hpp>
#include <holdfast/fault.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::e2e::async_client_test {
namespace {

using asio::use_awaitable;
using support::Outage;

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int threads = 0;
    if (word == "Threads:" && status >> threads) return threads;
  }
  return 0;
}

Task<std::vector<int>> collects(Context& ctx, int count) {
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  std::vector<int> all;
  while (static_cast<int>(all.size()) < count) all.push_back(co_await numbers.receive());
  co_return all;
}

Task<int> tells_its_status(Context& ctx) {
  const int first = co_await ctx.event<int>("status");
  ctx.set_status(first);
  co_return co_await ctx.event<int>("end");
}

Task<int> fails(Context&) {
  throw std::runtime_error("no way");
  co_return 0;
}

inline constexpr Orchestration<std::string(std::string)> kHello{"hello"};
inline constexpr Event<int> kEnd{"end"};
inline constexpr Mailbox<int> kNumbers{"numbers"};

/// What a callback was given, for the thread that waits for it.
template <class T>
class Box {
 public:
  ClientCall<T>::Callback put() {
    return [promise = promise_](ClientAnswer<T> answer) { promise->set_value(std::move(answer)); };
  }
  ClientAnswer<T> get() {
    if (answer_.wait_for(60s) != std::future_status::ready) throw std::runtime_error("nobody called back");
    return answer_.get();
  }
  [[nodiscard]] bool is_full() const { return answer_.wait_for(0s) == std::future_status::ready; }

 private:
  std::shared_ptr<std::promise<ClientAnswer<T>>> promise_ = std::make_shared<std::promise<ClientAnswer<T>>>();
  std::future<ClientAnswer<T>> answer_ = promise_->get_future();
};

/// The exception of type E that `call` throws.
template <class E, class Call>
std::optional<E> thrown_by(Call call) {
  try {
    call();
  } catch (const E& e) {
    return e;
  }
  ADD_FAILURE() << "it threw nothing";
  return std::nullopt;
}

class AsyncClientTest : public OnEachStore {
 protected:
  static void add(Runtime& rt) {
    add_program(rt);
    rt.orchestration("collects", collects);
    rt.orchestration("tells", tells_its_status);
    rt.orchestration("fails", fails);
  }
};
HOLDFAST_ON_EACH_STORE(AsyncClientTest);

TEST_P(AsyncClientTest, CallbacksGoOnFromOneCallToTheNext) {
  const auto rt = runtime(add);
  Client client = rt->client();
  Box<int> sum;
  std::atomic<int> threads{0};
  const auto here = std::this_thread::get_id();
  client.start_async("told", {.id = "t-1"}).then([&](ClientAnswer<Run> started) {
    if (std::this_thread::get_id() != here) ++threads;
    const Run run = std::move(started).value();
    run.raise_async("end", 7).then([&, run](ClientAnswer<void> raised) {
      if (std::this_thread::get_id() != here) ++threads;
      std::move(raised).value();
      run.wait_async<int>().then(sum.put());
    });
  });
  EXPECT_EQ(sum.get().value(), 7);
  EXPECT_EQ(threads, 2) << "callbacks are never called by the thread that begins a call";
}

TEST_P(AsyncClientTest, FuturesGiveWhatTheBlockingCallsDo) {
  const auto rt = runtime(add);
  Client client = rt->client();
  TypedRun<std::string> run = client.start_async(kHello, {.id = "h"}, "Ada").future().get();
  EXPECT_EQ(run.id(), "h");
  EXPECT_EQ(run.wait_async(kSoon).future().get(), "Hello, Ada!");
  EXPECT_EQ(client.start_async(kHello, "Bob").future().get().wait(kSoon), "Hello, Bob!");

  const auto conflict = thrown_by<ClientError>(
      [&] { static_cast<void>(client.start_async(kHello, {.id = "h"}, "Eve").future().get()); });
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->kind(), ClientError::Kind::conflict);
  const auto blocking = thrown_by<ClientError>([&] { client.start(kHello, {.id = "h"}, "Eve"); });
  EXPECT_EQ(conflict->failure().message, blocking->failure().message);

  const Run failed = client.start("fails", {.id = "f"});
  const auto failure = thrown_by<RunFailed>([&] { failed.wait_async<int>(kSoon).future().get(); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->failure().message.find("no way"), std::string::npos);
}

TEST_P(AsyncClientTest, EventsMessagesAndRequestsToStopAreSent) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run told = client.start("told", {.id = "told"});
  client.raise_async("told", kEnd, 3).future().get();
  EXPECT_EQ(told.wait<int>(kSoon), 3);
  const auto over = thrown_by<ClientError>([&] { client.raise_async("told", kEnd, 4).future().get(); });
  EXPECT_EQ(over->kind(), ClientError::Kind::conflict);
  client.raise_async("early", kEnd, 5).future().get();
  EXPECT_EQ(client.start("told", {.id = "early"}).wait<int>(kSoon), 5);

  const Run cancelled = client.start("told", {.id = "cancelled"});
  client.cancel_async("cancelled", "changed my mind").future().get();
  EXPECT_THROW(cancelled.wait<int>(kSoon), RunCancelled);
  const Run terminated = client.start("told", {.id = "terminated"});
  terminated.terminate_async("now").future().get();
  EXPECT_THROW(terminated.wait<int>(kSoon), RunCancelled);
  const auto unknown = thrown_by<ClientError>([&] { client.cancel_async("nobody", "").future().get(); });
  EXPECT_EQ(unknown->kind(), ClientError::Kind::not_found);
  const auto also_unknown = thrown_by<ClientError>([&] { client.terminate("nobody", ""); });
  EXPECT_EQ(also_unknown->kind(), ClientError::Kind::not_found);
}

TEST_P(AsyncClientTest, MessagesOfOneThreadKeepTheirOrder) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const int count = 700;  // more than one call to the store takes
  const Run run = client.start("collects", {.id = "c"}, count);
  for (int i = 0; i < count; ++i) {
    run.send_async(kNumbers, i).then([](const ClientAnswer<void>& sent) { EXPECT_TRUE(sent); });
  }
  std::vector<int> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(run.wait<std::vector<int>>(kSoon), expected);
}

TEST_P(AsyncClientTest, ALifeThatIsEndedAndBegunAnewKeepsItsOrder) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run first = client.start("told", {.id = "x"});
  Box<void> ended;
  Box<Run> begun;
  client.terminate_async("x", "a new one comes").then(ended.put());
  client.start_async("told", {.id = "other"}).then([](const ClientAnswer<Run>&) {});
  client.start_async("told", {.id = "x"}).then(begun.put());
  EXPECT_TRUE(ended.get());
  EXPECT_EQ(begun.get().value().key(), first.key()) << "the start came after the end of the first life";
}

TEST_P(AsyncClientTest, ThousandsOfCallsShareCommitsAndHoldNoThreads) {
  FaultScript counts;
  Client client(store(&counts));
  const auto rt = runtime(add);
  constexpr int kCalls = 1'000;
  client.start("told", {.id = "first"}).wait_async<int>().then([](const ClientAnswer<int>&) {});
  const int threads = threads_of_this_process();
  const std::string commits(point("memory.start", "sqlite.commit", "postgres.commit"));
  const std::uint64_t before = counts.passed(commits);
  std::vector<Box<int>> ends(kCalls);
  std::atomic<int> started{0};
  for (int i = 0; i < kCalls; ++i) {
    client.start_async("told", {.id = "i-" + std::to_string(i)}).then([&, i](ClientAnswer<Run> run) {
      ++started;
      std::move(run).value().wait_async<int>().then(ends[static_cast<std::size_t>(i)].put());
    });
  }
  EXPECT_TRUE(eventually([&] { return started == kCalls; }));
  if (GetParam() != Kept::in_memory) EXPECT_LE(counts.passed(commits) - before, kCalls / 10U);
  EXPECT_LE(threads_of_this_process(), threads);
  for (int i = 0; i < kCalls; ++i) {
    client.raise_async("i-" + std::to_string(i), kEnd, i).then([](const ClientAnswer<void>&) {});
  }
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(ends[static_cast<std::size_t>(i)].get().value(), i);
  client.raise("first", kEnd, 0);
}

TEST_P(AsyncClientTest, ABlockingCallInACallbackIsRefused) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  Box<std::string> said;
  client.raise_async("t", kEnd, 1).then([&](const ClientAnswer<void>&) {
    int refused = 0;
    const auto expect_refused = [&](auto call) {
      EXPECT_THROW(call(), std::logic_error);
      ++refused;
    };
    expect_refused([&] { run.wait<int>(); });
    expect_refused([&] { static_cast<void>(run.result<int>()); });
    expect_refused([&] { client.start("told", {.id = "refused"}); });
    expect_refused([&] { client.start_all("told", {start_item("refused")}); });
    expect_refused([&] { client.raise("t", kEnd, 1); });
    expect_refused([&] { static_cast<void>(run.info()); });
    expect_refused([&] { static_cast<void>(run.wait_for_change()); });
    expect_refused([&] { static_cast<void>(client.list()); });
    said.put()(std::to_string(refused));
  });
  EXPECT_EQ(said.get().value(), "8");
  EXPECT_FALSE(client.find("refused")) << "what is refused has not happened";
  EXPECT_EQ(run.wait<int>(kSoon), 1) << "in other threads they wait as ever";
}

TEST_P(AsyncClientTest, AnExecutorOfTheUserCallsBackWhereItMayWait) {
  const auto rt = runtime(add);
  Client client = rt->client();
  std::vector<std::jthread> threads;
  std::mutex mutex;
  const PostTo in_a_thread = [&](std::function<void()> work) {
    const std::lock_guard lock(mutex);
    threads.emplace_back(std::move(work));
  };
  Box<std::string> text;
  client.start_async(kHello, {.id = "h"}, "Ada")
      .then(in_a_thread, [&](ClientAnswer<TypedRun<std::string>> run) {
        text.put()(detail::answer_of([&] { return std::move(run).value().wait(kSoon); }));
      });
  EXPECT_EQ(text.get().value(), "Hello, Ada!");
}

TEST_P(AsyncClientTest, WhatACallbackThrowsIsLoggedAndStopsNobody) {
  const auto rt = runtime(add);
  Client client(store(), {.logger = log});
  Box<Run> other;
  client.start_async("told", {.id = "a"}).then([](const ClientAnswer<Run>&) {
    throw std::runtime_error("oh no");
  });
  client.start_async("told", {.id = "b"}).then([](const ClientAnswer<Run>&) { throw 7; });
  client.start_async("told", {.id = "c"}).then(other.put());
  EXPECT_TRUE(other.get());
  EXPECT_TRUE(log->wait_for_parts({"a callback of a client call threw", "oh no"}));
  EXPECT_TRUE(log->wait_for_parts({"a callback of a client call threw", "no std::exception"}));
}

TEST_P(AsyncClientTest, WaitsEndWithTheirTimeAndWithTheirInstance) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run run = client.start("told", {.id = "t"});
  EXPECT_THROW(run.wait_async<int>(1ms).future().get(), RunTimedOut);
  EXPECT_THROW(run.wait_async<int>(0ms).future().get(), RunTimedOut);
  auto later = run.wait_async<int>().future();
  client.delete_instance("t", {.force = true});
  const auto gone = thrown_by<ClientError>([&] { later.get(); });
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->kind(), ClientError::Kind::not_found);

  const Run ended = client.start("told", {.id = "e"});
  ended.raise("end", 1);
  EXPECT_EQ(ended.wait<int>(kSoon), 1);
  EXPECT_EQ(ended.wait_async<int>(0ms).future().get(), 1) << "it has ended already";
  EXPECT_EQ(ended.wait<int>(0ms), 1);
}

TEST_P(AsyncClientTest, AWaitIsGivenUpOnRequest) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("told", {.id = "t"});
  std::stop_source stop;
  Box<int> given_up;
  Box<int> kept;
  run.wait_async<int>().then(given_up.put(), stop.get_token());
  run.wait_async<int>().then(kept.put());
  stop.request_stop();
  const auto cancelled = thrown_by<std::system_error>([&] { given_up.get().value(); });
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->code(), std::errc::operation_canceled);
  Box<int> too_late;
  run.wait_async<int>().then(too_late.put(), stop.get_token());
  EXPECT_THROW(too_late.get().value(), std::system_error);
  run.raise("end", 2);
  EXPECT_EQ(kept.get().value(), 2);
}

TEST_P(AsyncClientTest, ChangesAndEndsAreTold) {
  const auto rt = runtime(add);
  Client client = rt->client();
  const Run run = client.start("tells", {.id = "t"});
  Box<RunInfo> end;
  run.on_end(end.put());
  auto change = run.wait_for_change_async(run.info()).future();
  run.raise("status", 4);
  const std::optional<RunInfo> changed = change.get();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->status_as<int>(), 4);
  EXPECT_EQ(run.wait_for_change_async(*changed, 1ms).future().get(), std::nullopt);
  EXPECT_FALSE(end.is_full());
  run.raise("end", 9);
  const RunInfo ended = end.get().value();
  EXPECT_EQ(ended.status, Status::completed);
  EXPECT_EQ(ended.output<int>(), 9);
  Box<RunInfo> failed;
  client.start("fails", {.id = "f"}).on_end(failed.put());
  EXPECT_EQ(failed.get().value().status, Status::failed) << "an end is no exception";
}

TEST_P(AsyncClientTest, WhatIsBegunInAnOutageIsSentOnceTheStoreIsBack) {
  Outage outage;
  Client client(store(&outage), {.retry_for = 60s});
  const auto rt = runtime(add);
  const Run run = client.start("collects", {.id = "c"}, 20);
  outage.begin();
  std::vector<std::future<void>> sent;
  std::vector<std::future<Run>> started;
  for (int i = 0; i < 20; ++i) {
    sent.push_back(run.send_async(kNumbers, i).future());
    started.push_back(client.start_async("told", {.id = "s-" + std::to_string(i)}).future());
  }
  outage.wait_for(10);
  outage.end();
  for (auto& one : sent) one.get();
  for (auto& one : started) EXPECT_EQ(one.get().status(), Status::running);
  auto numbers = run.wait<std::vector<int>>(kSoon);
  std::ranges::sort(numbers);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i) << "each of them once";
}

TEST_P(AsyncClientTest, WhatIsBegunAfterAStartThatIsRepeatedComesAfterIt) {
  FaultScript faults;
  Client client(store(&faults));
  const auto rt = runtime(add);
  faults.inject(point("memory.start", "sqlite.commit", "postgres.commit"), 1, Fault::fail_before);
  Box<Run> started;
  Box<void> terminated;
  client.start_async("told", {.id = "t"}).then(started.put());
  client.terminate_async("t", "after all").then(terminated.put());
  EXPECT_TRUE(terminated.get());
  EXPECT_EQ(faults.pending(), 0U);
  EXPECT_THROW(started.get().value().wait<int>(kSoon), RunCancelled);
}

/// Nothing that is asked of the store returns while it lasts.
class Hang final : public FaultPlan {
 public:
  Fault at(std::string_view) override {
    if (!hangs) return Fault::none;
    ++met;
    while (hangs) std::this_thread::sleep_for(1ms);
    return Fault::none;
  }
  std::atomic<bool> hangs{false};
  std::atomic<int> met{0};
};

TEST_P(AsyncClientTest, AStoreThatHangsHoldsUpNoTimeLimit) {
  const auto rt = runtime(add);
  Hang hang;
  Client client(store(&hang));
  const Run run = client.start("told", {.id = "t"});
  EXPECT_THROW(run.wait<int>(1ms), RunTimedOut);
  hang.hangs = true;
  Box<Run> late;
  client.start_async("told", {.id = "late"}).then(late.put());
  ASSERT_TRUE(eventually([&] { return hang.met > 0; }));
  Box<int> timed_out;
  Box<int> given_up;
  std::stop_source stop;
  run.wait_async<int>(1ms).then(timed_out.put());
  run.wait_async<int>().then(given_up.put(), stop.get_token());
  stop.request_stop();
  EXPECT_THROW(given_up.get().value(), std::system_error);
  EXPECT_THROW(timed_out.get().value(), RunTimedOut);
  EXPECT_FALSE(late.is_full());
  hang.hangs = false;
  EXPECT_TRUE(late.get());
}

TEST_P(AsyncClientTest, AnOutageThatLastsIsTold) {
  Outage outage;
  Client client(store(&outage), {.retry_for = 50ms, .max_queued = 1});
  outage.begin();
  Box<Run> first;
  client.start_async("told", {.id = "a"}).then(first.put());
  const auto full = thrown_by<ClientError>([&] {
    // The first one is on its way, or to be repeated.
    for (int i = 0; i < 100'000; ++i)
      client.start_async("told", {.id = "b"}).then([](const ClientAnswer<Run>&) {});
  });
  ASSERT_TRUE(full);
  EXPECT_EQ(full->kind(), ClientError::Kind::unavailable);
  EXPECT_NE(full->failure().message.find("max_queued"), std::string::npos);
  const auto unavailable = thrown_by<ClientError>([&] { static_cast<void>(first.get().value()); });
  ASSERT_TRUE(unavailable);
  EXPECT_EQ(unavailable->kind(), ClientError::Kind::unavailable);
  outage.end();
}

TEST_P(AsyncClientTest, AClosedClientHasSentWhatWasBegunAndCalledAllBack) {
  const auto rt = runtime(add);
  int started = 0;  // close() is what makes it safe to read them
  int abandoned = 0;
  Run kept;
  {
    Client client(store());
    const Run run = client.start("told", {.id = "waited-for"});
    run.wait_async<int>().then([&](ClientAnswer<int> answer) {
      const auto gone = thrown_by<ClientError>([&] { std::move(answer).value(); });
      if (gone && gone->kind() == ClientError::Kind::unavailable) ++abandoned;
    });
    for (int i = 0; i < 1'200; ++i) {
      client.start_async("told", {.id = "i-" + std::to_string(i)}).then([&](ClientAnswer<Run> answer) {
        if (answer && ++started == 1) kept = *answer;
      });
    }
    std::jthread other([client]() mutable { client.close(); });
    client.close();
    EXPECT_EQ(started, 1'200);
    EXPECT_EQ(abandoned, 1);
    EXPECT_THROW(client.start_async("told").then([](const ClientAnswer<Run>&) {}), std::logic_error);
    EXPECT_THROW(run.wait<int>(), std::logic_error);
    EXPECT_EQ(client.start("told", {.id = "i-0"}).status(), Status::running)
        << "what needs no thread goes on";
  }
  EXPECT_EQ(kept.status(), Status::running);
}

TEST_P(AsyncClientTest, ADestroyedClientHasCalledAllBack) {
  const auto rt = runtime(add);
  int called = 0;
  {
    const Client client(store());
    for (int i = 0; i < 600; ++i) {
      client.raise_async("e", kEnd, i).then([&](const ClientAnswer<void>& sent) { called += sent ? 1 : 0; });
    }
  }
  EXPECT_EQ(called, 600);
}

TEST_P(AsyncClientTest, ACallbackMayHoldTheLastHandle) {
  const auto rt = runtime(add);
  Box<int> waited;
  {
    auto client = std::make_shared<Client>(store());
    client->start_async("told", {.id = "t"}).then([client, &waited](ClientAnswer<Run> run) {
      std::move(run).value().wait_async<int>().then(waited.put());
    });
  }
  // It went with the callback, and ended the wait.
  EXPECT_THROW(waited.get().value(), ClientError);
}

TEST_P(AsyncClientTest, AnEmptyRunSaysSo) {
  const Run run;
  EXPECT_THROW(static_cast<void>(run.status()), std::logic_error);
  EXPECT_THROW(run.wait(), std::logic_error);
  EXPECT_THROW(static_cast<void>(run.wait_async()), std::logic_error);
  EXPECT_THROW(run.raise("e"), std::logic_error);
  EXPECT_THROW(run.cancel(""), std::logic_error);
}

// ---- in coroutines of Asio ---------------------------------------------------------------------

asio::awaitable<std::string> serves(Client client) {
  const TypedRun<std::string> hello = co_await async(client.start_async(kHello, "Ada"), use_awaitable);
  const std::string text = co_await async_wait(hello, use_awaitable);
  const Run told = co_await async(client.start_async("told"), use_awaitable);
  co_await async(told.raise_async(kEnd, 5), use_awaitable);
  const int end = co_await async_wait<int>(told, use_awaitable);
  co_return text + " " + std::to_string(end);
}

TEST_P(AsyncClientTest, CoroutinesOfAsioAwaitCalls) {
  const auto rt = runtime(add);
  asio::io_context context;
  std::string text;
  std::thread::id where;
  asio::co_spawn(context, serves(rt->client()), [&](const std::exception_ptr& error, std::string result) {
    EXPECT_EQ(error, nullptr);
    where = std::this_thread::get_id();
    text = std::move(result);
  });
  context.run();
  EXPECT_EQ(text, "Hello, Ada! 5");
  EXPECT_EQ(where, std::this_thread::get_id()) << "they go on in their own context";
}

asio::awaitable<void> fails_to_start(Client client) {
  co_await async(client.start_async(kHello, {.id = "taken"}, "Ada"), use_awaitable);
  try {
    co_await async(client.start_async(kHello, {.id = "taken"}, "Eve"), use_awaitable);
    ADD_FAILURE() << "it is taken";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::conflict);
  }
}

TEST_P(AsyncClientTest, CoroutinesOfAsioCatchWhatACallThrows) {
  const auto rt = runtime(add);
  asio::io_context context;
  auto done = asio::co_spawn(context, fails_to_start(rt->client()), asio::use_future);
  context.run();
  done.get();
}

asio::awaitable<std::string> is_too_late(Run run) {
  try {
    co_await async_wait<int>(run, use_awaitable);
    co_return "it ended";
  } catch (const std::logic_error& e) {
    co_return e.what();
  }
}

TEST_P(AsyncClientTest, ACallThatCannotBeBegunFailsItsCoroutine) {
  const auto rt = runtime(add);
  Client client(store());
  const Run run = client.start("told", {.id = "t"});
  client.close();
  asio::io_context context;
  auto said = asio::co_spawn(context, is_too_late(run), asio::use_future);
  context.run();
  EXPECT_EQ(said.get(), "holdfast: this client was closed");
}

asio::awaitable<bool> polls(Run run, Duration patience) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, patience);
  const auto first = co_await (async_wait<int>(run, use_awaitable) || timer.async_wait(use_awaitable));
  co_return first.index() == 0;
}

TEST_P(AsyncClientTest, AsioCancelsAWait) {
  const auto rt = runtime(add);
  const Run run = rt->client().start("told", {.id = "t"});
  asio::io_context context;
  for (int i = 0; i < 20; ++i) {
    auto ended = asio::co_spawn(context, polls(run, 1ms), asio::use_future);
    context.run();
    context.restart();
    EXPECT_FALSE(ended.get());
  }
  run.raise("end", 1);
  auto ended = asio::co_spawn(context, polls(run, 60s), asio::use_future);
  context.run();
  EXPECT_TRUE(ended.get());
}

}  // namespace
}  // namespace holdfast::e2e::async_client_test
