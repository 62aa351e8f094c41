#include "base/ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <utility>

namespace holdfast::ring_test {
namespace {

TEST(Ring, GivesBackInOrderWhatItTook) {
  Ring<int> ring;
  std::deque<int> expected;
  std::minstd_rand random(7);
  for (int i = 0; i < 10'000; ++i) {
    // In waves, so that it wraps around and grows.
    if (expected.empty() || random() % 100 < (i / 500 % 2 == 0 ? 70U : 30U)) {
      ring.push_back(i);
      expected.push_back(i);
    } else {
      ASSERT_EQ(ring.front(), expected.front());
      ASSERT_EQ(ring.take_front(), expected.front());
      expected.pop_front();
    }
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
  }
}

TEST(Ring, KeepsNothingOfWhatWasTakenOut) {
  Ring<std::shared_ptr<int>> ring;
  const auto held = std::make_shared<int>(1);
  ring.push_back(held);
  EXPECT_EQ(ring.take_front(), held);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Ring, TakesWhatCanOnlyBeMoved) {
  Ring<std::unique_ptr<int>> ring;
  for (int i = 0; i < 100; ++i) ring.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*ring.take_front(), i);
}

}  // namespace
}  // namespace holdfast::ring_test
