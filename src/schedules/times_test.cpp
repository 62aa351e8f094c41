#include "schedules/times.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/schedule_spec.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::schedules::times_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

CalendarTime utc(int year, unsigned month, unsigned day, Duration time = {}) {
  return CalendarTime(sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day))) +
         time;
}

std::string two(long value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// "03-28 02:30", as a clock of the zone shows it.
std::string shown(const Zone& zone, CalendarTime time) {
  const LocalTime local = zone.local(std::chrono::floor<std::chrono::seconds>(time));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(local - day);
  return two(unsigned{date.month()}) + "-" + two(unsigned{date.day()}) + " " + two(clock.hours().count()) +
         ":" + two(clock.minutes().count());
}

std::vector<std::string> shown_between(const ScheduleSpec& spec, CalendarTime from, CalendarTime until) {
  const Zone zone(spec.time_zone);
  const Times times(spec);
  std::vector<std::string> all;
  for (auto time = times.next(from - Duration(1)); time && *time < until; time = times.next(*time))
    all.push_back(shown(zone, *time));
  return all;
}
using Texts = std::vector<std::string>;

ScheduleSpec berlin(const std::string& cron) { return {.cron = {cron}, .time_zone = "Europe/Berlin"}; }

TEST(ScheduleTimes, AFixedHourThatIsLeftOutRunsAtTheFirstInstantAfterIt) {
  EXPECT_EQ(shown_between(berlin("30 2 * * *"), utc(2027, 3, 27), utc(2027, 3, 30)),
            (Texts{"03-27 02:30", "03-28 03:00", "03-29 02:30"}));
  // All of them fall together, and with one that is fixed at that instant.
  EXPECT_EQ(shown_between(berlin("*/20 2,3 * * *"), utc(2027, 3, 28), utc(2027, 3, 29)),
            (Texts{"03-28 03:00", "03-28 03:20", "03-28 03:40"}));
}

TEST(ScheduleTimes, AFixedHourThatComesTwiceRunsTheFirstTime) {
  const Times times(berlin("30 2 * * *"));
  EXPECT_EQ(times.next(utc(2027, 10, 31)), utc(2027, 10, 31, 30min));
  EXPECT_EQ(times.next(utc(2027, 10, 31, 30min)), utc(2027, 11, 1, 90min));
  // Asked in the hour that comes again.
  EXPECT_EQ(times.next(utc(2027, 10, 31, 75min)), utc(2027, 11, 1, 90min));
}

TEST(ScheduleTimes, AStepOrAnyHourFollowsTheTimeThatPasses) {
  EXPECT_EQ(shown_between(berlin("30 * * * *"), utc(2027, 3, 27, 23h), utc(2027, 3, 28, 3h)),
            (Texts{"03-28 00:30", "03-28 01:30", "03-28 03:30", "03-28 04:30"}));
  EXPECT_EQ(shown_between(berlin("30 * * * *"), utc(2027, 10, 30, 23h), utc(2027, 10, 31, 2h)),
            (Texts{"10-31 01:30", "10-31 02:30", "10-31 02:30"}));
  EXPECT_EQ(shown_between(berlin("0 */2 * * *"), utc(2027, 3, 27, 23h), utc(2027, 3, 28, 5h)),
            (Texts{"03-28 00:00", "03-28 04:00", "03-28 06:00"}));
}

TEST(ScheduleTimes, IntervalsCountFromTheEpochWhateverTheZone) {
  const ScheduleSpec spec{.intervals = {{.every = 6h, .offset = 1h}}, .time_zone = "Europe/Berlin"};
  EXPECT_EQ(next_times(spec, utc(2027, 3, 28), 3),
            (std::vector{utc(2027, 3, 28, 1h), utc(2027, 3, 28, 7h), utc(2027, 3, 28, 13h)}));
  EXPECT_EQ(next_times(spec, utc(2027, 3, 28, 1h), 1), std::vector{utc(2027, 3, 28, 7h)});
  EXPECT_EQ(next_times(spec, utc(1969, 12, 31, 20h), 1), std::vector{utc(1970, 1, 1, 1h)});
  EXPECT_EQ(next_times({.intervals = {{.every = 1500ms}}}, CalendarTime(2s), 2),
            (std::vector{CalendarTime(3s), CalendarTime(4500ms)}));
}

TEST(ScheduleTimes, BeginIn1970HoweverEarlyTheyAreAskedFor) {
  for (const CalendarTime early : {CalendarTime::min(), CalendarTime(Duration(-1)), utc(1969, 1, 1)}) {
    EXPECT_EQ(next_times({.intervals = {{.every = 6h, .offset = 1h}}}, early, 1),
              std::vector{utc(1970, 1, 1, 1h)});
    EXPECT_EQ(next_times({.intervals = {{.every = 6h}}}, early, 1), std::vector{utc(1970, 1, 1)});
    EXPECT_EQ(next_times({.cron = {"@daily"}, .from = early}, early, 1), std::vector{utc(1970, 1, 1)});
  }
  EXPECT_TRUE(next_times({.cron = {"@daily"}}, CalendarTime::max(), 1).empty());
  EXPECT_TRUE(next_times({.intervals = {{.every = 6h}}}, CalendarTime::max(), 1).empty());
}

TEST(ScheduleTimes, SeveralSpecsAreOneScheduleAndATimeOfTwoCountsOnce) {
  const ScheduleSpec spec{.cron = {"0 12 * * *", "0 18 * * fri"},
                          .calendars = {{.day_of_month = "last", .hour = "12"}},
                          .intervals = {{.every = 24h, .offset = 12h}}};
  EXPECT_EQ(next_times(spec, utc(2027, 1, 1), 3),  // a Friday
            (std::vector{utc(2027, 1, 1, 12h), utc(2027, 1, 1, 18h), utc(2027, 1, 2, 12h)}));
}

TEST(ScheduleTimes, ExclusionsTakeTimesAway) {
  const ScheduleSpec spec{
      .cron = {"0 9,21 * * *"},
      .excluded_cron = {"* * * * sat,sun"},
      .excluded_calendars = {{.month = "1", .day_of_month = "1"}, {.day_of_month = "4", .hour = "0-12"}}};
  EXPECT_EQ(next_times(spec, utc(2027, 1, 1), 2), (std::vector{utc(2027, 1, 4, 21h), utc(2027, 1, 5, 9h)}));
  // Days on end are left out at once, also each second of them.
  EXPECT_EQ(next_times({.cron = {"* * * * * *"}, .excluded_calendars = {{.year = "2000-2040"}}},
                       utc(2027, 1, 1), 1),
            std::vector{utc(2041, 1, 1)});
}

TEST(ScheduleTimes, AreWithinItsBeginningAndItsEnd) {
  const ScheduleSpec spec{.cron = {"@daily"}, .from = utc(2027, 1, 2), .until = utc(2027, 1, 4)};
  EXPECT_EQ(next_times(spec, utc(2020, 1, 1), 9), (std::vector{utc(2027, 1, 2), utc(2027, 1, 3)}));
}

std::string refusal(const ScheduleSpec& spec) {
  try {
    static_cast<void>(Times(spec));
  } catch (const Error& e) {
    EXPECT_EQ(e.failure().type, "invalid_schedule");
    return e.failure().message;
  }
  return "taken";
}

TEST(ScheduleTimes, WhatIsNoScheduleIsRefused) {
  EXPECT_EQ(refusal({}), "a schedule needs a cron text, a calendar or an interval; this one has none");
  EXPECT_EQ(refusal({.intervals = {{.every = 10ms}}}), "an interval of a schedule is below a second");
  EXPECT_EQ(refusal({.intervals = {{.every = never}}}), "an interval of a schedule is above a hundred years");
  EXPECT_EQ(refusal({.intervals = {{.every = 1h, .offset = 1h}}}),
            "the offset of an interval is from 0 up to the interval, which it does not reach");
  EXPECT_EQ(refusal({.cron = {"@daily"}, .from = utc(2027, 1, 1), .until = utc(2027, 1, 1)}),
            "a schedule ends before it begins: `until` is not after `from`");
  const std::string nothing =
      "a schedule names no time at all: everything is excluded, or lies outside of `from` and `until`";
  EXPECT_EQ(refusal({.cron = {"@daily"}, .excluded_calendars = {{}}}), nothing);
  EXPECT_EQ(refusal({.cron = {"* * * * * *"}, .excluded_calendars = {{.hour = "0-11"}, {.hour = "12-23"}}}),
            nothing);
  EXPECT_EQ(refusal({.cron = {"@yearly"}, .from = utc(2027, 1, 2), .until = utc(2027, 2, 1)}), nothing);
  EXPECT_EQ(
      refusal({.calendars = {{.year = "1970", .month = "1", .day_of_month = "1"}}, .from = utc(2027, 1, 2)}),
      nothing);
}

// The definition, at each five minutes of real time, next to what the search finds; in zones with odd
// changes.
TEST(ScheduleTimes, AreThoseOfTheDefinitionInManyZones) {
  for (const char* zone_name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                "Africa/Casablanca", "Asia/Kathmandu", "America/St_Johns", "UTC"}) {
    const Zone zone(zone_name);
    for (const char* cron : {"30 2 * * *", "*/30 1-3 * * *", "15 */2 * * *", "5 * * * *", "0 0 * * *"}) {
      const Times times({.cron = {cron}, .time_zone = zone_name});
      const Pattern pattern = parse_cron(cron, Use::times);
      const Instant begin = sys_days(std::chrono::year(2027) / 1 / 1);
      auto next = times.next(CalendarTime(begin - 1s));
      LocalTime shown_before = zone.local(begin - 1s);  // the latest local time that a clock has shown so far
      for (Instant at = begin; at < begin + 366 * 24h; at += 5min) {
        const LocalTime local = zone.local(at);
        bool runs = pattern.follows_elapsed && pattern.takes(local);
        if (!pattern.follows_elapsed) {  // something that it takes has just been shown, or passed over, for
                                         // the first time
          const auto reached = next_match(pattern, shown_before + 1s);
          runs = reached && *reached <= local;
        }
        shown_before = std::max(shown_before, local);
        ASSERT_EQ(next == CalendarTime(at), runs) << zone_name << ", " << cron << ", " << shown(zone, at);
        if (runs) next = times.next(CalendarTime(at));
      }
    }
  }
}

