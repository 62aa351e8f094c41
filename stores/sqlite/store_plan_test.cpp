#include "stores/sqlite/store_plan.hpp"

#include "stores/sqlite/lease_clock.hpp"
#include "stores/sqlite/open.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::sqlite_store::store_plan_test {
namespace {

using support::TemporaryFolder;
using namespace std::chrono_literals;

TEST(SqliteStorePlan, LetsALongUpgradeWaitForEnginesThatAreAtWork) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  ManualClock clock;
  const SqliteOptions options{.ns = "one", .clock = &clock};
  const auto store = sqlite(path, options);
  const WorkerKey worker = store->join({.node = "n"}).value();

  MigrationPlan plan = store_plan(clock);
  std::vector<Migration> migrations(plan.migrations.begin(), plan.migrations.end());
  migrations.push_back({plan.newest() + 1, "a long one", "CREATE TABLE later (a)", /*outlasts_leases=*/true});
  plan.migrations = migrations;
  const auto refused = [&] {
    try {
      open_database(path, options, plan);
      return false;
    } catch (const StoreOpenError& error) {
      EXPECT_EQ(error.kind(), StoreOpenError::Kind::busy);
      return true;
    }
  };
  EXPECT_TRUE(refused());
  clock.advance(50s);
  EXPECT_TRUE(store->refresh(worker, false));
  clock.advance(50s);
  EXPECT_TRUE(refused());
  clock.advance(20s);
  EXPECT_FALSE(refused());
  EXPECT_THROW(sqlite(path, options), StoreOpenError);  // which is this version's answer to a newer file
}

TEST(SqliteStorePlan, StopsAStoreUnderWhichTheFileWasUpgraded) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  ManualClock clock;
  const SqliteOptions options{.clock = &clock};
  const auto store = sqlite(path, options);
  const store::StartRequest request{.instance = "i", .code = {"o", "1"}};
  EXPECT_TRUE(store->start(std::span(&request, 1)).at(0));
  EXPECT_TRUE(store->find("i"));

  MigrationPlan plan = store_plan(clock);
  std::vector<Migration> migrations(plan.migrations.begin(), plan.migrations.end());
  migrations.push_back({plan.newest() + 1, "one more", "ALTER TABLE instances ADD COLUMN later TEXT"});
  plan.migrations = migrations;
  open_database(path, options, plan);

  const auto expect_refusal = [&](const StoreError& error) {
    EXPECT_EQ(error.kind, StoreError::Kind::unavailable);
    EXPECT_NE(error.message.find("upgraded to schema " + std::to_string(plan.newest())), std::string::npos)
        << error.message;
  };
  for (int i = 0; i < 2; ++i) {
    expect_refusal(store->start(std::span(&request, 1)).at(0).error());
    expect_refusal(store->find("i").error());
  }
}

TEST(SqliteStorePlan, RefusesAFileFromBeforeTheFirstRelease) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  sqlite(path);
  Connection(path, SQLITE_OPEN_READWRITE).exec("PRAGMA user_version = 3");
  try {
    sqlite(path);
    FAIL() << "it was opened";
  } catch (const StoreOpenError& error) {
    EXPECT_EQ(error.kind(), StoreOpenError::Kind::not_a_store);
    EXPECT_NE(std::string(error.what()).find("its schema is 3"), std::string::npos) << error.what();
  }
}

/// FNV-1a, over all that a new file is made of up to that migration.
std::uint64_t fingerprint(std::span<const Migration> migrations) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  add(kMetaSchema);
  add(kLeaseClockSchema);
  for (const Migration& migration : migrations) add(migration.sql);
  return hash;
}

TEST(SqliteStorePlan, NumbersEveryChangeOfTheSchema) {
  constexpr std::array<std::uint64_t, 5> kFingerprints{10877388978034346362U, 6575402268420085604U,
                                                       15549250388794029625U, 12158740791010422874U,
                                                       12964650674305610749U};
  const auto migrations = store_plan(real_clock()).migrations;
  ASSERT_EQ(migrations.size(), kFingerprints.size()) << "add the fingerprint of the new migration";
  for (std::size_t count = 1; count <= kFingerprints.size(); ++count) {
    EXPECT_EQ(fingerprint(migrations.first(count)), kFingerprints.at(count - 1))
        << "what migration " << migrations[count - 1].number
        << " makes has changed: files that have it can't be told from new ones. Leave it as it was, and add "
           "a "
           "migration with the next number";
  }
}

}  // namespace
}  // namespace holdfast::sqlite_store::store_plan_test
