// The store on a disk whose syncs and writes fail: what it has answered is there after a power cut, too.
#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/faulty_disk_test.hpp"
#include "stores/sqlite/wal_limit.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sqlite_store::failing_disk_test {
namespace {

using support::TemporaryFolder;
using namespace holdfast::store;
using namespace std::chrono_literals;

/// One file on the failing disk, what was answered by those who use it, and what there is after a power cut.
class FailingDisk {
 public:
  explicit FailingDisk(std::uint64_t seed) : disk(seed, FaultyDisk::As::the_default) {}
  ~FailingDisk() {
    if (!disk.power_is_off()) disk.cut_power_now();
  }

  /// A process that uses the file, or would.
  struct User {
    std::shared_ptr<Store> store{};
    WorkerKey worker{};
  };
  User open() {
    User user{.store = sqlite(path_, {.wal_limit_bytes = wal_limit, .clock = &clock_})};
    user.worker = user.store->join({.node = "n" + std::to_string(next()), .code = code_}).value();
    return user;
  }

  /// True when it was answered; then the instance must be there for ever.
  bool start(const User& user, std::size_t bytes = 10) {
    const StartRequest request{.instance = "i" + std::to_string(next()),
                               .code = {"o", "1"},
                               .body = std::string(bytes, 'x'),
                               .request = {next(), 1}};
    const bool answered = user.store->start(std::span(&request, 1)).at(0).has_value();
    if (answered) started_.insert(request.instance);
    return answered;
  }

  /// A commit that does not wait for the disk.
  std::vector<LockedTurn> lock_turns(const User& user, std::size_t max = 1) {
    auto fetched = user.store->fetch_turns(
        {.worker = user.worker, .code = &code_, .token = {next(), 2}, .lease = 30s, .max = max});
    return fetched ? std::move(fetched->turns) : std::vector<LockedTurn>{};
  }

  void end_turns(const User& user, const std::vector<LockedTurn>& turns) {
    for (const LockedTurn& turn : turns) {
      TurnCommit commit{.key = turn.key,
                        .token = turn.token,
                        .expected = turn.stamp,
                        .stamp = {next(), 3},
                        .execution = turn.execution,
                        .first_event = {next()},
                        .segment = std::string(500, 'h'),
                        .end = InstanceEnd{InstanceStatus::completed, "out"}};
      for (const Message& message : turn.messages) commit.consumed.push_back(message.id);
      const auto answer = user.store->commit_turns({.worker = user.worker}, std::span(&commit, 1)).at(0);
      if (answer) ended_.insert(turn.instance);
    }
  }

  void expect_what_was_answered(std::vector<User>& users) {
    disk.cut_power_now();
    users.clear();
    std::filesystem::remove(path_ + "-shm");
    std::filesystem::remove(path_ + "-wake");
    Connection database(path_, SQLITE_OPEN_READWRITE, "unix");
    EXPECT_EQ(database.text_of("PRAGMA integrity_check"), "ok");
    std::set<std::string> started;
    std::set<std::string> ended;
    Statement all = database.prepare("SELECT name, status FROM instances");
    for (Cursor row(all); row.next();) {
      started.emplace(row->text(0));
      if (row->integer(1) == static_cast<int>(InstanceStatus::completed)) ended.emplace(row->text(0));
    }
    EXPECT_EQ(missing(started_, started), std::set<std::string>{}) << "of " << started_.size();
    EXPECT_EQ(missing(ended_, ended), std::set<std::string>{}) << "of " << ended_.size();
  }

  [[nodiscard]] std::uint64_t log_bytes() const {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(path_ + "-wal", none);
    return none ? 0 : bytes;
  }
  [[nodiscard]] std::size_t answered() const { return started_.size() + ended_.size(); }

  FaultyDisk disk;
  std::uint64_t wal_limit = 64U << 20U;

 private:
  static std::set<std::string> missing(const std::set<std::string>& wanted,
                                       const std::set<std::string>& found) {
    std::set<std::string> result;
    std::ranges::set_difference(wanted, found, std::inserter(result, result.end()));
    return result;
  }
  std::uint64_t next() { return ++numbers_; }

  const TemporaryFolder folder_{};
  const std::string path_ = folder_ / "a.db";
  ManualClock clock_{};
  Code code_{.orchestrations = {{"o", "1"}}};
  std::set<std::string> started_{};
  std::set<std::string> ended_{};
  std::uint64_t numbers_ = 0;
};

TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnswersAfterASyncOfTheLogFailed) {
  FailingDisk file(1);
  std::vector users{file.open()};
  EXPECT_TRUE(file.start(users[0]));
  file.lock_turns(users[0]);
  file.disk.fail_next_sync("-wal");
  EXPECT_FALSE(file.start(users[0]));
  EXPECT_TRUE(file.start(users[0]));
  EXPECT_TRUE(file.start(users[0]));
  EXPECT_EQ(file.disk.failed_syncs(), 1);
  file.expect_what_was_answered(users);
}

TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnswersAfterLinuxGaveUpWhatWasNotSynced) {
  FailingDisk file(1);
  std::vector users{file.open(), file.open()};
  EXPECT_TRUE(file.start(users[0]));
  file.lock_turns(users[0]);
  file.disk.give_up_unsynced("-wal");
  for (int i = 0; i < 3; ++i) {
    file.start(users[1]);
    file.start(users[0]);
  }
  EXPECT_EQ(file.disk.failed_syncs(), 2) << "each of them is told";
  EXPECT_TRUE(file.start(users[0]));
  EXPECT_TRUE(file.start(users[1]));
  file.expect_what_was_answered(users);
}

TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnswersWhenWhatWasGivenUpCanNoLongerBeRead) {
  FailingDisk file(1);
  std::vector users{file.open()};
  EXPECT_TRUE(file.start(users[0]));
  file.lock_turns(users[0]);
  file.disk.fail_next_sync("-wal");
  EXPECT_FALSE(file.start(users[0]));
  file.disk.evict_given_up();
  EXPECT_TRUE(file.start(users[0]));
  EXPECT_TRUE(file.start(users[0]));
  file.expect_what_was_answered(users);
}

TEST(SqliteStoreOnAFailingDisk, KeepsWhatANewProcessAnswersWhenTheOneThatSawTheFailureIsGone) {
  FailingDisk file(1);
  std::vector users{file.open()};
  EXPECT_TRUE(file.start(users[0]));
  file.lock_turns(users[0]);
  file.disk.fail_next_sync("-wal");
  EXPECT_FALSE(file.start(users[0]));
  users.push_back(file.open());  // the first is never heard of again
  EXPECT_TRUE(file.start(users[1]));
  EXPECT_TRUE(file.start(users[1]));
  file.expect_what_was_answered(users);
}

// Lock-only commits until one of them has the log moved, in which the sync fails.
TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnswersAfterACheckpointThatFailed) {
  for (const char* const failing : {"-wal", ".db"}) {
    SCOPED_TRACE(failing);
    FailingDisk file(1);
    std::vector users{file.open()};
    const std::uint64_t due = WalLimit::kFramesBetween * std::uint64_t{4120};
    while (file.log_bytes() < due - 400'000) EXPECT_TRUE(file.start(users[0], 200'000));
    while (file.log_bytes() < due - 60'000) EXPECT_TRUE(file.start(users[0]));
    for (int i = 0; i < 100 && file.disk.failed_syncs() == 0; ++i) {
      file.disk.fail_next_sync(failing);
      file.lock_turns(users[0]);
    }
    EXPECT_EQ(file.disk.failed_syncs(), 1);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(file.start(users[0]));
    file.expect_what_was_answered(users);
  }
}

TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnsweredWhenItIsClosedAfterAFailure) {
  FailingDisk file(1);
  std::vector users{file.open()};
  EXPECT_TRUE(file.start(users[0]));
  file.lock_turns(users[0]);
  file.disk.fail_next_sync("-wal");
  EXPECT_FALSE(file.start(users[0]));
  users.clear();
  users.push_back(file.open());
  EXPECT_TRUE(file.start(users[0]));
  file.expect_what_was_answered(users);
}

/// Random calls of some processes while the disk fails at random places, until the power is cut.
void run_with_faults(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  FailingDisk file(seed);
  file.wal_limit = 100'000 + random() % 400'000;
  std::vector users{file.open()};
  constexpr std::array kFiles{"-wal", ".db"};
  const auto fault = [&] {
    switch (random() % 6) {
      case 0:
      case 1:
        return file.disk.fail_next_sync(kFiles.at(random() % 2));
      case 2:
        return file.disk.give_up_unsynced(kFiles.at(random() % 2));
      case 3:
        return file.disk.fail_write(static_cast<int>(1 + random() % 20));
      case 4:
        return file.disk.set_room(static_cast<std::int64_t>(random() % 100'000));
      default:
        return file.disk.set_room(INT64_MAX);
    }
  };
  for (auto steps = 20 + random() % 300; steps > 0; --steps) {
    if (random() % 8 == 0) fault();
    const FailingDisk::User& user = users.at(random() % users.size());
    switch (random() % 8) {
      case 0:
        if (users.size() > 1 && random() % 3 == 0) {
          users.erase(users.begin());
        } else if (users.size() < 3) {
          try {
            users.push_back(file.open());
          } catch (const std::exception&) {  // the disk was full, or failed
          }
        }
        break;
      case 1:
      case 2:
        file.lock_turns(user);
        break;
      case 3:
      case 4:
        file.end_turns(user, file.lock_turns(user, 3));
        break;
      default:
        file.start(user, random() % 20'000);
    }
  }
  EXPECT_GT(file.answered(), 0U);
  file.expect_what_was_answered(users);
}

/// More of them with HOLDFAST_DISK_SEEDS, beginning with HOLDFAST_DISK_SEED.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(SqliteStoreOnAFailingDisk, KeepsWhatItAnsweredWhereverTheDiskFails) {
  const std::uint64_t first = from_environment("HOLDFAST_DISK_SEED", 1);
  const std::uint64_t count = from_environment("HOLDFAST_DISK_SEEDS", 30);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) run_with_faults(seed);
}

}  // namespace
}  // namespace holdfast::sqlite_store::failing_disk_test
