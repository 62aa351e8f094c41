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
  db.exec(std::string(kEndWatchers));
  db.exec(std::string(kTerminating));
  db.exec(std::string(kAttributes));
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

TEST(SqliteList, ByAttributeReadsTheIndexInItsOrder) {
  const auto expect = [](const Query& query, const std::string& search) {
    const std::string plan = plan_of(query);
    EXPECT_NE(plan.find("SEARCH a USING PRIMARY KEY (" + search + ")"), std::string::npos) << plan;
    EXPECT_NE(plan.find("SEARCH i USING INTEGER PRIMARY KEY (rowid=?)"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
  };
  const Statements statements;
  expect(statements.listed_by_entry, "ns=? AND entry=? AND key<?");
  expect(statements.listed_by_entry_back, "ns=? AND entry=? AND key>?");
  expect(statements.listed_in_range, "ns=? AND entry>? AND entry<?");
  expect(statements.listed_up, "ns=? AND entry>? AND entry<?");
  expect(statements.listed_down, "ns=? AND entry>? AND entry<?");
}

TEST(SqliteList, EntriesAreCountedInTheIndex) {
  const std::string plan = plan_of(Statements{}.count_entries);
  EXPECT_NE(plan.find("SEARCH attribute_entries USING PRIMARY KEY (ns=? AND entry>? AND entry<?)"),
            std::string::npos)
      << plan;
}

TEST(SqliteList, ParkedOnesAreFoundByTheirStatus) {
  const std::string plan = plan_of(Statements{}.parked);
  EXPECT_NE(plan.find("INDEX instances_by_status (ns=? AND status=?)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

}  // namespace
}  // namespace holdfast::sqlite_store::list_plan_test
