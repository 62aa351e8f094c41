// Payloads: encodings, arguments, change over time, failures and their paths.
#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

/// Its codec throws.
struct Moody {
  int mood = 0;
};
template <>
struct holdfast::Codec<Moody> {
  static void write(JsonWriter& out, const Moody& value) { out.integer(std::int64_t{value.mood}); }
  static bool read(JsonReader& in, Moody& value) {
    std::int64_t mood = 0;
    if (!in.integer(mood, 0, 100)) return false;
    if (mood == 13) throw 13;
    if (mood == 14) throw std::runtime_error("in a bad mood");
    value.mood = static_cast<int>(mood);
    return true;
  }
};

namespace holdfast::codec_test {
namespace {

Payload json(std::string text) { return {kJsonEncoding, std::move(text)}; }

struct Item {
  std::string sku;
  int qty = 1;
};
struct Order {
  std::string id;
  std::vector<Item> items;
  std::map<std::string, Item> extras;
};

template <class T>
std::string why_not(const std::string& text) {
  const Result<T> result = decode<T>(json(text));
  return result ? "it decoded" : result.error().message;
}

TEST(Decode, NamesThePathOfWhatIsWrong) {
  EXPECT_EQ(
      why_not<Order>(R"({"id":"o","items":[{"sku":"a"},{"sku":"b"},{"sku":"c"},{"sku":"d","qty":"x"}]})"),
      "items[3].qty: expected integer, found string \"x\"");
  EXPECT_EQ(why_not<Order>(R"({"extras":{"gift":{"qty":[]}}})"),
            "extras.gift.qty: expected integer, found an array");
  EXPECT_EQ(why_not<Order>(R"({"items":{}})"), "items: expected array, found an object");
  EXPECT_EQ(why_not<Order>("[]"), "expected object, found an array");
  EXPECT_EQ(why_not<std::vector<std::vector<int>>>("[[1],[2,null]]"), "[1][1]: expected integer, found null");
}

TEST(Decode, SaysWhereTheTextIsNoJson) {
  EXPECT_EQ(why_not<Order>(R"({"id":"o")"),
            "malformed JSON: expected ',' or '}' at byte 9, found the end of the text");
  EXPECT_EQ(why_not<Order>(R"({"id":"o",})"),
            "malformed JSON: expected a key in quotes at byte 10, found '}'");
  EXPECT_EQ(why_not<Order>(R"({"id" "o"})"), "malformed JSON: expected ':' at byte 6, found string \"o\"");
  EXPECT_EQ(why_not<Order>(R"({"id":"o"} x)"),
            "malformed JSON: expected the end of the text at byte 11, found 'x'");
  EXPECT_EQ(why_not<Order>(""), "malformed JSON: expected a value at byte 0, found the end of the text");
  EXPECT_EQ(why_not<Order>(R"({"unknown": [1, 2, @]})"),
            "[2]: malformed JSON: expected a value at byte 19, found '@'");
  EXPECT_EQ(why_not<int>("tru"), "malformed JSON: expected a value at byte 0, found tru");
  EXPECT_EQ(why_not<bool>(" nul"), "malformed JSON: expected a value at byte 1, found nul");
  EXPECT_EQ(why_not<int>("[1, 2"),
            "malformed JSON: expected ',' or ']' at byte 5, found the end of the text");
  EXPECT_EQ(why_not<Order>(R"({"items":[{"qty":+1}]})"),
            "items[0].qty: malformed JSON: expected a value at byte 17, found '+'");
  EXPECT_EQ(why_not<std::string>("\"abc"),
            "malformed JSON: a string is cut off by the end of the text at byte 4");
  EXPECT_EQ(why_not<std::string>("\"a\nb\""),
            "malformed JSON: a string has a control character at byte 2 that is not escaped");
  EXPECT_EQ(why_not<std::string>("\"\\x\""), "malformed JSON: a string has an invalid escape before byte 3");
  EXPECT_EQ(why_not<std::string>("\"\\ud800\""),
            "malformed JSON: a string has an invalid escape before byte 7");
  EXPECT_EQ(why_not<std::string>("\"\xFF\""),
            "malformed JSON: the string that ends at byte 3 is not valid UTF-8");
}

TEST(Decode, FailuresAreOfCategoryDecodeAndNotRetryable) {
  const Result<int> result = decode<int>(json("x"));
  EXPECT_EQ(result.error().category, Category::decode);
  EXPECT_FALSE(result.error().retryable);
  EXPECT_THROW(result.value(), DecodeError);
}

TEST(Decode, IgnoresUnknownFieldsAndKeepsDefaultsOfMissingOnes) {
  const Result<Item> item = decode<Item>(json(R"({"color":{"deep":[1,2,"x"]},"sku":"a","new_in_v3":null})"));
  ASSERT_TRUE(item);
  EXPECT_EQ(item->sku, "a");
  EXPECT_EQ(item->qty, 1);
}

TEST(Decode, ReadsFieldsInAnyOrderWithBlanksAndEscapes) {
  const Result<Item> item =
      decode<Item>(json(" { \"qty\" : 3 ,\n\t\"s\\u006bu\" : \"\\ud83d\\udc19 \\/\" } "));
  ASSERT_TRUE(item) << item.error().message;
  EXPECT_EQ(item->qty, 3);
  EXPECT_EQ(item->sku, "\xF0\x9F\x90\x99 /");
}

TEST(Decode, TakesNoKeyForAnother) {
  const Result<Item> item = decode<Item>(json(R"({"sk":1,"sku":"a","skus":2,"qt":3,"qty":4,"qtys":5})"));
  ASSERT_TRUE(item) << item.error().message;
  EXPECT_EQ(item->sku, "a");
  EXPECT_EQ(item->qty, 4);
}

TEST(Decode, ReadsWhatItWouldNotWriteInTheSameWay) {
  EXPECT_EQ(why_not<Item>(R"({,"sku":"a"})"),
            "malformed JSON: expected a key in quotes at byte 1, found ','");
  EXPECT_EQ(why_not<Item>(R"({"sku":"a""qty":1})"),
            "malformed JSON: expected ',' or '}' at byte 10, found string \"qty\"");
  EXPECT_EQ(why_not<Item>(R"({"sku":"a",,"qty":1})"),
            "malformed JSON: expected a key in quotes at byte 11, found ','");
  EXPECT_EQ(why_not<Item>(R"({"sku":)"),
            "sku: malformed JSON: expected a value at byte 7, found the end of the text");
  EXPECT_EQ(why_not<Item>(R"({"sku)"),
            "malformed JSON: a string is cut off by the end of the text at byte 5");
}

TEST(Decode, NamesAKeyWithEscapesByWhatItMeans) {
  EXPECT_EQ(why_not<Order>(R"({"extras":{"\u0067ift":{"sku":"\n","\u0071ty":true}}})"),
            "extras.gift.qty: expected integer, found true");
}

TEST(Decode, RefusesAFieldThatStandsTwice) {
  EXPECT_EQ(why_not<Item>(R"({"sku":"a","sku":"a","qty":2})"), "the field sku stands here twice");
  EXPECT_EQ(why_not<Item>(R"({"qty":1,"sku":"a","qty":2})"), "the field qty stands here twice");
}

TEST(Decode, RefusesHostileDepthWithoutACrash) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(why_not<Item>(R"({"unknown":)" + deep).substr(0, 3), "[0]");
  EXPECT_NE(why_not<Json>(deep).find("nested deeper than 500 levels"), std::string::npos);
}

struct Loop {
  std::shared_ptr<Loop> next;
};

TEST(Encode, RefusesAValueThatContainsItself) {
  auto loop = std::make_shared<Loop>();
  loop->next = loop;
  EXPECT_THROW(encode(*loop), LimitError);
  loop->next.reset();
}

TEST(Encode, LeavesPayloadsAndBuffersAsTheyAre) {
  const Payload payload{Encoding("protobuf"), std::string("\x01\x00", 2)};
  EXPECT_EQ(encode(payload), payload);
  EXPECT_EQ(*decode<Payload>(payload), payload);
  const std::vector<std::byte> buffer{std::byte{0}, std::byte{255}};
  EXPECT_EQ(encode(buffer), (Payload{kBytesEncoding, std::string("\x00\xFF", 2)}));
  EXPECT_EQ(*decode<std::vector<std::byte>>(encode(buffer)), buffer);
  EXPECT_EQ(*decode<std::string>(encode(buffer)), std::string("\x00\xFF", 2));
  EXPECT_EQ(*decode<std::vector<std::byte>>(json(R"({"$b64":"AP8="})")), buffer);
}

TEST(Decode, SaysWhichEncodingItMet) {
  EXPECT_EQ(decode<Item>(Payload{Encoding("protobuf"), "x"}).error().message,
            "expected a payload encoded as json, found one encoded as protobuf");
}

TEST(Arguments, NoneIsNullOneIsItselfSeveralAreAnArray) {
  EXPECT_EQ(encode_args(), json("null"));
  EXPECT_EQ(encode_args(7), json("7"));
  EXPECT_EQ(encode_args(std::string("a")), json("\"a\""));
  EXPECT_EQ(encode_args("a", 7, Item{"s", 2}), json(R"(["a",7,{"sku":"s","qty":2}])"));
  EXPECT_TRUE(decode_args<>(json("null")));
  EXPECT_EQ(std::get<0>(*decode_args<int>(json("7"))), 7);
  const auto args = decode_args<std::string, int, Item>(encode_args("a", 7, Item{"s", 2}));
  ASSERT_TRUE(args);
  EXPECT_EQ(std::get<2>(*args).qty, 2);
}

TEST(Arguments, OfTheWrongNumberOrTypeAreRefused) {
  EXPECT_EQ((decode_args<int, int>(json("[1]")).error().message),
            "it takes 2 inputs, and was given 1 input: expected an array of 2, found one of 1");
  EXPECT_EQ((decode_args<int, int>(json("[1,2,3]")).error().message),
            "it takes 2 inputs, and was given 3 inputs: expected an array of 2, found one of 3");
  EXPECT_EQ((decode_args<int, int>(json("null")).error().message),
            "it takes 2 inputs, and was given none: expected array, found null");
  EXPECT_EQ(decode_args<int>(json("null")).error().message,
            "it takes 1 input, and was given none: expected integer, found null");
  EXPECT_EQ(
      decode_args<int>(json("[1,2]")).error().message,
      "it takes 1 input, and was given 2 inputs, or one that is a list: expected integer, found an array");
  EXPECT_EQ(decode_args<int>(json("true")).error().message, "expected integer, found true");
  EXPECT_EQ((decode_args<int, int>(json("[1,true]")).error().message), "[1]: expected integer, found true");
  EXPECT_EQ((decode_args<int, int>(json("1")).error().message),
            "it takes 2 inputs, and was given 1 input: expected array, found number 1");
}

TEST(Decode, RefusesAnEncodingWithoutAProperId) {
  EXPECT_EQ(why_not<std::vector<Payload>>(R"([{"encoding":"no blanks","bytes":""}])"),
            "[0].encoding: the id of a payload encoding has 1 to 15 printable ASCII characters and no space");
}

TEST(Arguments, CarryAPayloadAmongOthers) {
  const Payload inner{Encoding("protobuf"), std::string("\xFF", 1)};
  const auto args = decode_args<int, Payload>(encode_args(1, inner));
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(std::get<1>(*args), inner);
}

TEST(Decode, MakesAFailureOfWhateverACodecThrows) {
  EXPECT_EQ(decode<Moody>({kJsonEncoding, "1"}).value().mood, 1);
  const auto no_exception = decode<Moody>({kJsonEncoding, "13"});
  ASSERT_FALSE(no_exception);
  EXPECT_EQ(no_exception.error().category, Category::decode);
  EXPECT_EQ(no_exception.error().message, "a codec threw an exception that is not a std::exception");
  EXPECT_EQ(decode<Moody>({kJsonEncoding, "14"}).error().message, "in a bad mood");
}

}  // namespace
}  // namespace holdfast::codec_test
