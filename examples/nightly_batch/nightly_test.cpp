// The nightly batch as its operators see it: each item is billed once, or reported, however often workers are
// killed.
#include "examples/support/ledger.hpp"
#include "examples/support/processes_test.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

const char* support::testing::program() { return HOLDFAST_PROGRAM; }

namespace nightly {
namespace {

using support::LedgerEntries;
using support::LedgerEntry;
using support::testing::Application;
using support::testing::eventually;
using support::testing::Finished;
using support::testing::lines_of;
using support::testing::Process;
using support::testing::StoreKind;

/// A file of customers: every 25th line can't be billed.
struct Customers {
  std::string text{};
  std::map<std::string, std::int64_t> bills{};  ///< key in the ledger -> cents
  std::vector<std::string> reported{};

  Customers(const std::string& batch, int count) {
    for (int i = 1; i <= count; ++i) {
      const std::string line = std::to_string(i);
      if (i % 25 == 0) {
        text += "customer " + line + ",much\n";
        reported.push_back("  line " + line + " 'customer " + line + ",much': the amount is no number");
        continue;
      }
      text += "customer " + line + "," + std::to_string(100 + i) + "\n";
      bills[batch + "/" + line] = 100 + i;
    }
  }
};

class Office : public Application {
 public:
  using Application::Application;

  [[nodiscard]] std::unique_ptr<Process> worker(const std::string& name,
                                                const std::string& latency = "20ms") const {
    return start_worker(
        {"worker", "--name", name, "--ledger", folder() / "ledger", "--latency", latency, "--lease", "1s"});
  }
  /// A file beside the store; gives its name.
  [[nodiscard]] std::string file(const std::string& text) const {
    folder().write("customers.csv", text);
    return folder() / "customers.csv";
  }
  [[nodiscard]] std::size_t billed() const { return entries().size(); }
  /// The whole ledger; fails when a key is there twice.
  [[nodiscard]] std::map<std::string, std::int64_t> bills() const {
    std::map<std::string, std::int64_t> all;
    for (const LedgerEntry& entry : entries()) {
      EXPECT_TRUE(all.emplace(entry.key, entry.amount).second) << entry.key;
    }
    return all;
  }

 private:
  [[nodiscard]] LedgerEntries entries() const { return support::Ledger(folder() / "ledger").entries(); }
};

/// The numbers of "b: 12 of 200 billed, 3 failed".
struct Seen {
  int billed = 0;
  int total = 0;
  int failed = 0;
};
std::vector<Seen> seen_by(const Process& watcher) {
  std::vector<Seen> all;
  for (const std::string& line : watcher.lines()) {
    std::istringstream words(line);
    std::string name, of, text;
    Seen seen;
    if (line.find("completed, ") != std::string::npos) words >> text;
    words >> name >> seen.billed >> of >> seen.total >> text >> seen.failed;
    all.push_back(seen);
  }
  return all;
}

class NightlyOn : public ::testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(Stores, NightlyOn, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         [](const auto& store) { return std::string(to_string(store.param)); });

TEST_P(NightlyOn, BillsEachItemOnceWhereverWorkersAreKilled) {
  const Office office(GetParam());
  const Customers customers("b", 310);
  office.succeed({"start", "b", office.file(customers.text)});
  const auto watcher = office.start({"watch", "b"});

  std::vector<std::size_t> places{5, 60, 120};
  if (GetParam() == StoreKind::postgres) places.resize(2);
  for (const std::size_t place : places) {
    const auto worker = office.worker("a");
    ASSERT_TRUE(eventually([&] { return office.billed() >= place; })) << worker->output();
    worker->crash();
  }
  // Two at once, one of which dies.
  const auto first = office.worker("a");
  const auto second = office.worker("b");
  ASSERT_TRUE(eventually([&] { return office.billed() >= 180; }));
  first->crash();

  EXPECT_EQ(watcher->wait(), 2) << watcher->output();
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(), 0) << second->output();

  EXPECT_EQ(office.bills(), customers.bills);
  std::vector<std::string> report = lines_of(office.succeed({"report", "b"}));
  ASSERT_FALSE(report.empty());
  EXPECT_EQ(report.front(), "b: completed, 298 of 310 billed, 12 failed");
  report.erase(report.begin());
  EXPECT_EQ(report, customers.reported);

  // Whoever watched from outside saw it go on, and never back.
  const std::vector<Seen> seen = seen_by(*watcher);
  ASSERT_GE(seen.size(), 3U) << watcher->output();
  EXPECT_EQ(watcher->lines().back(), "b: completed, 298 of 310 billed, 12 failed");
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, [](const Seen& s) { return s.billed + s.failed; }))
      << watcher->output();
}

TEST(Nightly, ABatchThatIsStartedAgainBillsNobodyTwice) {
  const Office office(StoreKind::sqlite);
  const Customers customers("b", 150);
  office.succeed({"start", "b", office.file(customers.text)});
  const auto slow = office.worker("a", "2s");  // far from its end when the first ones are billed
  ASSERT_TRUE(eventually([&] { return office.billed() >= 16; }));
  slow->crash();
  office.succeed({"cancel", "b"});
  const auto worker = office.worker("b");
  const Finished watched = office.run({"watch", "b"});
  EXPECT_EQ(watched.status, 1) << watched.output;
  EXPECT_NE(watched.output.find("b: cancelled, "), std::string::npos) << watched.output;

  EXPECT_EQ(office.succeed({"restart", "b"}), "b: begins again\n");
  EXPECT_EQ(office.run({"watch", "b"}).status, 2);
  EXPECT_EQ(office.bills(), customers.bills);
  EXPECT_EQ(office.succeed({"list"}), "b: completed, 144 of 150 billed, 6 failed\n");
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(), 0) << worker->output();
}

TEST(Nightly, SaysWhatIsWrongWithACommand) {
  const Office office(StoreKind::sqlite);
  office.expect({"list"}, 1, "yet: start a worker, or correct --store");
  office.expect({"start", "b"}, 64, "start needs the name of a batch and a file");
  office.expect({"start", "b", "/nowhere/customers.csv"}, 1, "can't read /nowhere/customers.csv");
  office.expect({"worker", "--latency"}, 64, "--latency needs a value");

  office.expect({"start", "b", office.file("ada,100\n\nbob,200")}, 0, "b: 2 items");
  office.expect({"start", "b", office.file("ada,100\n\nbob,200")}, 0, "b: 2 items");  // the same once more
  office.expect({"start", "b", "README.md"}, 1, "there is another batch 'b'");
  office.expect({"watch", "c"}, 1, "there is no batch 'c'");
  office.expect({"restart", "b"}, 1, "the batch 'b' has not ended");
  const auto worker = office.worker("a");
  office.expect({"watch", "b"}, 0, "b: completed, 2 of 2 billed, 0 failed");
  office.expect({"restart", "b"}, 1, "the batch 'b' is complete");
  office.expect({"cancel", "b"}, 1, "the batch 'b' has ended: completed, 2 of 2 billed");
  EXPECT_EQ(office.bills(), (std::map<std::string, std::int64_t>{{"b/1", 100}, {"b/3", 200}}));
  worker->signal(SIGINT);
  EXPECT_EQ(worker->wait(), 0) << worker->output();
}

}  // namespace
}  // namespace nightly
