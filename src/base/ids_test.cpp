#include <holdfast/ids.hpp>

#include <gtest/gtest.h>

#include <unordered_set>

namespace holdfast {
namespace {

static_assert(!std::is_convertible_v<InstanceKey, EventId>);
static_assert(!std::is_convertible_v<LockToken, TurnStamp>);
static_assert(sizeof(LockToken) == 16 && sizeof(InstanceKey) == 8);

TEST(Ids, TokensPrintAs32DigitsAndParseBack) {
  const LockToken token{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  EXPECT_EQ(to_string(token), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(parse_token<LockToken>("0123456789ABCDEFfedcba9876543210"), token);
  EXPECT_EQ(to_string(LockToken{}), "00000000000000000000000000000000");
  EXPECT_TRUE(LockToken{}.empty());
  EXPECT_FALSE(token.empty());
}

TEST(Ids, WhatIsNoTokenDoesNotParse) {
  EXPECT_FALSE(parse_token<LockToken>(""));
  EXPECT_FALSE(parse_token<LockToken>("0123"));
  EXPECT_FALSE(parse_token<LockToken>("0123456789abcdeffedcba987654321g"));
  EXPECT_FALSE(parse_token<LockToken>("0123456789abcdeffedcba98765432100"));
}

TEST(Ids, NumbersOrderAndHash) {
  EXPECT_LT(EventId{1}, EventId{2});
  EXPECT_EQ(to_string(EventId{42}), "42");
  const std::unordered_set<InstanceKey> keys{InstanceKey{1}, InstanceKey{2}, InstanceKey{1}};
  EXPECT_EQ(keys.size(), 2U);
}

}  // namespace
}  // namespace holdfast
