// Every snippet behaves on this compiler as outcomes.txt says; and the runner sees what it is there to see.
#include "harness.hpp"
#include "outcomes.hpp"
#include "runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <new>
#include <ostream>
#include <set>

namespace holdfast::battery {

void PrintTo(const Snippet& snippet, std::ostream* out) { *out << snippet.name; }

namespace {

const Rows& table() {
  static const Rows rows = read_rows("tests/compiler/outcomes.txt");
  return rows;
}

// ---- the snippets -------------------------------------------------------------------------------

class EverySnippet : public testing::TestWithParam<Snippet> {};

TEST_P(EverySnippet, BehavesAsListed) {
  const auto expected = expected_outcomes(table(), this_compiler());
  const Observation seen = observe(GetParam());
  if (expected.empty()) {
    std::cout << GetParam().name << " on " << this_compiler() << ", which is not listed: " << seen.outcome
              << "\n";
    return;
  }
  const auto row = expected.find(GetParam().name);
  ASSERT_NE(row, expected.end()) << "outcomes.txt has no row for it; it is: " << seen.outcome;
  EXPECT_EQ(seen.outcome, row->second) << "on " << this_compiler() << "; its output:\n" << seen.output;
}

INSTANTIATE_TEST_SUITE_P(Battery, EverySnippet, testing::ValuesIn(snippets()),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- the table ----------------------------------------------------------------------------------

TEST(Outcomes, EveryRowIsASnippetOfThisBinaryOrRejectedByThisCompiler) {
  std::set<std::string_view> here;
  for (const Snippet& snippet : snippets()) {
    EXPECT_TRUE(here.insert(snippet.name).second) << "two snippets are called " << snippet.name;
  }
  for (const auto& [name, outcome] : expected_outcomes(table(), this_compiler())) {
    EXPECT_EQ(here.contains(name), outcome != "rejected") << name;
  }
}

bool ok_everywhere(const std::vector<std::string>& row) {
  return std::all_of(row.begin() + 1, row.end() - 1, [](const auto& outcome) { return outcome == "ok"; });
}

TEST(Outcomes, EveryCellIsAKnownOutcome) {
  const std::set<std::string> known{"ok", "destroys twice", "leaks", "rejected"};
  for (auto row = table().begin() + 1; row != table().end(); ++row) {
    ASSERT_EQ(row->size(), table().front().size()) << row->front();
    for (auto cell = row->begin() + 1; cell != row->end() - 1; ++cell) {
      EXPECT_TRUE(known.contains(*cell)) << row->front() << ": " << *cell;
    }
  }
}

TEST(Outcomes, WhatIsUnsafeSomewhereNamesASnippetToWriteInsteadThatIsSafeEverywhere) {
  std::set<std::string> safe;
  for (const auto& row : table()) {
    if (ok_everywhere(row)) safe.insert(row.front());
  }
  for (auto row = table().begin() + 1; row != table().end(); ++row) {
    const std::string& instead = row->back();
    EXPECT_EQ(instead.empty(), ok_everywhere(*row)) << row->front();
    if (instead.empty()) continue;
    EXPECT_TRUE(safe.contains(instead.substr(instead.rfind(' ') + 1))) << row->front() << ": " << instead;
  }
}

TEST(Outcomes, TheDocumentationShowsTheSameTable) {
  const Rows shown = read_rows("docs/compilers.md");
  ASSERT_EQ(shown.size(), table().size());
  for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i], table()[i]);
}

// ---- the runner: on a compiler without a fault, only these tests meet one -----------------------

Observation observe_coroutine(Task<std::string> (*coroutine)()) {
  return observe({.name = "made to fail", .coroutine = coroutine, .result = "fine"});
}

TEST(Runner, LikesASnippetThatIsFine) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    const Tracer tracer;
    co_return co_await later(std::string("fine"));
  });
  EXPECT_EQ(seen.outcome, "ok") << seen.output;
}

TEST(Runner, SeesASecondDestruction) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    Tracer tracer;
    std::destroy_at(&tracer);
    co_return co_await later(std::string("fine"));
  });
  EXPECT_EQ(seen.outcome, "destroys twice") << seen.output;
}

TEST(Runner, SeesASecondDestructionThatFreesNothing) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    Tracer tracer("short");
    std::destroy_at(&tracer);
    co_return co_await later(std::string("fine"));
  });
  EXPECT_EQ(seen.outcome, "destroys twice") << seen.output;
}

TEST(Runner, SeesAMissingDestruction) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    alignas(Tracer) std::byte storage[sizeof(Tracer)];
    new (storage) Tracer("short");
    co_return co_await later(std::string("fine"));
  });
  EXPECT_EQ(seen.outcome, "leaks") << seen.output;
}

TEST(Runner, SeesALeakOfWhatDoesNotCountItself) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    new std::string("fine");
    co_return co_await later(std::string("fine"));
  });
  EXPECT_EQ(seen.outcome, "leaks") << seen.output;
}

TEST(Runner, SeesALeakOfAFrameDestroyedAtItsSecondWait) {
  const Observation seen = observe_coroutine([]() -> Task<std::string> {
    co_await later(1);
    auto* tracer = new Tracer;
    co_await later(2);
    delete tracer;
    co_return "fine";
  });
  EXPECT_EQ(seen.outcome, "leaks") << seen.output;
}

TEST(Runner, SeesAWrongResult) {
  const Observation seen =
      observe_coroutine([]() -> Task<std::string> { co_return co_await later(std::string("not fine")); });
  EXPECT_EQ(seen.outcome, "wrong result") << seen.output;
}

}  // namespace
}  // namespace holdfast::battery
