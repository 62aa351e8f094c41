#include "contract/wake_bus.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;

constexpr BootTime kLongAgo{};

TEST(WakeBus, TellsEachListenerWhatItAskedForOnce) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto turns = bus.listen(kTurns, {});
  const auto all = bus.listen(kAllWork, {});
  bus.publish({.work = kTurns | kActivities});
  EXPECT_EQ(turns->wait(kLongAgo).work, kTurns);
  EXPECT_EQ(all->wait(kLongAgo).work, kTurns | kActivities);
  EXPECT_TRUE(turns->wait(kLongAgo).work.empty());
}

TEST(WakeBus, MergesWhatCameBetweenTwoWaits) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto listener = bus.listen(kAllWork, {});
  bus.publish({.work = kSweep});
  bus.publish({.work = kTurns});
  EXPECT_EQ(listener->wait(kLongAgo).work, kSweep | kTurns);
}

TEST(WakeBus, TellsOfCancelsOnlyTheWorkerConcerned) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto first = bus.listen(kAllWork, WorkerKey{1});
  const auto second = bus.listen(kAllWork, WorkerKey{2});
  const auto deaf = bus.listen(kTurns, WorkerKey{1});
  const auto nobody = bus.listen(kAllWork, {});
  bus.publish({.cancelled = {WorkerKey{1}, WorkerKey{0}}});
  EXPECT_EQ(first->wait(kLongAgo).work, kCancels);
  EXPECT_TRUE(second->wait(kLongAgo).work.empty());
  EXPECT_TRUE(deaf->wait(kLongAgo).work.empty());
  EXPECT_TRUE(nobody->wait(kLongAgo).work.empty());
}

TEST(WakeBus, NamesTheWatchedInstancesAndNoOthers) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto listener = bus.listen(kAllWork, {});
  listener->watch(InstanceKey{7});
  listener->watch(InstanceKey{9});
  bus.publish({.instances = {InstanceKey{9}, InstanceKey{8}, InstanceKey{7}}});
  bus.publish({.instances = {InstanceKey{7}}});
  Wake wake = listener->wait(kLongAgo);
  EXPECT_EQ(wake.work, kWatched);
  EXPECT_EQ(wake.instances, (std::vector{InstanceKey{7}, InstanceKey{9}}));
  EXPECT_FALSE(wake.any_instance);

  bus.publish({.instances = {InstanceKey{7}, InstanceKey{9}}});
  listener->unwatch(InstanceKey{7});
  wake = listener->wait(kLongAgo);
  EXPECT_EQ(wake.instances, (std::vector{InstanceKey{9}}));
  listener->unwatch(InstanceKey{9});
  bus.publish({.instances = {InstanceKey{9}}, .any_instance = true});
  EXPECT_TRUE(listener->wait(kLongAgo).work.empty());
}

TEST(WakeBus, SaysWhenAnyWatchedInstanceMayBeMeant) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto listener = bus.listen(kAllWork, {});
  listener->watch(InstanceKey{7});
  bus.publish({.any_instance = true});
  const Wake wake = listener->wait(kLongAgo);
  EXPECT_EQ(wake.work, kWatched);
  EXPECT_TRUE(wake.any_instance);
}

TEST(WakeBus, NeverBlocksUnderAClockThatSomebodyMoves) {
  const ManualClock clock;
  WakeBus bus(clock);
  const auto listener = bus.listen(kAllWork, {});
  EXPECT_TRUE(listener->wait(BootTime::max()).work.empty());
}

TEST(WakeBus, WakesAThreadThatWaits) {
  WakeBus bus(real_clock());
  const auto listener = bus.listen(kAllWork, {});
  std::thread sender([&] { bus.publish({.work = kActivities}); });
  EXPECT_EQ(listener->wait(BootTime::max()).work, kActivities);
  sender.join();
}

TEST(WakeBus, InterruptsTheWaitThatRunsOrTheNext) {
  WakeBus bus(real_clock());
  const auto listener = bus.listen(kAllWork, {});
  listener->interrupt();
  EXPECT_TRUE(listener->wait(BootTime::max()).work.empty());
  std::thread other([&] { listener->interrupt(); });
  EXPECT_TRUE(listener->wait(BootTime::max()).work.empty());
  other.join();
}

TEST(WakeBus, StopsWaitingAtTheDeadline) {
  WakeBus bus(real_clock());
  const auto listener = bus.listen(kAllWork, {});
  const BootTime deadline = real_clock().boot_now() + 2ms;
  EXPECT_TRUE(listener->wait(deadline).work.empty());
  EXPECT_GE(real_clock().boot_now(), deadline);
}

TEST(WakeBus, MayGoBeforeItsListeners) {
  auto bus = std::make_unique<WakeBus>(real_clock());
  const auto listener = bus->listen(kAllWork, {});
  bus->publish({.work = kTurns});
  bus.reset();
  EXPECT_EQ(listener->wait(kLongAgo).work, kTurns);
  EXPECT_TRUE(listener->wait(kLongAgo).work.empty());
}

}  // namespace
}  // namespace holdfast::store
