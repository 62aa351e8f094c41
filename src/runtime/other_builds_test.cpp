// Two deployments of the code side by side: who goes on with an instance whose history fits only one of them.
#include "testkit/support/eventually.hpp"
#include "testkit/support/lines.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::runtime::other_builds_test {
namespace {

using support::eventually;
using support::Lines;
using namespace std::chrono_literals;

Task<int> old_code(Context& ctx) {
  const int number = co_await ctx.activity<int>("number");
  co_await ctx.event<int>("go");
  co_return number;
}
Task<int> other_code(Context& ctx) {
  co_await ctx.activity<int>("another");
  co_await ctx.event<int>("go");
  co_return 0;
}
Task<int> patched_code(Context& ctx) {
  if (ctx.patched("twice")) co_await ctx.activity<int>("number");
  const int number = co_await ctx.activity<int>("number");
  co_await ctx.event<int>("go");
  co_return number;
}

/// Counts the signs of life of a worker.
class Signs final : public FaultPlan {
 public:
  Fault at(std::string_view point) override {
    if (point == "memory.refresh") ++seen;
    return Fault::none;
  }
  std::atomic<int> seen{0};
};

class OtherBuilds : public testing::Test {
 protected:
  using Run = holdfast::Run;  // not the test framework's own
  using Code = Task<int> (*)(Context&);

  std::shared_ptr<Store> open(FaultPlan* plan = nullptr) {
    return memory({.database = database, .faults = plan});
  }
  std::unique_ptr<Runtime> deploy(std::uint64_t build, Code code, FaultPlan* plan = nullptr) {
    RuntimeOptions options{.build = build, .activity_slots = 2, .logger = lines};
    if (often_seen) {
      options.instance_lease = 500ms;
      options.worker_stale_after = 2s;
    }
    auto rt = std::make_unique<Runtime>(open(plan), options);
    rt->activity("number", [](ActivityContext&) { return 5; });
    rt->orchestration("changing", code);
    rt->start();
    return rt;
  }
  /// A worker that is registered, and takes nothing.
  WorkerKey join(std::uint64_t build) {
    return open()
        ->join({.node = "still",
                .build = build,
                .host = "h",
                .pid = 1,
                .slots = 1,
                .code = {.orchestrations = {{"changing", ""}, {"changing", "1"}}, .newest_build = build},
                .stale_after = 1h})
        .value();
  }
  /// An instance that waits for its event, begun by build 3.
  Run begun_by_three() {
    const auto rt = deploy(3, old_code);
    Run run = client.start("changing", {.id = "i"});
    EXPECT_TRUE(eventually([&] {
      const RunDetail detail = run.describe();
      return std::ranges::any_of(detail.waits,
                                 [](const RunWait& wait) { return wait.kind == RunWait::Kind::event; });
    }));
    return run;
  }

