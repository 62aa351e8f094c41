#include "stores/sqlite/lease_clock.hpp"

#include "testkit/support/processes.hpp"
#include "testkit/support/small_disk.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace holdfast::sqlite_store::lease_clock_test {
namespace {

using support::kNotAllowed;
using support::Processes;
using support::TemporaryFolder;
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

/// Runs `work` where the boot clock is so many seconds ahead. Ends the process when it is not allowed to.
void in_time_namespace(std::int64_t seconds, const std::function<void()>& work) {
  if (seconds == 0) return work();
  if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) _exit(kNotAllowed);
  if (!(std::ofstream("/proc/self/timens_offsets") << "boottime " << seconds << " 0\n" << std::flush))
    _exit(kNotAllowed);
  Processes inside;  // it is for the children
  const pid_t pid = inside.start(work);
  _exit(inside.exit_code(pid));
}

TEST(SqliteLeaseClock, GoesAsTheBootClockGoes) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock lease(db, clock, "boot a", 0s);
  const std::int64_t start = committed_now(db, lease);
  EXPECT_EQ(start, LeaseClock::kStart.count());
  clock.advance(3s);
  clock.step_calendar(-24h);
  EXPECT_EQ(committed_now(db, lease), start + 3 * kSecond);
  EXPECT_EQ(lease.look(), start + 3 * kSecond);
  clock.advance(1h);
  EXPECT_EQ(committed_now(db, lease), start + 3603 * kSecond);
}

TEST(SqliteLeaseClock, IsTheSameForAllProcessesOfABoot) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock first(db, clock, "boot a", 0s);
  const std::int64_t start = committed_now(db, first);
  clock.advance(2min);
  LeaseClock second(db, clock, "boot a", 0s);
  EXPECT_EQ(committed_now(db, second), start + 120 * kSecond);
  EXPECT_EQ(committed_now(db, first), start + 120 * kSecond);
}

// Their clocks differ, by what the system says about their namespaces.
TEST(SqliteLeaseClock, IsTheSameInAllTimeNamespacesOfABoot) {
  Connection db = new_database();
  const std::vector<std::chrono::microseconds> offsets{0s, 10'000'000s, -30min, 1us};
  std::vector<std::unique_ptr<ManualClock>> clocks;
  std::vector<std::unique_ptr<LeaseClock>> leases;
  for (const auto offset : offsets) {
    clocks.push_back(
        std::make_unique<ManualClock>(ManualClock::kCalendarStart, ManualClock::kBootStart + offset));
    leases.push_back(std::make_unique<LeaseClock>(db, *clocks.back(), "boot a", offset));
  }
  for (int round = 0; round < 3; ++round) {
    const std::int64_t now = LeaseClock::kStart.count() + round * 60 * kSecond;
    for (std::size_t i = 0; i < leases.size(); ++i) {
      EXPECT_EQ(committed_now(db, *leases[i]), now) << i;
      EXPECT_EQ(leases[i]->look(), now) << i;
      clocks[i]->advance(1min);
    }
  }
}

// Real processes, each in a namespace of its own, one after the other on one file.
TEST(SqliteLeaseClock, OfProcessesInOtherTimeNamespacesIsThatOfTheMachine) {
  const TemporaryFolder folder;
  const std::string file = folder / "a.db";
  const std::string told = folder / "told";
  {
    Connection db(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    db.exec(kLeaseClockSchema);
  }
  const auto tell = [&] {
    Connection db(file, SQLITE_OPEN_READWRITE);
    LeaseClock lease(db, real_clock());
    std::ofstream(told, std::ios::app) << committed_now(db, lease) << "\n";
  };
  Processes processes;
  for (const std::int64_t offset : {0, 10'000'000, -60, 0}) {
    const int code = processes.exit_code(processes.start([&] { in_time_namespace(offset, tell); }));
    if (code == kNotAllowed)
      GTEST_SKIP() << "THIS USER MAY NOT HAVE A TIME NAMESPACE: only the arithmetic is tested";
    ASSERT_EQ(code, 0);
  }
  std::ifstream lines(told);
  const std::vector<std::int64_t> times{std::istream_iterator<std::int64_t>(lines), {}};
  ASSERT_EQ(times.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_LT(times.back() - times.front(), 1'000'000 * kSecond);
}

TEST(SqliteLeaseClock, GoesOnAfterARebootWithoutGoingBack) {
  Connection db = new_database();
  ManualClock before;
  LeaseClock lease(db, before, "boot a", 0s);
  committed_now(db, lease);
  before.advance(100h + 9s);
  const std::int64_t last = committed_now(db, lease);

  const ManualClock after(ManualClock::kCalendarStart, BootTime{5s});
  LeaseClock next(db, after, "boot b", 0s);
  const std::int64_t first = committed_now(db, next);
  EXPECT_GE(first, last);
  EXPECT_LE(first, last + LeaseClock::kAhead.count());
}

TEST(SqliteLeaseClock, DoesNotFollowABootClockThatWasSetBack) {
  Connection db = new_database();
  ManualClock clock;
  clock.advance(1h);
  LeaseClock lease(db, clock, "boot a", 0s);
  const std::int64_t last = committed_now(db, lease);
  const ManualClock restored;
  LeaseClock next(db, restored, "boot a", 0s);
  EXPECT_GE(committed_now(db, next), last);
}

TEST(SqliteLeaseClock, WritesNowAndThenOnly) {
  Connection db = new_database();
  ManualClock clock;
  LeaseClock lease(db, clock, "boot a", 0s);
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
  auto lease = std::make_unique<LeaseClock>(db, *clock, "boot 0", 0s);
  int boots = 0;
  std::int64_t last = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8))) {
    if (step == 0) {
      const auto up = std::chrono::seconds{*rc::gen::inRange(0, 10'000)};
      clock = std::make_unique<ManualClock>(ManualClock::kCalendarStart, BootTime{up});
      lease = std::make_unique<LeaseClock>(db, *clock, "boot " + std::to_string(++boots), 0s);
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
}  // namespace holdfast::sqlite_store::lease_clock_test
