#include "schedules/zone.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::schedules::zone_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::local_days;
using std::chrono::sys_days;

constexpr auto kSpring2027 = std::chrono::year(2027) / 3 / 28;   // Europe: 01:00 UTC, forward
constexpr auto kAutumn2027 = std::chrono::year(2027) / 10 / 31;  // back

TEST(Zone, ShowsLocalTimes) {
  const Zone berlin("Europe/Berlin");
  EXPECT_EQ(berlin.local(sys_days(kSpring2027) + 59min), local_days(kSpring2027) + 1h + 59min);
  EXPECT_EQ(berlin.local(sys_days(kSpring2027) + 1h), local_days(kSpring2027) + 3h);
  EXPECT_EQ(Zone("UTC").local(sys_days(kSpring2027)), local_days(kSpring2027));
}

TEST(Zone, TheTimesOfAGapAreShownAtItsEnd) {
  const Zone berlin("Europe/Berlin");
  EXPECT_EQ(berlin.first_showing(local_days(kSpring2027) + 1h + 59min), sys_days(kSpring2027) + 59min);
  EXPECT_EQ(berlin.first_showing(local_days(kSpring2027) + 2h), sys_days(kSpring2027) + 1h);
  EXPECT_EQ(berlin.first_showing(local_days(kSpring2027) + 2h + 59min), sys_days(kSpring2027) + 1h);
  EXPECT_EQ(berlin.first_showing(local_days(kSpring2027) + 3h), sys_days(kSpring2027) + 1h);
}

TEST(Zone, OfTwoInstantsThatShowTheSameTheFirstOneCounts) {
  const Zone berlin("Europe/Berlin");
  EXPECT_EQ(berlin.first_showing(local_days(kAutumn2027) + 2h + 30min), sys_days(kAutumn2027) + 30min);
  EXPECT_EQ(berlin.first_showing(local_days(kAutumn2027) + 3h), sys_days(kAutumn2027) + 2h);
}

TEST(Zone, KnowsWhenClocksChange) {
  const Zone berlin("Europe/Berlin");
  EXPECT_EQ(berlin.next_change(sys_days(kSpring2027)), sys_days(kSpring2027) + 1h);
  EXPECT_EQ(berlin.next_change(sys_days(kSpring2027) + 1h), sys_days(kAutumn2027) + 1h);
  EXPECT_EQ(Zone("UTC").next_change(sys_days(kSpring2027)), std::nullopt);
}

// The database lists changes up to 2037 at most; what comes later follows from a rule at its end.
TEST(Zone, FollowsItsRuleBeyondTheListedChanges) {
  const Zone new_york("America/New_York");
  const auto summer = std::chrono::year(2090) / 7 / 1;
  EXPECT_EQ(new_york.local(sys_days(summer) + 12h), local_days(summer) + 8h);
}

TEST(Zone, AnUnknownNameIsRefused) {
  for (const std::string name : {"", "Europe/Atlantis", "/etc/localtime", "../../../etc/passwd",
                                 "Europe/Berlin\n", "file:Europe/Berlin", "berlin time"}) {
    try {
      static_cast<void>(Zone(name));
      ADD_FAILURE() << name << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.failure().type, "invalid_schedule");
      EXPECT_EQ(e.failure().message,
                "the time zone '" + name +
                    "' is not in this machine's database; zones are named by a region and "
                    "a place, such as Europe/Berlin, or UTC");
    }
  }
}

}  // namespace
}  // namespace holdfast::schedules::zone_test
