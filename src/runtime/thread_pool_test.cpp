#include "runtime/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <thread>

namespace holdfast::runtime::thread_pool_test {
namespace {

using namespace std::chrono_literals;

TEST(ThreadPool, BeginsEverythingWhateverTheRestIsWaitingFor) {
  constexpr int kCount = 50;
  ThreadPool pool;
  std::latch all_run(kCount);
  for (int i = 0; i < kCount; ++i) pool.post([&] { all_run.arrive_and_wait(); });
  all_run.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, RunsAllThatWasPostedBeforeItStops) {
  std::atomic<int> run = 0;
  ThreadPool pool;
  for (int i = 0; i < 1000; ++i) pool.post([&] { ++run; });
  EXPECT_EQ(pool.stop(10s), 0U);
  EXPECT_EQ(run, 1000);
}

// As code does that asks others to stop, and then waits for them.
TEST(ThreadPool, BeginsWhatAThreadPostsApartThoughItDoesNotComeBack) {
  ThreadPool pool;
  Executor& executor = pool;
  using Post = void (Executor::*)(Work);
  for (const Post post : {&Executor::post_apart, &Executor::post_at_once}) {
    std::latch done(1);
    executor.post([&] {
      std::latch told(1);
      (executor.*post)([&] { told.count_down(); });
      told.wait();
      done.count_down();
    });
    done.wait();
  }
}

TEST(ThreadPool, LeavesThreadsToThemselvesThatDontEnd) {
  auto begun = std::make_shared<std::latch>(1);
  auto go_on = std::make_shared<std::latch>(1);
  auto ended = std::make_shared<std::latch>(1);
  {
    ThreadPool pool;
    pool.post([=] {
      begun->count_down();
      go_on->wait();
      ended->count_down();
    });
    begun->wait();
    EXPECT_EQ(pool.stop(0s), 1U);
  }
  go_on->count_down();
  ended->wait();
}

TEST(ThreadPool, DoesTheRestOfManyPiecesOfWorkInOneGo) {
  std::atomic<int> run = 0;
  std::latch rested(1);
  ThreadPool* self = nullptr;
  std::atomic<int> rests = 0;
  std::atomic<bool> complete = false;
  ThreadPool pool([&] {
    ++rests;
    if (run == 3 && !complete.exchange(true)) rested.count_down();
    return false;
  });
  self = &pool;
  std::latch posted(1);
  const auto work = [&] {
    posted.wait();
    ++run;
    self->ask_for_rest();
  };
  for (int i = 0; i < 3; ++i) pool.post(work);
  posted.count_down();
  rested.wait();
  EXPECT_LE(rests, 3);
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, DoesTheRestThoughWorkGoesOn) {
  std::latch rested(1);
  ThreadPool pool([&] {
    rested.count_down();
    return false;
  });
  // The first asks, and whoever takes the second is kept until the rest was done.
  pool.post([&] { pool.ask_for_rest(); });
  pool.post([&] { rested.wait(); });
  rested.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, DoesTheRestAgainWhenItSaysSo) {
  std::atomic<int> rests = 0;
  std::latch third(1);
  ThreadPool pool([&] {
    if (++rests == 3) third.count_down();
    return rests < 3;
  });
  pool.ask_for_rest();
  third.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
  EXPECT_EQ(rests, 3);
}

TEST(ThreadPool, RunsWhatTheRestPosts) {
  std::latch run(1);
  ThreadPool* self = nullptr;
  ThreadPool pool([&] {
    self->post([&] { run.count_down(); });
    return false;
  });
  self = &pool;
  pool.post([&] { self->ask_for_rest(); });
  run.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, RunsAllBriefWork) {
  std::atomic<int> run = 0;
  ThreadPool pool;
  for (int i = 0; i < 1000; ++i) pool.post_brief([&] { ++run; });
  EXPECT_EQ(pool.stop(10s), 0U);
  EXPECT_EQ(run, 1000);
}

TEST(ThreadPool, BriefWorkThatTakesLongHoldsNoOtherUp) {
  constexpr int kCount = 20;
  ThreadPool pool;
  std::latch all_run(kCount);
  for (int i = 0; i < kCount; ++i) pool.post_brief([&] { all_run.arrive_and_wait(); });
  all_run.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, NorDoesItWhereAThreadOfItsOwnPostsIt) {
  constexpr int kCount = 20;
  ThreadPool pool;
  std::latch all_run(kCount);
  pool.post_brief([&] {
    for (int i = 0; i < kCount; ++i) pool.post_brief([&] { all_run.arrive_and_wait(); });
  });
  all_run.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, BriefWorkThatTakesLongHoldsUpNeitherOrdinaryWorkNorTheRest) {
  std::latch rested(1);
  ThreadPool pool([&] {
    rested.count_down();
    return false;
  });
  std::latch ordinary(1);
  pool.post_brief([&] {
    rested.wait();
    ordinary.wait();
  });
  pool.ask_for_rest();
  pool.post([&] { ordinary.count_down(); });
  rested.wait();
  EXPECT_EQ(pool.stop(10s), 0U);
}

// Whoever looks now and then is still there when nothing has been posted for long.
TEST(ThreadPool, BeginsBriefWorkAlsoAfterAPause) {
  ThreadPool pool;
  for (int burst = 0; burst < 3; ++burst) {
    const auto all_run = std::make_shared<std::latch>(4);  // others may still be in it when it is passed
    for (int i = 0; i < 3; ++i) pool.post_brief([all_run] { all_run->arrive_and_wait(); });
    all_run->arrive_and_wait();
    std::this_thread::sleep_for(30ms);
  }
  EXPECT_EQ(pool.stop(10s), 0U);
}

// A thread that looks may find something late in the moment in which it is called.
TEST(ThreadPool, BeginsWhatIsPostedWhileAThreadLooks) {
  constexpr int kRounds = 800;
  constexpr int kAtOnce = 3;
  ThreadPool pool;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kAtOnce; ++i) pool.post_brief([] {});
    std::this_thread::sleep_for(std::chrono::microseconds(round * 37 % 1500));
    const auto all_run = std::make_shared<std::latch>(kAtOnce + 1);
    for (int i = 0; i < kAtOnce; ++i) pool.post([all_run] { all_run->arrive_and_wait(); });
    all_run->arrive_and_wait();
  }
  EXPECT_EQ(pool.stop(10s), 0U);
}

TEST(ThreadPool, KnowsItsOwnThreads) {
  std::atomic<bool> here = false;
  ThreadPool pool;
  pool.post([&] { here = pool.is_here(); });
  EXPECT_FALSE(pool.is_here());
  pool.stop(10s);
  EXPECT_TRUE(here);
}

}  // namespace
}  // namespace holdfast::runtime::thread_pool_test
