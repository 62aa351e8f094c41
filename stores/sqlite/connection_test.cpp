#include "stores/sqlite/connection.hpp"

#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace holdfast::sqlite_store::connection_test {
namespace {

using support::TemporaryFolder;

constexpr int kCreate = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

TEST(SqliteConnection, GivesBackWhatWasBound) {
  Connection db(":memory:", kCreate);
  db.exec("CREATE TABLE t (a, b, c, d, e, f, g)");
  const LockToken token{0x0123456789abcdefU, 0xfedcba9876543210U};
  Statement insert = db.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.run(-5, InstanceKey{7}, token, std::string_view("text"), Blob{{"b\0b", 3}},
             std::optional<std::int64_t>{}, std::optional<std::int64_t>{9});
  EXPECT_EQ(db.changes(), 1);

  Statement select = db.prepare("SELECT a, b, c, d, e, f, g, hex(c) FROM t");
  Cursor row(select);
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row->int64(0), -5);
  EXPECT_EQ(row->number<InstanceKey>(1), InstanceKey{7});
  EXPECT_EQ(row->token<LockToken>(2), token);
  EXPECT_EQ(row->text(3), "text");
  EXPECT_EQ(row->blob(4), std::string_view("b\0b", 3));
  EXPECT_TRUE(row->is_null(5));
  EXPECT_TRUE(row->token<LockToken>(5).empty());
  EXPECT_EQ(row->uint64(6), 9U);
  EXPECT_EQ(row->text(7), "0123456789ABCDEFFEDCBA9876543210");
  EXPECT_FALSE(row.next());
}

TEST(SqliteConnection, TellsEmptyFromNull) {
  Connection db(":memory:", kCreate);
  Statement types = db.prepare("SELECT typeof(?), typeof(?), typeof(?)");
  Cursor row(types, std::string_view{}, Blob{}, nullptr);
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row->text(0), "text");
  EXPECT_EQ(row->text(1), "blob");
  EXPECT_EQ(row->text(2), "null");
}

TEST(SqliteConnection, KeepsAnyNumberOfTokensUntilTheStatementRan) {
  Connection db(":memory:", kCreate);
  Statement all = db.prepare("SELECT hex(?)||hex(?)||hex(?)||hex(?)||hex(?)||hex(?)");
  for (int round = 0; round < 2; ++round) {
    Cursor row(all, LockToken{1, 1}, LockToken{2, 2}, LockToken{3, 3}, LockToken{4, 4}, LockToken{5, 5},
               LockToken{6, 6});
    ASSERT_TRUE(row.next());
    std::string expected;
    for (std::uint64_t i = 1; i <= 6; ++i) expected += to_string(LockToken{i, i});
    EXPECT_EQ(row->text(0), expected);
  }
}

TEST(SqliteConnection, ThrowsWhatSqliteSaysAndCanGoOn) {
  Connection db(":memory:", kCreate);
  db.exec("CREATE TABLE t (a INTEGER PRIMARY KEY)");
  Statement insert = db.prepare("INSERT INTO t VALUES (?)");
  insert.run(1);
  try {
    insert.run(1);
    FAIL();
  } catch (const SqlError& error) {
    EXPECT_EQ(error.code, SQLITE_CONSTRAINT_PRIMARYKEY);
    EXPECT_EQ(error.primary(), SQLITE_CONSTRAINT);
    EXPECT_NE(error.message.find("UNIQUE constraint failed: t.a"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("INSERT INTO t"), std::string::npos) << error.message;
  }
  insert.run(2);
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM t"), 2);
  EXPECT_THROW(static_cast<void>(db.prepare("SELECT nothing")), SqlError);
}

TEST(SqliteConnection, CommitsAndRollsBack) {
  Connection db(":memory:", kCreate);
  db.exec("CREATE TABLE t (a)");
  db.begin_immediate();
  EXPECT_TRUE(db.in_transaction());
  db.exec("INSERT INTO t VALUES (1)");
  db.rollback();
  db.rollback();
  EXPECT_FALSE(db.in_transaction());
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM t"), 0);
  db.begin_immediate();
  db.exec("INSERT INTO t VALUES (1)");
  db.commit();
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM t"), 1);
}

TEST(SqliteConnection, SeesByTheDataVersionThatAnotherConnectionWrote) {
  const TemporaryFolder folder;
  Connection mine(folder / "a.db", kCreate);
  mine.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (a)");
  Connection other(folder / "a.db", kCreate);
  const std::int64_t before = mine.data_version();
  mine.exec("INSERT INTO t VALUES (1)");
  EXPECT_EQ(mine.data_version(), before);
  other.exec("INSERT INTO t VALUES (2)");
  EXPECT_NE(mine.data_version(), before);
}

TEST(SqliteConnection, ShowsEveryErrorToCallersAsUnavailableOrDamagedWithAdvice) {
  const auto shown = [](int code) { return to_store_error(SqlError(code, "it said")); };
  for (const int code : {SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_READONLY, SQLITE_CANTOPEN,
                         SQLITE_NOMEM, SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_SCHEMA, SQLITE_INTERNAL}) {
    const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    EXPECT_EQ(shown(code).kind, damaged ? StoreError::Kind::damaged : StoreError::Kind::unavailable);
    EXPECT_TRUE(shown(code).message.starts_with("SQLite: it said")) << shown(code).message;
  }
  EXPECT_NE(shown(SQLITE_FULL).message.find("disk is full"), std::string::npos);
  EXPECT_NE(shown(SQLITE_CORRUPT_INDEX).message.find("DAMAGED"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sqlite_store::connection_test
