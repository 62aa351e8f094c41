// News for other processes: it reaches them however long it is, and nothing depends on it.
#include "wakes.hpp"

#include "calls_test.hpp"

#include <atomic>
#include <future>

namespace holdfast::postgres_store::wakes_test {
namespace {

using namespace std::chrono_literals;

/// What somebody who waits in another process hears of it.
store::Wake heard(const store::News& news, store::WorkMask mask, WorkerKey worker, InstanceKey watched) {
  const TestSchema schema;
  const auto store = schema.open();  // makes the schema
  const ConnectionSetup setup{.uri = schema.uri(), .schema = schema.name()};
  Wakes tells(setup, 1, real_clock(), nullptr);
  Wakes hears(setup, 1, real_clock(), nullptr);
  const auto ears = hears.listen(mask, worker);
  if (watched != InstanceKey{}) ears->watch(watched);
  Connection connection(setup);
  connection.queue({"test.notify", "SELECT pg_notify($1, $2)"},
                   Parameters(tells.channel(), tells.encode(news)));
  connection.exchange();
  return ears->wait(real_clock().boot_now() + 10s);
}

TEST(PostgresWakes, AWorkerHearsOfItsCancelsHoweverManyOthersHaveSome) {
  for (const std::uint64_t others : {std::uint64_t{0}, std::uint64_t{300}, std::uint64_t{5000}}) {
    SCOPED_TRACE(others);
    store::News news;
    // As after a failover: numbers are large then.
    const std::uint64_t first = std::uint64_t{1} << 40U;
    for (std::uint64_t i = 0; i <= others; ++i) news.cancelled.push_back({first + i});
    EXPECT_TRUE(heard(news, store::kCancels, news.cancelled.back(), {}).work.has(store::kCancels));
  }
}

TEST(PostgresWakes, WhoWatchesAnInstanceHearsOfItHoweverManyOthersEnd) {
  for (const std::uint64_t others : {std::uint64_t{0}, std::uint64_t{299}, std::uint64_t{5000}}) {
    SCOPED_TRACE(others);
    store::News news;
    const std::uint64_t first = std::uint64_t{1} << 60U;
    for (std::uint64_t i = 0; i <= others; ++i) news.instances.push_back({first + i});
    EXPECT_TRUE(heard(news, store::kWatched, {}, news.instances.back()).work.has(store::kWatched));
  }
}

TEST(PostgresWakes, AWorkerIsToldOfOneCancelAmongManyOfAnother) {
  constexpr std::size_t kMany = 400;
  const TestSchema schema;
  TestWorker turns(schema.open(), "turns", 0);
  TestWorker first(schema.open(), "a");
  TestWorker second(schema.open(), "b");
  const store::LockedTurn turn = turns.schedule("order-1", std::vector<std::string>(kMany + 1), true);
  ASSERT_EQ(first.fetch(kMany)->activities.size(), kMany);
  ASSERT_EQ(second.fetch(kMany)->activities.size(), 1U);
  const auto ears = second.store->listen(store::kCancels, second.key);
  store::TurnCommit end = TestWorker::end_of(turn);
  end.end = store::InstanceEnd{};
  ASSERT_TRUE(turns.commit(end));
  EXPECT_TRUE(ears->wait(real_clock().boot_now() + 10s).work.has(store::kCancels));
  EXPECT_EQ(second.store->cancel_records(second.key)->size(), 1U);
}

/// A commit of somebody else that notifies, and hangs: it waits for a standby that doesn't exist. Others
/// can't notify meanwhile.
class HangingNotification {
 public:
  explicit HangingNotification(const TestSchema& schema) : schema_(schema) {
    schema.run("CREATE TABLE somebody_elses (x integer)");
    schema.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    schema.run("SELECT pg_reload_conf()");
    hangs_ = std::async(std::launch::async, [this] {
      Connection connection({.uri = schema_.uri(), .schema = schema_.name()});
      connection.run("SET synchronous_commit = on");
      // It takes the server a moment to know of its new setting: commits don't hang until then.
      while (!over_) connection.run("BEGIN; INSERT INTO somebody_elses VALUES (1); NOTIFY somebody; COMMIT");
    });
    while (schema.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 0) {
    }
  }
  ~HangingNotification() {
    over_ = true;
    do {
      schema_.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    } while (hangs_.wait_for(10ms) != std::future_status::ready);
  }
  HangingNotification(const HangingNotification&) = delete;
  HangingNotification& operator=(const HangingNotification&) = delete;

 private:
  const TestSchema& schema_;
  std::atomic<bool> over_{false};
  std::future<void> hangs_{};
};

TEST(PostgresWakes, ANotificationThatFailsConcernsNoCall) {
  TestServer server;
  const TestSchema schema(server);
  const auto store = schema.open({.wait_for_disk = false});
  const auto other = schema.open({.wait_for_disk = false});
  const auto ears = other->listen(store::kAllWork, {});  // somebody is there to be told
  const HangingNotification hangs(schema);
  for (const char* const id : {"a", "b", "c", "d"}) {
    const auto started = start(*store, start_of(id));
    ASSERT_TRUE(started) << id << ": " << started.error().message;
    EXPECT_TRUE(started->is_new);
  }
}

TEST(PostgresWakes, TheConnectionThatListensComesBackWithTheOthers) {
  TestServer server;
  const TestSchema schema(server);
  const auto store = schema.open();
  const auto other = schema.open();
  const auto ears = store->listen(store::kTurns, {});
  server.halt("fast");
  std::this_thread::sleep_for(3500ms);  // several tries in vain
  server.resume();
  while (!start(*store, start_of("a"))) {
  }
  const auto back = [&] {
    return schema.number(
               "SELECT count(*) FROM listeners AS l JOIN pg_stat_activity AS a ON a.pid = l.backend") > 0;
  };
  while (!back()) std::this_thread::sleep_for(10ms);
}

TEST(PostgresWakes, ASweepLeavesAListenerAloneThatRegistersAnew) {
  const TestSchema schema;
  const auto store = schema.open();
  // Registered by a connection that is gone, as after a restart of the server.
  schema.run(
      "INSERT INTO listeners (id, ns, backend) VALUES ('00000000-0000-0000-0000-000000000001', 1, 999999999),"
      " ('00000000-0000-0000-0000-000000000002', 1, 999999999)");
  Connection connection({.uri = schema.uri(), .schema = schema.name()});
  connection.run("BEGIN");
  connection.run(
      "UPDATE listeners SET backend = pg_backend_pid() WHERE id = '00000000-0000-0000-0000-000000000001'");
  auto swept = std::async(std::launch::async, [&] { return bool(store->sweep({})); });
  // It either goes by, or waits.
  while (swept.wait_for(0s) == std::future_status::timeout &&
         schema.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 0) {
  }
  connection.run("COMMIT");
  EXPECT_TRUE(swept.get());
  ASSERT_TRUE(store->sweep({}));
  EXPECT_EQ(schema.number("SELECT count(*) FROM listeners WHERE backend <> 999999999"), 1);
  EXPECT_EQ(schema.number("SELECT count(*) FROM listeners WHERE backend = 999999999"), 0);
}

}  // namespace
}  // namespace holdfast::postgres_store::wakes_test
