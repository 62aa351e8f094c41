// The store goes away for a while: nothing fails, and somebody says so.
#include "testkit/support/outage.hpp"

#include "program_test.hpp"
#include "testkit/support/processes.hpp"
#include "testkit/support/small_disk.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace holdfast::e2e::outage_test {
namespace {

using support::Outage;
using support::Processes;
using support::SmallDisk;
using namespace std::chrono_literals;

constexpr const char* kTrouble = "the store could not answer; trying again";
constexpr const char* kBack = "the store answers again";

TEST(OutageTest, AStoreThatFailsForAWhileFailsNoInstance) {
  const TemporaryFolder folder;
  Outage outage;
  const auto lines = std::make_shared<Lines>();
  Client client(sqlite(folder / "app.db"));
  Runtime rt(sqlite(folder / "app.db", {.faults = &outage}), quick(lines));
  add_program(rt);
  rt.start();
  const auto runs = client.start_all("sum_of_squares", many(40, 3));
  outage.begin();
  const auto later = client.start("hello", {.id = "h"}, "Ada");
  EXPECT_TRUE(lines->wait_for(kTrouble));
  outage.wait_for(30);
  outage.end();
  for (const auto& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 14);
  EXPECT_EQ(later.wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_TRUE(lines->wait_for(kBack));
}

Task<std::size_t> keeps_much(Context& ctx) {
  const std::string text = co_await ctx.activity<std::string>("much");
  co_return text.size();
}

// The store finds room in its own files for what is small.
TEST(OutageTest, AFullDiskFailsNoInstance) {
  constexpr std::size_t kMuch = 3'900'000;
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "32m");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto lines = std::make_shared<Lines>();
  std::atomic<bool> is_full{false};
  Runtime rt(sqlite(folder / "app.db"), quick(lines));
  add_program(rt);
  rt.orchestration("keeps_much", keeps_much);
  rt.activity("much", [&](ActivityContext&) {
    while (!is_full) std::this_thread::sleep_for(1ms);
    return std::string(kMuch, 'x');
  });
  rt.start();
  Client client = rt.client();
  const auto much = client.start("keeps_much", {.id = "m"});
  const auto runs = client.start_all("sum_of_squares", many(100, 3));
  disk.fill();
  is_full = true;
  EXPECT_TRUE(lines->wait_for(kTrouble));
  EXPECT_TRUE(lines->wait_for("full"));
  const std::string large(kMuch, 'y');
  EXPECT_THROW(
      Client(sqlite(folder / "app.db"), {.retry_for = 10ms}).start("hello", {.id = "refused"}, large),
      ClientError);
  disk.make_room();
  for (const auto& run : runs) EXPECT_EQ(run.wait<int>(kSoon), 14);
  EXPECT_EQ(much.wait<std::size_t>(kSoon), kMuch);
  EXPECT_EQ(client.start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
  EXPECT_TRUE(lines->wait_for(kBack));
  rt.stop();
}

// As root nothing is read-only: the test takes another user, in a process of its own.
void become_somebody(const std::string& folder) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(setuid(kNobody), 0);
}

TEST(OutageTest, AFolderThatBecomesReadOnlyKeepsOthersOutAndStopsNobody) {
  const TemporaryFolder folder;
  Processes processes;
  const pid_t pid = processes.start([&folder] {
    become_somebody(folder.path());
    {
      Runtime rt(sqlite(folder / "app.db"), quiet());
      add_program(rt);
      rt.start();
      const auto before = rt.client().start("told", {.id = "t"});
      ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
      try {
        sqlite(folder / "app.db");
        FAIL() << "it could be opened";
      } catch (const StoreOpenError& e) {
        EXPECT_NE(std::string(e.what()).find(folder.path()), std::string::npos) << e.what();
      }
      EXPECT_EQ(rt.client().start("hello", {.id = "h"}, "Ada").wait<std::string>(kSoon), "Hello, Ada!");
      ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
      Client(sqlite(folder / "app.db")).raise("t", "end", 7);
      EXPECT_EQ(before.wait<int>(kSoon), 7);
    }
  });
  EXPECT_TRUE(processes.succeeds(pid));
}

}  // namespace
}  // namespace holdfast::e2e::outage_test
