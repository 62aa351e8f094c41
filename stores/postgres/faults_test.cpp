// A server that restarts, crashes or keeps others waiting: calls answer `unavailable` for a while, nothing
// that was answered is lost, and nothing happens twice.
#include "calls_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::postgres_store::faults_test {
namespace {

using namespace std::chrono_literals;
using store::ClientMessage;
using store::StartRequest;

/// As a client does: the same request, until somebody answers it.
store::StartAnswer start_anyway(Store& store, const StartRequest& request) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    const auto started = start(store, request);
    if (started) return *started;
    EXPECT_EQ(started.error().kind, StoreError::Kind::unavailable) << started.error().message;
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("it never answers");
    std::this_thread::sleep_for(5ms);
  }
}

/// Ends the connection of whoever waits for a lock, as soon as somebody does.
void cut_who_waits(const TestSchema& schema) {
  Connection connection({.uri = schema.uri(), .schema = schema.name()});
  const Statement cut{
      "test.cut", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"};
  for (int cut_so_far = 0; cut_so_far == 0;) {
    connection.queue(cut, Parameters());
    cut_so_far = connection.exchange().front().rows();
  }
}

void restart_under_load(const std::string& how) {
  TestServer server("--durable");
  const TestSchema schema(server);
  constexpr std::size_t kClients = 3;
  std::array<std::vector<std::string>, kClients> answered;
  std::array<std::atomic<int>, kClients> counts{};
  {
    std::vector<std::shared_ptr<Store>> stores;
    for (std::size_t client = 0; client < kClients; ++client) stores.push_back(schema.open());
    std::atomic<bool> stop{false};
    std::vector<std::jthread> clients;
    for (std::size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        while (!stop) {
          const std::string id = std::to_string(client) + "-" + std::to_string(counts[client]);
          start_anyway(*stores[client], start_of(id));
          answered[client].push_back(id);
          ++counts[client];
        }
      });
    }
    for (int i = 0; i < 3; ++i) {
      // Each of them gets on.
      for (std::atomic<int>& count : counts) {
        const int before = count;
        while (count < before + 5) std::this_thread::yield();
      }
      if (i < 2) server.restart(how);
    }
    stop = true;
  }
  const auto store = schema.open();
  const std::map<std::string, std::size_t> arrived = message_counts(*store);
  for (const auto& ids : answered) {
    for (const std::string& id : ids) {
      ASSERT_TRUE(arrived.contains(id)) << id << " was answered, and is lost";
      EXPECT_EQ(arrived.at(id), 1U) << id << " was started twice";
    }
  }
}

TEST(PostgresFaults, ARestartUnderLoadLosesNothing) { restart_under_load("fast"); }
TEST(PostgresFaults, ACrashUnderLoadLosesNothing) { restart_under_load("immediate"); }

TEST(PostgresFaults, AHandleThatListensHearsAgainAfterARestart) {
  TestServer server;
  const TestSchema schema(server);
  const auto listens = schema.open();
  const auto starts = schema.open();
  const auto ears = listens->listen(store::kTurns, {});
  server.restart("fast");
  start_anyway(*starts, start_of("before"));
  const auto hears = [&] {
    const BootTime deadline = real_clock().boot_now() + 20s;
    while (real_clock().boot_now() < deadline) {
      if (ears->wait(deadline).work.has(store::kTurns)) return true;
    }
    return false;
  };
  EXPECT_TRUE(hears());
  start_anyway(*starts, start_of("after"));
  EXPECT_TRUE(hears());
}

