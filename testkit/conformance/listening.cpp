// Waiting for work: nothing that is committed after a listener was made is missed.
#include "testkit/conformance/ears.hpp"
#include "testkit/conformance/story.hpp"

#include <algorithm>
#include <thread>

HOLDFAST_CONFORMANCE_FILE(listening);

namespace holdfast::testing::conformance {
namespace {

/// A look without waiting.
WorkMask news(const World& world, Listener& ears) { return ears.wait(world.clock().boot_now()).work; }

bool concerns(const Wake& wake, InstanceKey key) {
  return wake.any_instance || std::ranges::find(wake.instances, key) != wake.instances.end();
}

STORE_TEST(Listening, AStartIsHeard) {
  const auto ears = store().listen(kTurns, {});
  start("order-1");
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, AMessageThatMakesReadyIsHeard) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").waits_for({event("decision")}).schedules("charge"));
  const auto ears = store().listen(kTurns, {});
  raise("order-1", "decision", "yes");
  EXPECT_TRUE(hears(*this, *ears, kTurns));
  tell("order-1", "hello");
  must(a.release(a.fetch_turn()));
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, AnOutcomeIsHeard) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge"));
  const Work work = a.fetch_activity();
  const auto ears = store().listen(kTurns, {});
  must(a.finish(work));
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, AMessageForAHeldInstanceIsHeardByItsHolder) {
  const Worker a = join("a");
  Turn held = a.begin("order-1");
  a.commit(held.keeps_lock());
  const auto ears = store().listen(kTurns, a.key);
  tell("order-1", "hello");
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, ATimerThatIsDueEarlierThanAnyOtherIsHeard) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").sets_timer(EventId{5}, clock().calendar_now() + 1h));
  Turn turn = a.begin("order-2");
  EXPECT_LE(a.fetch_turns().next_due, 1h);
  const auto ears = store().listen(kTurns, {});
  a.commit(turn.sets_timer(EventId{5}, clock().calendar_now() + 1min));
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, ADelayedStartIsHeard) {
  const Worker a = join("a");
  EXPECT_EQ(a.fetch_turns().next_due, never);
  const auto ears = store().listen(kTurns, {});
  StartRequest request = start_of("order-1");
  request.delay = 1min;
  start(request);
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, WokenInstancesAreHeard) {
  const Worker a = join("a");
  const Turn turn = a.begin("order-1");
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  const auto ears = store().listen(kTurns, {});
  must(store().wake_parked(a.info.code));
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

STORE_TEST(Listening, AQueuedActivityIsHeard) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const auto ears = store().listen(kActivities, {});
  a.commit(turn.schedules("charge"));
  EXPECT_TRUE(hears(*this, *ears, kActivities));
}

STORE_TEST(Listening, AnActivityThatIsPutBackIsHeard) {
  const Worker a = join("a");
  a.commit(a.begin("order-1").schedules("charge").schedules("ship"));
  const Works works = a.fetch_activities();
  const auto ears = store().listen(kActivities, {});
  must(a.put_back(works.works.at(0)));
  EXPECT_TRUE(hears(*this, *ears, kActivities));
  must(a.retry(works.works.at(1), 1s));
  EXPECT_TRUE(hears(*this, *ears, kActivities));
}

STORE_TEST(Listening, AReleasedSessionWithWorkIsHeard) {
  const Worker a = join("a");
  const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
  a.commit(a.begin("order-1").schedules({.name = "charge", .session = SessionUse{.id = "gpu"}}));
  const auto ears = store().listen(kActivities, {});
  must(a.release(hold, SessionReason::drained));
  EXPECT_TRUE(hears(*this, *ears, kActivities));
}

STORE_TEST(Listening, ACancelIsHeardByTheWorkerThatRunsIt) {
  const Worker a = join("a");
  const Worker b = join("b");
  Turn turn = a.begin("order-1");
  a.commit(turn.schedules({.event = EventId{5}, .name = "charge"}).keeps_lock());
  b.fetch_activity();
  const auto ears = store().listen(kCancels, b.key);
  a.commit(turn.cancels(EventId{5}));
  EXPECT_TRUE(hears(*this, *ears, kCancels));
  EXPECT_EQ(b.cancel_records().size(), 1U);
}

STORE_TEST(Listening, AWatchedInstancesEndIsHeard) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const auto ears = store().listen(kWatched, {});
  ears->watch(turn.key());
  a.commit(turn.ends());
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), turn.key()));
}

STORE_TEST(Listening, AWatchedInstancesChangesOfStatusAreHeard) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const auto ears = store().listen(kWatched, {});
  ears->watch(turn.key());
  a.commit(turn.shows("half done").keeps_lock());
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), turn.key()));
  must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), turn.key()));
  suspend("order-1");
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), turn.key()));
  resume("order-1");
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), turn.key()));
}

STORE_TEST(Listening, AWatchedInstancesDeletionIsHeard) {
  const InstanceKey key = start("order-1");
  const auto ears = store().listen(kWatched, {});
  ears->watch(key);
  must(store().delete_instance("order-1", true));
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), key));
}

