#include "stores/sqlite/wakes.hpp"

#include "stores/sqlite/connection.hpp"
#include "testkit/support/eventually.hpp"
#include "testkit/support/lines.hpp"
#include "testkit/support/nosy_logger.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/shared.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::sqlite_store::wakes_test {
namespace {

using support::eventually;
using support::Lines;
using support::NosyLogger;
using support::Processes;
using support::Shared;
using support::TemporaryFolder;

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using store::kActivities;
using store::kAllWork;
using store::kCancels;
using store::kSweep;
using store::kTurns;
using store::kWatched;
using store::Wake;

constexpr BootTime kLongAgo{};
constexpr std::chrono::milliseconds kShortFloor{100};

BootTime generous_deadline() { return real_clock().boot_now() + 60s; }

std::string new_database(const TemporaryFolder& folder) {
  std::string path = folder / "a.db";
  Connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (0)");
  return path;
}

/// As one process has it.
struct Handle {
  explicit Handle(const std::string& path, const Clock& clock = real_clock(), Logger* logger = nullptr,
                  std::chrono::milliseconds floor = kShortFloor)
      : wakes(path, std::make_shared<SideFile>(path, logger, floor), clock, floor) {}
  FileWakes wakes;
};

/// Waits until there is news of that kind; whatever else comes on the way is dropped.
bool hears(store::Listener& listener, store::WorkMask kind) {
  const BootTime deadline = generous_deadline();
  while (real_clock().boot_now() < deadline) {
    if (listener.wait(deadline).work.has(kind)) return true;
  }
  return false;
}

TEST(SqliteWakes, TellsWhatThisProcessKnowsInDetail) {
  const TemporaryFolder folder;
  const ManualClock clock;
  Handle mine(new_database(folder), clock);
  const auto listener = mine.wakes.listen(kAllWork, WorkerKey{1});
  listener->watch(InstanceKey{7});
  mine.wakes.publish(
      {.work = kTurns, .cancelled = {WorkerKey{2}}, .instances = {InstanceKey{7}, InstanceKey{8}}});
  const Wake wake = listener->wait(kLongAgo);
  EXPECT_EQ(wake.work, kTurns | kWatched);
  EXPECT_EQ(wake.instances, std::vector{InstanceKey{7}});
  EXPECT_FALSE(wake.any_instance);
  EXPECT_TRUE(listener->wait(BootTime::max()).work.empty());
}

TEST(SqliteWakes, TellsTheKindsOfNewsThatOthersHave) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const ManualClock clock;
  Handle mine(path, clock);
  Handle other(path, clock);
  const auto worker = mine.wakes.listen(kAllWork, WorkerKey{1});
  const auto client = mine.wakes.listen(kWatched | kCancels, {});
  client->watch(InstanceKey{9});
  other.wakes.publish(
      {.work = kActivities | kSweep, .cancelled = {WorkerKey{5}}, .instances = {InstanceKey{3}}});
  EXPECT_EQ(worker->wait(kLongAgo).work, kActivities | kSweep | kCancels);
  const Wake wake = client->wait(kLongAgo);
  EXPECT_EQ(wake.work, kWatched);
  EXPECT_TRUE(wake.any_instance);
  EXPECT_TRUE(worker->wait(kLongAgo).work.empty());
  mine.wakes.publish({.work = kTurns});
  EXPECT_EQ(worker->wait(kLongAgo).work, kTurns);
}

TEST(SqliteWakes, WakesAThreadAndCanBeInterrupted) {
  const TemporaryFolder folder;
  Handle mine(new_database(folder));
  const auto listener = mine.wakes.listen(kAllWork, {});
  std::thread sender([&] { mine.wakes.publish({.work = kActivities}); });
  EXPECT_TRUE(hears(*listener, kActivities));
  sender.join();
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    listener->wait(BootTime::max());
    over = true;
  });
  EXPECT_TRUE(eventually([&] {
    listener->interrupt();
    return over.load();
  }));
  waiter.join();
  const BootTime deadline = real_clock().boot_now() + 5ms;
  while (real_clock().boot_now() < deadline) listener->wait(deadline);
}

struct Talk {
  std::atomic<int> listening{};
  std::atomic<int> sent{};
  std::atomic<int> heard{};
};

/// Hears news of others and answers each time that it has seen all that was sent.
void echo(const std::string& path, Talk& talk, int rounds) {
  // Nothing is heard because of the floor: what is lost stays lost.
  Handle mine(path, real_clock(), nullptr, 1h);
  const auto listener = mine.wakes.listen(kTurns, {});
  talk.listening.fetch_add(1);
  while (talk.heard.load() < rounds) {
    // Look for work, then wait: what comes between the two must not be lost.
    if (const int sent = talk.sent.load(); sent > talk.heard.load()) {
      talk.heard = sent;
      continue;
    }
    if (!hears(*listener, kTurns)) throw std::runtime_error("nothing was heard");
  }
}

