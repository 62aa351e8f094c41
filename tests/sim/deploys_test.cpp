// Two builds in turns over the same instances, whose code the later one has changed.
#include "tests/sim/workloads/workloads.hpp"

#include <gtest/gtest.h>

namespace holdfast::sim::deploys_test {
namespace {

using holdfast::testing::SimulatedFaults;

SimulatedFaults rolling_upgrades() {
  SimulatedFaults faults = SimulatedFaults::none();
  faults.upgrades = faults.drains = faults.kills = true;
  return faults;
}

TEST(Deploys, ExecutionsTakeThePatchesThatTheyHaveNotComeByYet) {
  const auto failure = holdfast::testing::simulate_seeds(
      scenario_of({patched_code}), {.first = 1, .count = 150}, {.faults = rolling_upgrades()});
  EXPECT_FALSE(failure) << failure->text();
}

TEST(Deploys, InstancesThatAMistakeDoesNotFitGoOnWithTheBuildBeforeIt) {
  const auto failure = holdfast::testing::simulate_seeds(
      scenario_of({mistaken_deploys}), {.first = 1, .count = 150}, {.faults = rolling_upgrades()});
  EXPECT_FALSE(failure) << failure->text();
}

TEST(Deploys, InstancesWhoseFramesLiveElsewhereGoOnLikewise) {
  SimulatedFaults faults = rolling_upgrades();
  faults.executors = true;
  const auto failure = holdfast::testing::simulate_seeds(scenario_of({patched_code, mistaken_deploys}),
                                                         {.first = 1, .count = 100}, {.faults = faults});
  EXPECT_FALSE(failure) << failure->text();
}

}  // namespace
}  // namespace holdfast::sim::deploys_test
