#include "schedules/pattern.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::schedules::parse_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::local_days;

constexpr LocalTime kStart = local_days(std::chrono::year(2027) / 1 / 1);  // a Friday

std::string text_of(LocalTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

// The first times that a pattern takes, from 2027 on.
std::vector<std::string> first(const Pattern& pattern, std::size_t count) {
  std::vector<std::string> all;
  for (std::optional<LocalTime> at = kStart; all.size() < count; *at += 1s) {
    at = next_match(pattern, *at);
    if (!at) break;
    EXPECT_TRUE(pattern.takes(*at));
    all.push_back(text_of(*at));
  }
  return all;
}
std::vector<std::string> first(const std::string& cron, std::size_t count = 3) {
  return first(parse_cron(cron, Use::times), count);
}
using Texts = std::vector<std::string>;

TEST(Cron, NamesTimes) {
  EXPECT_EQ(first("30 9 * * *"),
            (Texts{"2027-01-01 09:30:00", "2027-01-02 09:30:00", "2027-01-03 09:30:00"}));
  EXPECT_EQ(first("*/25 * * * *"),
            (Texts{"2027-01-01 00:00:00", "2027-01-01 00:25:00", "2027-01-01 00:50:00"}));
  EXPECT_EQ(first("5/20 1-2 * * *", 4), (Texts{"2027-01-01 01:05:00", "2027-01-01 01:25:00",
                                               "2027-01-01 01:45:00", "2027-01-01 02:05:00"}));
  EXPECT_EQ(first("0 0 1,15 * *"),
            (Texts{"2027-01-01 00:00:00", "2027-01-15 00:00:00", "2027-02-01 00:00:00"}));
  EXPECT_EQ(first("0 12 * FEB-mar Mon"),
            (Texts{"2027-02-01 12:00:00", "2027-02-08 12:00:00", "2027-02-15 12:00:00"}));
  EXPECT_EQ(first("15,45 30 8 1 1 *", 3),
            (Texts{"2027-01-01 08:30:15", "2027-01-01 08:30:45", "2028-01-01 08:30:15"}));
  EXPECT_EQ(first("  0\t6 * *  fri-sun ", 4), (Texts{"2027-01-01 06:00:00", "2027-01-02 06:00:00",
                                                     "2027-01-03 06:00:00", "2027-01-08 06:00:00"}));
  EXPECT_EQ(first("0 6 * * 7", 1), (Texts{"2027-01-03 06:00:00"}));
}

TEST(Cron, HasShorthands) {
  EXPECT_EQ(first("@yearly", 2), (Texts{"2027-01-01 00:00:00", "2028-01-01 00:00:00"}));
  EXPECT_EQ(first("@monthly", 2), (Texts{"2027-01-01 00:00:00", "2027-02-01 00:00:00"}));
  EXPECT_EQ(first("@weekly", 2), (Texts{"2027-01-03 00:00:00", "2027-01-10 00:00:00"}));
  EXPECT_EQ(first("@Daily", 2), (Texts{"2027-01-01 00:00:00", "2027-01-02 00:00:00"}));
  EXPECT_EQ(first("@hourly", 2), (Texts{"2027-01-01 00:00:00", "2027-01-01 01:00:00"}));
}

TEST(Cron, TakesEitherDayWhenBothAreGiven) {
  EXPECT_EQ(first("0 0 13 * fri", 4), (Texts{"2027-01-01 00:00:00", "2027-01-08 00:00:00",
                                             "2027-01-13 00:00:00", "2027-01-15 00:00:00"}));
  EXPECT_EQ(first("0 0 */2 * mon", 2), (Texts{"2027-01-11 00:00:00", "2027-01-25 00:00:00"}));  // both
}

TEST(Cron, StepsOfDaysOfTheWeekEndWithSaturday) {
  EXPECT_EQ(first("0 0 * * 1/3", 3),
            (Texts{"2027-01-04 00:00:00", "2027-01-07 00:00:00", "2027-01-11 00:00:00"}));
  EXPECT_EQ(first("0 0 * * 7/3", 2), (Texts{"2027-01-03 00:00:00", "2027-01-10 00:00:00"}));
}

TEST(Cron, KnowsLastDaysAndLeapDays) {
  EXPECT_EQ(first("0 0 L * *"), (Texts{"2027-01-31 00:00:00", "2027-02-28 00:00:00", "2027-03-31 00:00:00"}));
  EXPECT_EQ(first("0 0 30,last 2,4 *", 4), (Texts{"2027-02-28 00:00:00", "2027-04-30 00:00:00",
                                                  "2028-02-29 00:00:00", "2028-04-30 00:00:00"}));
  EXPECT_EQ(first("0 0 29 2 *", 2), (Texts{"2028-02-29 00:00:00", "2032-02-29 00:00:00"}));
}

TEST(Calendars, TakeWhatFitsAllParts) {
  EXPECT_EQ(first(parse_calendar({.day_of_month = "13", .day_of_week = "fri", .hour = "8"}, Use::times), 2),
            (Texts{"2027-08-13 08:00:00", "2028-10-13 08:00:00"}));
  EXPECT_EQ(first(parse_calendar({.year = "2030-2031", .month = "6", .day_of_month = "1"}, Use::times), 9),
            (Texts{"2030-06-01 00:00:00", "2031-06-01 00:00:00"}));
  EXPECT_EQ(first(parse_calendar({.year = "2096,2104", .month = "2", .day_of_month = "29"}, Use::times), 9),
            (Texts{"2096-02-29 00:00:00", "2104-02-29 00:00:00"}));
}

TEST(Calendars, AreWholeDaysInExclusions) {
  EXPECT_TRUE(parse_calendar({.month = "dec", .day_of_month = "25"}, Use::exclusion).takes_whole_days());
  EXPECT_FALSE(parse_calendar({.month = "dec", .day_of_month = "25"}, Use::times).takes_whole_days());
  EXPECT_FALSE(parse_calendar({.month = "dec", .hour = "9-17"}, Use::exclusion).takes_whole_days());
  EXPECT_TRUE(parse_cron("0-59 0-23 25 12 *", Use::exclusion).takes_whole_days());
}

TEST(Patterns, FollowTheTimeThatPassesWhenTheirHourIsOpen) {
  EXPECT_TRUE(parse_cron("0 * * * *", Use::times).follows_elapsed);
  EXPECT_TRUE(parse_cron("0 */2 * * *", Use::times).follows_elapsed);
  EXPECT_TRUE(parse_cron("0 1/2 * * *", Use::times).follows_elapsed);
  EXPECT_TRUE(parse_cron("@hourly", Use::times).follows_elapsed);
  EXPECT_FALSE(parse_cron("*/5 2 * * *", Use::times).follows_elapsed);
  EXPECT_FALSE(parse_cron("0 1-5 * * *", Use::times).follows_elapsed);
  EXPECT_FALSE(parse_cron("@daily", Use::times).follows_elapsed);
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& e) {
    EXPECT_EQ(e.failure().type, "invalid_schedule");
    return e.failure().message;
  }
  return "taken";
}

