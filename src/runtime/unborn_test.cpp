#include "runtime/unborn.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::runtime::unborn_test {
namespace {

std::vector<EventId> events(std::initializer_list<std::uint64_t> numbers) {
  std::vector<EventId> list;
  for (const std::uint64_t number : numbers) list.push_back(EventId{number});
  return list;
}

TEST(Unborn, WhatATurnStartsAndDropsIsNoRow) {
  std::vector<EventId> rows = events({5, 6, 7, 9});
  std::vector<EventId> drops = events({9, 2, 5, 1});
  take_out_unborn(rows, drops, std::identity(), std::identity());
  EXPECT_EQ(rows, events({6, 7}));
  EXPECT_EQ(drops, events({2, 1}));
}

TEST(Unborn, NothingIsTakenOutWhereNothingIsDropped) {
  std::vector<EventId> rows = events({5});
  std::vector<EventId> none;
  take_out_unborn(rows, none, std::identity(), std::identity());
  EXPECT_EQ(rows, events({5}));
  take_out_unborn(none, rows, std::identity(), std::identity());
  EXPECT_EQ(rows, events({5}));
}

TEST(Unborn, EachRowIsLookedAtOnceHoweverManyAreDropped) {
  for (const std::uint64_t count : {100U, 10'000U}) {
    std::vector<EventId> rows;
    for (std::uint64_t i = 0; i < count; ++i) rows.push_back(EventId{i + 1});
    std::vector<EventId> drops = rows;
    std::uint64_t rows_seen = 0;
    std::uint64_t drops_seen = 0;
    const auto counting = [](std::uint64_t& seen) {
      return [&seen](EventId event) {
        ++seen;
        return event;
      };
    };
    take_out_unborn(rows, drops, counting(rows_seen), counting(drops_seen));
    EXPECT_TRUE(rows.empty());
    EXPECT_TRUE(drops.empty());
    EXPECT_EQ(rows_seen, count);
    EXPECT_EQ(drops_seen, 2 * count);  // to sort them, and to take them out
  }
}

}  // namespace
}  // namespace holdfast::runtime::unborn_test
