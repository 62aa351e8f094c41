#include "runtime/store_calendar.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::store_calendar_test {
namespace {

using namespace std::chrono_literals;

TEST(StoreCalendar, GoesOnFromWhatTheStoreSaidLast) {
  constexpr BootTime kNow{5s};
  constexpr CalendarTime kCalendar{1000s};
  StoreCalendar calendar;
  calendar.read(kCalendar, kNow);
  EXPECT_EQ(calendar.at(kNow), kCalendar);
  EXPECT_EQ(calendar.at(kNow + 3s), kCalendar + 3s);
  calendar.read(kCalendar - 100s, kNow + 4s);  // somebody has set the store's clock
  EXPECT_EQ(calendar.at(kNow + 5s), kCalendar - 99s);
}

}  // namespace
}  // namespace holdfast::runtime::store_calendar_test
