#include "stores/sqlite/open.hpp"

#include "testkit/support/processes.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

namespace holdfast::sqlite_store::open_test {
namespace {

using support::Processes;
using support::TemporaryFolder;

namespace fs = std::filesystem;
using Kind = StoreOpenError::Kind;

constexpr std::array kMigrations{
    Migration{1, "first", "CREATE TABLE things (a INTEGER PRIMARY KEY, b)"},
    Migration{2, "second", "CREATE TABLE more (a)"},
};
const MigrationPlan kPlan{.migrations = std::span(kMigrations).first(1)};
const MigrationPlan kNewerPlan{.migrations = kMigrations};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// All files of a folder with what is in them.
std::map<std::string, std::string> everything_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[entry.path()] = entry.is_regular_file() ? content_of(entry.path()) : "";
  }
  return files;
}

struct Refusal {
  Kind kind = Kind::unavailable;
  std::string message{};
};

/// Opens it, which must be refused with a message that names the file and leave the folder as it was.
Refusal refused(const TemporaryFolder& folder, const std::string& path, const MigrationPlan& plan = kPlan,
                const OpenSeams& seams = {}) {
  const auto before = everything_in(folder.path());
  try {
    open_database(path, {.busy_timeout = std::chrono::milliseconds{50}}, plan, seams);
  } catch (const StoreOpenError& error) {
    EXPECT_NE(error.failure().message.find("'" + path + "'"), std::string::npos) << error.what();
    EXPECT_EQ(everything_in(folder.path()), before);
    return {error.kind(), error.failure().message};
  }
  ADD_FAILURE() << path << " was opened";
  return {};
}

bool says(const Refusal& refusal, std::string_view part) {
  return refusal.message.find(part) != std::string::npos;
}

/// A store that was closed in good order, with some rows.
std::string make_store(const TemporaryFolder& folder, const MigrationPlan& plan = kPlan) {
  const std::string path = folder / "store.db";
  auto opened = open_database(path, {}, plan);
  opened.writer.exec(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
      "INSERT INTO things SELECT i, hex(randomblob(50)) FROM n");
  return path;
}

/// Root may write everything; so that it makes a difference, as nobody.
void as_an_ordinary_user(const std::function<void()>& work) {
  Processes processes;
  processes.start([&] {
    if (geteuid() == 0) {
      ASSERT_EQ(setegid(65534), 0);
      ASSERT_EQ(seteuid(65534), 0);
    }
    work();
  });
  EXPECT_TRUE(processes.all_succeed());
}

TEST(SqliteOpen, MakesAFileAndOpensItAgain) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto opened = open_database(path, {}, kPlan);
  EXPECT_EQ(opened.path, path);
  EXPECT_EQ(opened.writer.int64_of("SELECT count(*) FROM things"), 2000);
  EXPECT_EQ(opened.writer.text_of("PRAGMA journal_mode"), "wal");
  Connection reader = open_reader(opened, {});
  EXPECT_EQ(reader.int64_of("SELECT count(*) FROM things"), 2000);
  EXPECT_THROW(reader.exec("DELETE FROM things"), SqlError);
}

TEST(SqliteOpen, MakesFilesForTheirOwnerAlone) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto opened = open_database(path, {}, kPlan);
  opened.writer.exec("INSERT INTO things VALUES (-1, 'x')");
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    EXPECT_EQ(fs::status(path + suffix).permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << suffix;
  }
}

TEST(SqliteOpen, DoesNotMakeAFileThatWasNotToBeMade) {
  const TemporaryFolder folder;
  const std::string path = folder / "store.db";
  const auto kind = [&] {
    try {
      open_database(path, {.create = false}, kPlan);
    } catch (const StoreOpenError& error) {
      return error.kind();
    }
    return Kind::unavailable;
  };
  EXPECT_EQ(kind(), Kind::missing);
  EXPECT_FALSE(fs::exists(path));
  write_file(path, "");  // nothing is in it, so nothing can be lost in it
  EXPECT_EQ(kind(), Kind::missing);
  make_store(folder);
  EXPECT_EQ(open_database(path, {.create = false}, kPlan).path, path);
}

TEST(SqliteOpen, TakesAnEmptyFileAsNew) {
  const TemporaryFolder folder;
  write_file(folder / "store.db", "");
  EXPECT_EQ(open_database(folder / "store.db", {}, kPlan).writer.int64_of("PRAGMA user_version"), 1);
}

TEST(SqliteOpen, OpensADatabaseInMemoryForEachWhoAsks) {
  auto one = open_database(":memory:", {}, kPlan);
  auto other = open_database(":memory:", {}, kPlan);
  EXPECT_TRUE(one.path.empty());
  one.writer.exec("INSERT INTO things VALUES (1, 1)");
  EXPECT_EQ(other.writer.int64_of("SELECT count(*) FROM things"), 0);
}

