#include "runtime/crew.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::crew_test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

/// One thread, which says what it is told to do.
class Notes {
 public:
  [[nodiscard]] BootTime now() const { return at; }
  template <class Use>
  auto with(Step step, Use use) {
    return use(schedule(step));
  }
  Progress run(Step step, RunId /*run*/) {
    say("run " + std::to_string(static_cast<int>(step)));
    return std::exchange(progress, Progress{});
  }
  void call(Step step, bool all) {
    say((all ? "call all of " : "call one of ") + std::to_string(static_cast<int>(step)));
  }
  void add_thread(Step /*step*/) { say("add a thread"); }
  [[nodiscard]] bool is_thread_of_activities() const { return in_activities; }
  [[nodiscard]] bool activity_waits() const { return waits; }
  void ask_for_rest() { say("rest"); }

  StepSchedule& schedule(Step step) { return schedules.at(static_cast<std::size_t>(step)); }
  Texts told() { return std::exchange(notes_, {}); }
  void say(std::string text) { notes_.push_back(std::move(text)); }

  BootTime at{};
  bool in_activities = false;
  bool waits = false;
  Progress progress{};
  std::array<StepSchedule, kSteps> schedules{};

 private:
  Texts notes_{};
};
static_assert(Crew<Notes>);

std::string name(Step step) { return std::to_string(static_cast<int>(step)); }

class CrewTest : public ::testing::Test {
 protected:
  CrewTest() {
    for (StepSchedule& schedule : crew.schedules)
      schedule.end(*schedule.begin(StepSchedule::Runner::own, crew.at), Progress{});
  }
  RunId begin(Step step) { return *crew.schedule(step).begin(StepSchedule::Runner::own, crew.at); }

  Notes crew;
};

TEST_F(CrewTest, APokeFromOutsideWakesOneThatWaits) {
  poke(crew, Step::turns);
  EXPECT_EQ(crew.told(), Texts{"call one of " + name(Step::turns)});
  const RunId run = begin(Step::turns);
  poke(crew, Step::turns);
  EXPECT_EQ(crew.told(), Texts()) << "whoever ends first looks again";
  end_run(crew, Step::turns, run, Progress{});
  EXPECT_TRUE(crew.schedule(Step::turns).may_begin(crew.at));
}

TEST_F(CrewTest, AThreadOfActivitiesLeavesTurnsForLaterAndFetchesAtOnce) {
  crew.in_activities = true;
  poke(crew, Step::turns);
  EXPECT_EQ(crew.told(), Texts{"rest"});
  poke(crew, Step::activities);
  EXPECT_EQ(crew.told(), Texts{"run " + name(Step::activities)});
  crew.waits = true;
  poke(crew, Step::activities);
  EXPECT_EQ(crew.told(), Texts{"call one of " + name(Step::activities)});
}

TEST_F(CrewTest, WhoHelpsLeavesWhatIsMoreToOthers) {
  crew.in_activities = true;
  crew.progress.progressed = true;
  poke(crew, Step::activities);
  EXPECT_EQ(crew.told(), (Texts{"run " + name(Step::activities), "call one of " + name(Step::activities)}));
}

TEST_F(CrewTest, NobodyHelpsWithWhatRunsAlready) {
  const RunId run = begin(Step::activities);
  EXPECT_FALSE(help(crew, Step::activities));
  EXPECT_EQ(crew.told(), Texts());
  end_run(crew, Step::activities, run, Progress{});
  EXPECT_TRUE(crew.schedule(Step::activities).may_begin(crew.at)) << "it was poked meanwhile";
}

TEST_F(CrewTest, AnEarlierDueTimeIsToldToAllWhoSleepForLonger) {
  crew.progress.next_due = crew.at + 5s;
  EXPECT_FALSE(run_own(crew, Step::keep, begin(Step::keep)));
  EXPECT_EQ(crew.told(), (Texts{"run " + name(Step::keep), "call all of " + name(Step::keep)}));
}

TEST_F(CrewTest, ATurnThatIsStuckHasItsThreadReplacedAndTheOthersAreCalled) {
  crew.schedule(Step::turns) = StepSchedule(1, 1);
  const RunId stuck = begin(Step::turns);
  crew.progress.stuck.push_back(stuck);
  run_own(crew, Step::limits, begin(Step::limits));
  EXPECT_EQ(crew.told(),
            (Texts{"run " + name(Step::limits), "add a thread", "call all of " + name(Step::turns)}));
  EXPECT_TRUE(crew.schedule(Step::turns).is_stuck(stuck));
}

TEST_F(CrewTest, AThreadThatComesBackFromThereEnds) {
  crew.progress.came_back = true;
  EXPECT_TRUE(run_own(crew, Step::turns, begin(Step::turns)));
}

}  // namespace
}  // namespace holdfast::runtime::crew_test
