#include "testkit/conformance/registry.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace conformance {

namespace files {
#define HOLDFAST_FILE(name) void name();
#include "conformance_files.inc"
#undef HOLDFAST_FILE
}  // namespace files

namespace {

class StoryTest final : public ::testing::Test {
 public:
  StoryTest(const StoryInfo& story, const StoreUnderTest& store) : story_(story), store_(store) {}
  void TestBody() override { story_.make(store_)->run(); }

 private:
  StoryInfo story_;
  const StoreUnderTest& store_;
};

struct Known {
  std::vector<StoryInfo> stories{};
  std::deque<StoreUnderTest> stores{};  // tests refer to them
};
Known& known() {
  static Known instance;
  return instance;
}

void meet(const StoryInfo& story, const StoreUnderTest& store) {
  if (story.damages_rows && !store.damages_rows) return;
  ::testing::RegisterTest((store.name + "/" + story.suite).c_str(), story.name, nullptr, nullptr, story.file,
                          story.line,
                          [&store, story]() -> ::testing::Test* { return new StoryTest(story, store); });
}

}  // namespace

bool add_story(const StoryInfo& story) {
  known().stories.push_back(story);
  for (const StoreUnderTest& store : known().stores) meet(story, store);
  return true;
}

}  // namespace conformance

bool register_conformance_tests(StoreUnderTest store) {
  using namespace conformance;
#define HOLDFAST_FILE(name) files::name();
#include "conformance_files.inc"
#undef HOLDFAST_FILE
  const StoreUnderTest& kept = known().stores.emplace_back(std::move(store));
  for (const StoryInfo& story : known().stories) meet(story, kept);
  return true;
}

}  // namespace holdfast::testing
