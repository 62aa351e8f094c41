// What a sweep asks the database for.
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace holdfast::sqlite_store::sweep_test {
namespace {

using namespace holdfast::store;
using namespace std::chrono_literals;

/// Counts the statements that connections run which are opened while it lives.
class StatementCount {
 public:
  StatementCount() {
    so_far() = 0;
    sqlite3_auto_extension(hook());
  }
  ~StatementCount() { sqlite3_cancel_auto_extension(hook()); }
  StatementCount(const StatementCount&) = delete;
  StatementCount& operator=(const StatementCount&) = delete;

  template <class Call>
  std::size_t during(Call&& call) {
    const std::size_t before = so_far();
    call();
    return so_far() - before;
  }

 private:
  static std::atomic<std::size_t>& so_far() {
    static std::atomic<std::size_t> count{};
    return count;
  }
  static int note(unsigned, void*, void*, void*) {
    ++so_far();
    return 0;
  }
  static int trace(sqlite3* db, const char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, note, nullptr);
  }
  /// SQLite's type for it has no parameters; it calls it with those of trace().
  static void (*hook())() { return reinterpret_cast<void (*)()>(&StatementCount::trace); }
};

/// A store in which an orchestration has opened so many sessions that nobody has to do anything with.
class OpenedSessions {
 public:
  explicit OpenedSessions(std::size_t count) {
    const StartRequest request{.instance = "i", .code = {"o", "1"}};
    (void)store_->start(std::span(&request, 1));
    const LockedTurn turn =
        store_->fetch_turns({.worker = worker_, .code = &code_, .token = {7, 7}, .lease = 5s, .max = 1})
            .value()
            .turns.at(0);
    TurnCommit commit{.key = turn.key,
                      .token = {7, 7},
                      .stamp = {1, 1},
                      .execution = {1},
                      .first_event = {1},
                      .segment = "events",
                      .seen = turn.messages.at(0).id,
                      .consumed = {turn.messages.at(0).id}};
    for (std::size_t i = 0; i < count; ++i) {
      commit.open_sessions.push_back({.source = {2 + i}, .id = "s" + std::to_string(i)});
    }
    auto answers = store_->commit_turns({.worker = worker_, .abilities = &abilities_, .activity_lease = 30s},
                                        std::span(&commit, 1));
    EXPECT_TRUE(answers.at(0));
  }
  Store& store() { return *store_; }

 private:
  ManualClock clock_{};
  Abilities abilities_{.handlers = {"a"}};
  Code code_{.orchestrations = {{"o", "1"}}};
  std::shared_ptr<Store> store_ = sqlite(":memory:", {.clock = &clock_});
  WorkerKey worker_ = store_->join({.node = "n", .abilities = abilities_, .code = code_}).value();
};

TEST(SqliteSweep, AsksAsMuchHoweverManySessionsThereAre) {
  StatementCount statements;
  const auto swept = [&](std::size_t sessions) {
    OpenedSessions opened(sessions);
    (void)opened.store().sweep({});
    // What a sweep has looked at does not stay for those after it.
    return statements.during([&] { EXPECT_TRUE(opened.store().sweep({})); });
  };
  const std::size_t few = swept(3);
  EXPECT_GT(few, 0U);
  EXPECT_EQ(swept(300), few);
}

StoreResult<InstanceKey> tell(Store& store, std::uint64_t request) {
  const ClientMessage message{
      .instance = "i",
      .message = {.kind = MessageKind::delivery, .address = {Address::Kind::event, "e"}, .body = "b"},
      .request = {request, 5}};
  return store.send(std::span(&message, 1)).at(0);
}

// A request has to be forgotten one day. The sweep for that is promised already, so nobody is woken for each
// further one.
TEST(SqliteSweep, IsAnnouncedOnceAlsoWhenOthersWriteToTheFile) {
  const support::TemporaryFolder folder;
  const ManualClock clock;
  const auto store = sqlite(folder / "a.db", {.clock = &clock});
  const auto other = sqlite(folder / "a.db", {.clock = &clock});
  const StartRequest request{.instance = "i", .code = {"o", "1"}, .request = {1, 1}};
  ASSERT_TRUE(store->start(std::span(&request, 1)).at(0));
  ASSERT_TRUE(tell(*store, 2));
  ASSERT_TRUE(store->sweep({}));
  const auto listener = store->listen(kSweep, {});
  const auto is_announced = [&] { return listener->wait(clock.boot_now()).work.has(kSweep); };
  (void)is_announced();
  ASSERT_TRUE(tell(*other, 3));
  (void)is_announced();  // the other one has promised nothing so far
  ASSERT_TRUE(tell(*store, 4));
  EXPECT_FALSE(is_announced());
}

}  // namespace
}  // namespace holdfast::sqlite_store::sweep_test
