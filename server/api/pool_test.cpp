#include "server/api/pool.hpp"

#include "testkit/support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::server::pool_test {

TEST(Pool, RunsWhatIsPostedInItsOrder) {
  std::vector<int> ran;
  {
    Pool pool(1, 100);
    std::atomic<int> done{0};
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(pool.post([&, i] {
        ran.push_back(i);
        ++done;
      }));
    }
    EXPECT_TRUE(support::eventually([&] { return done == 50; }));
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(Pool, TakesSoMuchAndDropsWhatWaitsWhenItStops) {
  Pool pool(1, 2);
  std::atomic<bool> begun{false};
  std::atomic<bool> go_on{false};
  std::atomic<int> ran{0};
  const auto kept = std::make_shared<int>(1);
  EXPECT_TRUE(pool.post([&] {
    begun = true;
    while (!go_on) std::this_thread::yield();
  }));
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  EXPECT_TRUE(pool.post([&, kept] { ++ran; }));
  EXPECT_TRUE(pool.post([&, kept] { ++ran; }));
  EXPECT_FALSE(pool.post([&, kept] { ++ran; }));
  std::thread stops([&] { pool.stop(); });
  EXPECT_TRUE(support::eventually([&] { return kept.use_count() == 1; }));
  go_on = true;
  stops.join();
  EXPECT_EQ(ran, 0);
  EXPECT_FALSE(pool.post([] {}));
}

}  // namespace holdfast::server::pool_test
