#include "stores/sqlite/migrations.hpp"

#include "testkit/support/processes.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::sqlite_store::migrations_test {
namespace {

using support::Processes;
using support::TemporaryFolder;

constexpr int kCreate = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

constexpr std::array kMigrations{
    Migration{1, "the first tables", "CREATE TABLE things (a); CREATE INDEX things_by_a ON things (a)"},
    Migration{2, "things have weights", "ALTER TABLE things ADD COLUMN weight; UPDATE things SET weight = 1",
              /*outlasts_leases=*/true},
};
const MigrationPlan kOld{.migrations = std::span(kMigrations).first(1)};
const MigrationPlan kNew{.migrations = kMigrations};

MigrationRefused::Reason refused(Connection& database, const MigrationPlan& plan) {
  try {
    migrate(database, plan);
  } catch (const MigrationRefused& error) {
    EXPECT_FALSE(database.in_transaction());
    return error.reason;
  }
  throw std::runtime_error("it was not refused");
}

TEST(SqliteMigrations, MakeAFileFromNothingAndSayWhatRan) {
  Connection db(":memory:", kCreate);
  EXPECT_TRUE(migrate(db, kNew));
  EXPECT_FALSE(migrate(db, kNew));
  EXPECT_EQ(db.int64_of("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(db.int64_of("PRAGMA user_version"), 2);
  db.exec("INSERT INTO things (a, weight) VALUES (1, 2)");
  const std::string second = db.text_of("SELECT value FROM meta WHERE key = 'migration 2'");
  EXPECT_TRUE(second.starts_with("things have weights, by Holdfast ")) << second;
}

TEST(SqliteMigrations, UpgradeAFileWithItsRows) {
  Connection db(":memory:", kCreate);
  migrate(db, kOld);
  db.exec("INSERT INTO things (a) VALUES (7)");
  EXPECT_TRUE(migrate(db, kNew));
  EXPECT_EQ(db.int64_of("SELECT a FROM things WHERE weight = 1"), 7);
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM meta WHERE key LIKE 'migration %'"), 2);
}

TEST(SqliteMigrations, RefuseAFileOfANewerVersion) {
  Connection db(":memory:", kCreate);
  migrate(db, kNew);
  EXPECT_EQ(refused(db, kOld), MigrationRefused::Reason::newer);
  EXPECT_EQ(db.int64_of("PRAGMA user_version"), 2);
}

TEST(SqliteMigrations, RefuseTheFileOfAnotherProgram) {
  for (const char* sql :
       {"CREATE TABLE theirs (a)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"}) {
    Connection db(":memory:", kCreate);
    db.exec(sql);
    EXPECT_EQ(refused(db, kNew), MigrationRefused::Reason::foreign) << sql;
    EXPECT_EQ(db.int64_of("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"), 0) << sql;
  }
}

TEST(SqliteMigrations, LeaveEverythingAsItWasWhenOneFails) {
  Connection db(":memory:", kCreate);
  migrate(db, kOld);
  const std::array broken{kMigrations[0], kMigrations[1], Migration{3, "broken", "CREATE TABLE things (b)"}};
  EXPECT_THROW(migrate(db, {.migrations = broken}), SqlError);
  EXPECT_FALSE(db.in_transaction());
  EXPECT_EQ(db.int64_of("PRAGMA user_version"), 1);
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM pragma_table_info('things')"), 1);
}

TEST(SqliteMigrations, ThatTakeLongWaitUntilNoEngineIsAtWork) {
  Connection db(":memory:", kCreate);
  std::int64_t engines = 2;
  const MigrationPlan watched{.migrations = kMigrations,
                              .live_engines = [&](Connection&) { return engines; }};
  migrate(db, kOld);
  EXPECT_EQ(refused(db, watched), MigrationRefused::Reason::engines_at_work);
  EXPECT_EQ(db.int64_of("PRAGMA user_version"), 1);
  engines = 0;
  EXPECT_TRUE(migrate(db, watched));
}

TEST(SqliteMigrations, RunOnceWhenManyProcessesOpenANewFileAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  Processes processes;
  for (int i = 0; i < 8; ++i) {
    processes.start([&] {
      Connection db(path, kCreate);
      db.exec("PRAGMA busy_timeout = 60000");
      migrate(db, kNew);
      db.exec("INSERT INTO things (a, weight) VALUES (1, 1)");
    });
  }
  EXPECT_TRUE(processes.all_succeed());
  Connection db(path, kCreate);
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM things"), 8);
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM meta WHERE key LIKE 'migration %'"), 2);
}

}  // namespace
}  // namespace holdfast::sqlite_store::migrations_test