TEST(SqliteOpen, FollowsLinksToTheFileItself) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink(folder / "real/store.db", folder / "link.db");
  EXPECT_EQ(open_database(folder / "link.db", {}, kPlan).path, folder / "real/store.db");
  EXPECT_EQ(open_database(folder / "real/../link.db", {}, kPlan).path, folder / "real/store.db");
}

TEST(SqliteOpen, WaitsForTheDiskAsDurabilitySays) {
  const TemporaryFolder folder;
  const auto synchronous = [&](Durability durability) {
    return open_database(folder / "a.db", {.durability = durability}, kPlan)
        .writer.int64_of("PRAGMA synchronous");
  };
  EXPECT_EQ(synchronous(Durability::full), 2);
  EXPECT_EQ(synchronous(Durability::normal), 1);
  EXPECT_EQ(synchronous(Durability::off), 0);
}

TEST(SqliteOpen, IsSafeWhenManyProcessesOpenANewFileAtOnce) {
  const TemporaryFolder folder;
  for (int round = 0; round < 3; ++round) {
    const std::string path = folder / ("store" + std::to_string(round) + ".db");
    Processes processes;
    for (int i = 0; i < 8; ++i) {
      processes.start([&] {
        auto opened = open_database(path, {.busy_timeout = std::chrono::minutes{1}}, kPlan);
        opened.writer.exec("INSERT INTO things (b) VALUES (1)");
      });
    }
    EXPECT_TRUE(processes.all_succeed());
    EXPECT_EQ(open_database(path, {}, kPlan).writer.int64_of("SELECT count(*) FROM things"), 8);
  }
}

TEST(SqliteOpen, UpgradesWhatAnOlderVersionWrote) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto opened = open_database(path, {}, kNewerPlan);
  EXPECT_EQ(opened.writer.int64_of("PRAGMA user_version"), 2);
  EXPECT_EQ(opened.writer.int64_of("SELECT count(*) FROM things"), 2000);
}

TEST(SqliteOpen, RefusesWhatANewerVersionWrote) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder, kNewerPlan);
  const Refusal refusal = refused(folder, path);
  EXPECT_EQ(refusal.kind, Kind::newer);
  EXPECT_TRUE(says(refusal, "schema is 2")) << refusal.message;
}

TEST(SqliteOpen, RefusesANewerFileWhoseUpgradeIsStillInTheLog) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto other = open_database(path, {}, kNewerPlan);
  EXPECT_THROW(open_database(path, {}, kPlan), StoreOpenError);
  EXPECT_EQ(other.writer.int64_of("PRAGMA user_version"), 2);
}

