#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

// The bytes that the rules of UTF-8 prescribe for a code point, surrogates and too large ones included.
std::string encode(unsigned point) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  const auto tail = [&](unsigned shift) { return byte(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {byte(0xe0 | (point >> 12)), tail(6), tail(0)};
  return {byte(0xf0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, KnowsEveryCodePointAndNoOther) {
  for (unsigned point = 0; point < 0x120000; ++point) {
    const std::string text = encode(point);
    const bool valid = point < 0x110000 && (point < 0xd800 || point > 0xdfff);
    ASSERT_EQ(utf8_length(text), valid ? text.size() : 0) << std::hex << point;
  }
}

TEST(Utf8, RefusesOverlongForms) {
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xc1\xbf"));
  EXPECT_FALSE(is_utf8("\xe0\x9f\xbf"));
  EXPECT_FALSE(is_utf8("\xf0\x8f\xbf\xbf"));
}

TEST(Utf8, RefusesWhatIsCutOffOrOutOfPlace) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8c"));
  EXPECT_FALSE(is_utf8("caf\xc3"));
  EXPECT_FALSE(is_utf8("\xe2\x82"));
  EXPECT_FALSE(is_utf8("\xf0\x9f\x90"));
  EXPECT_FALSE(is_utf8("\xc3("));
  EXPECT_FALSE(is_utf8("\xe2\x82("));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xff"));
}

}  // namespace
}  // namespace holdfast::detail
