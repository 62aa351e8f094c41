#include <holdfast/ids.hpp>
#include <holdfast/random.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <thread>

namespace holdfast {
namespace {

// Gives the numbers it was made of, one after another.
class ListedRandom final : public Random {
 public:
  explicit ListedRandom(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}
  std::uint64_t next() override { return numbers_.at(used_++); }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t used_ = 0;
};

std::vector<std::uint64_t> draw(Random& random, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t& number : numbers) number = random.next();
  return numbers;
}

TEST(SeededRandom, GivesTheSameNumbersForEver) {
  SeededRandom zero(0);
  EXPECT_EQ(draw(zero, 4), (std::vector<std::uint64_t>{0x99ec5f36cb75f2b4U, 0xbf6e1f784956452aU,
                                                       0x1a5f849d4933e6e0U, 0x6aa594f1262d2d2cU}));
  SeededRandom answer(42);
  EXPECT_EQ(draw(answer, 4), (std::vector<std::uint64_t>{0x15780b2e0c2ec716U, 0x6104d9866d113a7eU,
                                                         0xae17533239e499a1U, 0xecb8ad4703b360a1U}));
}

TEST(SeededRandom, CopiesContinueAlike) {
  SeededRandom original(7);
  original.next();
  SeededRandom copy = original;
  EXPECT_EQ(draw(original, 100), draw(copy, 100));
}

TEST(SystemRandom, NeverRepeatsATokenAcrossThreads) {
  std::mutex mutex;
  std::set<LockToken> tokens;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          const auto token = random_token<LockToken>(system_random());
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(tokens.insert(token).second);
        }
      });
    }
  }
  EXPECT_EQ(tokens.size(), 2000U);
}

// The next token of this process, and the next one of a child forked just before.
std::pair<LockToken, LockToken> tokens_of_parent_and_child() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    const auto token = random_token<LockToken>(system_random());
    const bool sent = write(ends[1], &token, sizeof(token)) == static_cast<ssize_t>(sizeof(token));
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  const auto parents = random_token<LockToken>(system_random());
  LockToken childs;
  EXPECT_EQ(read(ends[0], &childs, sizeof(childs)), static_cast<ssize_t>(sizeof(childs)));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return {parents, childs};
}

TEST(SystemRandom, ParentAndChildDrawDifferentTokensAfterAFork) {
  random_token<LockToken>(system_random());
  // Twice, so that at least one fork finds bits in the buffer which the child inherits.
  for (int i = 0; i < 2; ++i) {
    const auto [parents, childs] = tokens_of_parent_and_child();
    EXPECT_NE(parents, childs);
    EXPECT_FALSE(childs.empty());
  }
}

TEST(RandomToken, IsNeverTheEmptyOne) {
  ListedRandom random({0, 0, 0, 5});
  EXPECT_EQ(random_token<TurnStamp>(random), (TurnStamp{0, 5}));
}

TEST(RandomToken, DrawsTheHighHalfFirst) {
  ListedRandom random({1, 2});
  EXPECT_EQ(random_token<RequestId>(random), (RequestId{1, 2}));
}

TEST(Below, StaysBelow) {
  SeededRandom random(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(below(random, 1), 0U);
    EXPECT_LT(below(random, 6), 6U);
    EXPECT_LT(below(random, (1ULL << 63) + 1), (1ULL << 63) + 1);
  }
  EXPECT_THROW(below(random, 0), std::invalid_argument);
}

TEST(Below, DrawsAgainWhereTheRemainderWouldBeBiased) {
  // 2^64 = 16 mod 24: of the numbers from 0 the first 16 are too many.
  ListedRandom biased({0, 15, 16});
  EXPECT_EQ(below(biased, 24), 16U);
  EXPECT_EQ(biased.used(), 3U);
  ListedRandom power_of_two({0});
  EXPECT_EQ(below(power_of_two, 1ULL << 32), 0U);
}

TEST(Below, GivesEveryNumberAboutAsOften) {
  SeededRandom random(2);
  std::array<int, 6> seen{};
  for (int i = 0; i < 60000; ++i) ++seen.at(below(random, 6));
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
}

}  // namespace
}  // namespace holdfast
