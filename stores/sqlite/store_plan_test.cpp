#include "stores/sqlite/store_plan.hpp"

#include "stores/sqlite/open.hpp"
#include "stores/sqlite/temporary_folder_test.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/sqlite.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

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

}  // namespace
}  // namespace holdfast::sqlite_store
