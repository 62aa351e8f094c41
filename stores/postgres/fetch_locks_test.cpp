// What a fetch of activities locks is passed over by those who come at the same time: it must be what it
// takes and little more, and who may have passed over the rest is told of it.
#include "calls_test.hpp"

#include <future>
#include <string>

namespace holdfast::postgres_store::fetch_locks_test {
namespace {

using namespace std::chrono_literals;

/// How the sessions of the items begin.
enum class Bound : std::uint8_t { free, implicitly, explicitly };

/// Schedules one item, of an instance of its own. Its session is new.
void schedule_one(TestWorker& worker, Bound bound, const std::string& name) {
  if (bound == Bound::free) return static_cast<void>(worker.schedule(name, {""}));
  const std::string session = "session of " + name;
  if (bound == Bound::implicitly) return static_cast<void>(worker.schedule(name, {session}));
  const store::LockedTurn turn = worker.schedule(name, {}, true);
  store::TurnCommit commit = TestWorker::end_of(turn);
  commit.open_sessions = {{.id = session, .policy = {.on_record = true}}};
  commit.watch_sessions = {session};
  commit.activities = {{.event = {2}, .name = worker.activity, .session = store::SessionUse{.id = session}}};
  ASSERT_TRUE(worker.commit(commit));
}

/// Two workers of two processes; the first is stopped at the end of its fetch, with all that it has locked.
class FetchLocks : public testing::TestWithParam<Bound> {
 protected:
  ~FetchLocks() override { pause_.release(); }

  void schedule(int items) {
    for (int i = 0; i < items; ++i) schedule_one(turns_, GetParam(), "order-" + std::to_string(i));
  }
  /// How many rows of a table nobody has locked.
  [[nodiscard]] std::int64_t unlocked(const std::string& table) const {
    return schema_.number("SELECT count(*) FROM (SELECT 1 FROM " + table + " FOR UPDATE SKIP LOCKED) AS r");
  }
  std::future<StoreResult<store::FetchedActivities>> stop_in_fetch(std::size_t max) {
    pause_.arm();
    auto fetched = std::async(std::launch::async, [this, max] { return first_.fetch(max); });
    pause_.until_reached();
    return fetched;
  }

  TestSchema schema_{};
  Pause pause_{"postgres.commit"};
  TestWorker turns_{schema_.open(), "turns", 0};
  TestWorker first_{schema_.open({.faults = &pause_}), "a"};
  TestWorker second_{schema_.open(), "b"};
};
std::string name_of(const testing::TestParamInfo<Bound>& info) {
  return info.param == Bound::free ? "Free" : info.param == Bound::implicitly ? "Implicit" : "Explicit";
}
INSTANTIATE_TEST_SUITE_P(Items, FetchLocks,
                         testing::Values(Bound::free, Bound::implicitly, Bound::explicitly), name_of);

/// The same with items of sessions only.
class SessionFetchLocks : public FetchLocks {};
INSTANTIATE_TEST_SUITE_P(Items, SessionFetchLocks, testing::Values(Bound::implicitly, Bound::explicitly),
                         name_of);

TEST_P(FetchLocks, WhoComesAtTheSameTimeFindsWhatTheFirstHasNoRoomFor) {
  schedule(2);
  auto first = stop_in_fetch(1);
  const auto second = second_.fetch(1);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->activities.size(), 1U);
  pause_.release();
  EXPECT_EQ(first.get()->activities.size(), 1U);
}

TEST_P(FetchLocks, NothingBeyondWhatIsTakenIsLocked) {
  schedule(12);
  auto first = stop_in_fetch(2);
  const bool free = GetParam() == Bound::free;
  EXPECT_EQ(unlocked(free ? "activities" : "sessions"), 10);
  pause_.release();
  EXPECT_EQ(first.get()->activities.size(), 2U);
}

TEST_P(SessionFetchLocks, AWorkerThatOwnsManySessionsLocksThoseThatItTakesItemsOf) {
  schedule(6);
  std::size_t owned = 0;
  for (store::FetchedActivities fetched; owned < 6; owned += fetched.activities.size()) {
    fetched = first_.fetch(10).value();
    for (const auto& activity : fetched.activities) ASSERT_TRUE(first_.finish(activity.id, first_.token));
  }
  for (int i = 0; i < 6; ++i) {
    turns_.schedule("more-" + std::to_string(i), {"session of order-" + std::to_string(i)});
  }
  auto first = stop_in_fetch(2);
  EXPECT_EQ(unlocked("sessions"), 4);
  pause_.release();
  const auto fetched = first.get();
  EXPECT_EQ(fetched->activities.size(), 2U);
  EXPECT_TRUE(fetched->left_behind);
}

TEST_P(SessionFetchLocks, AWorkerWithoutRoomForSessionsLocksNone) {
  first_.abilities.session_limit = 1;
  ASSERT_TRUE(first_.store->acquire_session(first_.key, first_.abilities, "quiet", {}));
  schedule(1);
  auto first = stop_in_fetch(5);
  const auto second = second_.fetch(1);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->activities.size(), 1U);
  pause_.release();
  const auto fetched = first.get();
  EXPECT_TRUE(fetched->activities.empty());
  EXPECT_TRUE(fetched->wants_capacity) << "it would make room";
}

// Which of two kinds of items comes first is known when both are locked.
TEST_P(SessionFetchLocks, WhatWasLockedAndNotTakenIsTold) {
  schedule_one(turns_, Bound::free, "older");
  schedule(1);
  const auto ear = second_.store->listen(store::kActivities, second_.key);
  const auto first = first_.fetch(1);
  ASSERT_EQ(first->activities.size(), 1U);
  EXPECT_FALSE(first->activities.front().session);
  EXPECT_TRUE(ear->wait(real_clock().boot_now() + 10s).work.has(store::kActivities));
  EXPECT_EQ(second_.fetch(1)->activities.size(), 1U);
}

TEST_P(FetchLocks, NobodyIsToldOfWhatWasNotLocked) {
  schedule(3);
  // What a handle tells itself is there when the call returns.
  const auto ear = first_.store->listen(store::kActivities, first_.key);
  const auto is_told = [&] { return !ear->wait(real_clock().boot_now()).work.empty(); };
  EXPECT_EQ(first_.fetch(1)->activities.size(), 1U);
  EXPECT_FALSE(is_told());
  EXPECT_EQ(second_.fetch(2)->activities.size(), GetParam() == Bound::free ? 2U : 1U);
  static_cast<void>(first_.fetch(1));
  EXPECT_FALSE(is_told());
}

// What others hold locked for another reason is not waited for, and is looked for again soon.
TEST_P(FetchLocks, WhatIsLockedByOthersIsLookedForAgainSoon) {
  schedule(1);
  Intruder intruder(schema_);
  intruder.run("SELECT 1 FROM " + std::string(GetParam() == Bound::free ? "activities" : "sessions") +
               " FOR UPDATE");
  const auto fetched = first_.fetch(1);
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_TRUE(fetched->activities.empty());
  EXPECT_LE(fetched->next_due, 100ms);
  intruder.leave();
  EXPECT_EQ(first_.fetch(1)->activities.size(), 1U);
  EXPECT_GT(first_.fetch(1)->next_due, 1min) << "nobody has anything in his hands any more";
}

}  // namespace
}  // namespace holdfast::postgres_store::fetch_locks_test