TEST(SqliteOpen, RefusesTheDatabaseOfAnotherProgram) {
  for (const char* sql : {"CREATE TABLE theirs (a)", "PRAGMA application_id = 99; CREATE TABLE theirs (a)",
                          "PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)"}) {
    const TemporaryFolder folder;
    Connection(folder / "theirs.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).exec(sql);
    EXPECT_EQ(refused(folder, folder / "theirs.db").kind, Kind::not_a_store) << sql;
  }
}

TEST(SqliteOpen, LeavesWhatACrashOfAnotherProgramLeftBehind) {
  const TemporaryFolder folder;
  Processes processes;
  processes.start([&] {
    Connection theirs(folder / "theirs.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    theirs.exec("PRAGMA journal_mode = WAL; CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    _exit(0);
  });
  ASSERT_TRUE(processes.all_succeed());
  ASSERT_TRUE(fs::exists(folder / "theirs.db-wal"));
  EXPECT_EQ(refused(folder, folder / "theirs.db").kind, Kind::not_a_store);
}

TEST(SqliteOpen, RefusesAFileThatIsNoDatabase) {
  const TemporaryFolder folder;
  write_file(folder / "notes.txt", "These are my notes.\n");
  write_file(folder / "long.bin", std::string(100'000, 'x'));
  fs::create_directory(folder / "folder");
  EXPECT_TRUE(says(refused(folder, folder / "notes.txt"), "no database"));
  EXPECT_EQ(refused(folder, folder / "long.bin").kind, Kind::not_a_store);
  EXPECT_EQ(refused(folder, folder / "folder").kind, Kind::not_a_store);
}

TEST(SqliteOpen, RefusesAPathThatWouldBeCut) {
  const TemporaryFolder folder;
  try {
    sqlite((folder / "a") + std::string("\0b.db", 5));
    FAIL();
  } catch (const StoreOpenError& error) {
    EXPECT_EQ(error.kind(), Kind::invalid);
  }
  EXPECT_FALSE(fs::exists(folder / "a"));
}

TEST(SqliteOpen, RefusesAFileThatIsCutOff) {
  for (const std::uintmax_t size : {200U, 1000U, 4096U, 8192U, 50'000U}) {
    const TemporaryFolder folder;
    const std::string path = make_store(folder);
    fs::resize_file(path, size);
    const Refusal refusal = refused(folder, path);
    EXPECT_EQ(refusal.kind, Kind::corrupt) << size << ": " << refusal.message;
    EXPECT_TRUE(says(refusal, "backup")) << refusal.message;
  }
}

TEST(SqliteOpen, RefusesADamagedFile) {
  for (const std::size_t page : {0U, 1U, 2U}) {
    const TemporaryFolder folder;
    const std::string path = make_store(folder);
    std::string content = content_of(path);
    content.replace(page == 0 ? 100 : page * 4096, 3000, std::string(3000, '\xa5'));
    write_file(path, content);
    EXPECT_EQ(refused(folder, path).kind, Kind::corrupt) << "page " << page;
  }
}

TEST(SqliteOpen, RefusesAMissingFolder) {
  const TemporaryFolder folder;
  const Refusal refusal = refused(folder, folder / "no/where/store.db");
  EXPECT_EQ(refusal.kind, Kind::no_directory);
  EXPECT_TRUE(says(refusal, folder / "no/where")) << refusal.message;
  EXPECT_THROW(open_database("", {}, kPlan), StoreOpenError);
}

TEST(SqliteOpen, RefusesAFileThatItMayNotWrite) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  chmod(folder.path().c_str(), 0777);
  chmod(path.c_str(), 0444);
  as_an_ordinary_user([&] { EXPECT_EQ(refused(folder, path).kind, Kind::read_only); });
}

TEST(SqliteOpen, RefusesAFolderThatItMayNotWrite) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  chmod(path.c_str(), 0666);
  chmod(folder.path().c_str(), 0555);
  as_an_ordinary_user([&] {
    const Refusal refusal = refused(folder, path);
    EXPECT_EQ(refusal.kind, Kind::read_only);
    EXPECT_TRUE(says(refusal, "files beside its own")) << refusal.message;
    EXPECT_EQ(refused(folder, folder / "new.db").kind, Kind::read_only);
  });
  chmod(folder.path().c_str(), 0755);
}

TEST(SqliteOpen, RefusesNetworkFileSystems) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  for (const std::int64_t magic :
       {std::int64_t{0x6969}, std::int64_t{0x517b}, std::int64_t{0xff534d42}, std::int64_t{0x01021997},
        std::int64_t{0x5346414f}, std::int64_t{0x00c36400},
        static_cast<std::int64_t>(std::int32_t(0xff534d42))}) {
    const OpenSeams seams{.file_system = [&](const std::string&) { return magic; }};
    const Refusal refusal = refused(folder, path, kPlan, seams);
    EXPECT_EQ(refusal.kind, Kind::network_mount);
    EXPECT_TRUE(says(refusal, std::string(network_file_system(magic)))) << refusal.message;
  }
  EXPECT_EQ(network_file_system(0xef53), "");      // ext4
  EXPECT_EQ(network_file_system(0x01021994), "");  // tmpfs
}

TEST(SqliteOpen, SaysWhenAnotherProcessKeepsTheFileLocked) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto other = open_database(path, {}, kPlan);
  other.writer.begin_immediate();
  open_database(path, {}, kPlan);  // needs no write lock when nothing is to be changed
  try {
    open_database(path, {.busy_timeout = std::chrono::milliseconds{20}}, kNewerPlan);
    FAIL();
  } catch (const StoreOpenError& error) {
    EXPECT_EQ(error.kind(), Kind::busy);
    EXPECT_TRUE(error.failure().retryable);
  }
}

TEST(SqliteOpen, RefusesALongUpgradeWhileEnginesAreAtWork) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  std::array migrations = kMigrations;
  migrations[1].outlasts_leases = true;
  const Refusal refusal =
      refused(folder, path, {.migrations = migrations, .live_engines = [](Connection&) { return 3; }});
  EXPECT_EQ(refusal.kind, Kind::busy);
  EXPECT_TRUE(says(refusal, "3 workers are at work")) << refusal.message;
}

TEST(SqliteOpen, DoesNotDropLocksThatThisProcessHoldsOnTheFile) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  auto mine = open_database(path, {}, kPlan);
  mine.writer.exec("INSERT INTO things (b) VALUES ('in the log')");
  open_database(path, {}, kPlan);
  EXPECT_THROW(open_database(path + "/x", {}, kPlan), StoreOpenError);
  // Were our locks gone, a process that opens and closes it would take itself for the last one and remove the
  // log.
  Processes processes;
  processes.start([&] { open_database(path, {}, kPlan); });
  EXPECT_TRUE(processes.all_succeed());
  EXPECT_TRUE(fs::exists(path + "-wal"));
  EXPECT_EQ(mine.writer.int64_of("SELECT count(*) FROM things"), 2001);
}

}  // namespace
}  // namespace holdfast::sqlite_store::open_test
