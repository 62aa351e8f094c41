#include "contract/pace.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::store::pace_test {
namespace {

using namespace std::chrono_literals;

Pace on_a_disk_of(Duration time) {
  Pace pace;
  for (int i = 0; i < 50; ++i) pace.waited(time);
  return pace;
}

TEST(Pace, OnAFastDiskNobodyWaits) { EXPECT_EQ(on_a_disk_of(100us).patience(), 0us); }

TEST(Pace, BeforeAnythingIsKnownNobodyWaits) { EXPECT_EQ(Pace().patience(), 0us); }

TEST(Pace, OnASlowDiskAGroupWaitsForAPartOfWhatTheDiskTakes) {
  const Duration patience = on_a_disk_of(4ms).patience();
  EXPECT_GT(patience, 0us);
  EXPECT_LE(patience, 2ms);
}

TEST(Pace, ADiskThatHasBecomeFastIsNoLongerWaitedFor) {
  Pace pace = on_a_disk_of(4ms);
  for (int i = 0; i < 50; ++i) pace.waited(100us);
  EXPECT_EQ(pace.patience(), 0us);
}

TEST(Pace, AfterADiskHasStoodStillNobodyWaitsAsLongForOthers) {
  EXPECT_LE(on_a_disk_of(30s).patience(), Pace::kLongest);
}

// How many of so many groups wait, if nobody comes meanwhile.
int waits_in_vain(Pace& pace, int groups) {
  int waits = 0;
  for (int i = 0; i < groups; ++i) {
    if (pace.patience() == 0us) continue;
    ++waits;
    pace.gathered(false);
  }
  return waits;
}

TEST(Pace, WhatTurnsOutToBeInVainIsTriedEverMoreRarely) {
  Pace pace = on_a_disk_of(4ms);
  EXPECT_LE(waits_in_vain(pace, 100), 8);
  EXPECT_LE(waits_in_vain(pace, 640), 11);
  EXPECT_GE(waits_in_vain(pace, 640), 9) << "and never given up";
}

TEST(Pace, OnceOthersComeEveryGroupWaitsAgain) {
  Pace pace = on_a_disk_of(4ms);
  waits_in_vain(pace, 100);
  while (pace.patience() == 0us) {
  }
  pace.gathered(true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_GT(pace.patience(), 0us);
    pace.gathered(true);
  }
}

}  // namespace
}  // namespace holdfast::store::pace_test
