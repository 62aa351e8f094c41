#include "server/http/deadlines.hpp"

#include <gtest/gtest.h>

namespace holdfast::server::http::deadlines_test {

TEST(Deadlines, TheEarliestIsTakenFirst) {
  Deadlines<int, int> deadlines;
  EXPECT_FALSE(deadlines.next());
  deadlines.set(1, 30);
  deadlines.set(2, 10);
  deadlines.set(3, 20);
  EXPECT_EQ(deadlines.next(), 10);
  EXPECT_FALSE(deadlines.take_due(9));
  EXPECT_EQ(deadlines.take_due(20), 2);
  EXPECT_EQ(deadlines.take_due(20), 3);
  EXPECT_FALSE(deadlines.take_due(20));
  EXPECT_EQ(deadlines.next(), 30);
}

TEST(Deadlines, AnOwnerHasOne) {
  Deadlines<int, int> deadlines;
  deadlines.set(1, 10);
  deadlines.set(2, 10);
  deadlines.set(1, 50);
  EXPECT_EQ(deadlines.size(), 2U);
  EXPECT_EQ(deadlines.take_due(10), 2);
  EXPECT_FALSE(deadlines.take_due(10));
  deadlines.drop(1);
  deadlines.drop(7);
  EXPECT_FALSE(deadlines.next());
}

}  // namespace holdfast::server::http::deadlines_test