STORE_TEST(Listening, SeveralInstancesMayBeWatched) {
  const Worker a = join("a");
  const auto ears = store().listen(kWatched, {});
  Turn first = a.begin("order-1");
  Turn second = a.begin("order-2");
  ears->watch(first.key());
  ears->watch(second.key());
  a.commit(second.ends());
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), second.key()));
  ears->unwatch(second.key());
  a.commit(first.ends());
  EXPECT_TRUE(concerns(hear(*this, *ears, kWatched), first.key()));
}

STORE_TEST(Listening, ADeadlineEarlierThanAnyOtherIsHeardBySweepers) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  sweep();
  const auto ears = store().listen(kSweep, {});
  a.commit(turn.schedules({.name = "fly", .start_within = 1s}));
  EXPECT_TRUE(hears(*this, *ears, kSweep));
}

STORE_TEST(Listening, OnlyWhatWasAskedForIsHeard) {
  const Worker a = join("a");
  Turn turn = a.begin("order-1");
  const auto activities_only = store().listen(kActivities, {});
  const auto turns_only = store().listen(kTurns, {});
  start("order-2");
  a.commit(turn.schedules("charge"));
  EXPECT_EQ(hear(*this, *turns_only, kTurns).work, kTurns);
  EXPECT_EQ(hear(*this, *activities_only, kActivities).work, kActivities);
}

STORE_TEST(Listening, WhatComesBetweenListeningAndWaitingIsNotLost) {
  const auto ears = store().listen(kAllWork, {});
  start("order-1");
  const Worker a = join("a");
  a.commit(a.fetch_turn().schedules("charge"));
  const Wake heard = hear(*this, *ears, kActivities);
  EXPECT_TRUE(heard.work.has(kTurns));
}

STORE_TEST(Listening, NewsIsToldOnce) {
  const auto ears = store().listen(kTurns, {});
  start("order-1");
  EXPECT_TRUE(hears(*this, *ears, kTurns));
  EXPECT_TRUE(news(*this, *ears).empty());
}

STORE_TEST(Listening, WhatWasThereBeforeIsNoNews) {
  start("order-1");
  const auto ears = store().listen(kTurns, {});
  EXPECT_TRUE(news(*this, *ears).empty());
}

STORE_TEST(Listening, EachListenerHearsForItself) {
  const auto first = store().listen(kTurns, {});
  const auto second = store().listen(kTurns, {});
  start("order-1");
  EXPECT_TRUE(hears(*this, *first, kTurns));
  EXPECT_TRUE(hears(*this, *second, kTurns));
}

STORE_TEST(Listening, ThroughAnotherHandleNewsIsHeardToo) {
  const std::shared_ptr<Store> second = another_handle();
  const auto ears = second->listen(kTurns, {});
  start("order-1");
  EXPECT_TRUE(hears(*this, *ears, kTurns));
}

/// A store of its own whose clock is the machine's: only there can a thread really wait.
struct RealTime {
  std::unique_ptr<StoreDatabase> database;
  std::shared_ptr<Store> store;
  std::unique_ptr<Listener> ears;
};
RealTime in_real_time(const StoreUnderTest& under_test) {
  RealTime real{.database = under_test.make(), .store = {}, .ears = {}};
  real.store = real.database->open({.clock = &real_clock()});
  real.ears = real.store->listen(kTurns, {});
  return real;
}

STORE_TEST(Listening, AThreadThatWaitsIsWokenByNews) {
  const RealTime real = in_real_time(under_test());
  WorkMask heard;
  {
    const std::jthread waiter([&] {
      const BootTime deadline = real_clock().boot_now() + 10s;
      while (heard.empty() && real_clock().boot_now() < deadline) heard = real.ears->wait(deadline).work;
    });
    const StartRequest request = start_of("order-1");
    EXPECT_EQ(answers(real.store->start(one(request))), Texts{"ok"});
  }
  EXPECT_EQ(heard, kTurns);
}

STORE_TEST(Listening, AThreadThatWaitsMayBeInterrupted) {
  const RealTime real = in_real_time(under_test());
  const BootTime deadline = real_clock().boot_now() + 1h;
  {
    const std::jthread waiter([&] { EXPECT_TRUE(real.ears->wait(deadline).work.empty()); });
    real.ears->interrupt();
  }
  EXPECT_LT(real_clock().boot_now(), deadline);
}

STORE_TEST(Listening, AWaitEndsAtItsDeadline) {
  const RealTime real = in_real_time(under_test());
  EXPECT_TRUE(real.ears->wait(real_clock().boot_now() + 5ms).work.empty());
}

STORE_TEST(Listening, AnInterruptBeforeTheWaitEndsTheNextOne) {
  const auto ears = store().listen(kTurns, {});
  ears->interrupt();
  EXPECT_TRUE(ears->wait(clock().boot_now() + 1h).work.empty());
}

STORE_TEST(Listening, ADeadlineThatHasPassedMakesItALook) {
  const auto ears = store().listen(kTurns, {});
  EXPECT_TRUE(news(*this, *ears).empty());
  EXPECT_TRUE(ears->wait(clock().boot_now() - 1s).work.empty());
}

STORE_TEST(Listening, AListenerMayGoBeforeTheNews) {
  auto ears = store().listen(kAllWork, {});
  ears.reset();
  start("order-1");
  SUCCEED();
}

}  // namespace
}  // namespace holdfast::testing::conformance
