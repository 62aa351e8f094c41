#include "base/waiting.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(Waiting, CenturiesAreNotOverAtOnce) {
  for (const Duration time : {Duration(24h * 365 * 400), never}) {
    std::mutex mutex;
    std::condition_variable condition;
    bool done = false;
    std::unique_lock lock(mutex);
    const std::jthread other([&] {
      const std::lock_guard others_turn(mutex);  // not before the wait has begun
      done = true;
      condition.notify_all();
    });
    EXPECT_TRUE(wait_for(condition, lock, time, [&] { return done; }));
  }
}

TEST(Waiting, ATimeThatIsOverIsNotWaitedFor) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  EXPECT_FALSE(wait_for(condition, lock, 0s, [] { return false; }));
  EXPECT_FALSE(wait_for(condition, lock, Duration::min(), [] { return false; }));
}

}  // namespace
}  // namespace holdfast
