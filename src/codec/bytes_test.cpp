#include "codec/bytes.hpp"

#include "codec/crc32c.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace holdfast::history::bytes_test {
namespace {

using namespace std::string_literals;

std::string varint(std::uint64_t value) {
  std::string bytes;
  ByteWriter(bytes).varint(value);
  return bytes;
}

std::string zigzag(std::int64_t value) {
  std::string bytes;
  ByteWriter(bytes).zigzag(value);
  return bytes;
}

TEST(Bytes, VarintsHaveSevenBitsAByteLowestFirst) {
  EXPECT_EQ(varint(0), "\x00"s);
  EXPECT_EQ(varint(127), "\x7F");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(300), "\xAC\x02");
  EXPECT_EQ(varint(std::numeric_limits<std::uint64_t>::max()), std::string(9, '\xFF') + '\x01');
}

TEST(Bytes, ZigzagKeepsSmallNumbersShort) {
  EXPECT_EQ(zigzag(0), "\x00"s);
  EXPECT_EQ(zigzag(-1), "\x01");
  EXPECT_EQ(zigzag(1), "\x02");
  EXPECT_EQ(zigzag(-64), "\x7F");
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), std::string(9, '\xFF') + '\x01');
}

TEST(Bytes, DoublesAndFixedNumbersAreLittleEndian) {
  std::string bytes;
  ByteWriter(bytes).number(1.0);
  ByteWriter(bytes).fixed32(0x01020304);
  EXPECT_EQ(bytes, "\x00\x00\x00\x00\x00\x00\xF0\x3F\x04\x03\x02\x01"s);
}

TEST(Bytes, AVarintThatIsCutOffTooLongOrTooLargeIsRefused) {
  for (const std::string& bytes : {
           ""s,
           "\x80"s,
           "\xFF\xFF"s,  // cut off
           "\x80\x00"s,
           "\x81\x80\x00"s,                   // longer than needed
           std::string(9, '\xFF') + '\x02',   // 65 bits
           std::string(10, '\xFF') + '\x01',  // more than 10 bytes
           std::string(9, '\x80') + "\x81"s,
           std::string(100, '\x80'),
       }) {
    ByteReader in(bytes);
    std::uint64_t value = 7;
    EXPECT_FALSE(in.varint(value));
    EXPECT_EQ(value, 7U);
    EXPECT_EQ(in.rest(), bytes) << "a failed read leaves the reader where it was";
  }
}

TEST(Bytes, AStringLongerThanTheRestIsRefused) {
  for (const std::string& bytes : {"\x03"s
                                   "ab",
                                   varint(std::numeric_limits<std::uint64_t>::max()) + "ab"}) {
    ByteReader in(bytes);
    std::string_view text;
    EXPECT_FALSE(in.string(text));
    EXPECT_EQ(in.rest(), bytes);
  }
}

TEST(Bytes, FixedSizesNeedAllTheirBytes) {
  ByteReader in("\x01\x02\x03");
  std::uint32_t whole = 0;
  double number = 0;
  std::string_view taken;
  EXPECT_FALSE(in.fixed32(whole));
  EXPECT_FALSE(in.number(number));
  EXPECT_FALSE(in.take(4, taken));
  EXPECT_EQ(in.left(), 3U);
  EXPECT_TRUE(in.take(3, taken));
  std::uint8_t byte = 0;
  EXPECT_FALSE(in.byte(byte));
  EXPECT_TRUE(in.done());
  EXPECT_TRUE(ByteReader().done());
}

RC_GTEST_PROP(Bytes, RoundTrip,
              (std::uint64_t whole, std::int64_t sign, std::uint32_t fixed, const std::string& text)) {
  // Small and large numbers alike.
  whole >>= *rc::gen::inRange(0, 64);
  sign >>= *rc::gen::inRange(0, 64);
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(whole);
  out.zigzag(sign);
  out.fixed32(fixed);
  out.number(static_cast<double>(sign));
  out.string(text);
  out.byte(9);

  ByteReader in(bytes);
  std::uint64_t whole_again = 0;
  std::int64_t sign_again = 0;
  std::uint32_t fixed_again = 0;
  double number_again = 0;
  std::string_view text_again;
  RC_ASSERT(in.varint(whole_again) && in.zigzag(sign_again) && in.fixed32(fixed_again) &&
            in.number(number_again) && in.string(text_again));
  RC_ASSERT(in.rest() == "\x09");
  RC_ASSERT(whole_again == whole);
  RC_ASSERT(sign_again == sign);
  RC_ASSERT(fixed_again == fixed);
  RC_ASSERT(number_again == static_cast<double>(sign));
  RC_ASSERT(text_again == text);
}

TEST(Bytes, ABlockOfAnyLengthReadsAsAString) {
  for (const std::size_t size : {0U, 1U, 127U, 128U, 300U, 16383U, 16384U, 70000U}) {
    std::string bytes = "before";
    ByteWriter out(bytes);
    const std::size_t outer = out.begin_block();
    const std::size_t inner = out.begin_block();
    bytes.append(size, 'x');
    out.end_block(inner);
    out.byte('y');
    out.end_block(outer);
    bytes.append("after");

    ByteReader in(std::string_view(bytes).substr(6));
    std::string_view outer_text;
    std::string_view inner_text;
    ASSERT_TRUE(in.string(outer_text));
    EXPECT_EQ(in.rest(), "after");
    in = ByteReader(outer_text);
    ASSERT_TRUE(in.string(inner_text));
    EXPECT_EQ(inner_text, std::string(size, 'x'));
    EXPECT_EQ(in.rest(), "y");
  }
}

// ---- the checksum -------------------------------------------------------------------------------

// From RFC 3720, B.4, and the check value of the catalogues of CRCs.
TEST(Crc32c, MatchesKnownVectors) {
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  const std::string descending(ascending.rbegin(), ascending.rend());
  for (const auto crc32c : {&codec::crc32c, &codec::crc32c_by_tables}) {
    EXPECT_EQ(crc32c(""), 0U);
    EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
    EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
    EXPECT_EQ(crc32c(descending), 0x113FDB5CU);
  }
}

RC_GTEST_PROP(Crc32c, EqualsTheDefinitionBitByBit, (const std::string& bytes)) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  RC_ASSERT(codec::crc32c(bytes) == ~crc);
  RC_ASSERT(codec::crc32c_by_tables(bytes) == ~crc);
}

}  // namespace
}  // namespace holdfast::history::bytes_test
