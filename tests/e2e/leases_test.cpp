// Limits of activities hold whatever the store or other code does.
#include "stores_test.hpp"

#include <holdfast/fault.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

namespace holdfast::e2e::leases_test {
namespace {

/// Calls hang for as long as it says.
class Hang final : public FaultPlan {
 public:
  ~Hang() override { end(); }
  Fault at(std::string_view) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hangs_; });
    return Fault::none;
  }
  void begin() { set(true); }
  void end() { set(false); }

 private:
  void set(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

void wait_for_stop(const std::stop_token& token) {
  std::promise<void> stopped;
  const std::stop_callback told(token, [&] { stopped.set_value(); });
  stopped.get_future().wait();
}

Task<int> waiting_briefly(Context& ctx) {
  co_return co_await ctx.activity<int>("wait", {.timeout = 2500ms, .retry = {.max_attempts = 1}});
}
Task<int> tells_slowly(Context& ctx) { co_return co_await ctx.activity<int>("slow to tell"); }

class LeasesTest : public OnEachStore {
 protected:
  /// What the activity of the instance is told while no call to the store comes back.
  std::optional<CancelReason> told_while_it_hangs(Duration lease, void (*add)(Runtime&)) {
    Hang hang;
    std::promise<void> begun;
    std::promise<CancelReason> told;
    auto is_told = told.get_future();
    Runtime rt(store(&hang), {.activity_slots = 4, .activity_lease = lease, .logger = log});
    add(rt);
    rt.activity("wait", [&, first = std::make_shared<std::atomic<bool>>(true)](ActivityContext& ctx) {
      if (!first->exchange(false)) return 2;
      begun.set_value();
      wait_for_stop(ctx.stop_token());
      told.set_value(*ctx.cancel_reason());
      return 1;
    });
    rt.start();
    const Run run = rt.client().start("program", {.id = "i"});
    begun.get_future().wait();
    hang.begin();
    std::optional<CancelReason> reason;
    if (is_told.wait_for(kSoon) == std::future_status::ready) reason = is_told.get();
    hang.end();
    return reason;
  }
};

TEST_P(LeasesTest, TheEndOfALeaseIsToldWhileTheStoreHangs) {
  EXPECT_EQ(told_while_it_hangs(300ms, [](Runtime& rt) { rt.orchestration("program", waiting); }),
            CancelReason::lease_lost);
}

// It is over after the first renewal, which hangs, and before the lease.
TEST_P(LeasesTest, ATimeoutIsToldWhileTheStoreHangs) {
  EXPECT_EQ(told_while_it_hangs(6s, [](Runtime& rt) { rt.orchestration("program", waiting_briefly); }),
            CancelReason::attempt_timeout);
}

TEST_P(LeasesTest, AStopCallbackThatTakesLongHoldsUpNobodyElse) {
  std::promise<void> told_slowly;
  const std::shared_future<void> is_told_slowly = told_slowly.get_future().share();
  std::promise<void> may_go_on;
  std::promise<CancelReason> told;
  auto is_told = told.get_future();
  std::promise<void> slow_begun;
  std::promise<void> begun;
  const auto rt = runtime([&](Runtime& add) {
    add.orchestration("waiting", waiting).orchestration("tells_slowly", tells_slowly);
    add.activity("slow to tell", [&](ActivityContext& ctx) {
      const std::stop_callback slow(ctx.stop_token(), [&] {
        told_slowly.set_value();
        may_go_on.get_future().wait();
      });
      slow_begun.set_value();
      is_told_slowly.wait();
      return 1;
    });
    add.activity("wait", [&](ActivityContext& ctx) {
      begun.set_value();
      wait_for_stop(ctx.stop_token());
      told.set_value(*ctx.cancel_reason());
      return 1;
    });
  });
  const Run slow = rt->client().start("tells_slowly", {.id = "slow"});
  const Run other = rt->client().start("waiting", {.id = "other"});
  slow_begun.get_future().wait();
  begun.get_future().wait();
  slow.cancel("enough");
  is_told_slowly.wait();
  other.cancel("enough");
  // Not by the end of its lease, which nobody could keep.
  EXPECT_EQ(is_told.get(), CancelReason::cancel_requested);
  may_go_on.set_value();
}

HOLDFAST_ON_EACH_STORE(LeasesTest);

}  // namespace
}  // namespace holdfast::e2e::leases_test
