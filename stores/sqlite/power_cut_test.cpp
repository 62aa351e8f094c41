#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/faulty_disk_test.hpp"
#include "stores/sqlite/open.hpp"
#include "stores/sqlite/wal_limit.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace holdfast::sqlite_store::power_cut_test {
namespace {

using support::TemporaryFolder;

constexpr std::array kMigrations{
    Migration{1, "first", "CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB); CREATE INDEX t_by_b ON t (b)"}};
const MigrationPlan kPlan{.migrations = kMigrations};

using Rows = std::map<std::int64_t, std::string>;

Rows rows_of(Connection& database) {
  Rows rows;
  Statement all = database.prepare("SELECT a, b FROM t");
  for (Cursor row(all); row.next();) rows[row->int64(0)] = row->blob(1);
  return rows;
}

/// What the machine finds after it has booted again. Whoever had the file open is gone.
OpenedDatabase open_after_boot(const std::string& path) {
  std::filesystem::remove(path + "-shm");
  return open_database(path, {.durability = Durability::off}, kPlan);
}

/// Random transactions on a disk whose power is cut; remembers what must be there afterwards.
class Load {
 public:
  Load(std::uint64_t seed, std::string path, Durability durability)
      : path_(std::move(path)), durability_(durability), random_(seed * 7919 + 1), disk_(seed) {}

  void run_until_the_power_is_cut() {
    disk_.cut_power_at_sync(static_cast<int>(1 + random_() % 60));
    try {
      run();
    } catch (const SqlError&) {
    } catch (const StoreOpenError&) {
    }
    EXPECT_TRUE(disk_.power_is_off());
  }

  /// What each commit left, beginning with nothing; the last one may have been cut off.
  [[nodiscard]] const std::vector<Rows>& states() const { return states_; }
  [[nodiscard]] bool last_was_answered() const { return answered_; }

 private:
  void run() {
    auto opened = open_database(path_, {.durability = durability_}, kPlan, {.vfs = disk_.name()});
    Connection& db = opened.writer;
    db.exec("PRAGMA cache_size = 20");  // so that pages are also written before their commit
    SideFile side_file(opened.path, nullptr);
    LogTrust trust(db, side_file, nullptr);
    WalLimit limit(db, trust, {.limit_bytes = 100'000, .busy_timeout = std::chrono::milliseconds{10}});
    while (!disk_.power_is_off()) {
      Rows rows = states_.back();
      db.begin_immediate();
      for (auto changes = random_() % 30; changes > 0; --changes) change(db, rows);
      states_.push_back(std::move(rows));
      answered_ = false;
      db.commit();
      answered_ = true;
      limit.after_batch();
      if (random_() % 8 == 0) sqlite3_wal_checkpoint_v2(db.get(), "main", random_() % 4, nullptr, nullptr);
    }
  }

  void change(Connection& db, Rows& rows) {
    const auto key = static_cast<std::int64_t>(random_() % 200);
    if (random_() % 3 == 0) {
      db.prepare("DELETE FROM t WHERE a = ?").run(key);
      rows.erase(key);
    } else {
      std::string value(random_() % 3000, static_cast<char>('a' + random_() % 26));
      db.prepare("INSERT OR REPLACE INTO t VALUES (?, ?)").run(key, Blob{value});
      rows[key] = std::move(value);
    }
  }

  const std::string path_;
  const Durability durability_;
  std::mt19937_64 random_;
  FaultyDisk disk_;
  std::vector<Rows> states_{Rows{}};
  bool answered_ = true;
};

constexpr std::uint64_t kSeeds = 30;

TEST(SqlitePowerCut, LosesNothingThatWasAnswered) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const TemporaryFolder folder;
    Load load(seed, folder / "a.db", Durability::full);
    load.run_until_the_power_is_cut();
    auto opened = open_after_boot(folder / "a.db");
    EXPECT_EQ(opened.writer.text_of("PRAGMA integrity_check"), "ok") << "seed " << seed;
    const Rows rows = rows_of(opened.writer);
    const auto& states = load.states();
    const bool as_answered = rows == states.back();
    const bool cut_off = !load.last_was_answered() && rows == states.at(states.size() - 2);
    EXPECT_TRUE(as_answered || cut_off) << "seed " << seed << ", after " << states.size() - 1 << " commits";
  }
}

TEST(SqlitePowerCut, LosesOnlyTheLastCommitsWithNormalDurability) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const TemporaryFolder folder;
    Load load(seed, folder / "a.db", Durability::normal);
    load.run_until_the_power_is_cut();
    auto opened = open_after_boot(folder / "a.db");
    EXPECT_EQ(opened.writer.text_of("PRAGMA integrity_check"), "ok") << "seed " << seed;
    EXPECT_TRUE(std::ranges::find(load.states(), rows_of(opened.writer)) != load.states().end())
        << "seed " << seed;
  }
}

TEST(SqlitePowerCut, InTheMidstOfMakingAFileLeavesOneThatCanBeOpened) {
  for (int cut = 1; cut <= 12; ++cut) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const TemporaryFolder folder;
      {
        FaultyDisk disk(seed);
        disk.cut_power_at_sync(cut);
        try {
          auto opened = open_database(folder / "a.db", {}, kPlan, {.vfs = disk.name()});
          opened.writer.exec("INSERT INTO t VALUES (1, 'x')");
        } catch (const SqlError&) {
        } catch (const StoreOpenError& error) {
          EXPECT_EQ(error.kind(), StoreOpenError::Kind::unavailable) << error.what();
        }
      }
      auto opened = open_after_boot(folder / "a.db");
      EXPECT_EQ(opened.writer.text_of("PRAGMA integrity_check"), "ok");
    }
  }
}

// The test of the test: without syncs the power cut does damage.
TEST(SqlitePowerCut, DoesDamageToWhoDoesNotSync) {
  int damaged = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.db";
    {
      FaultyDisk disk(seed);
      Connection db(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk.name());
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (a, b)");
      Statement insert = db.prepare("INSERT INTO t VALUES (1, zeroblob(2000))");
      for (int i = 0; i < 100; ++i) insert.run();
      Connection other(path + "2", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk.name());
      disk.cut_power_at_sync(1);
      EXPECT_THROW(other.exec("CREATE TABLE t (a)"), SqlError);
    }
    std::filesystem::remove(path + "-shm");
    try {
      Connection db(path, SQLITE_OPEN_READWRITE);
      if (db.int64_of("SELECT count(*) FROM t") < 100) ++damaged;
    } catch (const SqlError&) {
      ++damaged;
    }
  }
  EXPECT_GT(damaged, 3);
}

}  // namespace
}  // namespace holdfast::sqlite_store::power_cut_test
