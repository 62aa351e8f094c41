#include "runtime/work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::runtime::work_test {
namespace {

TEST(Work, RunsWhatItWasGiven) {
  int runs = 0;
  Work work = [&runs] { ++runs; };
  ASSERT_TRUE(work);
  work();
  work();
  EXPECT_EQ(runs, 2);
}

TEST(Work, MovesWithWhatItHolds) {
  auto number = std::make_unique<int>(7);
  int seen = 0;
  Work first = [number = std::move(number), &seen] { seen = *number; };
  Work second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is promised
  Work third;
  EXPECT_FALSE(third);
  third = std::move(second);
  third();
  EXPECT_EQ(seen, 7);
}

TEST(Work, TakesFunctionsOfAnySize) {
  std::array<int, 200> numbers{};
  numbers.back() = 7;
  const auto large = [numbers, owner = std::make_shared<int>(1)](int& to) { to = numbers.back(); };
  int seen = 0;
  std::vector<Work> works;
  for (int i = 0; i < 10; ++i) works.emplace_back([large, &seen] { large(seen); });
  works.back()();
  EXPECT_EQ(seen, 7);
}

// A copy that throws must not leave it between two places.
TEST(Work, TakesFunctionsWhoseMoveMayThrow) {
  struct Throwing {
    explicit Throwing(int& to) : to_(to) {}
    Throwing(const Throwing& other) noexcept(false) : to_(other.to_) {}
    void operator()() const { ++to_; }
    int& to_;
  };
  int runs = 0;
  Work work = Throwing(runs);
  Work moved = std::move(work);
  moved();
  EXPECT_EQ(runs, 1);
}

TEST(Work, DestroysWhatItHolds) {
  const auto held = std::make_shared<int>(1);
  {
    const Work never_run = [held] { static_cast<void>(held); };
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  Work work = [held] { static_cast<void>(held); };
  work.reset();
  EXPECT_FALSE(work);
  EXPECT_EQ(held.use_count(), 1);
  work = [held] { static_cast<void>(held); };
  work = [] {};
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Work, TakesAStdFunction) {
  int runs = 0;
  const std::function<void()> function = [&runs] { ++runs; };
  Work work = function;
  work();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace holdfast::runtime::work_test
