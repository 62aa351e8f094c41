// A server crashes, and its standby takes over. Everybody names both: whoever takes writes is the one.
#include "workload_test.hpp"

#include <holdfast/random.hpp>

#include <array>
#include <future>

namespace holdfast::faults {
namespace {

class Failover : public ::testing::Test {
 protected:
  /// Commits wait until the standby has them.
  void wait_for_standby() const {
    run_sql(primary.uri(), "ALTER SYSTEM SET synchronous_standby_names = '*'");
    run_sql(primary.uri(), "SELECT pg_reload_conf()");
    ASSERT_TRUE(eventually([&] {
      return number_of(primary.uri(), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") ==
             1;
    }));
  }
  /// From now on the standby gets nothing more.
  void part() const {
    run_sql(standby->uri(), "ALTER SYSTEM SET primary_conninfo = ''");
    run_sql(standby->uri(), "SELECT pg_reload_conf()");
    ASSERT_TRUE(eventually(
        [&] { return number_of(primary.uri(), "SELECT count(*) FROM pg_stat_replication") == 0; }));
  }
  void fail_over() {
    primary.halt("immediate");
    standby->promote();
  }
  /// By whoever met the new server first.
  [[nodiscard]] bool was_taken_over() const {
    return number_of(standby->uri(), "SELECT count(*) FROM deployment WHERE timeline = '00000002'") == 1;
  }
  std::unique_ptr<Runtime> worker(const std::string& node) const {
    RuntimeOptions options = e2e::quick(log);
    options.node_id = node;
    options.session_lease = 1h;  // whoever is lost with the server is not waited for
    return start_worker(postgres(uri, {.logger = log.get()}), options);
  }

  // They crash, and the machine does not: what they have written is there.
  TestServer primary{};
  const std::unique_ptr<TestServer> standby = primary.standby();
  const std::string uri = "host=" + primary.folder() + "," + standby->folder() +
                          " user=holdfast dbname=postgres target_session_attrs=read-write";
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
};

TEST_F(Failover, WithASynchronousStandbyNothingAcknowledgedIsLost) {
  wait_for_standby();
  const auto a = worker("a");
  const auto b = worker("b");
  Clients clients(uri, 3);
  ASSERT_TRUE(clients.get_on(6));
  fail_over();
  ASSERT_TRUE(clients.get_on(6));
  clients.stop();
  expect_kept(uri, clients.acknowledged());
  EXPECT_TRUE(was_taken_over());
}

TEST_F(Failover, WhatAnAsynchronousStandbyMissedIsLostAndTheRestGoesOn) {
  const auto a = worker("a");
  const auto b = worker("b");
  Clients clients(uri, 3);
  ASSERT_TRUE(clients.get_on(6));
  part();
  ASSERT_TRUE(clients.get_on(6));
  const std::int64_t missed = number_of(primary.uri(), "SELECT last_value FROM generations");
  fail_over();
  ASSERT_TRUE(clients.get_on(6));
  clients.stop();
  EXPECT_TRUE(was_taken_over());
  EXPECT_GT(number_of(standby->uri(), "SELECT last_value FROM generations"), missed);
  EXPECT_GT(number_of(standby->uri(), "SELECT last_value FROM instance_keys"), 1'000'000);

  // Some are lost; each that is there ends, also those that a client was about to tell something.
  Client client(postgres(uri));
  std::size_t known = 0;
  for (const std::string& id : clients.acknowledged()) {
    const auto run = client.find(id);
    if (!run) continue;
    ++known;
    // The event may be among what was lost.
    if (!has_ended(run->status()) && run->describe().info.orchestration == "told") run->raise("end", 14);
    const auto result = run->result<int>(kSoon);
    ASSERT_TRUE(result) << id << ": " << result.error().message;
    EXPECT_EQ(*result, 14) << id;
  }
  EXPECT_LT(known, clients.acknowledged().size());
  EXPECT_TRUE(eventually([&] { return client.list({.statuses = {Status::running}}).runs.empty(); }));
}

store::StartRequest start_of(const std::string& id) {
  return {.instance = id,
          .code = {"order", "1"},
          .body = "in",
          .request = random_token<RequestId>(system_random())};
}

// A commit whose wait is cancelled is a success to the server, with a warning by the way.
TEST_F(Failover, ACommitThatTheStandbyHasNotConfirmedIsNotAcknowledged) {
  wait_for_standby();
  const auto hasty = postgres(uri, {.timeout = 500ms});
  const auto patient = postgres(uri + " application_name=patient");
  const std::array before{start_of("before")};
  ASSERT_TRUE(hasty->start(before).front());
  part();
  const std::array given_up{start_of("given up")};
  const auto first = hasty->start(given_up).front();
  ASSERT_FALSE(first) << "acknowledged, and no standby has it";
  EXPECT_EQ(first.error().kind, StoreError::Kind::unavailable);

  const std::array cancelled{start_of("cancelled")};
  auto answer = std::async(std::launch::async, [&] { return patient->start(cancelled).front(); });
  ASSERT_TRUE(eventually([&] {
    return number_of(primary.uri(),
                     "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                     " AND application_name = 'patient'") > 0;
  }));
  const auto second = answer.get();
  ASSERT_FALSE(second) << "acknowledged, and no standby has it";
  EXPECT_EQ(second.error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(second.error().message.find("standby"), std::string::npos) << second.error().message;

  run_sql(primary.uri(), "ALTER SYSTEM SET synchronous_standby_names = ''");
  run_sql(primary.uri(), "SELECT pg_reload_conf()");
  EXPECT_TRUE(eventually([&] { return hasty->start(given_up).front().has_value(); }));
  EXPECT_TRUE(eventually([&] { return patient->start(cancelled).front().has_value(); }));
}

}  // namespace
}  // namespace holdfast::faults
