#include "server/api/views.hpp"

#include "server/api/endpoints.hpp"
#include "server/api/openapi.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::server::views_test {

std::string shown(const Payload& payload) { return encode(PayloadView{payload}).bytes; }

TEST(Views, APayloadIsShownAsItIs) {
  EXPECT_EQ(shown({kJsonEncoding, R"({"a":1.0,"a":2})"}), R"({"encoding":"json","value":{"a":1.0,"a":2}})");
  EXPECT_EQ(shown({kBytesEncoding, std::string("\0\xff", 2)}), R"({"encoding":"bytes","base64":"AP8="})");
  EXPECT_EQ(shown({Encoding("avro"), "{}"}), R"({"encoding":"avro","base64":"e30="})");
  // Another program may have written anything under the name of JSON.
  for (const char* broken : {"", "{", "1 2", "nul", "\"\xff\"", "{\"a\":}"}) {
    EXPECT_TRUE(shown({kJsonEncoding, broken}).starts_with(R"({"encoding":"json","base64":")")) << broken;
  }
}

TEST(Views, AFailureIsShownWithItsCauses) {
  Failure cause{.type = "disk_full", .message = "no room"};
  const Failure failure{
      .type = "save", .message = "it failed", .cause = std::make_shared<const Failure>(cause)};
  const std::string text = encode(view(failure)).bytes;
  EXPECT_NE(text.find(R"("type":"save")"), std::string::npos);
  EXPECT_NE(text.find(R"("cause":{"category":"application","type":"disk_full")"), std::string::npos) << text;
}

struct Inner {
  int number = 0;
};
struct Outer {
  std::string text{};
  std::optional<bool> flag{};
  std::vector<Inner> inner{};
  Status status = Status::running;
};

}  // namespace holdfast::server::views_test

namespace holdfast::server {
HOLDFAST_GIVEN(views_test::Inner, "Inner");
HOLDFAST_GIVEN(views_test::Outer, "Outer");
}  // namespace holdfast::server

namespace holdfast::server::views_test {

TEST(Schemas, FollowTheFieldsOfATypes) {
  SchemaTable table;
  EXPECT_EQ(schema_of<Outer>(table), R"({"$ref":"#/components/schemas/Outer"})");
  EXPECT_EQ(
      table["Inner"],
      R"({"type":"object","properties":{"number":{"type":"integer"}},"required":["number"],"additionalProperties":false})");
  EXPECT_EQ(
      table["Outer"],
      R"({"type":"object","properties":{"text":{"type":"string"},"flag":{"anyOf":[{"type":"boolean"},{"type":"null"}]},)"
      R"("inner":{"type":"array","items":{"$ref":"#/components/schemas/Inner"}},)"
      R"("status":{"type":"string","enum":["running","suspended","parked","completed","failed","cancelled","terminated"]}},)"
      R"("required":["text","flag","inner","status"],"additionalProperties":false})");
}

TEST(Json, IsIndented) {
  EXPECT_EQ(
      indented(R"({"a":[1,{"b":"x,{}\":"}],"c":[],"d":{}})"),
      "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x,{}\\\":\"\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}");
}

Refusal refusal_for(const std::exception& error) {
  if (const auto* client = dynamic_cast<const ClientError*>(&error))
    return refusal_of(std::make_exception_ptr(*client));
  return refusal_of(std::make_exception_ptr(std::runtime_error(error.what())));
}

TEST(Refusals, FollowFromWhatACallThrew) {
  using Kind = ClientError::Kind;
  EXPECT_EQ(refusal_for(ClientError(Kind::conflict, "m")).status, 409);
  EXPECT_EQ(refusal_for(ClientError(Kind::not_found, "m")).status, 404);
  EXPECT_EQ(refusal_for(ClientError(Kind::invalid, "m")).status, 422);
  EXPECT_EQ(refusal_for(ClientError(Kind::damaged, "m")).status, 500);
  EXPECT_EQ(refusal_for(ClientError(Kind::unavailable, "m")).status, 503);
  EXPECT_EQ(refusal_for(ClientError(Kind::unavailable, "m")).message, "m");
  EXPECT_EQ(refusal_for(std::runtime_error("odd")).code, "internal");
  EXPECT_EQ(refusal_of(std::make_exception_ptr(RefusedRequest({.status = 418, .code = "tea"}))).status, 418);
}

}  // namespace holdfast::server::views_test
