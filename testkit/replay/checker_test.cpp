// The checker: which histories fit the code of today, in a store and in a folder.
#include "testkit/support/eventually.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/context.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/schedule.hpp>
#include <holdfast/testing/replay_checker.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::testing::checker_test {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using Kind = ReplayFinding::Kind;

Task<int> waits(Context& ctx, int from) {
  const int paid = co_await ctx.activity<int>("pay", from);
  co_return paid + co_await ctx.event<int>("go");
}
Task<int> waits_otherwise(Context& ctx, int from) {
  const int paid = co_await ctx.activity<int>("pay", from);
  co_await ctx.sleep(1h);
  co_return paid + co_await ctx.event<int>("go");
}
inline constexpr Orchestration<int(int)> kWaits{"waits"};

/// A worker with instances that wait.
class Checker : public ::testing::Test {
 protected:
  using Run = holdfast::Run;  // not the test framework's own

  Checker() {
    rt.activity("pay", [](ActivityContext&, int amount) { return amount; });
    rt.orchestration("waits", waits);
    rt.orchestration("waits", {.version = "2"}, waits_otherwise);
    rt.orchestration("other", waits);
    rt.start();
  }
  Run waiting(const std::string& orchestration, const std::string& id, const std::string& version = "1") {
    const Run run = rt.client().start(orchestration, {.id = id, .version = version}, 1);
    EXPECT_TRUE(eventually([&] { return run.history().events.size() == 6; }));
    return run;
  }
  void save(const Run& run, const std::string& file) {
    std::ofstream out(folder / file);
    write_history(run, out);
  }

  support::TemporaryFolder folder;
  Runtime rt{memory(), {.logger = null_logger()}};
};

TEST_F(Checker, CodeThatIsTheSameFits) {
  waiting("waits", "a");
  waiting("waits", "b", "2");
  rt.client().start("waits", {.id = "later", .delay = 1h}, 1);
  ReplayChecker checker;
  checker.orchestration(kWaits, waits).orchestration("waits", {.version = "2"}, waits_otherwise);
  const ReplayReport report = checker.check_running(rt.client());
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.fitting, 3U);
  EXPECT_EQ(report.text(), "3 histories: 3 fit\n");
}

TEST_F(Checker, CodeThatWasChangedIsReportedWithItsPlace) {
  waiting("waits", "a");
  waiting("waits", "b");
  waiting("other", "c");
  ReplayChecker checker;
  checker.orchestration(kWaits, waits_otherwise).orchestration("other", waits);
  const ReplayReport report = checker.check_running(rt.client());
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.fitting, 1U);
  EXPECT_EQ(report.would_park, 2U);
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].kind, Kind::would_park);
  EXPECT_EQ(report.findings[0].header, (HistoryHeader{"b", {1}, "waits", "1"}));
  EXPECT_EQ(report.findings[0].divergence->event, EventId{6});
  EXPECT_EQ(report.findings[0].what.substr(0, 56),
            "the code no longer matches its history at event 6: histo");
  EXPECT_EQ(report.text(),
            "3 histories: 1 fits, 2 would park\n"
            "\nwould park at event 6: waits version 1, instance 'b'\n"
            "  history has a wait for the event 'go', but the code started a timer\n"
            "\nwould park at event 6: waits version 1, instance 'a'\n"
            "  history has a wait for the event 'go', but the code started a timer\n");
}

TEST_F(Checker, CodeThatIsNotHereIsAFindingUnlessItIsIgnored) {
  waiting("waits", "a", "2");
  waiting("other", "b");
  ReplayChecker checker;
  checker.orchestration("waits", waits);
  const ReplayReport report = checker.check_running(rt.client());
  EXPECT_EQ(report.no_code, 2U);
  EXPECT_EQ(report.text(),
            "2 histories: 0 fit, 2 without code here\n"
            "\nno code: other version 1, instance 'b'\n  no orchestration of this name is registered here\n"
            "\nno code: waits version 2, instance 'a'\n  only other versions of it are registered here\n");
  ReplayChecker part({.ignore_other_code = true});
  part.orchestration("waits", waits);
  EXPECT_TRUE(part.check_running(rt.client()).ok());
  EXPECT_TRUE(checker.check_running(rt.client(), {.orchestration = "nothing"}).ok());
  EXPECT_EQ(checker.check_running(rt.client(), {.orchestration = "other"}).no_code, 1U);
}

TEST_F(Checker, SchedulesFitByThemselves) {
  const Schedule schedule = rt.client().create_schedule("s", "waits", {.spec = {.cron = {"@yearly"}}}, 1);
  EXPECT_TRUE(eventually([&] { return schedule.describe().next.size() == 5; }));
  const ReplayReport report = ReplayChecker().check_running(rt.client());
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.fitting, 1U);
}

