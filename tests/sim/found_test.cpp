// Mistakes that the simulator found, each with the workloads and faults that showed it. The seeds are few:
// they are those that showed it, and some around them for the day on which a draw more or less shifts them
// all.
#include "tests/sim/workloads/workloads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

using holdfast::testing::SimulatedFaults;
using namespace std::chrono_literals;

struct Found {
  std::string name{};
  std::vector<Workload> workloads{};
  SimulatedFaults faults{};
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 60;
};

void PrintTo(const Found& found, std::ostream* out) { *out << found.name; }

/// None but those that are set.
SimulatedFaults only(void (*set)(SimulatedFaults&)) {
  SimulatedFaults faults = SimulatedFaults::none();
  set(faults);
  return faults;
}

const std::vector<Found>& all_found() {
  static const std::vector<Found> list{
      {.name = "AWorkerThatIsAskedToLeaveSleepsMeanwhile",
       .workloads = {sequences, timers},
       .faults = only([](SimulatedFaults& f) { f.drains = f.slow_activities = true; })},
      {.name = "AChildIsCancelledByTheTurnThatStartsIt",
       .workloads = {cancellations, dropped_children},
       .faults = only([](SimulatedFaults& f) { f.pauses = f.interleaved_steps = true; })},
      {.name = "AValueOfAnotherInstanceIsRead",
       .workloads = {values},
       .faults = SimulatedFaults::none(),
       .seeds = 3},
      {.name = "AWorkerThatWasTakenForGoneJoinsAgain",
       .workloads = {sequences, timers},
       .faults = only([](SimulatedFaults& f) { f.pauses = f.uneven_workers = true; })},
      {.name = "OnlyTheRegistrationOfACallDecidesAboutJoiningAgain",
       .workloads = {sequences, side_effects},
       .faults = only([](SimulatedFaults& f) { f.pauses = f.uneven_workers = f.interleaved_steps = true; })},
      {.name = "UnreadMessagesReachTheNextExecution",
       .workloads = {actors, impatient_readers},
       .faults = only([](SimulatedFaults& f) { f.kills = f.slow_activities = f.store_errors = true; })},
      {.name = "ACancelWithATerminationIsOneRequest",
       .workloads = {terminations},
       .faults = only([](SimulatedFaults& f) { f.store_errors = f.interleaved_steps = true; })},
      {.name = "ATimedOutActivityGivesItsSlotBack",
       .workloads = {hurries, sequences},
       .faults = only([](SimulatedFaults& f) { f.slow_activities = f.drains = true; })},
      {.name = "ARequestOfAParentIsHeededByItsChildOnly",
       .workloads = {careless_ones},
       .faults = only([](SimulatedFaults& f) { f.pauses = f.kills = f.lost_wakes = true; })},
      {.name = "ARequestToCancelSurvivesContinueAsNew",
       .workloads = {restless_ones},
       .faults = only([](SimulatedFaults& f) { f.interleaved_steps = f.pauses = true; })},
      {.name = "AStartOfOthersNeverBeginsAnExecution",
       .workloads = {taken_ids},
       .faults = only([](SimulatedFaults& f) { f.pauses = f.lost_wakes = true; })},
      {.name = "AnInstanceThatHasNotBegunCanBeEnded",
       .workloads = {restless_ones},
       .faults = SimulatedFaults::none()},
      {.name = "AParkedInstanceWithARequestIsNotTriedAgainAtOnce",
       .workloads = {broken_deployments},
       .faults = only([](SimulatedFaults& f) { f.kills = f.drains = true; })},
      {.name = "AnActivityThatItsWorkerInterruptsHasNotFailed",
       .workloads = {interruptions},
       .faults = only([](SimulatedFaults& f) { f.drains = f.slow_activities = true; })},
      {.name = "LimitsHoldWhileACallToTheStoreHangs",
       .workloads = {sequences, hurries},
       .faults = only([](SimulatedFaults& f) { f.hangs = f.slow_activities = f.uneven_workers = true; })},
      {.name = "AResultIsNotLostToAFetchOfItsOwnWorker",
       .workloads = {sequences, side_effects},
       .faults = only([](SimulatedFaults& f) { f.hangs = f.outages = f.uneven_workers = true; })},
      {.name = "AResultIsNotLostToAFetchThatIsUnderWay",
       .workloads = {sequences, side_effects},
       .faults = only([](SimulatedFaults& f) {
         f.pauses = f.slow_activities = f.uneven_workers = f.interleaved_steps = true;
       }),
       .first_seed = 100},
      {.name = "AnAnswerThatIsRefusedHoldsUpNoOther",
       .workloads = {retries, deadlines, sequences},
       .faults = only([](SimulatedFaults& f) { f.store_errors = true; })},
      {.name = "AnActivityThatIsTakenAwayWhileItIsFetchedIsNotBegun",
       .workloads = {unwanted_work},
       .faults = only([](SimulatedFaults& f) { f.hangs = f.slow_activities = f.interleaved_steps = true; }),
       .first_seed = 400},
      {.name = "AnActivityThatEndsWhileItIsDroppedLosesNoTurn",
       .workloads = {leftovers},
       .faults = only([](SimulatedFaults& f) { f.interleaved_steps = f.uneven_workers = true; })},
      {.name = "ARequestToEndThatWasTakenInPartIsNoConflict",
       .workloads = {terminations},
       .faults = only([](SimulatedFaults& f) { f.store_errors = f.kills = true; }),
       .seeds = 150},
      {.name = "ATurnThatBlocksHoldsNobodyElseUp",
       .workloads = {blocked_turns, sequences},
       .faults = only([](SimulatedFaults& f) { f.interleaved_steps = f.uneven_workers = true; })},
      {.name = "ASessionThatIsAskedForOnItsWayOutStays",
       .workloads = {sought_sessions},
       .faults = only([](SimulatedFaults& f) {
         f.uneven_workers = f.slow_activities = f.interleaved_steps = f.lost_wakes = true;
       })},
      {.name = "AStateThatCannotBeReadForAMomentCostsNoAttempt",
       .workloads = {sought_sessions, memories},
       .faults = only([](SimulatedFaults& f) { f.store_errors = f.outages = f.drains = f.kills = true; }),
       .seeds = 150},
      {.name = "AnOutageTakesNothingFromAWorkerThatIsThereAllTheTime",
       .workloads = {steadfast_sessions},
       .faults = only(
           [](SimulatedFaults& f) { f.outages = f.uneven_workers = f.store_errors = f.lost_wakes = true; }),
       .first_seed = 17,
       .seeds = 150},
      {.name = "AnActivityOfADeadWorkerDoesNotKeepAnIdleOneFromLeaving",
       .workloads = {conversations, memories},
       .faults =
           only([](SimulatedFaults& f) { f.kills = f.drains = f.uneven_workers = f.slow_activities = true; }),
       .first_seed = 800},
      {.name = "AnActivityIsNotTakenAgainInASessionThatAnotherWorkerHadMeanwhile",
       .workloads = {shared_memories},
       .faults = only([](SimulatedFaults& f) {
         f.outages = f.hangs = f.pauses = f.drains = f.slow_activities = f.uneven_workers = true;
         f.interleaved_steps = true;
       }),
       .seeds = 150},
      {.name = "AWorkerThatClaimsItsSessionAgainKeepsWhatItHasInMemory",
       .workloads = {keepsakes},
       .faults = only([](SimulatedFaults& f) {
         f.outages = f.store_errors = f.hangs = f.pauses = f.uneven_workers = f.interleaved_steps = true;
       }),
       .seeds = 150},
      {.name = "AWorkerThatDrainsAndWasTakenForGoneWaitsForNoFetch",
       .workloads = {asked_for_sessions, listeners, persistent_children, broken_deployments},
       .first_seed = 1469,
       .seeds = 1},
  };
  return list;
}

