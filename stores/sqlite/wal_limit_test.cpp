#include "stores/sqlite/wal_limit.hpp"

#include "testkit/support/lines.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast::sqlite_store::wal_limit_test {
namespace {

using support::Lines;
using support::TemporaryFolder;
using namespace std::chrono_literals;

class SqliteWalLimit : public ::testing::Test {
 protected:
  SqliteWalLimit() {
    db_.exec(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; "
        "CREATE TABLE t (a)");
  }

  /// About so many pages of the log.
  void commit(int pages) { db_.prepare("INSERT INTO t VALUES (zeroblob(? * 4096))").run(pages); }
  void commit_and_tell(WalLimit& limit, int pages) {
    commit(pages);
    limit.after_batch();
  }
  [[nodiscard]] std::uint64_t log_bytes() const { return std::filesystem::file_size(path_ + "-wal"); }

  TemporaryFolder folder_{};
  std::string path_ = folder_ / "a.db";
  Connection db_{path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
  SideFile side_file_{"", nullptr};
  LogTrust trust_{db_, side_file_, nullptr};
};

TEST_F(SqliteWalLimit, KeepsTheLogShortWhileOneWrites) {
  WalLimit limit(db_, trust_, {.limit_bytes = 64U << 20U, .busy_timeout = 1s});
  for (int i = 0; i < 200; ++i) commit_and_tell(limit, 50);
  EXPECT_LT(log_bytes(), (WalLimit::kFramesBetween + 200) * 4120U);
}

TEST_F(SqliteWalLimit, BearsAReaderThatHoldsTheLogBackAndEmptiesItAfterwards) {
  Lines logger;
  constexpr std::uint64_t kLimit = 8U << 20U;
  WalLimit limit(db_, trust_, {.limit_bytes = kLimit, .busy_timeout = 1s, .logger = &logger});
  Connection reader(path_, SQLITE_OPEN_READWRITE);
  reader.exec("BEGIN");
  EXPECT_EQ(reader.int64_of("SELECT count(*) FROM t"), 0);
  for (int i = 0; i < 100; ++i) commit_and_tell(limit, 50);
  EXPECT_GT(log_bytes(), kLimit);
  EXPECT_EQ(reader.int64_of("SELECT count(*) FROM t"), 0);
  EXPECT_EQ(logger.count(""), 1U) << logger.all();

  reader.exec("COMMIT");
  for (int i = 0; i < 40; ++i) commit_and_tell(limit, 50);
  EXPECT_LT(log_bytes(), kLimit);
  EXPECT_EQ(reader.int64_of("SELECT count(*) FROM t"), 140);
}

TEST_F(SqliteWalLimit, EmptiesALogThatOneTransactionMadeTooLong) {
  WalLimit limit(db_, trust_, {.limit_bytes = 1U << 20U, .busy_timeout = 1s});
  commit_and_tell(limit, 500);
  EXPECT_EQ(log_bytes(), 0U);
}

TEST_F(SqliteWalLimit, KeepsTheLogBelowAPartOfTheRoomThatIsLeft) {
  std::uint64_t room = 4U << 20U;
  WalLimit limit(db_, trust_, {.limit_bytes = 64U << 20U, .busy_timeout = 1s, .room = [&] { return room; }});
  for (int i = 0; i < 200; ++i) {
    commit_and_tell(limit, 20);
    EXPECT_LE(log_bytes(), room / WalLimit::kPartOfRoom + (WalLimit::kFramesBetweenLooks + 30) * 4120U);
    room -= 15'000;
  }
}

TEST_F(SqliteWalLimit, GivesRoomBack) {
  WalLimit limit(db_, trust_, {.limit_bytes = 64U << 20U, .busy_timeout = 1s});
  commit(50);
  EXPECT_GT(log_bytes(), 200'000U);
  EXPECT_TRUE(limit.make_room());
  EXPECT_EQ(log_bytes(), 0U);
}

TEST_F(SqliteWalLimit, LeavesTheBusyTimeoutAsItWas) {
  WalLimit limit(db_, trust_, {.limit_bytes = 1U << 20U, .busy_timeout = 1234ms});
  commit_and_tell(limit, 500);
  EXPECT_EQ(db_.int64_of("PRAGMA busy_timeout"), 1234);
}

TEST_F(SqliteWalLimit, DoesNotMindAnotherConnectionThatWrites) {
  Connection other(path_, SQLITE_OPEN_READWRITE);
  WalLimit limit(db_, trust_, {.limit_bytes = 1U << 20U, .busy_timeout = 1s});
  commit(500);
  other.begin_immediate();
  limit.after_batch();
  EXPECT_GT(log_bytes(), 0U);
  other.rollback();
  for (int i = 0; i < 3; ++i) commit_and_tell(limit, 500);
  EXPECT_LT(log_bytes(), 1000U * 4120U);
}

}  // namespace
}  // namespace holdfast::sqlite_store::wal_limit_test
