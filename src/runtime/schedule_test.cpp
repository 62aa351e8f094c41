#include "runtime/schedule.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::runtime::schedule_test {
namespace {

using namespace std::chrono_literals;
using Runner = StepSchedule::Runner;

constexpr BootTime kNow{};
constexpr Progress kNothing{};

/// One that has had its first run, and has nothing to do.
StepSchedule at_rest(std::size_t allowed = 1, std::size_t max_stuck = 0) {
  StepSchedule schedule(allowed, max_stuck);
  schedule.end(*schedule.begin(Runner::own, kNow), kNothing);
  return schedule;
}

TEST(StepSchedule, IsRunAtFirstThenWhenPoked) {
  StepSchedule schedule;
  EXPECT_TRUE(schedule.may_begin(kNow));
  schedule.end(*schedule.begin(Runner::own, kNow), kNothing);
  EXPECT_FALSE(schedule.may_begin(kNow));
  EXPECT_TRUE(schedule.poke());
  EXPECT_TRUE(schedule.may_begin(kNow));
}

TEST(StepSchedule, IsRunWhenItIsDue) {
  StepSchedule schedule = at_rest();
  const auto run = schedule.begin(Runner::own, kNow);
  EXPECT_TRUE(schedule.end(*run, {.next_due = kNow + 5s})) << "whoever sleeps for longer has to know";
  EXPECT_EQ(schedule.due(), kNow + 5s);
  EXPECT_FALSE(schedule.may_begin(kNow + 4s));
  EXPECT_TRUE(schedule.may_begin(kNow + 5s));
}

TEST(StepSchedule, ALaterDueTimeOfAnotherRunDoesNotReplaceAnEarlierOne) {
  StepSchedule schedule = at_rest(2);
  const auto first = schedule.begin(Runner::own, kNow);
  const auto second = schedule.begin(Runner::own, kNow);
  EXPECT_TRUE(schedule.end(*first, {.next_due = kNow + 5s}));
  EXPECT_FALSE(schedule.end(*second, {.next_due = kNow + 9s}));
  EXPECT_EQ(schedule.due(), kNow + 5s);
}

TEST(StepSchedule, ProgressIsFollowedAtOnce) {
  StepSchedule schedule = at_rest();
  const auto run = schedule.begin(Runner::own, kNow);
  schedule.end(*run, {.progressed = true});
  EXPECT_TRUE(schedule.may_begin(kNow));
}

TEST(StepSchedule, NoMoreRunItThanMayAndWhoeverEndsLooksAgain) {
  StepSchedule schedule = at_rest();
  const auto run = schedule.begin(Runner::own, kNow);
  EXPECT_FALSE(schedule.begin(Runner::helper, kNow));
  EXPECT_FALSE(schedule.poke()) << "nobody could begin";
  schedule.end(*run, kNothing);
  EXPECT_TRUE(schedule.may_begin(kNow));
}

TEST(StepSchedule, NobodyBeginsWhatIsClosed) {
  StepSchedule schedule = at_rest();
  const auto run = schedule.begin(Runner::own, kNow);
  schedule.close();
  EXPECT_FALSE(schedule.is_at_rest());
  EXPECT_TRUE(schedule.end(*run, kNothing)) << "whoever waits for that has to know";
  EXPECT_TRUE(schedule.is_at_rest());
  schedule.poke();
  EXPECT_FALSE(schedule.begin(Runner::own, kNow));
}

TEST(StepSchedule, OneThatIsStuckIsReplaced) {
  StepSchedule schedule = at_rest(1, 1);
  const auto stuck = schedule.begin(Runner::own, kNow);
  EXPECT_TRUE(schedule.give_up(*stuck));
  EXPECT_TRUE(schedule.is_stuck(*stuck));
  EXPECT_TRUE(schedule.is_at_rest()) << "nobody waits for it";
  EXPECT_TRUE(schedule.begin(Runner::own, kNow));
  schedule.end(*stuck, {.came_back = true});
  EXPECT_EQ(schedule.stuck(), 0U);
  EXPECT_FALSE(schedule.begin(Runner::own, kNow));
}

TEST(StepSchedule, NotMoreAreReplacedThanMayBeStuck) {
  StepSchedule schedule = at_rest(1, 1);
  for (int i = 0; i < 2; ++i) schedule.give_up(*schedule.begin(Runner::own, kNow));
  EXPECT_FALSE(schedule.begin(Runner::own, kNow));
}

TEST(StepSchedule, AHelperThatIsStuckLeavesNoPlaceEmpty) {
  StepSchedule schedule = at_rest(1, 1);
  EXPECT_FALSE(schedule.give_up(*schedule.begin(Runner::helper, kNow)));
}

TEST(StepSchedule, WhoComesBackWhileItIsGivenUpIsReplacedAndForgotten) {
  StepSchedule schedule = at_rest(1, 1);
  const auto run = schedule.begin(Runner::own, kNow);
  schedule.end(*run, {.came_back = true});
  EXPECT_TRUE(schedule.give_up(*run)) << "its thread has ended";
  EXPECT_EQ(schedule.stuck(), 0U);
  EXPECT_FALSE(schedule.give_up(*run)) << "once";
}

TEST(Help, ThreadsOfActivitiesDoTheRestThemselves) {
  EXPECT_EQ(help_with(Step::turns, false, false), Help::poke);
  EXPECT_EQ(help_with(Step::turns, true, true), Help::rest);
  EXPECT_EQ(help_with(Step::activities, true, false), Help::run);
  EXPECT_EQ(help_with(Step::activities, true, true), Help::poke) << "there is one for its slot already";
  EXPECT_EQ(help_with(Step::keep, true, false), Help::poke);
}

}  // namespace
}  // namespace holdfast::runtime::schedule_test