TEST_F(Checker, OnlyWhatRunsIsCheckedUnlessTheFilterSaysSo) {
  const Run run = waiting("waits", "a");
  run.raise("go", 1);
  EXPECT_EQ(run.wait<int>(60s), 2);
  ReplayChecker checker;
  checker.orchestration("waits", waits_otherwise);
  EXPECT_EQ(checker.check_running(rt.client()).text(), "0 histories: 0 fit\n");
  EXPECT_EQ(checker.check_running(rt.client(), {.statuses = {Status::completed}}).would_park, 1U);
}

TEST_F(Checker, CountsWhatItDoesNotTell) {
  for (int i = 0; i < 5; ++i) waiting("waits", "i" + std::to_string(i));
  std::vector<std::string> seen;
  ReplayChecker checker(
      {.max_findings = 2, .on_history = [&](const HistoryHeader& h) { seen.push_back(h.instance); }});
  checker.orchestration("waits", waits_otherwise);
  const ReplayReport report = checker.check_running(rt.client(), {.limit = 2});
  EXPECT_EQ(report.would_park, 5U);
  EXPECT_EQ(report.findings.size(), 2U);
  EXPECT_NE(report.text().find("\nand 3 more\n"), std::string::npos);
  EXPECT_EQ(seen, (std::vector<std::string>{"i4", "i3", "i2", "i1", "i0"}));
}

TEST_F(Checker, AFolderIsCheckedFileByFile) {
  save(waiting("waits", "a"), "a.jsonl");
  std::filesystem::create_directory(folder / "more");
  save(waiting("waits", "b", "2"), "more/b.jsonl");
  std::ofstream(folder / "notes.txt") << "not a history";
  {
    std::ofstream both(folder / "both.jsonl");
    write_history(rt.client().run("a"), both);
    write_history(rt.client().run("b"), both);
  }
  // Its second history parks in the middle, and has no end: that is one finding.
  std::ofstream(folder / "cut.jsonl") << std::ifstream(folder / "both.jsonl").rdbuf();
  std::filesystem::resize_file(folder / "cut.jsonl", std::filesystem::file_size(folder / "cut.jsonl") - 20);
  std::ofstream(folder / "empty.jsonl") << "";

  ReplayChecker checker;
  checker.orchestration("waits", waits).orchestration("waits", {.version = "2"}, waits);
  const ReplayReport report = checker.check_folder(folder / "");
  EXPECT_EQ(report.fitting, 3U);
  EXPECT_EQ(report.would_park, 2U);
  EXPECT_EQ(report.unreadable, 2U);
  ASSERT_EQ(report.findings.size(), 4U) << report.text();
  EXPECT_EQ(report.findings[0].file, (folder / "both.jsonl"));
  EXPECT_EQ(report.findings[0].header.instance, "b");
  EXPECT_EQ(report.findings[1].file, (folder / "cut.jsonl"));
  EXPECT_EQ(report.findings[1].kind, Kind::unreadable);
  EXPECT_EQ(report.findings[1].header.instance, "b");
  EXPECT_EQ(report.findings[2].what, "line 1: the file is empty: an exported history has a header");
  EXPECT_EQ(report.findings[3].file, (folder / "more/b.jsonl"));
  EXPECT_EQ(report.findings[3].kind, Kind::would_park);
}

TEST_F(Checker, AFolderWithNothingToCheckIsAMistake) {
  const ReplayChecker checker;
  EXPECT_THROW(static_cast<void>(checker.check_folder(folder / "missing")), std::runtime_error);
  EXPECT_THROW(static_cast<void>(checker.check_folder(folder / "")), std::runtime_error);
}

TEST_F(Checker, OneHistoryIsChecked) {
  const Run run = waiting("waits", "a");
  ReplayChecker checker;
  checker.orchestration("waits", waits);
  EXPECT_TRUE(checker.check(read_history(run)).ok());
  std::stringstream file;
  write_history(run, file);
  std::istringstream cut(file.str().substr(0, file.str().size() - 40));
  ReplayReport report = checker.check(read_history(cut, "a.jsonl"));
  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_EQ(report.findings.at(0).what.substr(0, 7), "a.jsonl");
  report += checker.check(read_history(run));
  EXPECT_EQ(report.text().substr(0, 40), "2 histories: 1 fits, 1 can't be read\n\nca");
}

TEST(CheckerCode, IsRegisteredAsInARuntime) {
  ReplayChecker checker;
  checker.orchestration("waits", waits);
  EXPECT_THROW(checker.orchestration("waits", waits), std::logic_error);
  EXPECT_THROW(checker.orchestration("", waits), Error);
  EXPECT_THROW(checker.orchestration("null", static_cast<Task<int> (*)(Context&, int)>(nullptr)),
               std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::testing::checker_test
