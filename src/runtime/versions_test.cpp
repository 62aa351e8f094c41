// Versions of orchestrations, as users see them.
#include "testkit/support/eventually.hpp"

#include <holdfast/client.hpp>
#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::runtime::versions_test {
namespace {

using support::eventually;
using namespace std::chrono_literals;

constexpr Duration kSoon = 60s;

Task<std::string> tells(Context& ctx) { co_return ctx.version(); }

// Three rounds, each of which takes the newest version there is.
Task<std::vector<std::string>> rounds(Context& ctx, std::vector<std::string> versions) {
  versions.push_back(ctx.version());
  if (versions.size() == 3) co_return versions;
  co_await ctx.event<int>("next");
  co_await ctx.continue_as_new({.version = newest_version}, versions);
}

Task<std::string> asks(Context& ctx, std::string version) {
  co_return co_await ctx.child<std::string>("tells", {.version = version});
}

class Versions : public testing::Test {
 protected:
  using Run = holdfast::Run;  // not the test framework's own

  std::unique_ptr<Runtime> deploy(const std::vector<std::string>& versions) {
    auto rt = std::make_unique<Runtime>(memory({.database = database}),
                                        RuntimeOptions{.activity_slots = 2, .logger = null_logger()});
    for (const std::string& version : versions) {
      rt->orchestration("tells", {.version = version}, tells);
      rt->orchestration("rounds", {.version = version}, rounds);
    }
    rt->orchestration("asks", asks);
    rt->start();
    return rt;
  }
  std::string told(std::string_view version) {
    return client.start("tells", {.version = version}).wait<std::string>(kSoon);
  }

  std::shared_ptr<MemoryDatabase> database = memory_database();
  Client client{memory({.database = database})};
};

TEST_F(Versions, ThatAreEqualAreOne) {
  const auto rt = deploy({"1.0", "2.0.0"});
  EXPECT_EQ(told("2"), "2");
  EXPECT_EQ(told("2.0"), "2");
  EXPECT_EQ(told("1.0.0"), "1");
  EXPECT_EQ(client.start("asks", "02.00").wait<std::string>(kSoon), "2");
  const Run run = client.start("tells", {.id = "i", .version = "2"});
  EXPECT_EQ(client.start("tells", {.id = "i", .version = "2.0.0"}).key(), run.key());  // the same wish
  EXPECT_EQ(client.list({.orchestration = "tells", .version = "2.0.0"}).runs.size(), 4U);
  EXPECT_EQ(client.list({.orchestration = "tells", .version = "3"}).runs.size(), 0U);
}

TEST_F(Versions, PreReleasesAreTakenByName) {
  const auto rt = deploy({"1.9", "1.10", "2-rc.1"});
  EXPECT_EQ(told(""), "1.10");
  EXPECT_EQ(told(newest_version), "1.10");
  EXPECT_EQ(told("2.0.0-rc.1"), "2-rc.1");
  EXPECT_EQ(client.start("asks", "newest").wait<std::string>(kSoon), "1.10");
}

TEST_F(Versions, TheNextExecutionMayTakeTheNewest) {
  const Run run = client.start("rounds", {.id = "r"}, std::vector<std::string>());
  const auto waits = [&](std::uint64_t execution) {
    return eventually([&] {
      const RunDetail detail = run.describe();
      return detail.info.execution.value == execution && detail.waits.size() == 1 &&
             detail.waits[0].kind == RunWait::Kind::event;
    });
  };
  auto rt = deploy({"1"});
  ASSERT_TRUE(waits(1));
  client.raise("r", "next", 1);
  ASSERT_TRUE(waits(2));
  rt.reset();
  rt = deploy({"1", "1.5", "2-rc.1"});
  client.raise("r", "next", 2);
  EXPECT_EQ(run.wait<std::vector<std::string>>(kSoon), (std::vector<std::string>{"1", "1", "1.5"}));
  EXPECT_EQ(run.info().version, "1.5");
}

TEST_F(Versions, ThatNobodyHasWaitAndSayWhatThereIs) {
  const auto rt = deploy({"1.9", "1.10", "2-rc.1"});
  const Run run = client.start("tells", {.id = "i", .version = "3"});
  const auto state = [&] {
    const RunDetail detail = run.describe();
    return detail.waits.empty() ? std::string() : detail.waits[0].state;
  };
  EXPECT_EQ(state(), "no live worker has the code of 'tells' version 3; workers have 1.9, 1.10, 2-rc.1");
  const auto newer = deploy({"3.0"});
  EXPECT_EQ(run.wait<std::string>(kSoon), "3");
}

TEST_F(Versions, OfOtherLooksAreRefused) {
  const auto refused = [](auto call) {
    try {
      call();
    } catch (const Error& e) {
      return e.failure().type;
    }
    return std::string("fine");
  };
  Runtime rt(memory({.database = database}), {.logger = null_logger()});
  EXPECT_EQ(refused([&] { rt.orchestration("tells", {.version = "v2"}, tells); }), "invalid_version");
  EXPECT_EQ(refused([&] { client.start("tells", {.version = "^2.x"}); }), "invalid_version");
  EXPECT_EQ(refused([&] { static_cast<void>(client.list({.version = "latest"})); }), "invalid_version");
  rt.orchestration("tells", {.version = "2"}, tells);
  EXPECT_THROW(rt.orchestration("tells", {.version = "2.0"}, tells), std::logic_error);
}

}  // namespace
}  // namespace holdfast::runtime::versions_test
