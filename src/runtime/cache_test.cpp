#include "runtime/cache.hpp"

#include <holdfast/context.hpp>
#include <holdfast/detail/orchestration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

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
  CachedInstance& run() {
    CachedInstance& instance = *cache.take_ready(1).at(0).instance;
    instance.frame = std::make_unique<engine::Execution>(engine::Identity{.instance = "i"},
                                                         detail::make_orchestration(careless));
    engine::Message start{.id = MessageId{1},
                          .execution = ExecutionNumber{1},
                          .body = history::Started{.name = "careless", .version = "1"}};
    instance.frame->run({CalendarTime{}, {std::move(start)}});
    return instance;
  }

  ManualClock clock;
  InstanceCache cache{1, clock};
};

// ---- frames are destroyed without the cache's mutex ---------------------------------------------

TEST_F(CacheTest, AFrameThatWasNotUsedForLongIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  cache.put_back(run(), false);
  clock.advance(1h);
  cache.evict_idle(1min);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatThereIsNoRoomForIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  cache.put_back(run(), false);
  cache.add(turn(2, 2));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameWhoseLockIsLostIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  cache.put_back(run(), true);
  cache.lost(InstanceKey{1}, LockToken{0, 1});
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatAnotherWorkerOvertookIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  cache.put_back(run(), false);
  store::LockedTurn later = turn(1, 2);
  later.stamp = TurnStamp{0, 7};
  cache.add(std::move(later));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, AFrameThatWasFetchedAnewWhileItRanIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  CachedInstance& instance = run();
  store::LockedTurn later = turn(1, 2);
  later.stamp = TurnStamp{0, 7};
  cache.add(std::move(later));
  cache.put_back(instance, true);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CacheTest, TheFrameOfAnExecutionThatIsOverIsDestroyedUnlocked) {
  cache.add(turn(1, 1));
  CachedInstance& instance = run();
  cache.begin_execution(instance, "1");
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace holdfast::runtime::cache_test