// What nobody wants any more, with the faults that matter to it: workers die and stand still, news is lost.
TEST(UnwantedWorkTest, IsTakenAwayByEveryTriggerAtEveryStepWithKillsAndLostPushes) {
  const SimulatedFaults faults = only([](SimulatedFaults& f) {
    f.kills = f.pauses = f.lost_wakes = f.store_errors = f.slow_activities = f.interleaved_steps = true;
  });
  const auto failure = holdfast::testing::simulate_seeds(scenario_of({unwanted_work}),
                                                         {.first = 1, .count = 150}, {.faults = faults});
  EXPECT_FALSE(failure) << failure->text();
}

// One that may be what kills its workers is taken in the same step as turns that don't come back.
TEST(SuspectsTest, AreNotLostWithATurnThatBlocks) {
  const SimulatedFaults faults =
      only([](SimulatedFaults& f) { f.uneven_workers = f.interleaved_steps = true; });
  const auto failure = holdfast::testing::simulate_seeds(
      scenario_of({suspects_beside_blocked_turns, sequences}), {.first = 1, .count = 150},
      {.faults = faults, .workers = 2, .trouble = 2min, .poison_after = 10});
  EXPECT_FALSE(failure) << failure->text();
}

class FoundTest : public ::testing::TestWithParam<Found> {};

TEST_P(FoundTest, Holds) {
  const Found& found = GetParam();
  const auto failure = holdfast::testing::simulate_seeds(scenario_of(found.workloads),
                                                         {.first = found.first_seed, .count = found.seeds},
                                                         {.faults = found.faults});
  EXPECT_FALSE(failure) << failure->text();
}

INSTANTIATE_TEST_SUITE_P(Sim, FoundTest, ::testing::ValuesIn(all_found()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace holdfast::sim