TEST(PostgresFaults, AConnectionThatIsCutInTheMiddleOfACallLeavesAllOrNothing) {
  const TestSchema schema;
  const auto store = schema.open();
  ASSERT_TRUE(start(*store, start_of("order-1")));
  const ClientMessage message = tell("order-1");
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'order-1' FOR UPDATE");
  auto sent = std::async(std::launch::async, [&] { return send(*store, message); });
  cut_who_waits(schema);
  const auto answer = sent.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, StoreError::Kind::unavailable);
  intruder.leave();
  EXPECT_EQ(message_count(*store, "order-1"), 1U);
  // The same request again takes effect once.
  EXPECT_TRUE(send(*store, message));
  EXPECT_TRUE(send(*store, message));
  EXPECT_EQ(message_count(*store, "order-1"), 2U);
}

TEST(PostgresFaults, AStatementThatTakesTooLongIsUnavailableAndLeavesNothing) {
  const TestSchema schema;
  const auto store = schema.open({.timeout = 200ms});
  ASSERT_TRUE(start(*store, start_of("order-1")));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'order-1' FOR UPDATE");
  const auto answer = send(*store, tell("order-1"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, StoreError::Kind::unavailable);
  intruder.leave();
  EXPECT_TRUE(send(*store, tell("order-1")));
  EXPECT_EQ(message_count(*store, "order-1"), 2U);
}

/// Server processes that work for a schema, stopped as if the network swallowed all that they say.
class Silence {
 public:
  explicit Silence(const TestSchema& schema) {
    Connection connection({.uri = schema.uri(), .schema = schema.name()});
    connection.queue({"test.backends",
                      "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'"
                      " AND pid <> pg_backend_pid()"},
                     Parameters());
    const auto answers = connection.exchange();
    for (int row = 0; row < answers.front().rows(); ++row) {
      pids_.push_back(static_cast<pid_t>(answers.front().integer(row, 0)));
      EXPECT_EQ(kill(pids_.back(), SIGSTOP), 0);
    }
  }
  ~Silence() {
    for (const pid_t pid : pids_) kill(pid, SIGCONT);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::vector<pid_t> pids_{};
};

TEST(PostgresFaults, AServerThatFallsSilentIsNotWaitedForForever) {
  TestServer server;
  const TestSchema schema(server);
  const auto store = schema.open({.timeout = 200ms});
  ASSERT_TRUE(start(*store, start_of("before")));
  ASSERT_TRUE(store->find("before"));
  const StartRequest request = start_of("during");
  const Silence silence(schema);
  const auto written = start(*store, request);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(written.error().message.find("has not answered"), std::string::npos) << written.error().message;
  const auto read = store->find("before");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, StoreError::Kind::unavailable);
  // New connections are answered.
  start_anyway(*store, request);
  EXPECT_EQ(message_count(*store, "during"), 1U);
}

TEST(PostgresFaults, WhoBeginsToListenWhileTheServerIsAwayHearsWhenItIsBack) {
  TestServer server;
  const TestSchema schema(server);
  const auto listens = schema.open();
  const auto starts = schema.open();
  server.halt("fast");
  std::unique_ptr<store::Listener> ears;
  ASSERT_NO_THROW(ears = listens->listen(store::kTurns, {}));
  server.resume();
  const BootTime deadline = real_clock().boot_now() + 30s;
  const auto hears = [&] {
    while (real_clock().boot_now() < deadline) {
      if (ears->wait(deadline).work.has(store::kTurns)) return true;
    }
    return false;
  };
  EXPECT_TRUE(hears()) << "of its being back";
  start_anyway(*starts, start_of("order-1"));
  EXPECT_TRUE(hears());
}

TEST(PostgresFaults, ADeadlockIsTriedAgain) {
  const TestSchema schema;
  // It looks for deadlocks before the others do, so it is the one that has to give way.
  const auto store =
      postgres(schema.uri() + " options='-c deadlock_timeout=500ms'", {.schema = schema.name()});
  ASSERT_TRUE(start(*store, start_of("a")));
  ASSERT_TRUE(start(*store, start_of("b")));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'b' FOR UPDATE");
  auto sent = std::async(std::launch::async, [&] {
    const std::array messages{tell("a"), tell("b")};
    return store->send(messages);
  });
  until_blocked(schema);
  intruder.run("SELECT 1 FROM instances WHERE name = 'a' FOR UPDATE");
  intruder.leave();
  for (const auto& answer : sent.get()) EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(message_count(*store, "a"), 2U);
  EXPECT_EQ(message_count(*store, "b"), 2U);
}

/// Fails the first commit of a transaction that gave a new name a number, and then read what it had written.
class FailsOnceItReadNewNames final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    if (point == "postgres.begin") added_ = read_ = false;
    if (point == "postgres.intern_route") added_ = true;
    if (point == "postgres.ready_instances" && added_) read_ = true;
    if (point != "postgres.commit" || !read_ || failed_.exchange(true)) return Fault::none;
    return Fault::fail_before;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool added_ = false;  // of the writer, which is one at a time
  bool read_ = false;
  std::atomic<bool> failed_{false};
};

