// The store itself on a disk that loses its power or fills up: what it has answered stays true.
#include "stores/sqlite/faulty_disk_test.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/testing/model_comparison.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::sqlite_store::store_on_faulty_disk_test {
namespace {

using support::TemporaryFolder;
using namespace holdfast::store;
using namespace std::chrono_literals;

/// A store that runs into trouble, and a model of it that doesn't. Both are told the same, one call at a
/// time.
class TwoStores {
 public:
  TwoStores(std::uint64_t seed, const std::string& path)
      : path_(path),
        random_(seed),
        disk_(std::make_unique<FaultyDisk>(seed, FaultyDisk::As::the_default)),
        model_(testing::memory_subject().database(clock_)("default")) {}

  /// Random calls until the power is cut. Whatever the disk then has must be what the store has answered.
  void run_until_the_power_is_cut() {
    disk_->cut_power_at_sync(static_cast<int>(20 + random_() % 80));
    subject_ = sqlite(path_, {.wal_limit_bytes = 200'000, .clock = &clock_});
    call([this](Store& store) {
      return known(store.join({.node = "n", .abilities = abilities_, .code = code_}));
    });
    while (!disk_->power_is_off()) step();
    subject_.reset();
    disk_.reset();
  }

  void expect_what_was_answered() {
    std::filesystem::remove(path_ + "-shm");  // as after a boot
    const auto store = sqlite(path_, {.durability = Durability::off, .clock = &clock_});
    const StoreState found = store->state().value();
    const bool as_answered = found == model_->state().value();
    const bool as_before = std::ranges::find(may_be_, found) != may_be_.end();
    EXPECT_TRUE(as_answered || as_before)
        << calls_ << " calls, the last one was " << (answered_ ? "" : "not ") << "answered";
  }

  [[nodiscard]] int calls() const { return calls_; }

 private:
  enum class Kind : std::uint8_t { lasts, only_locks };
  /// `work` is true when it was answered, however. What only locks instances may be forgotten together with
  /// the process that locked them.
  void call(const std::function<bool(Store&)>& work, Kind kind = Kind::lasts) {
    if (disk_->power_is_off()) return;
    ++calls_;
    if (answered_ && last_ == Kind::lasts) may_be_.clear();
    last_ = kind;
    may_be_.push_back(model_->state().value());
    on_model_ = true;
    EXPECT_TRUE(work(*model_));
    on_model_ = false;
    answered_ = work(*subject_);
  }

  template <class T>
  static bool known(const StoreResult<T>& result) {
    return result.has_value() || result.error().kind != StoreError::Kind::unavailable;
  }
  template <class T>
  static bool known(const std::vector<StoreResult<T>>& results) {
    return std::ranges::all_of(results, [](const auto& result) { return known(result); });
  }

  void step() {
    switch (random_() % 8) {
      case 0:
      case 1:
        return start();
      case 2:
        return send();
      case 3:
      case 4:
        return run_turns();
      case 5:
      case 6:
        return run_activities();
      default:
        clock_.advance(std::chrono::milliseconds{random_() % 3000});
        call([](Store& store) { return known(store.sweep({.worker = WorkerKey{1}})); });
    }
  }

  std::string some_name() { return "i" + std::to_string(random_() % 40); }
  std::uint64_t next() { return ++numbers_; }

  void start() {
    std::vector<StartRequest> requests(1 + random_() % 3);
    for (StartRequest& request : requests) {
      request = {.instance = some_name(),
                 .code = {"o", "1"},
                 .body = std::string(random_() % 2000, 's'),
                 .request = {next(), 1},
                 .reuse = Reuse::after_end};
    }
    call([&](Store& store) { return known(store.start(requests)); });
  }

  void send() {
    const ClientMessage message{.instance = some_name(),
                                .message = {.kind = MessageKind::control, .body = "go on"},
                                .request = {next(), 2}};
    call([&](Store& store) { return known(store.send(std::span(&message, 1))); });
  }

  void run_turns() {
    std::vector<LockedTurn> turns;
    const LockToken token{next(), 3};
    const auto fetch = [&](Store& store) {
      auto fetched =
          store.fetch_turns({.worker = WorkerKey{1}, .code = &code_, .token = token, .lease = 5s, .max = 3});
      if (on_model_) turns = fetched.value().turns;
      return known(fetched);
    };
    call(fetch, Kind::only_locks);
    if (turns.empty()) return;
    std::vector<TurnCommit> commits;
    for (const LockedTurn& turn : turns) commits.push_back(commit_of(turn));
    call([&](Store& store) {
      return known(store.commit_turns(
          {.worker = WorkerKey{1}, .abilities = &abilities_, .activity_lease = 5s}, commits));
    });
  }

  TurnCommit commit_of(const LockedTurn& turn) {
    TurnCommit commit{.key = turn.key,
                      .token = turn.token,
                      .expected = turn.stamp,
                      .stamp = {next(), 4},
                      .execution = turn.execution,
                      .first_event = {next()},
                      .segment = std::string(1 + random_() % 3000, 'h'),
                      .activity_token = {next(), 5}};
    for (const Message& message : turn.messages) {
      commit.seen = message.id;
      commit.consumed.push_back(message.id);
    }
    for (auto count = random_() % 4; count > 0; --count) {
      commit.activities.push_back(
          {.event = {next()}, .name = "a", .body = "x", .hand_off = random_() % 2 == 0});
    }
    if (random_() % 3 == 0) commit.timers.push_back({{next()}, clock_.calendar_now() + 1s});
    if (random_() % 3 == 0) commit.values.push_back({"k", std::to_string(next())});
    if (random_() % 5 == 0) commit.end = InstanceEnd{InstanceStatus::completed, "out"};
    return commit;
  }

  void run_activities() {
    std::vector<ActivityResult> results;
    const LockToken token{next(), 6};
    call([&](Store& store) {
      auto fetched = store.fetch_activities(
          {.worker = WorkerKey{1}, .abilities = &abilities_, .token = token, .lease = 5s, .max = 4});
      if (on_model_) {
        for (const LockedActivity& activity : fetched.value().activities) {
          results.push_back({.id = activity.id, .token = token, .result = Finished{"done"}});
        }
      }
      return known(fetched);
    });
    if (results.empty()) return;
    call([&](Store& store) { return known(store.finish_activities(results)); });
  }

  const std::string path_;
  std::mt19937_64 random_;
  ManualClock clock_{};
  std::unique_ptr<FaultyDisk> disk_;
  std::shared_ptr<Store> model_;
  std::shared_ptr<Store> subject_{};
  Abilities abilities_{.handlers = {"a"}};
  Code code_{.orchestrations = {{"o", "1"}}};
  std::vector<StoreState> may_be_{};  // before the last calls that the disk need not know of
  Kind last_ = Kind::lasts;
  bool on_model_ = false;
  bool answered_ = true;
  int calls_ = 0;
  std::uint64_t numbers_ = 0;
};

TEST(SqliteStoreAfterAPowerCut, HasAllThatItHasAnswered) {
  int calls = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TemporaryFolder folder;
    TwoStores stores(seed, folder / "a.db");
    stores.run_until_the_power_is_cut();
    stores.expect_what_was_answered();
    calls += stores.calls();
  }
  EXPECT_GT(calls, 200);
}

TEST(SqliteStoreAfterAPowerCut, HasWhatWasAnsweredToManyThreads) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TemporaryFolder folder;
    std::mutex mutex;
    std::set<std::string> answered;
    {
      FaultyDisk disk(seed, FaultyDisk::As::the_default);
      const auto store = sqlite(folder / "a.db", {.wal_limit_bytes = 200'000});
      disk.cut_power_at_sync(static_cast<int>(20 + seed * 5));
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
          for (int i = 0; !disk.power_is_off(); ++i) {
            const StartRequest request{.instance = std::to_string(thread) + "/" + std::to_string(i),
                                       .code = {"o", "1"},
                                       .body = "input"};
            if (!store->start(std::span(&request, 1)).at(0)) continue;
            const std::lock_guard lock(mutex);
            answered.insert(request.instance);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    std::filesystem::remove(folder / "a.db-shm");
    const auto store = sqlite(folder / "a.db", {.durability = Durability::off});
    for (const std::string& name : answered) EXPECT_TRUE(store->find(name)) << name;
    EXPECT_GT(answered.size(), 10U);
  }
}

/// Starts instances until one is refused; how many there are.
int start_until_full(Store& store, int from) {
  for (int i = from; i < from + 10'000; ++i) {
    const StartRequest request{
        .instance = std::to_string(i), .code = {"o", "1"}, .body = std::string(2000, 'x')};
    const auto answer = store.start(std::span(&request, 1)).at(0);
    if (answer) continue;
    EXPECT_EQ(answer.error().kind, StoreError::Kind::unavailable);
    EXPECT_NE(answer.error().message.find("disk is full"), std::string::npos) << answer.error().message;
    return i;
  }
  ADD_FAILURE() << "the disk was never full";
  return 0;
}

TEST(SqliteStoreOnAFullDisk, IsUnavailableLosesNothingAndGoesOn) {
  const TemporaryFolder folder;
  FaultyDisk disk(1, FaultyDisk::As::the_default);
  const auto store = sqlite(folder / "a.db");
  int count = 0;
  for (int round = 0; round < 3; ++round) {
    disk.set_room(300'000);
    const int full = start_until_full(*store, count);
    EXPECT_GT(full, count);
    EXPECT_EQ(start_until_full(*store, full), full);
    for (int i = 0; i < full; ++i) EXPECT_TRUE(store->find(std::to_string(i))) << i;
    EXPECT_EQ(store->find(std::to_string(full)).error().kind, StoreError::Kind::not_found);
    disk.set_room(INT64_MAX);
    count = full;
  }
  const StartRequest request{.instance = std::to_string(count), .code = {"o", "1"}};
  EXPECT_TRUE(store->start(std::span(&request, 1)).at(0));
}

}  // namespace
}  // namespace holdfast::sqlite_store::store_on_faulty_disk_test
