#include "runtime/stuck_threads.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::runtime::stuck_threads_test {
namespace {

const std::thread::id kThread = std::this_thread::get_id();

TEST(StuckThreads, OneIsStuckUntilItComesBack) {
  StuckThreads stuck;
  stuck.given_up(kThread);
  EXPECT_TRUE(stuck.contains(kThread));
  EXPECT_EQ(stuck.size(), 1U);
  stuck.came_back(kThread);
  EXPECT_FALSE(stuck.contains(kThread));
  EXPECT_EQ(stuck.size(), 0U);
}

TEST(StuckThreads, OneThatComesBackBeforeItIsKnownToBeStuckIsNot) {
  StuckThreads stuck;
  stuck.came_back(kThread);
  EXPECT_FALSE(stuck.contains(kThread));
  EXPECT_EQ(stuck.size(), 0U);
  stuck.given_up(kThread);
  EXPECT_FALSE(stuck.contains(kThread));
  EXPECT_EQ(stuck.size(), 0U);
  stuck.given_up(kThread);  // and then once more
  EXPECT_EQ(stuck.size(), 1U);
}

}  // namespace
}  // namespace holdfast::runtime::stuck_threads_test
