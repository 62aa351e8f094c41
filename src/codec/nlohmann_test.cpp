// Types that nlohmann's library knows, as payloads and inside of other values.
#include <holdfast/nlohmann.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {
namespace {

// Reflection could not do it: the text of a shape has other fields than the class.
class Shape {
 public:
  Shape() = default;
  Shape(std::string kind, double size) : kind_(std::move(kind)), size_(size) {}
  bool operator==(const Shape&) const = default;

 private:
  friend void to_json(nlohmann::json& out, const Shape& shape) {
    out = {{"kind", shape.kind_}, {"mm", shape.size_ * 1000}};
  }
  friend void from_json(const nlohmann::json& in, Shape& shape) {
    in.at("kind").get_to(shape.kind_);
    shape.size_ = in.at("mm").get<double>() / 1000;
  }
  std::string kind_;
  double size_ = 0;
};

}  // namespace

template <>
struct Codec<Shape> : NlohmannCodec<Shape> {};

namespace {

struct Drawing {
  std::string title{};
  std::vector<Shape> shapes{};
  std::map<std::string, Shape> named{};
  nlohmann::json extra{};
  std::optional<nlohmann::json> maybe{};
  bool operator==(const Drawing&) const = default;
};

Payload json(std::string text) { return {kJsonEncoding, std::move(text)}; }

template <class T>
std::string refusal(const std::string& text) {
  const Result<T> result = decode<T>(json(text));
  return result ? "it decoded" : result.error().message;
}

TEST(Nlohmann, DocumentsAreValues) {
  const nlohmann::json document = {{"a", {1, 2.5, nullptr}}, {"b", "h\xC3\xA9\n"}};
  const Payload payload = encode(document);
  EXPECT_EQ(payload, json("{\"a\":[1,2.5,null],\"b\":\"h\xC3\xA9\\n\"}"));
  EXPECT_EQ(*decode<nlohmann::json>(payload), document);
  EXPECT_EQ(encode_args(1, document, "x"), json("[1," + payload.bytes + ",\"x\"]"));
}

TEST(Nlohmann, UserTypesStandInsideAggregatesAndContainers) {
  const Drawing drawing{
      .title = "t",
      .shapes = {{"circle", 0.5}, {"square", 2}},
      .named = {{"first", {"line", 1}}},
      .extra = {{"k", "v"}},
      .maybe = std::nullopt,
  };
  const Payload payload = encode(drawing);
  EXPECT_EQ(payload,
            json(R"({"title":"t","shapes":[{"kind":"circle","mm":500.0},{"kind":"square","mm":2000.0}],)"
                 R"("named":{"first":{"kind":"line","mm":1000.0}},"extra":{"k":"v"},"maybe":null})"));
  EXPECT_EQ(*decode<Drawing>(payload), drawing);
}

TEST(Nlohmann, NullIsAValueThatAnOptionalOneKeeps) {
  using Maybe = std::optional<nlohmann::json>;
  EXPECT_EQ(encode(Maybe(nlohmann::json(nullptr))), json("[null]"));
  EXPECT_EQ(*decode<Maybe>(json("[null]")), Maybe(nlohmann::json(nullptr)));
  EXPECT_EQ(*decode<Maybe>(json("null")), Maybe());
}

TEST(Nlohmann, FailuresCarryThePath) {
  const std::string missing = refusal<Drawing>(R"({"shapes":[{"kind":"circle","mm":1},{"kind":"square"}]})");
  EXPECT_TRUE(missing.starts_with("shapes[1]: ")) << missing;
  EXPECT_NE(missing.find("key 'mm' not found"), std::string::npos) << missing;
  const std::string wrong = refusal<Drawing>(R"({"named":{"first":{"kind":7,"mm":1}}})");
  EXPECT_TRUE(wrong.starts_with("named.first: ")) << wrong;
  EXPECT_NE(wrong.find("type must be string"), std::string::npos) << wrong;
  const Result<Shape> shape = decode<Shape>(json("[]"));
  EXPECT_EQ(shape.error().category, Category::decode);
}

TEST(Nlohmann, TextThatIsNoJsonFailsAsElsewhere) {
  EXPECT_EQ(refusal<Drawing>(R"({"extra":{"a":[1,}})"),
            "extra.a[1]: malformed JSON: expected a value at byte 17, found '}'");
  EXPECT_EQ(refusal<nlohmann::json>("1 2"),
            "malformed JSON: expected the end of the text at byte 2, found number 2");
}

// Two limits of that library, as the header says.
TEST(Nlohmann, WritesWhatJsonCannotHoldInItsOwnWay) {
  EXPECT_EQ(encode(nlohmann::json(std::numeric_limits<double>::infinity())), json("null"));
  EXPECT_THROW(encode(nlohmann::json("\xFF")), nlohmann::json::exception);
}

// What a JSON number may be, this library can't always hold.
TEST(Nlohmann, RefusesNumbersThatDoNotFitADouble) {
  const std::string why = refusal<Drawing>(R"({"extra":{"n":1e999}})");
  EXPECT_TRUE(why.starts_with("extra: ")) << why;
}

}  // namespace
}  // namespace holdfast
