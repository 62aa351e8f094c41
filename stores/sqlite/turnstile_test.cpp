#include "stores/sqlite/turnstile.hpp"

#include "stores/sqlite/connection.hpp"
#include "testkit/support/eventually.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::sqlite_store::turnstile_test {
namespace {

using support::eventually;
using support::Processes;
using support::Shared;
using support::TemporaryFolder;
using namespace std::chrono_literals;

std::string new_database(const TemporaryFolder& folder) {
  std::string path = folder / "a.db";
  Connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
  return path;
}

TEST(SqliteTurnstile, LetsThoseWhoWaitGoInTheOrderInWhichTheyCame) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  SideFile side_file(path, nullptr);
  Turnstile first(side_file);
  first.enter(60s);

  std::mutex mutex;
  std::vector<std::uint32_t> order;
  std::vector<std::thread> waiters;
  for (std::uint32_t self = 1; self <= 4; ++self) {
    waiters.emplace_back([&, self] {
      SideFile own(path, nullptr);
      Turnstile turnstile(own, 60s);
      for (int round = 0; round < 2; ++round) {  // it comes back at once, as who commits in a loop
        turnstile.enter(60s);
        {
          const std::lock_guard lock(mutex);
          order.push_back(self);
        }
        turnstile.leave();
      }
    });
    EXPECT_TRUE(eventually([&] { return side_file.page()->words().turn_waiters.load() == self; }));
  }
  first.leave();
  for (std::thread& waiter : waiters) waiter.join();
  ASSERT_EQ(order.size(), 8U);
  order.resize(4);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST(SqliteTurnstile, PassesByAProcessThatCrashedInTheQueue) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const Shared<std::atomic<bool>> inside;
  Processes processes;
  const pid_t holder = processes.start([&] {
    SideFile side_file(path, nullptr);
    Turnstile turnstile(side_file);
    turnstile.enter(60s);
    *inside = true;
    pause();
  });
  ASSERT_TRUE(eventually([&] { return inside->load(); }));
  processes.crash(holder);
  SideFile side_file(path, nullptr);
  Turnstile turnstile(side_file, 1h);
  turnstile.enter(1h);
  turnstile.leave();
}

TEST(SqliteTurnstile, LosesPatienceWithOneThatMakesNoProgress) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  SideFile side_file(path, nullptr);
  SideFile other_side(path, nullptr);
  Turnstile stuck(side_file);
  Turnstile other(other_side);
  stuck.enter(60s);
  const auto start = std::chrono::steady_clock::now();
  other.enter(60s);
  EXPECT_GE(std::chrono::steady_clock::now() - start, Turnstile::kPatience);
  other.leave();
  // Only who came right behind it had to wait.
  SideFile third_side(path, nullptr);
  Turnstile third(third_side, 1h);
  third.enter(1h);
  third.leave();
}

TEST(SqliteTurnstile, GoesAheadWithoutASideFile) {
  const TemporaryFolder folder;
  SideFile none("", nullptr);
  Turnstile turnstile(none);
  turnstile.enter(60s);
  turnstile.leave();

  const std::string path = new_database(folder);
  std::filesystem::create_directory(path + "-wake");
  SideFile unusable(path, nullptr);
  Turnstile other(unusable);
  other.enter(60s);
  other.leave();
}

}  // namespace
}  // namespace holdfast::sqlite_store::turnstile_test
