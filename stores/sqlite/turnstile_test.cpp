#include "stores/sqlite/turnstile.hpp"

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/processes_test.hpp"
#include "stores/sqlite/shared_test.hpp"
#include "stores/sqlite/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace holdfast::sqlite_store::turnstile_test {
namespace {

using namespace std::chrono_literals;

/// What the processes of a test say to each other.
struct Talk {
  std::array<std::atomic<int>, 2> turns{};  // that each of the loopers had
  std::atomic<int> waiting{};               // the round in which the third waits, or 0
  std::atomic<int> overtakes{};             // turns of those who came after it
  std::atomic<bool> stop{};
};

std::string new_database(const TemporaryFolder& folder) {
  std::string path = folder / "a.db";
  Connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
  return path;
}

/// Writes as the store does.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : side_file_(path, nullptr), turnstile_(side_file_), db_(path, SQLITE_OPEN_READWRITE) {
    db_.exec("PRAGMA busy_timeout = 60000; PRAGMA synchronous = OFF");
  }

  /// Calls `inside` when it has the write lock.
  void write(const std::function<void()>& inside) {
    turnstile_.enter(60s);
    db_.begin_immediate();
    inside();
    db_.exec(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
        "INSERT INTO t SELECT i FROM n");
    db_.commit();
    turnstile_.leave();
  }

 private:
  SideFile side_file_;
  Turnstile turnstile_;
  Connection db_;
};

void loop(const std::string& path, Talk& talk, std::size_t self) {
  Writer writer(path);
  while (!talk.stop.load()) {
    const int came_after = talk.waiting.load();
    writer.write([&] {
      if (came_after != 0 && talk.waiting.load() == came_after) talk.overtakes.fetch_add(1);
    });
    talk.turns[self].fetch_add(1);
  }
}

TEST(SqliteTurnstile, LetsNobodyOvertakeAWaiterAgainAndAgain) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const Shared<Talk> talk;
  Processes processes;
  processes.start([&] { loop(path, *talk, 0); });
  processes.start([&] { loop(path, *talk, 1); });
  ASSERT_TRUE(eventually([&] { return talk->turns[0] > 5 && talk->turns[1] > 5; }));

  constexpr int kRounds = 100;
  Writer writer(path);
  int most = 0;
  for (int round = 1; round <= kRounds; ++round) {
    talk->overtakes = 0;
    talk->waiting = round;
    writer.write([&] { talk->waiting = 0; });
    most = std::max(most, talk->overtakes.load());
  }
  talk->stop = true;
  EXPECT_TRUE(processes.all_succeed());
  // A few because they draw their tickets at the same moment, or because the machine stops one of the
  // processes for longer than the others' patience. Without turns it is hundreds.
  EXPECT_LE(most, 20);
}

TEST(SqliteTurnstile, PassesByAProcessThatCrashedInTheQueue) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const Shared<Talk> talk;
  Processes processes;
  const pid_t holder = processes.start([&] {
    SideFile side_file(path, nullptr);
    Turnstile turnstile(side_file);
    turnstile.enter(60s);
    talk->turns[0] = 1;
    pause();
  });
  ASSERT_TRUE(eventually([&] { return talk->turns[0] == 1; }));
  processes.crash(holder);
  SideFile side_file(path, nullptr);
  Turnstile turnstile(side_file);
  const auto start = std::chrono::steady_clock::now();
  turnstile.enter(60s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
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
  for (int i = 0; i < 3; ++i) {
    const auto again = std::chrono::steady_clock::now();
    other.enter(60s);
    other.leave();
    EXPECT_LT(std::chrono::steady_clock::now() - again, 30s);
  }
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
