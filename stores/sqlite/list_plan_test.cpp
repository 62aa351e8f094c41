// How instances are found that a list wants.
#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/statements.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sqlite_store::list_plan_test {
namespace {

/// What SQLite says about the way in which it will run a statement.
std::string plan_of(const Query& query) {
  Connection db(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  db.exec(std::string(kSchema));
  Statement explain = db.prepare("EXPLAIN QUERY PLAN " + std::string(query.sql()));
  std::string plan;
  for (Cursor row(explain); row.next();) plan += std::string(row->text(3)) + '\n';
  return plan;
}

TEST(SqliteList, ByStatusReadsTheIndexInItsOrder) {
  const std::string plan = plan_of(Statements{}.listed_by_status);
  EXPECT_NE(plan.find("USING INDEX instances_by_status (ns=? AND status=? AND rowid<?)"), std::string::npos)
      << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

TEST(SqliteList, ByParentReadsTheIndexInItsOrder) {
  const std::string plan = plan_of(Statements{}.listed_by_parent);
  EXPECT_NE(plan.find("USING INDEX instances_by_parent (parent=? AND rowid<?)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

TEST(SqliteList, OfAllGoesFromTheNewestOn) {
  const std::string plan = plan_of(Statements{}.listed);
  EXPECT_NE(plan.find("USING INTEGER PRIMARY KEY (rowid<?)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

TEST(SqliteList, ParkedOnesAreFoundByTheirStatus) {
  const std::string plan = plan_of(Statements{}.parked);
  EXPECT_NE(plan.find("INDEX instances_by_status (ns=? AND status=?)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

}  // namespace
}  // namespace holdfast::sqlite_store::list_plan_test
