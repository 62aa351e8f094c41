#include "client/watcher.hpp"

#include "testkit/support/forwarding_store.hpp"

#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::client::watcher_test {
namespace {

using namespace std::chrono_literals;

/// Answers a look late: with what there was when it was asked.
class SlowStore final : public support::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override {
    looks += keys.size();
    if (std::exchange(fails_, false)) return Unexpected(StoreError{.message = "an outage"});
    auto views = to().look(keys);
    if (std::exchange(waits_, false)) {
      asked_.set_value();
      answers_.get_future().wait();
    }
    return views;
  }
  /// Of the next look.
  void hold() { waits_ = true; }
  void until_asked() { asked_.get_future().wait(); }
  void let_go() { answers_.set_value(); }
  /// The next one gets no answer.
  void fail() { fails_ = true; }

  std::size_t looks = 0;  // of keys

 private:
  bool fails_ = false;
  bool waits_ = false;
  std::promise<void> asked_;
  std::promise<void> answers_;
};

class WatcherTest : public ::testing::Test {
 protected:
  WatcherTest() { watcher_.hear(*listener_); }

  InstanceKey start() {
    const std::array requests{
        store::StartRequest{.instance = "a", .code = {"order", "1"}, .request = {1, 1}}};
    return store_->start(requests).front()->key;
  }
  void request_cancel() {
    const std::array messages{store::ClientMessage{.instance = "a",
                                                   .message = {.kind = store::MessageKind::control},
                                                   .request = {1, 2},
                                                   .cancels = true}};
    ASSERT_TRUE(store_->send(messages).front());
  }
  static bool is_left_alone(const store::InstanceView& view) { return !view.cancel_requested_at; }

  std::shared_ptr<SlowStore> store_ = std::make_shared<SlowStore>(memory());
  std::unique_ptr<store::Listener> listener_ = store_->listen(store::kWatched, {});
  /// Looks at what is new, and calls back.
  void go_on(BootTime now = {}) {
    watcher_.look({}, now);
    call(now);
  }
  void call(BootTime now = {}) {
    watcher_.tell_seen(callbacks_);
    watcher_.tell_ends(now, callbacks_);
    callbacks_.call();
  }
  static Watcher::Done counting(int& told) {
    return [&told](const Seen&) { return [&told] { ++told; }; };
  }

  Watcher watcher_{store_, [] {}, [] {}};
  Callbacks callbacks_{null_logger(), [] {}};
};

TEST_F(WatcherTest, NobodyIsToldOfWhatWasSeenBeforeHeCame) {
  const InstanceKey key = start();
  store_->hold();
  std::thread looks([&] { watcher_.look({.instances = {key}}, {}); });
  store_->until_asked();
  request_cancel();
  int told = 0;
  watcher_.wait_async(key, never, is_left_alone, counting(told));
  store_->let_go();
  looks.join();
  call();
  EXPECT_EQ(told, 0) << "the look had begun before it waited";
  go_on();
  EXPECT_EQ(told, 0);
  watcher_.abandon();
  call();
  EXPECT_EQ(told, 1);
}

TEST_F(WatcherTest, WhoeverWaitsIsToldOnceHoweverOftenItIsLookedAt) {
  const InstanceKey key = start();
  int told = 0;
  watcher_.wait_async(key, never, is_left_alone, counting(told));
  EXPECT_TRUE(watcher_.has_waiters());
  for (int i = 0; i < 3; ++i) {
    watcher_.look_around();
    go_on();
  }
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(watcher_.has_waiters());
}

// Keys that nobody has: each wait ends with the first look at it.
TEST_F(WatcherTest, LooksAroundAtAPartOfManyEachTime) {
  int gone = 0;
  for (std::uint64_t i = 1; i <= 2'500; ++i)
    watcher_.wait_async(InstanceKey{i}, never, is_left_alone, counting(gone));
  for (const int expected : {1'000, 2'000, 2'500}) {
    watcher_.look_around();
    call();
    EXPECT_EQ(gone, expected);
  }
}

TEST_F(WatcherTest, AWaitEndsWithItsTimeOnceItWasLookedAt) {
  const InstanceKey key = start();
  request_cancel();
  const BootTime now = store_->clock().boot_now();
  int told = 0;
  watcher_.wait_async(key, 0s, is_left_alone, counting(told));
  call(now + 100ms);
  EXPECT_EQ(told, 0) << "nobody has looked yet";
  go_on(now + 100ms);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(watcher_.ends(), BootTime::max());
}

// A store that hangs holds up no time limit.
TEST_F(WatcherTest, AWaitThatIsNeverLookedAtEndsASecondLater) {
  int told = 0;
  watcher_.wait_async(start(), 1s, is_left_alone, counting(told));
  const BootTime end = watcher_.ends();
  call(end - 1ms);
  EXPECT_EQ(told, 0);
  call(end);
  EXPECT_EQ(told, 1);
}

TEST_F(WatcherTest, WhatALookCouldNotTellIsLookedAtAgainAtOnceAndInFull) {
  int gone = 0;
  for (std::uint64_t i = 1; i <= 2'500; ++i)
    watcher_.wait_async(InstanceKey{i}, never, is_left_alone, counting(gone));
  store_->fail();
  go_on();
  EXPECT_EQ(gone, 0);
  const BootTime again = watcher_.due();
  EXPECT_LE(again - store_->clock().boot_now(), 1s);
  go_on(again);
  EXPECT_EQ(gone, 2'500);
}

TEST_F(WatcherTest, ManyWhoWaitForOneCostOneLook) {
  const InstanceKey key = start();
  request_cancel();
  int told = 0;
  for (int i = 0; i < 1'000; ++i) watcher_.wait_async(key, never, is_left_alone, counting(told));
  store_->looks = 0;
  go_on();
  EXPECT_EQ(store_->looks, 1U) << "keys that were looked at";
  watcher_.abandon();
  call();
  EXPECT_EQ(told, 1'000);
}

// Whoever takes a wait off the list notes it in the same moment: nobody who closes the list can miss it.
TEST_F(WatcherTest, AWaitThatIsGivenUpWhileAllEndIsToldOnce) {
  const InstanceKey key = start();
  request_cancel();
  std::atomic<int> told{0};
  constexpr int kWaits = 500;
  std::vector<std::weak_ptr<Watcher::Waiter>> waits;
  for (int i = 0; i < kWaits; ++i) {
    waits.push_back(
        watcher_.wait_async(key, never, is_left_alone, [&told](const Seen&) { return [&told] { ++told; }; }));
  }
  std::thread gives_up([&] {
    for (const auto& wait : waits) watcher_.give_up(wait);
  });
  watcher_.abandon();
  gives_up.join();
  call();
  EXPECT_EQ(told, kWaits);
  EXPECT_THROW(watcher_.wait_async(key, never, is_left_alone, nullptr), std::logic_error);
}

}  // namespace
}  // namespace holdfast::client::watcher_test
