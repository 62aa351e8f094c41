// Runs of plain bytes: the fast way of finding their end, against the obvious one.
#include "codec/plain_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast::codec::plain_text_test {
namespace {

void expect_right(const std::string& text) {
  const char* const end = text.data() + text.size();
  const PlainRun run = plain_run(text.data(), end);
  const char* const expected = std::find_if_not(text.data(), end, is_plain);
  EXPECT_EQ(run.end - text.data(), expected - text.data()) << testing::PrintToString(text);
  const bool ascii =
      std::all_of(text.data(), expected, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  EXPECT_EQ(run.ascii, ascii) << testing::PrintToString(text);
}

TEST(PlainRun, FindsEachByteAtEachPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t place = 0; place < 20; ++place) {
      std::string text(20, 'a');
      text[place] = static_cast<char>(byte);
      expect_right(text);
      text.resize(place + 1);
      expect_right(text);
    }
  }
}

TEST(PlainRun, IsNotMisledByTheByteBefore) {
  for (const char first : {'"', '\\', '\x1f', '\x00', '\x7f', '\x80', '\xff'}) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text(8, 'a');
      text[3] = first;
      text[4] = static_cast<char>(byte);
      expect_right(text);
      std::swap(text[3], text[4]);
      expect_right(text);
    }
  }
}

RC_GTEST_PROP(PlainRun, IsRightForAnyText, (const std::string& text)) { expect_right(text); }

}  // namespace
}  // namespace holdfast::codec::plain_text_test
