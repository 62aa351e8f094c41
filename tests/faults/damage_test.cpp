// Rows that can't be read or written any more, with a runtime and clients at work: what they concern is said
// and given up, and all else goes on.
#include "workload_test.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/testing/replay_checker.hpp>

#include <sstream>

namespace holdfast::faults {
namespace {

class Damage : public ::testing::Test {
 protected:
  TestServer server{};
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  std::shared_ptr<Store> store = postgres(server.uri(), {.logger = log.get()});
};

// The frame in memory knows what it waits for, and would not say it again.
TEST_F(Damage, WhatAnInstanceWaitsForIsSaidAnewAlsoWhenItsFrameIsInMemory) {
  const auto worker = start_worker(store, e2e::quick(log));
  Client client(store);
  const auto run = client.start("told", {.id = "victim"});
  ASSERT_TRUE(eventually([&] {
    return number_of(server.uri(), "SELECT count(*) FROM instances WHERE waits IS NOT NULL AND NOT locked") ==
           1;
  }));
  run_sql(server.uri(), "UPDATE instances SET waits = '\\xff01', due_at = 1");
  ASSERT_TRUE(eventually([&] { return store->set_aside(0, 10)->size() == 1; }));
  client.raise("victim", "end", 14);
  EXPECT_EQ(run.wait<int>(kSoon), 14);
}

TEST_F(Damage, AnInstanceThatCantBeCommittedIsParkedAndTheRestGoesOn) {
  const auto worker = start_worker(store, e2e::quick(log));
  run_sql(
      server.uri(),
      "CREATE FUNCTION is_damaged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF EXISTS (SELECT 1 FROM instances AS i WHERE i.key = NEW.key AND i.name = 'victim') THEN"
      " RAISE data_corrupted USING MESSAGE = 'invalid page in block 7'; END IF; RETURN NEW; END $$;"
      "CREATE TRIGGER damaged_history BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION is_damaged()");
  Client client(store);
  client.start("sum_of_squares", {.id = "victim"}, 3);
  for (int i = 0; i < 10; ++i) {
    const auto healthy = client.start("sum_of_squares", {.id = "healthy-" + std::to_string(i)}, 3);
    EXPECT_EQ(healthy.wait<int>(kSoon), 14);
  }
  ASSERT_TRUE(eventually([&] { return store->find("victim")->status == store::InstanceStatus::parked; }));
  EXPECT_NE(store->find("victim")->parked_because.find("invalid page in block 7"), std::string::npos);
  EXPECT_TRUE(store->delete_instance("victim", true));
}

TEST_F(Damage, AHistoryThatCantBeReadIsNamedAndTheOthersAreChecked) {
  const auto worker = start_worker(store, e2e::quick(log));
  Client client(store);
  for (const char* id : {"healthy", "victim"}) {
    const auto run = client.start("told", {.id = id});
    ASSERT_TRUE(eventually([&] { return !run.history().events.empty(); }));
  }
  run_sql(server.uri(),
          "UPDATE history SET bytes = set_byte(bytes, 9, 255 - get_byte(bytes, 9)) WHERE key ="
          " (SELECT key FROM instances WHERE name = 'victim')");
  try {
    static_cast<void>(client.history("victim"));
    FAIL() << "it was shown";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientError::Kind::damaged) << error.what();
  }
  std::ostringstream file;
  EXPECT_THROW(write_history(client.run("victim"), file), ClientError);

  holdfast::testing::ReplayChecker checker;
  checker.orchestration("told", e2e::told);
  const holdfast::testing::ReplayReport report = checker.check_running(client);
  EXPECT_EQ(report.fitting, 1U);
  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_EQ(report.findings.at(0).header.instance, "victim");
}

TEST_F(Damage, AClientIsToldAndDoesNotTryAgain) {
  Client client(store, {.retry_for = 1h});
  run_sql(server.uri(), "DROP TABLE early");
  try {
    client.start("sum_of_squares", {.id = "a"}, 3);
    FAIL() << "it was started";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientError::Kind::damaged) << error.what();
  }
}

}  // namespace
}  // namespace holdfast::faults
