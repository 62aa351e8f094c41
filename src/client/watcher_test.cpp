#include "client/watcher.hpp"

#include "testkit/support/forwarding_store.hpp"

#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <array>
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
  void answer() { answers_.set_value(); }

 private:
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
  Watcher watcher_{store_, [] {}};
  const Callbacks callbacks_{null_logger()};
};

TEST_F(WatcherTest, NobodyIsToldOfWhatWasSeenBeforeHeCame) {
  const InstanceKey key = start();
  store_->hold();
  std::thread looks([&] { watcher_.look({.instances = {key}}, {}); });
  store_->until_asked();
  request_cancel();
  int told = 0;
  watcher_.wait_async(key, never, is_left_alone, [&](const Seen&) { ++told; });
  store_->answer();
  looks.join();
  watcher_.tell(callbacks_);
  EXPECT_EQ(told, 0) << "the look had begun before it waited";
  watcher_.look({}, {});
  watcher_.tell(callbacks_);
  EXPECT_EQ(told, 0);
  watcher_.abandon();
  watcher_.tell(callbacks_);
  EXPECT_EQ(told, 1);
}

TEST_F(WatcherTest, WhoeverWaitsIsToldOnceHoweverOftenItIsLookedAt) {
  const InstanceKey key = start();
  int told = 0;
  watcher_.wait_async(key, never, is_left_alone, [&](const Seen& seen) { told += seen ? 1 : 0; });
  EXPECT_TRUE(watcher_.has_waiters());
  for (int i = 0; i < 3; ++i) {
    watcher_.look({}, {});
    watcher_.look_around();
    watcher_.tell(callbacks_);
  }
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(watcher_.has_waiters());
}

TEST_F(WatcherTest, LooksAroundAtAPartOfManyEachTime) {
  // Keys that nobody has: each wait ends with the first look at it.
  constexpr std::uint64_t kWaits = 2'500;
  std::uint64_t gone = 0;
  for (std::uint64_t i = 1; i <= kWaits; ++i) {
    watcher_.wait_async(InstanceKey{i}, never, is_left_alone,
                        [&](const Seen& seen) { gone += seen.error() == NotSeen::gone ? 1U : 0U; });
  }
  for (const std::uint64_t expected : {1'000U, 2'000U, 2'500U}) {
    watcher_.look_around();
    watcher_.tell(callbacks_);
    EXPECT_EQ(gone, expected);
  }
}

TEST_F(WatcherTest, AWaitEndsWithItsTimeOnceItWasLookedAt) {
  const InstanceKey key = start();
  request_cancel();
  std::optional<Seen> seen;
  watcher_.wait_async(key, 5s, is_left_alone, [&](Seen what) { seen = std::move(what); });
  watcher_.look({}, {});
  watcher_.tell(callbacks_);
  EXPECT_FALSE(seen);
  const BootTime due = watcher_.due();
  watcher_.look({}, due);
  watcher_.tell(callbacks_);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->error(), NotSeen::time_is_up);
  EXPECT_EQ(watcher_.due(), BootTime::max());
}

}  // namespace
}  // namespace holdfast::client::watcher_test
