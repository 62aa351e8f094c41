#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/faulty_disk_test.hpp"
#include "stores/sqlite/open.hpp"
#include "stores/sqlite/wakes.hpp"
#include "stores/sqlite/wal_limit.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/small_disk.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::sqlite_store::full_disk_test {
namespace {

using support::kNotAllowed;
using support::Processes;
using support::SmallDisk;
using support::TemporaryFolder;
using Kind = StoreOpenError::Kind;

constexpr std::array kMigrations{Migration{1, "first", "CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"}};
const MigrationPlan kPlan{.migrations = kMigrations};

/// Commits rows until one fails, which must be for want of room; how many there are now.
std::int64_t fill(Connection& db) {
  Statement insert = db.prepare("INSERT INTO t (b) VALUES (zeroblob(3000))");
  try {
    for (int i = 0; i < 100'000; ++i) {
      db.begin_immediate();
      insert.run();
      db.commit();
    }
    ADD_FAILURE() << "the disk was never full";
  } catch (const SqlError& error) {
    const StoreError shown = to_store_error(error);
    EXPECT_EQ(shown.kind, StoreError::Kind::unavailable);
    EXPECT_EQ(error.primary(), SQLITE_FULL) << error.message;
    EXPECT_NE(shown.message.find("disk is full"), std::string::npos) << shown.message;
  }
  db.rollback();
  return db.int64_of("SELECT count(*) FROM t");
}

void expect_to_go_on(Connection& db, std::int64_t rows) {
  for (int i = 0; i < 50; ++i) db.exec("INSERT INTO t (b) VALUES (zeroblob(3000))");
  EXPECT_EQ(db.int64_of("SELECT count(*) FROM t"), rows + 50);
  EXPECT_EQ(db.text_of("PRAGMA integrity_check"), "ok");
}

Kind refused(const std::string& path, const OpenSeams& seams = {}) {
  try {
    open_database(path, {}, kPlan, seams);
  } catch (const StoreOpenError& error) {
    EXPECT_TRUE(error.failure().retryable);
    return error.kind();
  }
  ADD_FAILURE() << "it was opened";
  return Kind::unavailable;
}

TEST(SqliteFullDisk, LosesNothingAndGoesOnWhenThereIsRoom) {
  const TemporaryFolder folder;
  FaultyDisk disk(1);
  auto opened = open_database(folder / "a.db", {}, kPlan, {.vfs = disk.name()});
  for (int round = 0; round < 3; ++round) {
    disk.set_room(200'000);
    const std::int64_t rows = fill(opened.writer);
    EXPECT_GT(rows, 0);
    disk.set_room(INT64_MAX);
    expect_to_go_on(opened.writer, rows);
  }
}

TEST(SqliteFullDisk, BearsACheckpointThatFindsNoRoom) {
  const TemporaryFolder folder;
  FaultyDisk disk(1);
  auto opened = open_database(folder / "a.db", {}, kPlan, {.vfs = disk.name()});
  SideFile side_file(opened.path, nullptr);
  LogTrust trust(opened.writer, side_file, nullptr);
  WalLimit limit(opened.writer, trust,
                 {.limit_bytes = 100'000, .busy_timeout = std::chrono::milliseconds{10}});
  for (int i = 0; i < 200; ++i) opened.writer.exec("INSERT INTO t (b) VALUES (zeroblob(3000))");
  disk.set_room(0);
  limit.after_batch();
  EXPECT_EQ(opened.writer.int64_of("SELECT count(*) FROM t"), 200);
  disk.set_room(INT64_MAX);
  limit.after_batch();
  expect_to_go_on(opened.writer, 200);
}

TEST(SqliteFullDisk, SaysSoWhenThereIsNoRoomForANewFile) {
  const TemporaryFolder folder;
  FaultyDisk disk(1);
  disk.set_room(8192);
  EXPECT_EQ(refused(folder / "a.db", {.vfs = disk.name()}), Kind::disk_full);
  disk.set_room(INT64_MAX);
  open_database(folder / "a.db", {}, kPlan, {.vfs = disk.name()});
}

TEST(SqliteFullDisk, BearsARealOne) {
  const TemporaryFolder folder;
  Processes processes;
  const pid_t pid = processes.start([&] {
    const SmallDisk disk(folder / "disk");
    if (!disk.mounted()) _exit(kNotAllowed);
    auto opened = open_database(disk.path() / "a.db", {}, kPlan);
    const auto side_file = std::make_shared<SideFile>(opened.path, nullptr);
    FileWakes wakes(opened.path, side_file, real_clock());
    const std::int64_t rows = fill(opened.writer);
    disk.fill();
    wakes.publish({.work = store::kTurns});
    EXPECT_EQ(refused(disk.path() / "b.db"), Kind::disk_full);
    EXPECT_FALSE(std::filesystem::exists(disk.path() / "b.db"));
    EXPECT_EQ(fill(opened.writer), rows);
    disk.make_room();
    disk.grow();
    expect_to_go_on(opened.writer, rows);
    opened = {};
    EXPECT_EQ(open_database(disk.path() / "a.db", {}, kPlan).writer.int64_of("SELECT count(*) FROM t"),
              rows + 50);
  });
  const int code = processes.exit_code(pid);
  if (code == kNotAllowed) GTEST_SKIP() << "only root can mount a small disk";
  EXPECT_EQ(code, 0);
}

/// A worker and its client on a disk of 8 MiB.
class SmallStore {
 public:
  explicit SmallStore(const std::filesystem::path& path) : store_(sqlite(path)) {}

  /// True when it was answered.
  bool start(int number) {
    const store::StartRequest request{
        .instance = std::to_string(number), .code = {"o", "1"}, .body = std::string(20'000, 'x')};
    return store_->start(std::span(&request, 1)).at(0).has_value();
  }
  /// How many instances ended.
  int run_some() {
    const auto fetched = store_->fetch_turns({.worker = worker_,
                                              .code = &code_,
                                              .token = {next(), 1},
                                              .lease = std::chrono::seconds{5},
                                              .max = 5});
    int ended = 0;
    for (const store::LockedTurn& turn : fetched ? fetched->turns : std::vector<store::LockedTurn>{}) {
      store::TurnCommit commit{.key = turn.key,
                               .token = turn.token,
                               .expected = turn.stamp,
                               .stamp = {next(), 2},
                               .execution = turn.execution,
                               .first_event = {next()},
                               .segment = std::string(5'000, 'h'),
                               .end = store::InstanceEnd{store::InstanceStatus::completed, "out"}};
      for (const store::Message& message : turn.messages) commit.consumed.push_back(message.id);
      if (store_->commit_turns({.worker = worker_}, std::span(&commit, 1)).at(0)) ++ended;
    }
    return ended;
  }

 private:
  std::uint64_t next() { return ++numbers_; }

  std::shared_ptr<Store> store_;
  store::Code code_{.orchestrations = {{"o", "1"}}};
  WorkerKey worker_ = store_->join({.node = "n", .code = code_}).value();
  std::uint64_t numbers_ = 0;
};

TEST(SqliteFullDisk, OfAnySizeLetsTheStoreGoOnByItselfWhenThereIsRoom) {
  const TemporaryFolder folder;
  Processes processes;
  const pid_t pid = processes.start([&] {
    const SmallDisk disk(folder / "disk", "8m");
    if (!disk.mounted()) _exit(kNotAllowed);
    disk.put(3U << 19U);
    SmallStore store(disk.path() / "a.db");
    int started = 0;
    while (store.start(started)) ++started;
    EXPECT_GT(started, 100);
    disk.make_room();
    int ended = 0;
    for (int tries = 0; tries < started && ended < started; ++tries) ended += store.run_some();
    EXPECT_EQ(ended, started);
  });
  const int code = processes.exit_code(pid);
  if (code == kNotAllowed) GTEST_SKIP() << "only root can mount a small disk";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace holdfast::sqlite_store::full_disk_test