TEST(Cron, WhatIsNoneIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"",
       "the cron text '' has 0 fields; it takes minute, hour, day of month, month and day of week, and may "
       "begin "
       "with the second"},
      {"* * * *",
       "the cron text '* * * *' has 4 fields; it takes minute, hour, day of month, month and day of week, "
       "and may begin with the second"},
      {"@often", "the cron text '@often' is none of @yearly, @monthly, @weekly, @daily and @hourly"},
      {"61 * * * *",
       "in the cron text '61 * * * *' the minute '61' has '61', where a number from 0 to 59 should stand"},
      {"* 24 * * *",
       "in the cron text '* 24 * * *' the hour '24' has '24', where a number from 0 to 23 should stand"},
      {"* * 0 * *",
       "in the cron text '* * 0 * *' the day of month '0' has '0', where a number from 1 to 31 should stand"},
      {"* * * foo *",
       "in the cron text '* * * foo *' the month 'foo' has 'foo', where a number from 1 to 12 or a name "
       "such as jan should stand"},
      {"* * * * 1,8",
       "in the cron text '* * * * 1,8' the day of week '1,8' has '8', where a number from 0 to 7 or a "
       "name such as sun should stand"},
      {"5-2 * * * *",
       "in the cron text '5-2 * * * *' the minute '5-2' has '5-2', which ends before it begins"},
      {"*/0 * * * *",
       "in the cron text '*/0 * * * *' the minute '*/0' has '*/0', whose step is no number above 0"},
      {"*/ * * * *",
       "in the cron text '*/ * * * *' the minute '*/' has '*/', whose step is no number above 0"},
      {"1, * * * *",
       "in the cron text '1, * * * *' the minute '1,' has '1,', which is no list of values between commas"},
      {"-5 * * * *",
       "in the cron text '-5 * * * *' the minute '-5' has '', where a number from 0 to 59 should stand"},
      {"1--5 * * * *",
       "in the cron text '1--5 * * * *' the minute '1--5' has '-5', where a number from 0 to 59 should "
       "stand"},
      {"9999999999 * * * *",
       "in the cron text '9999999999 * * * *' the minute '9999999999' has '9999999999', where a "
       "number from 0 to 59 should stand"},
      {"0 0 30 2 *", "the cron text '0 0 30 2 *' names no day that any year has"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(refusal([&] { parse_cron(text, Use::times); }), message);
  }
}

TEST(Calendars, WhatIsNoneIsRefused) {
  EXPECT_EQ(refusal([] { parse_calendar({.year = "1969"}, Use::times); }),
            "in a calendar the year '1969' has '1969', where a number from 1970 to 9999 should stand");
  EXPECT_EQ(refusal([] { parse_calendar({.year = "2027", .month = "2", .day_of_month = "29"}, Use::times); }),
            "a calendar names no day that any year has");
}

// Next to what a clear loop over each second, or each day, finds.
TEST(Patterns, FindWhatALoopOverAllTimesFinds) {
  for (const char* cron :
       {"*/7 */3 * * *", "59 23 31 12 *", "0 0 29 2 mon", "13,14 5-7 1-7 */2 tue,thu", "0 0 last * fri"}) {
    const Pattern pattern = parse_cron(cron, Use::times);
    std::optional<LocalTime> next = next_match(pattern, kStart);
    for (LocalTime at = kStart; at < kStart + 800 * 24h; at += 1min) {
      ASSERT_EQ(pattern.takes(at), next == at) << cron << " at " << text_of(at);
      if (next == at) next = next_match(pattern, at + 1s);
    }
  }
}

}  // namespace
}  // namespace holdfast::schedules::parse_test
