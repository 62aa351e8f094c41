#include "runtime/desk.hpp"

#include "client/bodies.hpp"
#include "testkit/support/nosy_logger.hpp"

#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::runtime::desk_test {
namespace {

using support::NosyLogger;

/// Counts what is posted, and runs nothing.
class Counting final : public Executor {
 public:
  void post(Work /*work*/) override { ++posted; }
  int posted = 0;
};

class DeskTest : public ::testing::Test {
 protected:
  DeskTest() {
    logger->ask = [this] { static_cast<void>(desk.in_hand()); };
  }
  ~DeskTest() override { logger->ask = nullptr; }

  static Registry with_work() {
    Registry registry;
    registry.add_activity("work", detail::make_activity([](ActivityContext&) {}));
    return registry;
  }
  static store::LockedActivity locked(std::uint64_t event) {
    return {.id = {InstanceKey{1}, ExecutionNumber{1}, EventId{event}},
            .instance = "i",
            .name = "work",
            .body = bodies::to_bytes(detail::ActivityScheduled{})};
  }
  void begin(std::uint64_t event) {
    ASSERT_EQ(desk.reserve_for_fetch(), 1U);
    desk.begin(locked(event), kToken, clock.boot_now());
  }
  void cancel(std::uint64_t event) {
    desk.cancel(locked(event).id, kToken, CancelReason::cancel_requested, std::nullopt);
  }
  std::vector<EventId> acknowledged() {
    std::vector<EventId> events;
    for (const store::CancelAcknowledgement& one : outbox.take_acknowledgements())
      events.push_back(one.id.event);
    return events;
  }

  static constexpr LockToken kToken{1, 2};
  ManualClock clock;
  SeededRandom random{1};
  Counting executor;
  std::shared_ptr<NosyLogger> logger = std::make_shared<NosyLogger>();
  Settings settings{memory({.clock = &clock}), {.activity_slots = 1, .logger = logger}, with_work(), random};
  Waker waker{[](Step) {}};
  Standing standing{waker, settings.options.worker_stale_after};
  Chance chance{random};
  Outbox outbox{waker};
  InstanceCache cache{10, clock, outbox};
  SessionDesk sessions{settings, standing, waker, executor};
  ActivityDesk desk{settings, standing, waker, chance, cache, sessions, outbox, executor};
};

TEST_F(DeskTest, WhatWasTakenAwayBeforeItCameHereIsNotBegun) {
  desk.expect(kToken);
  cancel(7);
  cancel(7);  // the store says so until it is acknowledged
  begin(7);
  EXPECT_EQ(executor.posted, 0);
  EXPECT_EQ(desk.slots_in_use(), 0U);
  EXPECT_EQ(acknowledged(), std::vector{EventId{7}});
  begin(8);
  EXPECT_EQ(executor.posted, 1);
  desk.stop_expecting(kToken);
  EXPECT_EQ(acknowledged(), std::vector<EventId>{});
}

TEST_F(DeskTest, WhatWasTakenAwayAndNeverComesIsAcknowledged) {
  desk.expect(kToken);
  cancel(7);
  EXPECT_EQ(acknowledged(), std::vector<EventId>{});
  desk.stop_expecting(kToken);
  EXPECT_EQ(acknowledged(), std::vector{EventId{7}});
}

TEST_F(DeskTest, NewsOfWhatIsLongOverIsForgotten) {
  cancel(7);
  desk.expect(kToken);
  begin(7);
  EXPECT_EQ(executor.posted, 1);
}

TEST_F(DeskTest, WhatItSaysIsSaidWithoutItsMutex) {
  begin(7);
  clock.advance(settings.options.activity_lease);
  desk.enforce_limits();
  EXPECT_EQ(logger->lines, 1) << "the lock could not be kept";
  clock.advance(settings.options.cancel_grace);
  desk.enforce_limits();
  EXPECT_EQ(logger->lines, 2) << "it goes on after its grace";
  EXPECT_EQ(desk.slots_in_use(), 0U);
  EXPECT_EQ(desk.in_hand(), 1U);
}

}  // namespace
}  // namespace holdfast::runtime::desk_test
