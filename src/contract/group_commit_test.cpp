#include "contract/group_commit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <latch>
#include <span>
#include <thread>
#include <vector>

namespace holdfast::store::group_commit_test {
namespace {

using namespace std::chrono_literals;

class Call final : public GroupedCall {
 public:
  explicit Call(std::size_t size = 1, Order order = Order::middle) : GroupedCall(size, order) {}
  void fail(std::size_t, const StoreError&) override {}
};

/// Leads groups, and says of each that it has waited so long for the disk.
class Leader {
 public:
  explicit Leader(Duration disk) : disk_(disk) {}

  void run(Call&& call) {
    queue_.run(call, [&](std::span<GroupedCall* const> group) {
      groups_.push_back(group.size());
      return CallQueue::Led{.waited_for_disk = disk_};
    });
  }
  [[nodiscard]] const std::vector<std::size_t>& groups() const { return groups_; }

 private:
  const Duration disk_;
  CallQueue queue_{100, 1h};
  std::vector<std::size_t> groups_;  // calls in each; only one thread leads at a time
};

TEST(CallQueue, OnASlowDiskAGroupWaitsForThoseWhoWereJustAnswered) {
  Leader leader(1h);
  leader.run(Call(2));  // two items, which come back by themselves
  std::thread first([&] { leader.run(Call()); });
  std::thread second([&] { leader.run(Call()); });
  first.join();
  second.join();
  EXPECT_EQ(leader.groups(), (std::vector<std::size_t>{1, 2}));
}

TEST(CallQueue, WhoeverIsAloneWaitsForNobody) {
  Leader leader(1h);
  for (int i = 0; i < 10; ++i) leader.run(Call());
  EXPECT_EQ(leader.groups(), std::vector<std::size_t>(10, 1));
}

TEST(CallQueue, WhatAsksForLocksAloneDoesNotWait) {
  Leader leader(1h);
  leader.run(Call(2));
  leader.run(Call(1, Order::last));
  leader.run(Call(1, Order::first));
  EXPECT_EQ(leader.groups(), (std::vector<std::size_t>{1, 1, 1}));
}

TEST(CallQueue, OnAFastDiskNobodyWaits) {
  Leader leader(10us);
  leader.run(Call(2));
  leader.run(Call());
  EXPECT_EQ(leader.groups(), (std::vector<std::size_t>{1, 1}));
}

TEST(CallQueue, CallsThatComeWhileAGroupIsLedShareTheNextOne) {
  constexpr std::size_t kOthers = 5;
  CallQueue queue(100);
  std::latch leads(1);
  std::latch go_on(1);
  std::vector<std::size_t> groups;
  const auto lead = [&](std::span<GroupedCall* const> group) {
    groups.push_back(group.size());
    if (groups.size() == 1) {
      leads.count_down();
      go_on.wait();
    }
    return CallQueue::Led{};
  };
  std::vector<std::thread> threads;
  const auto call = [&] {
    Call own;
    queue.run(own, lead);
  };
  threads.emplace_back(call);
  leads.wait();
  for (std::size_t i = 0; i < kOthers; ++i) threads.emplace_back(call);
  while (queue.waiting() < kOthers) std::this_thread::yield();
  go_on.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(groups, (std::vector<std::size_t>{1, kOthers}));
}

}  // namespace
}  // namespace holdfast::store::group_commit_test
