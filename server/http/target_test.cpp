#include "server/http/target.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::server::http::target_test {

Request request_for(std::string target) {
  Request request{.target = std::move(target)};
  EXPECT_TRUE(read_target(request)) << request.target;
  return request;
}

using Path = std::vector<std::string>;

TEST(Target, EachSegmentIsDecodedByItself) {
  EXPECT_EQ(request_for("/").path, Path{});
  EXPECT_EQ(request_for("/v1/a%2Fb/c").path, (Path{"v1", "a/b", "c"}));
  EXPECT_EQ(request_for("/a//b/").path, (Path{"a", "", "b", ""}));
  EXPECT_EQ(request_for("/a+b").path, Path{"a+b"});
  EXPECT_EQ(request_for("/..%2f%00").path, Path{std::string("../\0", 4)});
  EXPECT_EQ(request_for("http://example.org/a?b").path, Path{"a"});
  EXPECT_EQ(request_for("HTTP://example.org").path, Path{});
}

TEST(Target, AQueryIsNamesAndValues) {
  const Request request = request_for("/a?x=1&y=a+b%26c&&flag&x=2#part");
  EXPECT_EQ(request.parameter("x"), "1");
  EXPECT_EQ(request.parameter("y"), "a b&c");
  EXPECT_EQ(request.parameter("flag"), "");
  EXPECT_FALSE(request.parameter("z"));
  EXPECT_EQ(request.query.size(), 4U);
}

TEST(Target, IsRefusedWhenMalformed) {
  for (const char* target : {"", "*", "a", "/%", "/%4", "/%g0", "/a?%", "/a?b=%4", "ftp://h/a"}) {
    Request request{.target = target};
    EXPECT_FALSE(read_target(request)) << target;
  }
}

RC_GTEST_PROP(Target, AnyTextSurvivesEncoding, (const std::string& text)) {
  RC_ASSERT(percent_decode(percent_encode(text)) == text);
  Request request{.target =
                      "/" + percent_encode(text) + "?" + percent_encode(text) + "=" + percent_encode(text)};
  RC_ASSERT(read_target(request));
  if (text.empty()) return;
  RC_ASSERT(request.path == Path{text});
  RC_ASSERT(request.parameter(text) == text);
}

}  // namespace holdfast::server::http::target_test
