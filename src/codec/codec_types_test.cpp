// What each type looks like as JSON, and that it comes back as it was.
#include <holdfast/codec.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace holdfast {
namespace {

template <class T>
void expect_json(const T& value, const std::string& json) {
  const Payload payload = encode(value);
  EXPECT_EQ(payload.encoding, kJsonEncoding);
  EXPECT_EQ(payload.bytes, json);
  const Result<T> again = decode<T>(payload);
  ASSERT_TRUE(again) << json << ": " << again.error().message;
  if constexpr (requires { *again == value; }) {
    EXPECT_TRUE(*again == value) << json;
  }
  EXPECT_EQ(encode(*again).bytes, json);
}

template <class T>
std::string why_not(const std::string& json) {
  const Result<T> result = decode<T>(Payload{kJsonEncoding, json});
  return result ? "it decoded" : result.error().message;
}

struct Item {
  std::string sku;
  int qty = 1;
  bool operator==(const Item&) const = default;
};
struct Order {
  std::string id;
  std::vector<Item> items;
  std::optional<std::string> note;
  bool operator==(const Order&) const = default;
};

TEST(CodecTypes, Aggregates) {
  expect_json(Order{.id = "o1", .items = {{"x", 2}, {"y", 1}}, .note = std::nullopt},
              R"({"id":"o1","items":[{"sku":"x","qty":2},{"sku":"y","qty":1}],"note":null})");
}

struct Empty {
  bool operator==(const Empty&) const = default;
};
struct OneMember {
  std::vector<int> numbers;
  bool operator==(const OneMember&) const = default;
};
struct Nested {
  Empty empty;
  OneMember one;
  std::array<int, 3> fixed{};
  std::variant<int, std::string> choice;
  std::shared_ptr<Nested> next;
};

TEST(CodecTypes, AggregatesOfAllSizesNest) {
  expect_json(Empty{}, "{}");
  expect_json(OneMember{{1, 2}}, R"({"numbers":[1,2]})");
  Nested nested;
  nested.choice = "abc";
  nested.next = std::make_shared<Nested>();
  expect_json(nested, R"({"empty":{},"one":{"numbers":[]},"fixed":[0,0,0],"choice":[1,"abc"],"next":)"
                      R"({"empty":{},"one":{"numbers":[]},"fixed":[0,0,0],"choice":[0,0],"next":null}})");
}

struct Wide {
  int a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, a10 = 10, a11 = 11, a12 = 12,
      a13 = 13, a14 = 14, a15 = 15, a16 = 16, a17 = 17, a18 = 18, a19 = 19, a20 = 20, a21 = 21, a22 = 22,
      a23 = 23, a24 = 24, a25 = 25, a26 = 26, a27 = 27, a28 = 28, a29 = 29, a30 = 30, a31 = 31, a32 = 32,
      a33 = 33, a34 = 34, a35 = 35, a36 = 36, a37 = 37, a38 = 38, a39 = 39, a40 = 40, a41 = 41, a42 = 42,
      a43 = 43, a44 = 44, a45 = 45, a46 = 46, a47 = 47, a48 = 48, a49 = 49, a50 = 50, a51 = 51, a52 = 52,
      a53 = 53, a54 = 54, a55 = 55, a56 = 56, a57 = 57, a58 = 58, a59 = 59, a60 = 60, a61 = 61, a62 = 62,
      a63 = 63, a64 = 64;
  bool operator==(const Wide&) const = default;
};

TEST(CodecTypes, AggregatesOfSixtyFourMembers) {
  EXPECT_EQ(detail::field_count<Wide>, 64U);
  EXPECT_EQ(detail::field_names<Wide>[0], "a1");
  EXPECT_EQ(detail::field_names<Wide>[63], "a64");
  Wide wide;
  wide.a64 = -5;
  EXPECT_EQ(*decode<Wide>(encode(wide)), wide);
}

namespace elsewhere {
template <class T>
struct Generic {
  T first;
  std::vector<Generic> children;
  bool operator==(const Generic&) const = default;
};
}  // namespace elsewhere

TEST(CodecTypes, LocalGenericAndRecursiveAggregates) {
  struct Local {
    double ratio = 0;
    std::string größe;
    bool operator==(const Local&) const = default;
  };
  expect_json(Local{0.5, "x"}, R"({"ratio":0.5,"größe":"x"})");
  using Tree = elsewhere::Generic<int>;
  expect_json(Tree{1, {Tree{2, {}}, Tree{3, {}}}},
              R"({"first":1,"children":[{"first":2,"children":[]},{"first":3,"children":[]}]})");
}

TEST(CodecTypes, IntegersKeepEveryBit) {
  expect_json(true, "true");
  expect_json(std::int8_t{-128}, "-128");
  expect_json(std::uint8_t{255}, "255");
  expect_json(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  expect_json(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  expect_json(1LL, "1");
}

TEST(CodecTypes, IntegersThatDoNotFitAreRefused) {
  EXPECT_EQ(why_not<std::int8_t>("128"), "expected integer from -128 to 127, found number 128");
  EXPECT_EQ(why_not<unsigned>("-1"), "expected integer from 0 to 4294967295, found number -1");
  EXPECT_EQ(
      why_not<std::int64_t>("9223372036854775808"),
      "expected integer from -9223372036854775808 to 9223372036854775807, found number 9223372036854775808");
  EXPECT_EQ(why_not<int>("1.5"), "expected integer, found number 1.5");
  EXPECT_EQ(why_not<int>("1e3"), "expected integer, found number 1e3");
  EXPECT_EQ(why_not<int>("\"1\""), "expected integer, found string \"1\"");
  EXPECT_EQ(why_not<int>("null"), "expected integer, found null");
  EXPECT_EQ(why_not<bool>("1"), "expected true or false, found number 1");
}

TEST(CodecTypes, FloatingPointNumbersKeepEveryBit) {
  expect_json(0.1, "0.1");
  expect_json(0.1F, "0.1");
  expect_json(1e300, "1e+300");
  expect_json(std::numeric_limits<double>::denorm_min(), "5e-324");
  expect_json(std::numeric_limits<double>::infinity(), "\"Infinity\"");
  expect_json(-std::numeric_limits<float>::infinity(), "\"-Infinity\"");
  EXPECT_TRUE(std::isnan(*decode<double>(encode(std::nan("")))));
  EXPECT_TRUE(std::signbit(*decode<double>(encode(-0.0))));
  const long double third = 1.0L / 3;
  EXPECT_EQ(*decode<long double>(encode(third)), third);
  EXPECT_EQ(*decode<double>(Payload{kJsonEncoding, "7"}), 7.0);
  EXPECT_EQ(why_not<double>("1e999"), "expected number that fits its type, found number 1e999");
  EXPECT_EQ(why_not<double>("\"nan\""), "expected number, found string \"nan\"");
}

TEST(CodecTypes, TextKeepsEveryByte) {
  expect_json(std::string("h\xC3\xA9llo \"q\" \\ \n\t\x01"), "\"h\xC3\xA9llo \\\"q\\\" \\\\ \\n\\t\\u0001\"");
  expect_json(std::string("null"), "\"null\"");
  expect_json(std::string("a\0b", 3), "\"a\\u0000b\"");
  expect_json(std::string("\xFF\x00", 2), R"({"$b64":"/wA="})");
  expect_json('x', "\"x\"");
  expect_json('\xFF', R"({"$b64":"/w=="})");
  EXPECT_EQ(encode("literal").bytes, "\"literal\"");
  EXPECT_EQ(encode(std::string_view("view")).bytes, "\"view\"");
  EXPECT_EQ(why_not<char>("\"ab\""), "expected a string of one byte, found one of 2");
}

TEST(CodecTypes, BytesInsideAValue) {
  struct Blob {
    std::vector<std::byte> data;
    std::vector<unsigned char> more;
    std::byte one{};
    bool operator==(const Blob&) const = default;
  };
  expect_json(Blob{{std::byte{1}, std::byte{255}}, {2}, std::byte{7}},
              R"({"data":{"$b64":"Af8="},"more":{"$b64":"Ag=="},"one":7})");
  EXPECT_EQ(why_not<Blob>(R"({"data":{"$b64":"A"}})"), "data.$b64: expected base64 text, found \"A\"");
  EXPECT_EQ(why_not<Blob>(R"({"data":{"b64":"Af8="}})"),
            "data.b64: expected bytes as {\"$b64\": \"...\"}, found another object");
}

enum class Color { red, green = 5, blue = -3, far_away = 1000 };
enum Fixed : std::uint8_t { fixed_a, fixed_b = 200 };
template <class T, int N>
struct Host {
  enum class Inner : std::int64_t { on = 1, off = 0 };
};
}  // namespace
}  // namespace holdfast

namespace distant {
enum class Code { low = -1000, high = -998 };
}
template <>
struct holdfast::EnumRange<distant::Code> {
  static constexpr int min = -1000;
  static constexpr int max = -990;
};

namespace holdfast {
namespace {

TEST(CodecTypes, EnumsByName) {
  expect_json(Color::red, "\"red\"");
  expect_json(Color::green, "\"green\"");
  expect_json(Color::blue, "\"blue\"");
  expect_json(Color::far_away, "1000");
  expect_json(static_cast<Color>(77), "77");
  expect_json(fixed_b, "\"fixed_b\"");
  expect_json(Host<std::pair<int, int>, 3>::Inner::on, "\"on\"");
  expect_json(distant::Code::high, "\"high\"");
  expect_json(Category::nondeterminism, "\"nondeterminism\"");
  EXPECT_EQ(why_not<Color>("\"purple\""), "expected one of blue, red, green, found \"purple\"");
  EXPECT_EQ(why_not<Color>("\"\""), "expected one of blue, red, green, found \"\"");
  EXPECT_EQ(why_not<Color>("true"), "expected one of blue, red, green, found true");
  EXPECT_EQ(why_not<Fixed>("256"), "expected integer from 0 to 255, found number 256");
}

TEST(CodecTypes, Sequences) {
  expect_json(std::vector<int>{1, 2, 3}, "[1,2,3]");
  expect_json(std::vector<bool>{true, false}, "[true,false]");
  expect_json(std::deque<std::string>{"a", "b"}, R"(["a","b"])");
  expect_json(std::list<double>{}, "[]");
  expect_json(std::array<int, 2>{1, 2}, "[1,2]");
  expect_json(std::pair<int, std::string>{1, "x"}, R"([1,"x"])");
  expect_json(std::tuple<int, bool, std::string>{1, true, "x"}, R"([1,true,"x"])");
  expect_json(std::tuple<>{}, "[]");
  EXPECT_EQ((why_not<std::array<int, 2>>("[1]")), "expected an array of 2, found one of 1");
  EXPECT_EQ((why_not<std::array<int, 2>>("[1,2,3]")), "expected an array of 2, found one of 3");
  EXPECT_EQ((why_not<std::pair<int, int>>("[1,\"2\"]")), "[1]: expected integer, found string \"2\"");
  EXPECT_EQ((why_not<std::vector<int>>("{}")), "expected array, found an object");
}

TEST(CodecTypes, SetsAreSorted) {
  expect_json(std::set<int>{3, 1, 2}, "[1,2,3]");
  expect_json(std::multiset<int>{2, 1, 2}, "[1,2,2]");
  expect_json(std::unordered_set<std::string>{"c", "a", "b"}, R"(["a","b","c"])");
  EXPECT_EQ(encode(std::unordered_multiset<int>{2, 1, 2}).bytes, "[1,2,2]");
}

TEST(CodecTypes, MapsAreObjectsWhereTheKeysAllowIt) {
  expect_json(std::map<std::string, int>{{"b", 2}, {"a", 1}}, R"({"a":1,"b":2})");
  expect_json(std::map<int, std::string>{{-1, "x"}, {2, "y"}}, R"({"-1":"x","2":"y"})");
  expect_json(std::map<Color, int>{{Color::green, 1}, {static_cast<Color>(77), 2}}, R"({"green":1,"77":2})");
  expect_json(std::unordered_map<std::string, int>{{"b", 2}, {"a", 1}, {"c", 3}}, R"({"a":1,"b":2,"c":3})");
  expect_json(std::map<std::string, int>{{"\xFF", 1}}, R"([[{"$b64":"/w=="},1]])");
  expect_json(std::map<std::pair<int, int>, int>{{{1, 2}, 3}}, "[[[1,2],3]]");
  expect_json(std::multimap<std::string, int>{{"a", 1}, {"a", 2}}, R"([["a",1],["a",2]])");
  EXPECT_EQ(encode(std::unordered_multimap<int, int>{{1, 2}, {1, 1}}).bytes, "[[1,1],[1,2]]");
  EXPECT_EQ((why_not<std::map<int, int>>(R"({"x":1})")), "x: the key: expected integer, found string \"x\"");
  EXPECT_EQ((why_not<std::map<std::string, int>>(R"({"x":1,"x":2})")), "x: the same key stands here twice");
  EXPECT_EQ((why_not<std::map<std::string, int>>(R"({"x":"y"})")), "x: expected integer, found string \"y\"");
}

TEST(CodecTypes, OptionalValuesOfOptionalValuesStayApart) {
  using Twice = std::optional<std::optional<int>>;
  expect_json(std::optional<int>(7), "7");
  expect_json(std::optional<int>(), "null");
  expect_json(Twice(), "null");
  expect_json(Twice(std::in_place), "[null]");
  expect_json(Twice(7), "[7]");
  expect_json(std::optional<std::monostate>(std::in_place), "[null]");
  expect_json(std::optional<Json>(Json{"null"}), "[null]");
  EXPECT_EQ(encode(std::make_unique<int>(3)).bytes, "3");
  EXPECT_EQ(**decode<std::unique_ptr<int>>(Payload{kJsonEncoding, "3"}), 3);
  EXPECT_EQ(**decode<std::shared_ptr<const int>>(Payload{kJsonEncoding, "3"}), 3);
}

TEST(CodecTypes, AlternativesOfTheSameTypeStayApart) {
  using Choice = std::variant<std::monostate, int, int, std::string>;
  expect_json(Choice(), "[0,null]");
  expect_json(Choice(std::in_place_index<2>, 7), "[2,7]");
  EXPECT_EQ(why_not<Choice>("[4,null]"), "[0]: expected integer from 0 to 3, found number 4");
  EXPECT_EQ(why_not<Choice>("[3,7]"), "[1]: expected string, found number 7");
  EXPECT_EQ(why_not<Choice>("[1]"), "expected an array of 2, found one of 1");
}

TEST(CodecTypes, JsonOfAnyKind) {
  struct Envelope {
    Json body;
    bool operator==(const Envelope&) const = default;
  };
  expect_json(Envelope{Json{R"({"a":[1,2,{"b":null}]})"}}, R"({"body":{"a":[1,2,{"b":null}]}})");
  EXPECT_THROW(encode(Json{"{"}), Error);
  EXPECT_THROW(encode(Json{"1 2"}), Error);
}

// ---- types that reflection needs help with ------------------------------------------------------

class Account {
 public:
  Account() = default;
  Account(std::string id, int balance) : id_(std::move(id)), balance_(balance) {}
  bool operator==(const Account&) const = default;