TEST(PostgresFaults, NamesOfATransactionThatWasRolledBackAreForgotten) {
  const TestSchema schema;
  FailsOnceItReadNewNames plan;
  const auto store = schema.open({.faults = &plan});
  std::atomic<int> started{0};
  {
    std::atomic<bool> stop{false};
    const std::jthread fetches([&] {
      store::Code code;
      for (int i = 0; i < 1000; ++i) code.orchestrations.insert({"code-" + std::to_string(i), "1"});
      const auto worker = store->join({.node = "a", .code = code});
      while (!stop) {
        static_cast<void>(store->fetch_turns({.worker = *worker,
                                              .code = &code,
                                              .token = random_token<LockToken>(system_random()),
                                              .lease = 1ms,
                                              .max = 1000}));
      }
    });
    std::vector<std::jthread> clients;
    for (int client = 0; client < 4; ++client) {
      clients.emplace_back([&] {
        while (!plan.failed() && started < 1000) {
          const int number = started++;
          StartRequest request = start_of(std::to_string(number));
          request.code.name = "code-" + std::to_string(number);
          start_anyway(*store, request);
        }
      });
    }
    clients.clear();
    stop = true;
  }
  ASSERT_TRUE(plan.failed()) << "no transaction did both";
  const auto reader = schema.open();
  for (int i = 0; i < started; ++i) {
    const auto found = reader->find(std::to_string(i));
    EXPECT_TRUE(found) << i << ": " << found.error().message;
  }
}

TEST(PostgresFaults, WhoFindsNoFreeConnectionIsUnavailable) {
  const TestSchema schema;
  const auto store = schema.open({.readers = 1, .timeout = 300ms});
  ASSERT_TRUE(start(*store, start_of("order-1")));
  Intruder intruder(schema);
  intruder.run("LOCK TABLE instances IN ACCESS EXCLUSIVE MODE");
  auto first = std::async(std::launch::async, [&] { return store->find("order-1"); });
  auto second = std::async(std::launch::async, [&] { return store->find("order-1"); });
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
  intruder.leave();
  EXPECT_TRUE(store->find("order-1"));
}

TEST(PostgresFaults, LeaseTimeDoesNotStepBackWithTheClockOfTheServer) {
  const TestSchema schema;
  const auto store = schema.open();
  ASSERT_TRUE(start(*store, start_of("order-1")));
  // As if the server's clock had been an hour ahead until now.
  schema.run("UPDATE deployment SET lease_high = lease_high + 3600000000");
  const auto again = schema.open();
  const auto worker = again->join({.node = "a", .code = {.orchestrations = {{"order", "1"}}}});
  ASSERT_TRUE(worker);
  const store::Code code{.orchestrations = {{"order", "1"}}};
  const auto turns = again->fetch_turns(
      {.worker = *worker, .code = &code, .token = random_token<LockToken>(system_random()), .lease = 5s});
  ASSERT_TRUE(turns);
  ASSERT_EQ(turns->turns.size(), 1U);
  // The lease that was just given is not over.
  const auto state = again->state();
  ASSERT_TRUE(state);
  EXPECT_GT(state->instances.front().lease_left, 0s);
  EXPECT_LE(state->instances.front().lease_left, 5s);
}

