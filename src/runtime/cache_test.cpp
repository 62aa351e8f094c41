#include "runtime/cache.hpp"

#include <holdfast/context.hpp>
#include <holdfast/detail/orchestration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::runtime::cache_test {
namespace {

using namespace std::chrono_literals;

InstanceCache* cache_in_use = nullptr;
int destroyed = 0;

/// Part of a frame. As code of users may, its destructor waits for another thread, and that one uses the
/// cache.
struct Careless {
  Careless() = default;
  Careless(const Careless&) = delete;
  Careless& operator=(const Careless&) = delete;
  ~Careless() {
    ++destroyed;
    auto done = std::make_shared<std::promise<void>>();
    std::thread([done, cache = cache_in_use] {
      static_cast<void>(cache->size());
      done->set_value();
    }).detach();
    EXPECT_EQ(done->get_future().wait_for(10s), std::future_status::ready) << "the cache is locked";
  }
};

Task<void> careless(Context& ctx) {
  const Careless local;
  co_await ctx.event<int>("never");
}

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    cache_in_use = &cache;
    destroyed = 0;
  }

  static store::LockedTurn turn(std::uint64_t key, std::uint64_t token) {
    return {.key = InstanceKey{key},
            .instance = "i",
            .token = LockToken{0, token},
            .code = {"careless", "1"},
            .execution = ExecutionNumber{1}};
  }
  /// Takes the one that is ready, and gives it a frame that waits.
  InstanceCache::Taken run() {
    InstanceCache::Taken taken = cache.take_ready(1).at(0);
    CachedInstance& instance = *taken.instance;
    instance.frame = make_frame({.instance = "i"}, detail::make_orchestration(careless));
    engine::Message start{.id = MessageId{1},
                          .execution = ExecutionNumber{1},
                          .body = history::Started{.name = "careless", .version = "1"}};
    instance.frame->run({CalendarTime{}, {std::move(start)}});
    return taken;
  }
  void run_and_put_back(bool still_held) {
    InstanceCache::Taken taken = run();
    cache.put_back(taken, still_held);
  }
  static LocalDone done(std::uint64_t key, std::uint64_t event) {
    return {.id = {InstanceKey{key}, ExecutionNumber{1}, EventId{event}}};
  }
  /// The events of the activities that the store has yet to hear of.
  std::vector<EventId> left_over() {
    std::vector<EventId> events;
    for (const store::ActivityResult& answer : outbox.take_answers()) events.push_back(answer.id.event);
    return events;
  }

  ManualClock clock;
  int pokes = 0;
  Waker waker{[this](Step step) { pokes += step == Step::answers ? 1 : 0; }};
  Outbox outbox{waker};
  InstanceCache cache{1, clock, outbox};
};

// ---- frames are destroyed without the cache's mutex ---------------------------------------------

TEST_F(CacheTest, AFrameThatWasNotUsedForLongIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  run_and_put_back(false);
  clock.advance(1h);
  cache.evict_idle(1min);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatThereIsNoRoomForIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  run_and_put_back(false);
  cache.add(turn(2, 2));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameWhoseLockIsLostIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  run_and_put_back(true);
  cache.lost(InstanceKey{1}, LockToken{0, 1});
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatAnotherWorkerOvertookIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  run_and_put_back(false);
  store::LockedTurn later = turn(1, 2);
  later.stamp = TurnStamp{0, 7};
  cache.add(std::move(later));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatWasFetchedAnewWhileItRanIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  InstanceCache::Taken taken = run();
  store::LockedTurn later = turn(1, 2);
  later.stamp = TurnStamp{0, 7};
  cache.add(std::move(later));
  cache.put_back(taken, true);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, TheFrameOfAnExecutionThatIsOverIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  cache.begin_execution(*run().instance, "1");
  EXPECT_EQ(destroyed, 1);
}

// ---- completions that no turn takes go to the store ---------------------------------------------

TEST_F(CacheTest, ACompletionOfAnInstanceThatIsNotHereGoesToTheStore) {
  EXPECT_FALSE(cache.add_done(done(1, 7)));
  EXPECT_EQ(left_over(), std::vector{EventId{7}});
  EXPECT_EQ(pokes, 1);
}

TEST_F(CacheTest, ACompletionGoesIntoTheNextTurn) {
  cache.add(turn(1, 1));
  EXPECT_TRUE(cache.add_done(done(1, 7)));
  EXPECT_EQ(cache.take_ready(1).at(0).done.size(), 1U);
  EXPECT_EQ(left_over(), std::vector<EventId>());
  EXPECT_EQ(pokes, 0);
}

TEST_F(CacheTest, WhatATurnHadAndWhatCameMeanwhileGoesToTheStoreWithAnInstanceThatIsDropped) {
  cache.add(turn(1, 1));
  cache.add_done(done(1, 7));
  InstanceCache::Taken taken = run();
  cache.add_done(done(1, 8));
  cache.drop(taken);
  EXPECT_EQ(left_over(), (std::vector{EventId{7}, EventId{8}}));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, WhatCameMeanwhileGoesToTheStoreWithALockThatWasNotKept) {
  cache.add(turn(1, 1));
  InstanceCache::Taken taken = run();
  cache.add_done(done(1, 8));
  cache.put_back(taken, false);
  EXPECT_EQ(left_over(), std::vector{EventId{8}});
}

TEST_F(CacheTest, WhatCameMeanwhileGoesToTheStoreWithALockThatIsLost) {
  cache.add(turn(1, 1));
  InstanceCache::Taken taken = run();
  cache.add_done(done(1, 8));
  cache.lost(InstanceKey{1}, LockToken{0, 1});
  EXPECT_EQ(left_over(), std::vector{EventId{8}});
  EXPECT_FALSE(cache.add_done(done(1, 9)));
  EXPECT_EQ(left_over(), std::vector{EventId{9}});
}

}  // namespace
}  // namespace holdfast::runtime::cache_test