 private:
  HOLDFAST_FIELDS(id_, balance_)
  std::string id_;
  int balance_ = 0;
};

struct Entity {
  int version = 1;
};
struct Document : Entity {
  HOLDFAST_FIELDS(version, title)
  std::string title;
};
struct Packet {
  HOLDFAST_FIELDS(header, name, sequence)
  int header[3] = {};
  char name[8] = {};
  int sequence = 0;
};

TEST(CodecTypes, ListedFields) {
  expect_json(Account("a1", 5), R"({"id_":"a1","balance_":5})");
  Document document;
  document.version = 3;
  document.title = "t";
  expect_json(document, R"({"version":3,"title":"t"})");
  expect_json(Packet{{1, 2, 3}, "abc", 9}, R"({"header":[1,2,3],"name":"abc","sequence":9})");
  EXPECT_EQ(why_not<Packet>(R"({"name":"123456789"})"), "name: expected at most 8 bytes, found 9");
}

struct Strict {
  HOLDFAST_REQUIRED(id, qty)
  std::string id;
  int qty = 1;
  std::string note = "none";
};

TEST(CodecTypes, RequiredFields) {
  EXPECT_EQ(why_not<Strict>(R"({"note":"x"})"), "missing fields: id, qty");
  EXPECT_EQ(why_not<Strict>(R"({"id":"x"})"), "missing field: qty");
  EXPECT_EQ(decode<Strict>(Payload{kJsonEncoding, R"({"id":"x","qty":2})"})->note, "none");
}

// A type without a default: there is no value to fall back on.
class Sku {
 public:
  explicit Sku(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  bool operator==(const Sku&) const = default;

 private:
  std::string text_;
};
struct Line {
  int number = 0;
  Sku sku;
  int qty = 1;
  bool operator==(const Line&) const = default;
};
}  // namespace

template <>
struct Codec<Sku> {
  static void write(JsonWriter& out, const Sku& sku) { out.string(sku.text()); }
  static std::optional<Sku> read(JsonReader& in) {
    std::string text;
    if (!in.string(text)) return std::nullopt;
    if (text.empty()) return in.fail("a SKU is not empty"), std::nullopt;
    return Sku(text);
  }
};

namespace {

TEST(CodecTypes, MembersWithoutADefaultAreRequired) {
  expect_json(Line{1, Sku("x"), 2}, R"({"number":1,"sku":"x","qty":2})");
  EXPECT_EQ(decode<Line>(Payload{kJsonEncoding, R"({"number":1,"sku":"x"})"})->qty, 1);
  EXPECT_EQ(why_not<Line>(R"({"qty":2})"), "missing fields: number, sku");
  EXPECT_EQ(why_not<Line>(R"({"number":1,"sku":""})"), "sku: a SKU is not empty");
  expect_json(std::vector<Sku>{Sku("a"), Sku("b")}, R"(["a","b"])");
  expect_json(std::map<std::string, Sku>{{"k", Sku("a")}}, R"({"k":"a"})");
  expect_json(std::optional<Sku>(Sku("a")), "\"a\"");
  expect_json(std::variant<int, Sku>(Sku("a")), "[1,\"a\"]");
}

struct WideWithoutDefault {
  int a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0, a8 = 0, a9 = 0, a10 = 0, a11 = 0, a12 = 0,
      a13 = 0, a14 = 0, a15 = 0, a16 = 0, a17 = 0, a18 = 0, a19 = 0, a20 = 0, a21 = 0, a22 = 0, a23 = 0,
      a24 = 0, a25 = 0, a26 = 0, a27 = 0, a28 = 0, a29 = 0, a30 = 0, a31 = 0, a32 = 0, a33 = 0, a34 = 0,
      a35 = 0, a36 = 0, a37 = 0, a38 = 0, a39 = 0, a40 = 0, a41 = 0, a42 = 0, a43 = 0, a44 = 0, a45 = 0,
      a46 = 0, a47 = 0, a48 = 0, a49 = 0, a50 = 0, a51 = 0, a52 = 0, a53 = 0, a54 = 0, a55 = 0, a56 = 0,
      a57 = 0, a58 = 0, a59 = 0, a60 = 0, a61 = 0, a62 = 0, a63 = 0;
  Sku a64;
};

TEST(CodecTypes, SixtyFourMembersMayAllBeRequired) {
  EXPECT_EQ(detail::required_fields<WideWithoutDefault>, ~std::uint64_t{0});
  EXPECT_EQ(why_not<WideWithoutDefault>("{}").substr(0, 28), "missing fields: a1, a2, a3, ");
}

// Bytes of its own.
struct Frame {
  int width = 0;
  bool operator==(const Frame&) const = default;
};
}  // namespace

template <>
struct Codec<Frame> {
  static constexpr std::string_view encoding = "frame-v1";
  static std::string encode(const Frame& frame) { return "W" + std::to_string(frame.width); }
  static Frame decode(std::string_view bytes) {
    if (!bytes.starts_with('W')) throw std::runtime_error("a frame starts with W");
    return {std::stoi(std::string(bytes.substr(1)))};
  }
};

namespace {

TEST(CodecTypes, BytesCodecsMakePayloadsOfTheirOwn) {
  const Payload payload = encode(Frame{640});
  EXPECT_EQ(payload, (Payload{Encoding("frame-v1"), "W640"}));
  EXPECT_EQ(decode<Frame>(payload)->width, 640);
  expect_json(std::vector<Frame>{{1}}, R"([{"$b64":"VzE="}])");
  EXPECT_EQ(decode<Frame>(Payload{Encoding("frame-v1"), "X"}).error().message, "a frame starts with W");
  EXPECT_EQ(decode<Frame>(Payload{kBytesEncoding, "W1"}).error().message,
            "expected a payload encoded as frame-v1, found one encoded as bytes");
}

}  // namespace
}  // namespace holdfast
