// The writer and the reader by themselves, as the author of a codec uses them.
#include <holdfast/errors.hpp>
#include <holdfast/json.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace holdfast::json_test {
namespace {

bool is_json(std::string_view text) {
  JsonReader in(text);
  return in.skip() && in.finish();
}

TEST(JsonWriter, PlacesCommasAndColons) {
  JsonWriter out;
  out.begin_object();
  out.key("a");
  out.begin_array();
  out.integer(std::int64_t{1});
  out.string("[");
  out.string("{");
  out.null();
  out.begin_array();
  out.end_array();
  out.boolean(true);
  out.end_array();
  out.key("b");
  out.number(0.5);
  out.key("c");
  out.raw(" {} ");
  out.key("d");
  out.bytes("x");
  out.end_object();
  EXPECT_EQ(out.take(), R"({"a":[1,"[","{",null,[],true],"b":0.5,"c": {} ,"d":{"$b64":"eA=="}})");
}

TEST(JsonWriter, OutgrowsItsBuffer) {
  JsonWriter out;
  out.begin_array();
  std::string expected = "[";
  for (int i = 0; i < 1000; ++i) {
    out.string("0123456789");
    expected += i == 0 ? "\"0123456789\"" : ",\"0123456789\"";
  }
  out.end_array();
  EXPECT_EQ(out.text(), expected + "]");
  EXPECT_EQ(out.take(), expected + "]");
}

TEST(JsonWriter, RefusesKeysThatJsonCannotHold) {
  JsonWriter out;
  out.begin_object();
  EXPECT_THROW(out.key("\xFF"), Error);
}

TEST(JsonWriter, RefusesDepthThatTheReaderWouldRefuse) {
  JsonWriter out;
  for (int i = 0; i < kMaxJsonDepth; ++i) out.begin_array();
  EXPECT_THROW(out.begin_array(), LimitError);
  std::string deepest(kMaxJsonDepth, '[');
  deepest.append(kMaxJsonDepth, ']');
  EXPECT_TRUE(is_json(deepest));
  EXPECT_FALSE(is_json('[' + deepest + ']'));
}

TEST(JsonWriter, RefusesRawJsonThatMakesTheWholeTooDeep) {
  std::string deepest(kMaxJsonDepth, '[');
  deepest.append(kMaxJsonDepth, ']');
  JsonWriter alone;
  alone.raw(deepest);
  EXPECT_TRUE(is_json(alone.take()));
  JsonWriter within;
  within.begin_array();
  EXPECT_THROW(within.raw(deepest), LimitError);
}

TEST(JsonReader, AcceptsExactlyTheNumbersOfJson) {
  for (const char* good :
       {"0", "-0", "12", "-1.5", "1e5", "1E-5", "0.0e+10", "123456789012345678901234567890"}) {
    EXPECT_TRUE(is_json(good)) << good;
  }
  for (const char* bad :
       {"01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_000", "NaN", "Infinity", "--1"}) {
    EXPECT_FALSE(is_json(bad)) << bad;
  }
}

TEST(JsonReader, AcceptsExactlyTheStructuresOfJson) {
  for (const char* good : {"[]", "{}", " [ 1 , [ ] ] ", R"({"a":{},"b":[null,true,false]})", "\"\\u00e9\""}) {
    EXPECT_TRUE(is_json(good)) << good;
  }
  for (const char* bad : {"",      " ",       "[",         "]",           "[1",         "[1,]",  "[,1]",
                          "[1 2]", "{\"a\"}", "{\"a\":}",  "{a:1}",       "{\"a\":1,}", "nul",   "True",
                          "'a'",   "[1]]",    "\"\\u12\"", "\"\\udc00\"", "// x",       "\"\t\""}) {
    EXPECT_FALSE(is_json(bad)) << bad;
  }
}

TEST(JsonReader, StaysFailedAfterTheFirstFailure) {
  JsonReader in("[1, x, 2]");
  int reads = 0;
  EXPECT_FALSE(in.array([&](std::size_t) {
    ++reads;
    return in.skip();
  }));
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(in.error(), "[1]: malformed JSON: expected a value at byte 4, found 'x'");
  EXPECT_FALSE(in.skip());
  EXPECT_FALSE(in.finish());
  bool flag = false;
  EXPECT_FALSE(in.boolean(flag));
  EXPECT_EQ(in.error(), "[1]: malformed JSON: expected a value at byte 4, found 'x'");
}

TEST(JsonReader, QuotesLittleOfALongValue) {
  const std::string json = '"' + std::string(39, 'x') + "\xC3\xA9 and more\"";
  JsonReader in(json);
  bool flag = false;
  EXPECT_FALSE(in.boolean(flag));
  EXPECT_EQ(in.error(), "expected true or false, found string \"" + std::string(39, 'x') + "...\"");
}

RC_GTEST_PROP(JsonReader, NeverAcceptsATruncatedValue, (const std::vector<std::string>& texts)) {
  JsonWriter out;
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
  const std::string json = out.take();
  RC_ASSERT(is_json(json));
  const auto cut = *rc::gen::inRange<std::size_t>(0, json.size());
  RC_ASSERT(!is_json(std::string_view(json).substr(0, cut)));
}

RC_GTEST_PROP(JsonWriter, WritesValidJsonForAnyBytes, (const std::string& bytes)) {
  JsonWriter out;
  out.string(bytes);
  const std::string json = out.take();
  RC_ASSERT(is_json(json));
  JsonReader in(json);
  std::string again;
  RC_ASSERT(in.string(again));
  RC_ASSERT(again == bytes);
}

}  // namespace
}  // namespace holdfast::json_test
