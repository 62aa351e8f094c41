#include "base/versions.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::detail::versions_test {
namespace {

std::string refusal(std::string_view version) {
  try {
    static_cast<void>(checked_version(version));
  } catch (const Error& e) {
    return e.what();
  }
  return "fine";
}

TEST(Versions, AreKeptInTheirShortestForm) {
  EXPECT_EQ(checked_version(""), "");  // none is named
  EXPECT_EQ(checked_version("2"), "2");
  EXPECT_EQ(checked_version("2.0"), "2");
  EXPECT_EQ(checked_version("2.0.0"), "2");
  EXPECT_EQ(checked_version("2.1.0"), "2.1");
  EXPECT_EQ(checked_version("2.0.1"), "2.0.1");
  EXPECT_EQ(checked_version("0.0.0"), "0");
  EXPECT_EQ(checked_version("0.0.1"), "0.0.1");
  EXPECT_EQ(checked_version("2026.05.01"), "2026.5.1");
  EXPECT_EQ(checked_version("2.0.0-rc.1"), "2-rc.1");
  EXPECT_EQ(checked_version("1.2.3-alpha-7.007"), "1.2.3-alpha-7.7");
  EXPECT_EQ(checked_version("1.10.0-x.007a"), "1.10-x.007a");
  EXPECT_EQ(checked_version(checked_version("1.10.0-x.007a")), "1.10-x.007a");
}

TEST(Versions, OfOtherLooksAreRefused) {
  const std::string rule =
      "; versions are one to three numbers and perhaps a pre-release: 2, 2.1, 2.1.3, 3-rc.1 "
      "(invalid_version)";
  EXPECT_EQ(refusal("v2"), "the version 'v2' has 'v2' where a number should stand" + rule);
  EXPECT_EQ(refusal("latest"), "the version 'latest' has 'latest' where a number should stand" + rule);
  EXPECT_EQ(refusal("^2.1"), "the version '^2.1' has '^2' where a number should stand" + rule);
  EXPECT_EQ(refusal("1.x"), "the version '1.x' has 'x' where a number should stand" + rule);
  EXPECT_EQ(refusal("1..2"), "the version '1..2' has '' where a number should stand" + rule);
  EXPECT_EQ(refusal("1."), "the version '1.' ends a number with a dot" + rule);
  EXPECT_EQ(refusal("."), "the version '.' ends a number with a dot" + rule);
  EXPECT_EQ(refusal("-rc.1"), "the version '-rc.1' has '' where a number should stand" + rule);
  EXPECT_EQ(refusal("1.2.3.4"), "the version '1.2.3.4' has more than three numbers" + rule);
  EXPECT_EQ(refusal("1-"), "the version '1-' has a pre-release that ends too early" + rule);
  EXPECT_EQ(refusal("1-rc."), "the version '1-rc.' has a pre-release that ends too early" + rule);
  EXPECT_EQ(refusal("1-rc..1"),
            "the version '1-rc..1' has '' in its pre-release, which has letters, digits and "
            "hyphens between dots" +
                rule);
  EXPECT_EQ(refusal("1-r c"),
            "the version '1-r c' has 'r c' in its pre-release, which has letters, digits and "
            "hyphens between dots" +
                rule);
  EXPECT_EQ(refusal("1.0.0+linux"),
            "the version '1.0.0+linux' has build metadata, which tells no versions "
            "apart: leave out what begins with '+'" +
                rule);
  EXPECT_EQ(refusal(" 1"), "the version ' 1' has ' 1' where a number should stand" + rule);
}

TEST(Versions, ThatAreWantedMayBeTheNewest) {
  EXPECT_EQ(wanted_version(newest_version), "");
  EXPECT_EQ(wanted_version(""), "");
  EXPECT_EQ(wanted_version("2.0"), "2");
  EXPECT_NE(refusal(newest_version), "fine");  // nothing is registered as that
}

TEST(Versions, FollowTheRuleForNames) {
  EXPECT_EQ(refusal(std::string(255, '1')), "fine");
  EXPECT_EQ(refusal("\n\x01"),
            "the name of a version has the control character U+000A at byte 0; names have 1 to 255 bytes of "
            "UTF-8 without control characters (invalid_name)");
  EXPECT_NE(refusal(std::string(256, '1')), "fine");
  EXPECT_NE(refusal("\xff"), "fine");
}

TEST(Versions, HaveAnOrder) {
  const std::vector<std::string> sorted{"0",
                                        "0.0.1",
                                        "1-0",
                                        "1-2",
                                        "1-10",
                                        "1-alpha",
                                        "1-alpha.1",
                                        "1-alpha.1.0",
                                        "1-alpha.beta",
                                        "1-beta",
                                        "1-beta.2",
                                        "1-beta.11",
                                        "1-rc.1",
                                        "1",
                                        "1.0.1",
                                        "1.9",
                                        "1.10",
                                        "1.10.1",
                                        "2",
                                        "10",
                                        "18446744073709551616",
                                        "18446744073709551617"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(checked_version(sorted[i]), sorted[i]);
    for (std::size_t j = 0; j < sorted.size(); ++j)
      EXPECT_EQ(older_version(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
  }
}

TEST(Versions, OfPreReleasesSaySo) {
  EXPECT_TRUE(is_prerelease("2-rc.1"));
  EXPECT_FALSE(is_prerelease("2.0.1"));
}

}  // namespace
}  // namespace holdfast::detail::versions_test
