// Histories of orders, kept with the code: whatever is changed in it must still fit them, or orders that run
// would be parked by the next deployment. In a change that is meant,
//
//   HOLDFAST_WRITE_HISTORIES=1 build/dev/examples/example_tests --gtest_filter='SellHistories.*'
//
// writes them anew.
#include "examples/sell.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/replay_checker.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace holdfast::testing::sell_histories_test {
namespace {

using namespace std::chrono_literals;

void keep(const holdfast::Run& run, const std::string& state) {
  std::filesystem::create_directories("examples/histories");
  std::ofstream file("examples/histories/" + state + ".jsonl");
  write_history(run, file);
}

void write_histories() {
  Runtime rt(memory(), {.logger = null_logger()});
  for (const char* step : {"reserve_stock", "score_risk", "charge_card", "release_stock", "refund_card"})
    rt.activity(step, [](ActivityContext&, shop::Order) {});
  rt.activity("ship", [](ActivityContext&, shop::Order order) {
    if (order.item == "piano") throw ActivityFailure("no_carrier", "no carrier takes a piano", false);
  });
  rt.orchestration("sell", shop::sell);
  rt.start();
  const auto waits_for_approval = [](const holdfast::Run& run) {
    for (const RunWait& wait : run.describe().waits) {
      if (wait.kind == RunWait::Kind::event) return true;
    }
    return false;
  };
  for (const char* item : {"lamp", "piano"}) {
    const shop::Order order{.id = item, .item = item, .amount = 40};
    const holdfast::Run run = rt.client().start("sell", {.id = order.id}, order);
    while (!waits_for_approval(run)) static_cast<void>(run.wait_for_change(1ms));
    if (order.item == "lamp") keep(run, "waits_for_approval");
    run.raise("approval", true);
    run.wait(60s);
    keep(run, order.item == "lamp" ? "shipped" : "undone");
  }
}

// [snippet histories]
TEST(SellHistories, StillFitTheCode) {
  if (std::getenv("HOLDFAST_WRITE_HISTORIES") != nullptr) write_histories();
  ReplayChecker checker;
  checker.orchestration("sell", shop::sell);
  const ReplayReport report = checker.check_folder("examples/histories");
  EXPECT_TRUE(report.ok()) << report.text();
}
// [/snippet]

TEST(SellHistories, DoNotFitOtherCode) {
  ReplayChecker checker;
  checker.orchestration("sell", [](Context& ctx, shop::Order order) -> Task<std::string> {
    co_await ctx.activity<void>("reserve_stock", order);
    co_return "reserved";
  });
  const ReplayReport report = checker.check_folder("examples/histories");
  EXPECT_EQ(report.would_park, 3U) << report.text();
}

}  // namespace
}  // namespace holdfast::testing::sell_histories_test
