#include "base/siphash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::detail {
namespace {

// The key 00 01 .. 0f, as in the test vectors of the authors.
SipHash hash(const std::string& bytes) { return sip_hash(0x0706050403020100U, 0x0f0e0d0c0b0a0908U, bytes); }

std::string counting(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

// vectors_sip128: a3817f04ba25a8e66df67214c7550293, da87c1d86b99af44347659119b22fc45, ...
TEST(SipHash, GivesWhatItsAuthorsGive) {
  EXPECT_EQ(hash("").low, 0xe6a825ba047f81a3U);
  EXPECT_EQ(hash("").high, 0x930255c71472f66dU);
  EXPECT_EQ(hash(counting(1)).low, 0x44af996bd8c187daU);
  EXPECT_EQ(hash(counting(1)).high, 0x45fc229b11597634U);
}

TEST(SipHash, OfPiecesIsThatOfTheWhole) {
  const std::string whole = counting(40);
  const SipHash expected = hash(whole);
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    for (std::size_t second = first; second <= whole.size(); ++second) {
      const std::string_view bytes = whole;
      SipHasher hasher(0x0706050403020100U, 0x0f0e0d0c0b0a0908U);
      hasher.add(bytes.substr(0, first));
      hasher.add(bytes.substr(first, second - first));
      hasher.add(bytes.substr(second));
      const SipHash found = hasher.finish();
      ASSERT_EQ(std::pair(found.high, found.low), std::pair(expected.high, expected.low))
          << first << ", " << second;
    }
  }
}

TEST(SipHash, OfEachLengthIsAnother) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t size = 0; size <= 300; ++size) {
    const SipHash zeros = hash(std::string(size, '\0'));
    EXPECT_TRUE(seen.emplace(zeros.high, zeros.low).second) << size;
  }
}

TEST(SipHash, DependsOnEachBitOfItsKey) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (int bit = 0; bit < 64; ++bit) {
    for (const SipHash one : {sip_hash(1ULL << bit, 0, "text"), sip_hash(0, 1ULL << bit, "text")})
      EXPECT_TRUE(seen.emplace(one.high, one.low).second) << bit;
  }
}

}  // namespace
}  // namespace holdfast::detail