  bool often_seen = false;  ///< workers give signs of life often
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  Client client{open()};
};

constexpr const char* kGivenBack =
    "warn  instance does not fit the code of this build, and is left to another one";
constexpr const char* kParked = "error instance can't go on and is parked";

TEST_F(OtherBuilds, AnInstanceThatFitsOnlyTheOlderCodeIsLeftToTheWorkersThatHaveIt) {
  const Run run = begun_by_three();
  const WorkerKey still = join(3);
  auto newer = deploy(4, other_code);
  client.raise("i", "go", 1);
  ASSERT_TRUE(lines->wait_for(kGivenBack)) << lines->all();
  EXPECT_EQ(run.status(), Status::running);
  EXPECT_EQ(lines->count(kParked), 0U);
  EXPECT_NE(lines->all().find("build=4 recorded_by=3"), std::string::npos) << lines->all();
  const auto older = deploy(3, old_code);
  newer.reset();  // it could be the first to fetch it every time, with ever longer pauses
  EXPECT_EQ(run.wait<int>(30s), 5);
  EXPECT_TRUE(open()->leave(still));
}

TEST_F(OtherBuilds, ItIsParkedWhenTheLastOfThemLeaves) {
  const Run run = begun_by_three();
  const WorkerKey still = join(3);
  const auto newer = deploy(4, other_code);
  client.raise("i", "go", 1);
  ASSERT_TRUE(lines->wait_for(kGivenBack)) << lines->all();
  EXPECT_TRUE(open()->leave(still));
  EXPECT_TRUE(eventually([&] { return run.status() == Status::parked; }));
}

TEST_F(OtherBuilds, ANewerDeploymentMayHaveTheCodeThatFits) {
  const Run run = begun_by_three();
  const WorkerKey still = join(5);
  const auto middle = deploy(4, other_code);
  client.raise("i", "go", 1);
  ASSERT_TRUE(lines->wait_for(kGivenBack)) << lines->all();
  EXPECT_EQ(run.status(), Status::running);
  EXPECT_TRUE(open()->leave(still));
}

TEST_F(OtherBuilds, OlderOnesThanTheRecordedAndOnesThatDrainDoNotCount) {
  const Run run = begun_by_three();
  join(2);
  const WorkerKey drains = open()
                               ->join({.node = "drains",
                                       .build = 3,
                                       .code = {.orchestrations = {{"changing", "1"}}, .newest_build = 3},
                                       .stale_after = 1h})
                               .value();
  EXPECT_TRUE(open()->refresh(drains, true));
  const auto newer = deploy(4, other_code);
  client.raise("i", "go", 1);
  EXPECT_TRUE(eventually([&] { return run.status() == Status::parked; }));
  EXPECT_EQ(lines->count(kGivenBack), 0U) << lines->all();
}

TEST_F(OtherBuilds, CodeThatDoesNotFitWhatItsOwnBuildHasRecordedParks) {
  const Run run = begun_by_three();
  join(3);
  const auto same = deploy(3, other_code);
  client.raise("i", "go", 1);
  EXPECT_TRUE(eventually([&] { return run.status() == Status::parked; }));
  EXPECT_EQ(lines->count(kGivenBack), 0U) << lines->all();
}

TEST_F(OtherBuilds, AnInstanceThatIsAskedToEndDoesNotWaitForThem) {
  const Run run = begun_by_three();
  const WorkerKey still = join(3);
  const auto newer = deploy(4, other_code);
  client.terminate("i", "hopeless");
  EXPECT_TRUE(eventually([&] { return run.status() == Status::terminated; }));
  EXPECT_TRUE(open()->leave(still));
}

// ---- patches without a number ---------------------------------------------------------------------

constexpr const char* kNoBuild = "warn  orchestrations take patches, and build is 0";

TEST_F(OtherBuilds, PatchesInAClusterWithoutNumbersAreWarnedOfOnce) {
  often_seen = true;
  const auto one = deploy(0, patched_code);
  const auto two = deploy(0, patched_code);
  for (const char* id : {"a", "b", "c"}) client.start("changing", {.id = id});
  ASSERT_TRUE(lines->wait_for(kNoBuild)) << lines->all();
  EXPECT_LE(lines->count(kNoBuild), 2U);  // by each of them
}

// Patches are looked at with each sign of life.
TEST_F(OtherBuilds, AWorkerThatIsAloneAndOnesWithNumbersAreNotWarned) {
  often_seen = true;
  Signs signs;
  const auto take_a_patch = [&](const char* id) {
    const Run run = client.start("changing", {.id = id});
    client.raise(id, "go", 1);
    EXPECT_EQ(run.wait<int>(60s), 5);
    const int before = signs.seen;
    EXPECT_TRUE(eventually([&] { return signs.seen > before + 1; }));
  };
  auto alone = deploy(0, patched_code, &signs);
  take_a_patch("i");
  alone.reset();
  const auto one = deploy(7, patched_code, &signs);
  const auto two = deploy(7, patched_code, &signs);
  take_a_patch("j");
  EXPECT_EQ(lines->count(kNoBuild), 0U) << lines->all();
}

}  // namespace
}  // namespace holdfast::runtime::other_builds_test
