#include <holdfast/clock.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_convertible_v<BootTime, CalendarTime>);
static_assert(!std::is_constructible_v<CalendarTime, BootTime>);

TEST(Clock, TheRealClocksTellTheTimeOfTheMachine) {
  const auto before = std::chrono::system_clock::now();
  const CalendarTime calendar = real_clock().calendar_now();
  const auto after = std::chrono::system_clock::now();
  EXPECT_GE(calendar, std::chrono::floor<std::chrono::microseconds>(before));
  EXPECT_LE(calendar, after);
}

TEST(Clock, RealBootTimeStandsAfterBootAndNeverGoesBack) {
  BootTime last{};
  for (int i = 0; i < 1000; ++i) {
    const BootTime now = real_clock().boot_now();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, BootTime{});
}

TEST(ManualClock, StandsStillUntilItIsMoved) {
  const ManualClock clock;
  EXPECT_EQ(clock.calendar_now(), ManualClock::kCalendarStart);
  EXPECT_EQ(clock.boot_now(), ManualClock::kBootStart);
  const ManualClock other(CalendarTime{5s}, BootTime{7s});
  EXPECT_EQ(other.calendar_now().time_since_epoch(), 5s);
  EXPECT_EQ(other.boot_now().time_since_epoch(), 7s);
}

TEST(ManualClock, MovesBothTimesTogetherOrEachAlone) {
  ManualClock clock(CalendarTime{100s}, BootTime{10s});
  clock.advance(3s);
  EXPECT_EQ(clock.calendar_now(), CalendarTime{103s});
  EXPECT_EQ(clock.boot_now(), BootTime{13s});
  clock.advance_boot(2s);
  EXPECT_EQ(clock.calendar_now(), CalendarTime{103s});
  EXPECT_EQ(clock.boot_now(), BootTime{15s});
  clock.step_calendar(-50s);
  EXPECT_EQ(clock.calendar_now(), CalendarTime{53s});
  clock.set_calendar(CalendarTime{1s});
  EXPECT_EQ(clock.calendar_now(), CalendarTime{1s});
  EXPECT_EQ(clock.boot_now(), BootTime{15s});
}

TEST(ManualClock, RefusesToTurnBootTimeBack) {
  ManualClock clock;
  EXPECT_THROW(clock.advance(-1us), std::invalid_argument);
  EXPECT_THROW(clock.advance_boot(-1us), std::invalid_argument);
  EXPECT_EQ(clock.calendar_now(), ManualClock::kCalendarStart);
  EXPECT_EQ(clock.boot_now(), ManualClock::kBootStart);
}

TEST(ManualClock, LosesNoStepWhenManyThreadsMoveIt) {
  ManualClock clock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&clock] {
        for (int step = 0; step < 1000; ++step) clock.advance(1us);
      });
    }
  }
  EXPECT_EQ(clock.calendar_now(), ManualClock::kCalendarStart + 4000us);
  EXPECT_EQ(clock.boot_now(), ManualClock::kBootStart + 4000us);
}

}  // namespace
}  // namespace holdfast
