#include "runtime/registry.hpp"

#include <holdfast/context.hpp>

#include <gtest/gtest.h>

namespace holdfast::runtime::registry_test {
namespace {

Task<int> answer(Context& /*ctx*/) { co_return 42; }

TEST(Registry, ANameIsRegisteredOnce) {
  Registry registry;
  registry.add_activity("charge", detail::make_activity([](ActivityContext&) {}));
  try {
    registry.add_activity("charge", detail::make_activity([](ActivityContext&) {}));
    FAIL() << "nobody objected";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "activity 'charge' is registered twice");
  }
  registry.add_orchestration("order", "1", detail::make_orchestration(answer));
  registry.add_orchestration("order", "2", detail::make_orchestration(answer));
  try {
    registry.add_orchestration("order", "2", detail::make_orchestration(answer));
    FAIL() << "nobody objected";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "orchestration 'order' version 2 is registered twice");
  }
}

TEST(Registry, NamesAreChecked) {
  Registry registry;
  EXPECT_THROW(registry.add_activity("", nullptr), Error);
  EXPECT_THROW(registry.add_orchestration("a\nb", "1", nullptr), Error);
}

TEST(Registry, AFunctionIsThere) {
  Registry registry;
  Task<int> (*const no_orchestration)(Context&) = nullptr;
  int (*const no_activity)(ActivityContext&) = nullptr;
  EXPECT_THROW(registry.add_orchestration("order", "1", detail::make_orchestration(no_orchestration)),
               std::invalid_argument);
  EXPECT_THROW(registry.add_activity("charge", detail::make_activity(no_activity)), std::invalid_argument);
}

TEST(Registry, UnknownCodeIsNull) {
  const Registry registry;
  EXPECT_EQ(registry.activity("nothing"), nullptr);
  EXPECT_EQ(registry.orchestration("nothing", "1"), nullptr);
  EXPECT_EQ(registry.newest_version("nothing"), "");
}

TEST(Registry, TheNewestVersionIsTakenForThoseThatHaveNone) {
  Registry registry;
  for (const char* version : {"1.9", "1.10", "1.2"}) {
    registry.add_orchestration("order", version, detail::make_orchestration(answer));
  }
  registry.add_orchestration("orders", "7", detail::make_orchestration(answer));
  EXPECT_EQ(registry.newest_version("order"), "1.10");
  EXPECT_TRUE(registry.orchestrations().contains({"order", ""}));
  EXPECT_TRUE(registry.orchestrations().contains({"order", "1.2"}));
  EXPECT_FALSE(registry.orchestrations().contains({"orders", "1.2"}));
}

TEST(Registry, PreReleasesAreTakenOnlyByThoseWhoNameThem) {
  Registry registry;
  registry.add_orchestration("order", "2.0.0-rc.1", detail::make_orchestration(answer));
  EXPECT_EQ(registry.newest_version("order"), "");
  EXPECT_EQ(registry.orchestrations(), (std::set<store::CodeVersion>{{"order", "2-rc.1"}}));
  registry.add_orchestration("order", "1", detail::make_orchestration(answer));
  EXPECT_EQ(registry.newest_version("order"), "1");
  EXPECT_TRUE(registry.orchestrations().contains({"order", ""}));
}

TEST(Registry, VersionsThatAreEqualAreTheSame) {
  Registry registry;
  registry.add_orchestration("order", "2", detail::make_orchestration(answer));
  try {
    registry.add_orchestration("order", "2.0.0", detail::make_orchestration(answer));
    ADD_FAILURE() << "was not refused";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(),
                 "orchestration 'order' version 2.0.0, which is the same as 2, is registered twice");
  }
  EXPECT_THROW(registry.add_orchestration("order", "v2", detail::make_orchestration(answer)), Error);
  EXPECT_THROW(registry.add_orchestration("order", "newest", detail::make_orchestration(answer)), Error);
  EXPECT_THROW(registry.add_orchestration("order", "", detail::make_orchestration(answer)),
               std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::runtime::registry_test
