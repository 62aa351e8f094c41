// Stores that are opened with read_only: what they need, and that they leave everything as it is.
#include "stores/sqlite/connection.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

namespace holdfast::sqlite_store::read_only_test {
namespace {

using support::Processes;
using support::Shared;
using support::TemporaryFolder;
using namespace std::chrono_literals;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void start_instance(Store& store) {
  const store::StartRequest request{.instance = "h", .code = {"hello", "1"}};
  EXPECT_TRUE(store.start({&request, 1}).front());
}

std::size_t count_instances(Store& store) { return store.list({}).value().instances.size(); }

/// A store with one instance, closed in good order.
std::string make_store(const TemporaryFolder& folder) {
  const std::string path = folder / "app.db";
  start_instance(*sqlite(path));
  return path;
}

void expect_readable(const std::string& path) {
  EXPECT_EQ(count_instances(*sqlite(path, {.read_only = true, .busy_timeout = 20ms})), 1U);
}

TEST(SqliteReadOnly, ChangesNoByteOfTheFileAndItsLog) {
  const TemporaryFolder folder;
  const std::string path = folder / "app.db";
  ManualClock clock;
  {
    const auto writer = sqlite(path, {.clock = &clock});
    start_instance(*writer);
    const std::string log = content_of(path + "-wal");
    clock.advance(1h);  // whoever writes now also moves the bound of lease time
    EXPECT_EQ(count_instances(*sqlite(path, {.read_only = true, .clock = &clock})), 1U);
    EXPECT_EQ(content_of(path + "-wal"), log);
  }
  const std::string before = content_of(path);
  EXPECT_EQ(count_instances(*sqlite(path, {.read_only = true, .clock = &clock})), 1U);
  EXPECT_EQ(content_of(path), before);
  EXPECT_EQ(content_of(path + "-wal"), "");
}

TEST(SqliteReadOnly, NeedsNoWriteLock) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  Connection other(path, SQLITE_OPEN_READWRITE);
  other.begin_immediate();
  expect_readable(path);
}

TEST(SqliteReadOnly, FollowsTheLeaseTimeOfThoseWhoWrite) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  ManualClock clock;
  const auto reader = sqlite(path, {.read_only = true, .clock = &clock});
  clock.advance(1h);
  const auto writer = sqlite(path, {.clock = &clock});
  const WorkerKey worker = writer->join({.node = "n"}).value();
  ASSERT_TRUE(writer->refresh(worker, false));
  clock.advance(5s);
  EXPECT_EQ(reader->workers().value().at(0).last_seen, writer->workers().value().at(0).last_seen);
}

TEST(SqliteReadOnly, OfWhatMayNotBeWrittenNeedsTheFilesOfThoseWhoDo) {
  const TemporaryFolder folder;
  const std::string path = make_store(folder);
  chmod(path.c_str(), 0444);
  const Shared<std::atomic<bool>> opened;
  Processes processes;
  const pid_t writer = processes.start([&] {  // as root, or as the owner, who may still write it
    chmod(path.c_str(), 0644);
    const auto store = sqlite(path);
    start_instance(*store);
    chmod(path.c_str(), 0444);
    *opened = true;
    std::this_thread::sleep_for(1h);
  });
  while (!*opened) std::this_thread::sleep_for(1ms);
  chmod(folder.path().c_str(), 0555);
  const auto as_nobody = [&](const std::function<void()>& work) {
    const pid_t reader = processes.start([&] {
      if (geteuid() == 0) {
        ASSERT_EQ(setegid(65534), 0);
        ASSERT_EQ(seteuid(65534), 0);
      }
      work();
    });
    EXPECT_TRUE(processes.succeeds(reader));
  };
  as_nobody([&] { expect_readable(path); });
  processes.crash(writer);
  as_nobody([&] { expect_readable(path); });

  chmod(folder.path().c_str(), 0755);
  std::filesystem::remove(path + "-wal");
  std::filesystem::remove(path + "-shm");
  chmod(folder.path().c_str(), 0555);
  as_nobody([&] {
    try {
      expect_readable(path);
      ADD_FAILURE() << "it was opened";
    } catch (const StoreOpenError& error) {
      EXPECT_EQ(error.kind(), StoreOpenError::Kind::read_only);
      EXPECT_NE(error.failure().message.find("open a copy"), std::string::npos) << error.what();
    }
  });
  chmod(folder.path().c_str(), 0755);
}

TEST(SqliteReadOnly, IsNothingForADatabaseInMemory) {
  try {
    sqlite(":memory:", {.read_only = true});
    FAIL();
  } catch (const StoreOpenError& error) {
    EXPECT_EQ(error.kind(), StoreOpenError::Kind::invalid);
  }
}

}  // namespace
}  // namespace holdfast::sqlite_store::read_only_test
