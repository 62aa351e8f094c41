// Ranges of versions, as users see them.
#include "control_test.hpp"

#include <string>
#include <vector>

namespace holdfast::control::versions_test {
namespace {

Task<std::string> tells(Context& ctx) { co_return std::string(ctx.version()); }

Task<std::string> asks(Context& ctx, std::string range) {
  co_return co_await ctx.child<std::string>("tells", {.version = range});
}

/// Two rounds, the second in whatever the range allows by then.
Task<std::string> rounds(Context& ctx, std::string range, std::string before) {
  const std::string now(ctx.version());
  if (!before.empty()) co_return before + " " + now;
  co_await ctx.event<int>("next");
  co_await ctx.continue_as_new({.version = range}, range, now);
}

class VersionsTest : public OnEachStore {
 protected:
  std::unique_ptr<Runtime> worker(const std::vector<std::string>& versions) {
    return runtime([&](Runtime& r) {
      for (const std::string& version : versions) {
        r.orchestration("tells", {.version = version}, tells);
        r.orchestration("rounds", {.version = version}, rounds);
      }
      r.orchestration("asks", asks);
    });
  }
};
HOLDFAST_ON_EACH_STORE(VersionsTest);

TEST_P(VersionsTest, TheHighestInTheRangeIsTakenAndKept) {
  const auto rt = worker({"1", "2.1", "2.10", "2.9", "3"});
  Client client = rt->client();
  const Run run = client.start("tells", {.id = "t", .version = "^2.1"});
  EXPECT_EQ(run.wait<std::string>(kSoon), "2.10");
  EXPECT_EQ(run.info().version, "2.10");
  EXPECT_EQ(client.start("tells", {.id = "t", .version = "^2.1.0"}).key(), run.key()) << "the same wish";
  EXPECT_EQ(
      refusal([&] { client.start("tells", {.id = "t", .version = "2.10"}); }),
      "conflict: instance 't' exists, and was started in another version or range, not in version '2.10'; "
      "use another id, or set StartOptions::reuse to begin a new instance once it has ended");
  EXPECT_EQ(client.start("tells", {.version = ">=2 <2.9"}).wait<std::string>(kSoon), "2.1");
  EXPECT_EQ(client.start("asks", "~2.9").wait<std::string>(kSoon), "2.9");
}

TEST_P(VersionsTest, ARangeThatNobodyServesIsShownWithWhatIsThere) {
  const auto rt = worker({"1", "2.1"});
  Client client = rt->client();
  const Run run = client.start("tells", {.version = "^4"});
  EXPECT_EQ(client.start("tells", {.version = "^2"}).wait<std::string>(kSoon), "2.1");
  const RunWait wait = wait_of(run.describe(), RunWait::Kind::worker);
  EXPECT_FALSE(wait.served);
  EXPECT_EQ(wait.state, "no live worker has the code of 'tells' version ^4; workers have 1, 2.1");
  const auto later = worker({"4.2"});
  EXPECT_EQ(run.wait<std::string>(kSoon), "4.2");
}

TEST_P(VersionsTest, ANextExecutionMayAskForARange) {
  auto rt = worker({"1", "1.5"});
  Client client = rt->client();
  const Run run = client.start("rounds", {.version = "1"}, ">=1", "");
  EXPECT_TRUE(eventually([&] { return waits_for(run.describe(), RunWait::Kind::event, "next"); }));
  run.raise("next", 1);
  EXPECT_EQ(run.wait<std::string>(kSoon), "1 1.5");
}

TEST_P(VersionsTest, RangesThatMakeNoSenseAreRefused) {
  Client client(store());
  EXPECT_THROW(client.start("tells", {.version = "^"}), Error);
  EXPECT_THROW(client.start("tells", {.version = ">=2 oh"}), Error);
}

}  // namespace
}  // namespace holdfast::control::versions_test
