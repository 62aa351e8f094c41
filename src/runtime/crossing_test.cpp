#include "runtime/crossing.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::runtime::crossing_test {
namespace {

class Nowhere final : public detail::FrameExecutor {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "nowhere"; }
  bool post(std::function<void()> /*work*/) override { return false; }
};

class CrossingTest : public ::testing::Test {
 protected:
  using Taken = InstanceCache::Taken;

  /// Instances with these deliveries.
  bool wait(const std::vector<std::uint32_t>& deliveries) {
    std::vector<Taken> taken;
    for (const std::uint32_t delivery : deliveries) {
      instances.push_back(std::make_unique<CachedInstance>());
      instances.back()->delivery = delivery;
      taken.push_back({instances.back().get(), {}, {}, {}, 0});
    }
    return crossing.wait(taken);
  }
  /// The deliveries of those that cross next.
  std::vector<std::uint32_t> begin(std::size_t max = 100) {
    std::vector<std::uint32_t> deliveries;
    for (const Taken& one :
         crossing.begin(max, [](const Taken& taken) { return taken.instance->delivery > 5; }))
      deliveries.push_back(one.instance->delivery);
    return deliveries;
  }
  std::shared_ptr<TurnBatch> send() {
    auto batch = std::make_shared<TurnBatch>(crossing.home(), std::vector<Taken>());
    crossing.send(batch);
    return batch;
  }
  using List = std::vector<std::uint32_t>;

  Nowhere executor;
  std::vector<std::unique_ptr<CachedInstance>> instances;
  Crossing crossing{std::make_shared<FrameHome>(executor)};
};

TEST_F(CrossingTest, OneBatchAtATime) {
  EXPECT_TRUE(wait({1, 2}));
  EXPECT_EQ(begin(), (List{1, 2}));
  EXPECT_TRUE(wait({3}));
  EXPECT_EQ(begin(), List());
  const auto batch = send();
  EXPECT_EQ(begin(), List());
  crossing.come_back();
  EXPECT_EQ(begin(), List{3}) << "while the other one is committed";
  EXPECT_EQ(crossing.take_back(), std::vector{batch});
}

TEST_F(CrossingTest, WhatThereIsNoRoomForGoesFirstTheNextTime) {
  EXPECT_TRUE(wait({1, 2, 3}));
  EXPECT_EQ(begin(2), (List{1, 2}));
  std::vector<Taken> rest;
  rest.push_back({instances[1].get(), {}, {}, {}, 0});
  crossing.wait_longer(std::move(rest));
  crossing.end();
  EXPECT_EQ(begin(), (List{2, 3}));
}

TEST_F(CrossingTest, ASuspectGoesLastByItselfAndWhenTheOthersAreSettled) {
  EXPECT_TRUE(wait({9, 1, 8, 2}));
  EXPECT_EQ(begin(), (List{1, 2}));
  send();
  crossing.come_back();
  EXPECT_EQ(begin(), List()) << "the others are not settled";
  crossing.take_back();
  EXPECT_EQ(begin(), List());
  crossing.settle();
  EXPECT_EQ(begin(), List{9});
  crossing.end();
  EXPECT_EQ(begin(), List{8});
}

TEST_F(CrossingTest, AnExecutorThatIsAwayGetsNothingUntilItIsBack) {
  EXPECT_TRUE(wait({1}));
  EXPECT_EQ(begin(), List{1});
  const auto batch = send();
  EXPECT_TRUE(wait({2}));
  EXPECT_EQ(crossing.give_up(*batch).size(), 1U);
  EXPECT_FALSE(crossing.home()->takes_turns());
  EXPECT_FALSE(wait({3}));
  crossing.come_back_late(*batch);
  EXPECT_TRUE(crossing.home()->takes_turns());
  EXPECT_TRUE(wait({4}));
  EXPECT_EQ(begin(), List{4});
}

TEST_F(CrossingTest, AnExecutorThatComesBackWhileItIsGivenUpIsNotAway) {
  EXPECT_TRUE(wait({1}));
  EXPECT_EQ(begin(), List{1});
  const auto batch = send();
  EXPECT_TRUE(wait({2}));
  crossing.come_back_late(*batch);  // the thread that gives it up has not come to it yet
  EXPECT_TRUE(crossing.give_up(*batch).empty());
  EXPECT_TRUE(crossing.home()->takes_turns());
  EXPECT_EQ(begin(), List{2});
}

}  // namespace
}  // namespace holdfast::runtime::crossing_test
