#include <holdfast/fault.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

// Stands for a store: two statements, then a commit, each of which asks the plan.
struct Ledger {
  FaultPlan* faults = nullptr;
  int committed = 0;

  bool add_two() {
    int staged = committed;
    for (int i = 0; i < 2; ++i) {
      if (fault_at(faults, "ledger.add") != Fault::none) return false;
      ++staged;
    }
    const Fault fault = fault_at(faults, "ledger.commit");
    if (fault == Fault::fail_before) return false;
    committed = staged;
    return fault != Fault::lose_answer;
  }
};

TEST(Fault, WithoutAPlanNothingGoesWrong) {
  EXPECT_EQ(fault_at(nullptr, "anywhere"), Fault::none);
  Ledger ledger;
  EXPECT_TRUE(ledger.add_two());
}

TEST(FaultScript, CountsHowOftenEachPointIsPassed) {
  FaultScript script;
  Ledger ledger{.faults = &script};
  EXPECT_EQ(script.passed(), Counts{});
  EXPECT_TRUE(ledger.add_two());
  EXPECT_EQ(script.passed(), (Counts{{"ledger.add", 2}, {"ledger.commit", 1}}));
  EXPECT_EQ(script.passed("ledger.add"), 2U);
  EXPECT_EQ(script.passed("ledger.remove"), 0U);
  script.clear();
  EXPECT_EQ(script.passed(), Counts{});
}

TEST(FaultScript, InjectsAtTheNthPassageFromNowOn) {
  FaultScript script;
  EXPECT_EQ(script.at("p"), Fault::none);
  script.inject("p", 2, Fault::lose_answer);
  EXPECT_EQ(script.pending(), 1U);
  EXPECT_EQ(script.at("p"), Fault::none);
  EXPECT_EQ(script.at("q"), Fault::none);
  EXPECT_EQ(script.at("p"), Fault::lose_answer);
  EXPECT_EQ(script.at("p"), Fault::none);
  EXPECT_EQ(script.pending(), 0U);
  EXPECT_EQ(script.passed("p"), 4U);
}

TEST(FaultScript, HoldsSeveralFaultsAndTheLaterWordCounts) {
  FaultScript script;
  script.inject("p", 1, Fault::lose_answer);
  script.inject("p", 1, Fault::fail_before);
  script.inject("p", 2, Fault::lose_answer);
  EXPECT_EQ(script.pending(), 2U);
  EXPECT_EQ(script.at("p"), Fault::fail_before);
  EXPECT_EQ(script.at("p"), Fault::lose_answer);
  EXPECT_EQ(script.at("p"), Fault::none);
}

TEST(FaultScript, ForgetsPendingFaultsWhenCleared) {
  FaultScript script;
  script.inject("p", 1, Fault::fail_before);
  EXPECT_EQ(script.passed(), Counts{});
  script.clear();
  EXPECT_EQ(script.pending(), 0U);
  EXPECT_EQ(script.at("p"), Fault::none);
}

TEST(FaultScript, RefusesAPassageThatCannotBe) {
  FaultScript script;
  EXPECT_THROW(script.inject("p", 0, Fault::fail_before), std::invalid_argument);
  EXPECT_EQ(script.pending(), 0U);
}

TEST(FaultScript, FailsAnOperationAtEachOfItsPointsInTurn) {
  FaultScript counting;
  EXPECT_TRUE((Ledger{.faults = &counting}.add_two()));
  int runs = 0;
  for (const auto& [point, passages] : counting.passed()) {
    for (std::uint64_t nth = 1; nth <= passages; ++nth) {
      for (const Fault fault : {Fault::fail_before, Fault::lose_answer}) {
        FaultScript script;
        Ledger ledger{.faults = &script};
        script.inject(point, nth, fault);
        EXPECT_FALSE(ledger.add_two());
        EXPECT_EQ(script.pending(), 0U);
        EXPECT_EQ(ledger.committed, point == "ledger.commit" && fault == Fault::lose_answer ? 2 : 0);
        ++runs;
      }
    }
  }
  EXPECT_EQ(runs, 6);
}

TEST(FaultScript, GivesEachFaultToOneThreadOnly) {
  FaultScript script;
  for (std::uint64_t nth = 1; nth <= 100; ++nth) script.inject("p", nth * 10, Fault::fail_before);
  std::atomic<int> met{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 250; ++n) met += script.at("p") == Fault::fail_before ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(met, 100);
  EXPECT_EQ(script.pending(), 0U);
  EXPECT_EQ(script.passed("p"), 1000U);
}

}  // namespace
}  // namespace holdfast