TEST(PostgresFaults, AnotherServerThatTakesOverFreesWhatWasHeld) {
  const TestSchema schema;
  {
    const auto store = schema.open();
    ASSERT_TRUE(start(*store, start_of("order-1")));
    const auto worker = store->join({.node = "a", .code = {.orchestrations = {{"order", "1"}}}});
    const store::Code code{.orchestrations = {{"order", "1"}}};
    ASSERT_EQ(store
                  ->fetch_turns({.worker = *worker,
                                 .code = &code,
                                 .token = random_token<LockToken>(system_random()),
                                 .lease = 1h})
                  ->turns.size(),
              1U);
  }
  // What a promoted standby says of itself.
  schema.run("UPDATE deployment SET timeline = 'FFFFFFFF'");
  const auto store = schema.open();
  const auto state = store->state();
  EXPECT_TRUE(state->instances.front().token.empty());
  EXPECT_TRUE(state->instances.front().ready);
  const auto worker = store->join({.node = "b"});
  EXPECT_GT(worker->value, 1'000'000U) << "numbers that may have been given are given no more";
}

TEST(PostgresFaults, ACrashGivesNoNumberTwiceAlsoWhenNobodyWaitsForTheDisk) {
  TestServer server("--durable");
  const TestSchema schema(server);
  schema.open();
  schema.run("ALTER SYSTEM SET wal_writer_delay = '10s'");
  server.restart("fast");
  const store::NewWorker info{.node = "a"};
  WorkerKey worker{};
  Generation generation{};
  {
    const auto store = schema.open({.wait_for_disk = false});
    worker = store->join(info).value();
    generation = store->acquire_session(worker, info.abilities, "gpu", {})->session.generation;
    server.restart("immediate");
  }
  const auto store = schema.open({.wait_for_disk = false});
  const WorkerKey next = store->join(info).value();
  EXPECT_GT(next, worker);
  EXPECT_GT(store->acquire_session(next, info.abilities, "tpu", {})->session.generation, generation);
}

TEST(PostgresFaults, ASweepWaitsForNobodyWhoWorksInASessionThatIsNotDue) {
  const TestSchema schema;
  const auto store = schema.open();
  store::NewWorker info{.node = "a"};
  info.abilities.session_limit = 1;
  info.abilities.session_lease = 1h;
  const WorkerKey worker = store->join(info).value();
  ASSERT_TRUE(store->acquire_session(worker, info.abilities, "gpu", {}));
  Intruder intruder(schema);
  intruder.run("SELECT 1 FROM sessions FOR UPDATE");
  EXPECT_TRUE(store->sweep({}));
  intruder.leave();
}

// Administrators set such limits for people and for reports.
TEST(PostgresFaults, LimitsOfTheRoleDoNotEndItsConnections) {
  const TestSchema schema;
  std::string limits =
      "-c idle_session_timeout=300 -c idle_in_transaction_session_timeout=300 -c statement_timeout=300"
      " -c lock_timeout=300";
  if (schema.number("SELECT current_setting('server_version_num')::integer") >= 170'000) {
    limits += " -c transaction_timeout=300";
  }
  const auto store = postgres(schema.uri() + " options='" + limits + "'", {.schema = schema.name()});
  const auto ears = store->listen(store::kTurns, {});
  for (const char* const id : {"a", "b"}) {
    const auto started = start(*store, start_of(id));
    EXPECT_TRUE(started) << started.error().message;
    EXPECT_TRUE(store->find(id));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_EQ(
      schema.number("SELECT count(*) FROM listeners AS l JOIN pg_stat_activity AS a ON a.pid = l.backend"), 1)
      << "it still listens";
}

}  // namespace
}  // namespace holdfast::postgres_store::faults_test