TEST(SqliteWakes, LosesNothingBetweenProcesses) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const Shared<Talk> talk;
  constexpr int kRounds = 2000;
  Processes processes;
  processes.start([&] { echo(path, *talk, kRounds); });
  Handle mine(path);
  ASSERT_TRUE(eventually([&] { return talk->listening == 1; }));
  for (int round = 1; round <= kRounds; ++round) {
    talk->sent = round;
    mine.wakes.publish({.work = kTurns});
    ASSERT_TRUE(eventually([&] { return talk->heard == round; })) << "round " << round;
  }
  EXPECT_TRUE(processes.all_succeed());
}

TEST(SqliteWakes, AreNotHarmedByAWaiterThatIsKilled) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  const Shared<Talk> talk;
  Processes processes;
  const pid_t doomed = processes.start([&] { echo(path, *talk, 1'000'000); });
  ASSERT_TRUE(eventually([&] { return talk->listening == 1; }));
  processes.crash(doomed);
  processes.start([&] { echo(path, *talk, 1); });
  ASSERT_TRUE(eventually([&] { return talk->listening == 2; }));
  Handle mine(path);
  talk->sent = 1;
  mine.wakes.publish({.work = kTurns});
  EXPECT_TRUE(processes.all_succeed());
}

TEST(SqliteWakes, HearOfACommitWhoseProcessDiedBeforeItsNews) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  Handle mine(path);
  const auto listener = mine.wakes.listen(kAllWork, {});
  while (!listener->wait(real_clock().boot_now() + 3 * kShortFloor).work.empty()) {
  }
  Processes processes;
  processes.start([&] {
    Connection db(path, SQLITE_OPEN_READWRITE);
    db.exec("INSERT INTO t VALUES (1)");
    _exit(0);
  });
  EXPECT_TRUE(processes.all_succeed());
  EXPECT_TRUE(hears(*listener, kTurns));
}

TEST(SqliteWakes, ComeBackWhenTheSideFileWasRemoved) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  Handle mine(path);
  const auto listener = mine.wakes.listen(kTurns, {});
  fs::remove(path + "-wake");
  Handle other(path);  // makes a new one
  EXPECT_TRUE(hears(*listener, kTurns));
  EXPECT_TRUE(eventually([&] {
    other.wakes.publish({.work = kTurns});
    return listener->wait(kLongAgo).work.has(kTurns);
  }));
}

TEST(SqliteWakes, AreHeardNowAndThenWithoutASideFile) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  fs::create_directory(path + "-wake");
  Lines logger;
  Handle mine(path, real_clock(), &logger);
  EXPECT_EQ(logger.count(""), 1U) << logger.all();
  EXPECT_TRUE(logger.wait_for_parts({"side file", path + "-wake"})) << logger.all();

  const auto listener = mine.wakes.listen(kAllWork, {});
  mine.wakes.publish({.work = kActivities});
  EXPECT_EQ(listener->wait(generous_deadline()).work, kActivities);
  Connection(path, SQLITE_OPEN_READWRITE).exec("INSERT INTO t VALUES (1)");
  EXPECT_TRUE(hears(*listener, kTurns));

  fs::remove(path + "-wake");
  EXPECT_TRUE(eventually([&] {
    listener->wait(real_clock().boot_now() + 10ms);
    return logger.count("") == 2;
  }));
  EXPECT_EQ(logger.count("again"), 1U) << logger.all();
}

// A logger of the user may send what it gets to the same store.
TEST(SqliteSideFile, IsUsedByALoggerThatIsToldOfIt) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  NosyLogger logger;
  SideFile side_file(path, &logger, 0ms);
  std::shared_ptr<SharedPage> seen;
  logger.ask = [&] { seen = side_file.page(); };
  fs::remove(path + "-wake");
  fs::create_directory(path + "-wake");
  EXPECT_TRUE(side_file.look_after());
  EXPECT_EQ(logger.lines, 1);
  EXPECT_EQ(seen, side_file.page());
  fs::remove(path + "-wake");
  EXPECT_TRUE(side_file.look_after());
  EXPECT_EQ(logger.lines, 2);
  EXPECT_EQ(seen, side_file.page());
}

TEST(SqliteWakes, StayQuietWhileNothingHappens) {
  const TemporaryFolder folder;
  Handle mine(new_database(folder));
  const auto listener = mine.wakes.listen(kAllWork, {});
  // Once because nobody knows what was written in the tick before it began to listen; then never again.
  int looks = 0;
  const BootTime end = real_clock().boot_now() + 10 * kShortFloor;
  while (real_clock().boot_now() < end) looks += listener->wait(end).work.empty() ? 0 : 1;
  EXPECT_LE(looks, 2);
}

TEST(SqliteWakes, WorkForADatabaseInMemory) {
  Handle mine("");
  const auto listener = mine.wakes.listen(kAllWork, {});
  mine.wakes.publish({.work = kTurns});
  EXPECT_EQ(listener->wait(generous_deadline()).work, kTurns);
}

TEST(SqliteSideFile, HasThePermissionsOfTheDatabase) {
  const TemporaryFolder folder;
  const std::string path = new_database(folder);
  fs::permissions(
      path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::group_write);
  const SideFile side_file(path, nullptr);
  EXPECT_EQ(fs::status(path + "-wake").permissions(), fs::status(path).permissions());
}

}  // namespace
}  // namespace holdfast::sqlite_store::wakes_test
