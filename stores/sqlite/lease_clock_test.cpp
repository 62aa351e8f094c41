#include "stores/sqlite/lease_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holdfast::sqlite_store {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000;

Connection new_database() {
  Connection db(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  db.exec(kLeaseClockSchema);
  return db;
}

std::int64_t committed_now(Connection& db, LeaseClock& lease) {
  db.begin_immediate();
  const std::int64_t now = lease.now();
  db.commit();
  return now;
}

TEST(SqliteLeaseClock, GoesAsTheBootClockGoes) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock lease(db, clock, "boot a");
  const std::int64_t start = committed_now(db, lease);
  EXPECT_EQ(start, LeaseClock::kStart.count());
  clock.advance(3s);
  clock.step_calendar(-24h);
  EXPECT_EQ(committed_now(db, lease), start + 3 * kSecond);
  EXPECT_EQ(lease.look(), start + 3 * kSecond);
  clock.advance(1h);
  EXPECT_EQ(committed_now(db, lease), start + 3603 * kSecond);
  EXPECT_EQ(lease.to_boot(start + 3604 * kSecond), clock.boot_now() + 1s);
}

TEST(SqliteLeaseClock, IsTheSameForAllProcessesOfABoot) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock first(db, clock, "boot a");
  const std::int64_t start = committed_now(db, first);
  clock.advance(2min);
  LeaseClock second(db, clock, "boot a");
  EXPECT_EQ(committed_now(db, second), start + 120 * kSecond);
  EXPECT_EQ(committed_now(db, first), start + 120 * kSecond);
}

TEST(SqliteLeaseClock, GoesOnAfterARebootWithoutGoingBack) {
  Connection db = new_database();
  ManualClock before;
  LeaseClock lease(db, before, "boot a");
  committed_now(db, lease);
  before.advance(100h + 9s);
  const std::int64_t last = committed_now(db, lease);

  const ManualClock after(ManualClock::kCalendarStart, BootTime{5s});
  LeaseClock next(db, after, "boot b");
  const std::int64_t first = committed_now(db, next);
  EXPECT_GE(first, last);
  EXPECT_LE(first, last + LeaseClock::kAhead.count());
}

TEST(SqliteLeaseClock, DoesNotFollowABootClockThatWasSetBack) {
  Connection db = new_database();
  ManualClock clock;
  clock.advance(1h);
  LeaseClock lease(db, clock, "boot a");
  const std::int64_t last = committed_now(db, lease);
  const ManualClock restored;
  LeaseClock next(db, restored, "boot a");
  EXPECT_GE(committed_now(db, next), last);
}

TEST(SqliteLeaseClock, WritesNowAndThenOnly) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock lease(db, clock, "boot a");
  committed_now(db, lease);
  const auto written = sqlite3_total_changes64(db.get());
  for (int i = 0; i < 9; ++i) {
    clock.advance(1s);
    committed_now(db, lease);
  }
  EXPECT_EQ(sqlite3_total_changes64(db.get()), written);
  clock.advance(1s);
  committed_now(db, lease);
  EXPECT_EQ(sqlite3_total_changes64(db.get()), written + 1);
}

TEST(SqliteLeaseClock, ReadsTheBootIdOfThisMachine) {
  EXPECT_EQ(current_boot_id().size(), 36U);
  EXPECT_EQ(current_boot_id(), current_boot_id());
}

// Reboots, rollbacks and time that passes, in any order.
RC_GTEST_PROP(SqliteLeaseClock, NeverTellsAnEarlierTimeThanOneThatWasCommitted, ()) {
  Connection db = new_database();
  auto clock = std::make_unique<ManualClock>();
  auto lease = std::make_unique<LeaseClock>(db, *clock, "boot 0");
  int boots = 0;
  std::int64_t last = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8))) {
    if (step == 0) {
      const auto up = std::chrono::seconds{*rc::gen::inRange(0, 10'000)};
      clock = std::make_unique<ManualClock>(ManualClock::kCalendarStart, BootTime{up});
      lease = std::make_unique<LeaseClock>(db, *clock, "boot " + std::to_string(++boots));
    } else if (step == 1) {
      db.begin_immediate();
      lease->now();
      db.rollback();
    } else {
      clock->advance(std::chrono::milliseconds{*rc::gen::inRange(0, 30'000)});
      const std::int64_t now = committed_now(db, *lease);
      RC_ASSERT(now >= last);
      last = now;
    }
  }
}

}  // namespace
}  // namespace holdfast::sqlite_store