// The table in the guide: what runs on the days on which clocks change.
TEST(ScheduleTimes, OnTheDaysOfBothChangesAreThoseOfTheGuide) {
  struct Change {
    const char* zone;
    CalendarTime from;
    CalendarTime until;
  };
  const std::vector<Change> changes = {
      {"America/New_York", utc(2027, 3, 14, 5h), utc(2027, 3, 14, 9h)},
      {"America/New_York", utc(2027, 11, 7, 4h), utc(2027, 11, 7, 9h)},
      {"Europe/Berlin", utc(2027, 3, 27, 23h), utc(2027, 3, 28, 3h)},
      {"Europe/Berlin", utc(2027, 10, 30, 22h), utc(2027, 10, 31, 3h)},
      {"Australia/Lord_Howe", utc(2027, 10, 2, 14h), utc(2027, 10, 2, 17h)},
      {"Australia/Lord_Howe", utc(2027, 4, 3, 13h), utc(2027, 4, 3, 17h)},
  };
  std::ostringstream table;
  table << "| zone, day | `15 2 * * *` | `45 1 * * *` | `30 * * * *` |\n|---|---|---|---|\n";
  for (const Change& change : changes) {
    table << "| " << change.zone << ", 2027-" << shown(Zone(change.zone), change.from + 1h).substr(0, 5);
    for (const char* cron : {"15 2 * * *", "45 1 * * *", "30 * * * *"}) {
      table << " |";
      for (const std::string& text :
           shown_between({.cron = {cron}, .time_zone = change.zone}, change.from, change.until))
        table << " " << text.substr(6);
    }
    table << " |\n";
  }
  std::ifstream page("docs/guide/schedules.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  EXPECT_NE(text.find(table.str()), std::string::npos) << "docs/guide/schedules.md should hold\n"
                                                       << table.str();
}

}  // namespace
}  // namespace holdfast::schedules::times_test
