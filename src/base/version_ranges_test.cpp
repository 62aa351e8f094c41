#include "base/version_ranges.hpp"

#include "base/versions.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::detail::version_ranges_test {
namespace {

std::string refusal(std::string_view range) {
  try {
    static_cast<void>(checked_range(range));
    return "fine";
  } catch (const Error& e) {
    return e.failure().type + ": " + e.failure().message;
  }
}

std::vector<std::string> in(std::string_view range) {
  std::vector<std::string> found;
  for (const char* const version : {"0.1", "0.1.5", "0.2", "1", "1.9", "2", "2.0.7", "2.1", "2.1.3",
                                    "2.2-rc.1", "2.2", "2.10", "3-rc.1", "3-rc.2", "3", "10"}) {
    if (in_range(version, checked_range(range))) found.emplace_back(version);
  }
  return found;
}
using Texts = std::vector<std::string>;

TEST(VersionRanges, AreKeptInTheirShortestForm) {
  EXPECT_EQ(checked_range("^2.1.0"), "^2.1");
  EXPECT_EQ(checked_range("  >=2.0   <3.0.0 "), ">=2 <3");
  EXPECT_EQ(checked_range("=2.0"), "2");
  EXPECT_EQ(checked_range("~2"), "~2");
  EXPECT_EQ(checked_range("~2.0"), "~2.0");
  EXPECT_EQ(checked_range("~2.0.0-rc.1"), "~2.0-rc.1");
  for (const char* const range : {"^2.1", ">=2 <3", "~2.0", "~2.0-rc.1", ">1 <=2.1"})
    EXPECT_EQ(checked_range(range), range);
}

TEST(VersionRanges, AreToldFromVersions) {
  EXPECT_TRUE(is_range("^2"));
  EXPECT_TRUE(is_range(" >=2"));
  EXPECT_FALSE(is_range("2"));
  EXPECT_FALSE(is_range(""));
  EXPECT_FALSE(is_range("newest"));
}

TEST(VersionRanges, TakeWhatIsCompatible) {
  EXPECT_EQ(in("^2.1"), (Texts{"2.1", "2.1.3", "2.2", "2.10"}));
  EXPECT_EQ(in("^2"), (Texts{"2", "2.0.7", "2.1", "2.1.3", "2.2", "2.10"}));
  EXPECT_EQ(in("^0.1"), (Texts{"0.1", "0.1.5"}));
  EXPECT_EQ(in("^0"), (Texts{"0.1", "0.1.5", "0.2"}));
  EXPECT_EQ(in("~2.1"), (Texts{"2.1", "2.1.3"}));
  EXPECT_EQ(in("~2.0"), (Texts{"2", "2.0.7"}));
  EXPECT_EQ(in("~2"), in("^2"));
}

TEST(VersionRanges, TakeWhatAllComparisonsAllow) {
  EXPECT_EQ(in(">=2.1 <3"), (Texts{"2.1", "2.1.3", "2.2", "2.10"}));
  EXPECT_EQ(in(">2.1 <=2.2"), (Texts{"2.1.3", "2.2"}));
  EXPECT_EQ(in(">3 <2"), Texts{});
  EXPECT_EQ(in(">=2.1 =2.2"), Texts{"2.2"});
}

TEST(VersionRanges, TakePreReleasesOfAVersionThatTheyName) {
  EXPECT_EQ(in("^3-rc.2"), (Texts{"3-rc.2", "3"}));
  EXPECT_EQ(in(">=3-rc.1"), (Texts{"3-rc.1", "3-rc.2", "3", "10"}));
  EXPECT_EQ(in(">=2.2-rc.1 <3"), (Texts{"2.2-rc.1", "2.2", "2.10"}));
}

TEST(VersionRanges, ThatMakeNoSenseAreRefused) {
  const std::string hint = "; ranges are comparisons with blanks between them: ^2.1, ~2.1, >=2.1 <3";
  EXPECT_EQ(refusal("^2 3"),
            "invalid_version: the range of versions '^2 3' has '3' where a comparison should "
            "stand" +
                hint);
  EXPECT_EQ(refusal(">= 2"),
            "invalid_version: the range of versions '>= 2' has '>=' without a version right "
            "after it" +
                hint);
  EXPECT_NE(refusal("^x").find("the version 'x' has 'x' where a number should stand"), std::string::npos);
  EXPECT_NE(refusal("^^2"), "fine");
  EXPECT_NE(refusal(">=2.1.3.4"), "fine");
}

}  // namespace
}  // namespace holdfast::detail::version_ranges_test
