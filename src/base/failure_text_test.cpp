#include "base/failure_text.hpp"

#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

TEST(FailureText, IsKeptUpToItsLimit) {
  EXPECT_EQ(failure_text(""), "");
  EXPECT_EQ(failure_text("boom"), "boom");
  const std::string longest(kMaxFailureText, 'y');
  EXPECT_EQ(failure_text(longest), longest);
}

TEST(FailureText, IsCutBeyondItAndSaysSo) {
  const std::string huge(std::size_t{40} << 20U, 'y');
  const std::string cut = failure_text(huge);
  EXPECT_LE(cut.size(), kMaxFailureText);
  EXPECT_TRUE(cut.ends_with("yyy... (cut, of 41943040 bytes)"));
  EXPECT_EQ(failure_text(cut), cut);
}

TEST(FailureText, IsCutBetweenCharacters) {
  for (const std::string character : {"\u00e9", "\u20ac", "\U0001F600"}) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, 'y');
      while (text.size() <= kMaxFailureText) text += character;
      EXPECT_TRUE(is_utf8(failure_text(text))) << character << " " << shift;
    }
  }
}

TEST(FailureText, ThatIsNoTextIsCutAllTheSame) {
  EXPECT_LT(failure_text(std::string(kMaxFailureText + 9, '\x80')).size(), kMaxFailureText + 100);
}

TEST(FailureDetails, ThatAreTooLargeAreLeftOutAndTheMessageSaysSo) {
  Failure failure{.message = "boom", .details = {kJsonEncoding, std::string(11, '1')}};
  limit_details(failure, 0);
  limit_details(failure, 11);
  EXPECT_EQ(failure.message, "boom");
  limit_details(failure, 10);
  EXPECT_EQ(failure.message, "boom (its details were left out: they have 11 bytes)");
  EXPECT_EQ(failure.details.bytes, "null");
}

}  // namespace
}  // namespace holdfast::detail
