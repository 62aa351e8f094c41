#include "server/front/front.hpp"

#include "server/http/target.hpp"
#include "testkit/support/lines.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::server::front_test {

// Says no with the code alone.
class PlainDoor final : public Door {
 public:
  PlainDoor(std::string prefix, std::vector<Route> routes)
      : prefix_(std::move(prefix)), routes_(std::move(routes)) {}
  [[nodiscard]] std::string_view prefix() const noexcept override { return prefix_; }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept override { return routes_; }
  [[nodiscard]] http::Reply refuse(const http::Request& /*request*/, const Refusal& refusal) const override {
    return {.status = refusal.status, .body = prefix_ + " " + refusal.code};
  }

 private:
  std::string prefix_;
  std::vector<Route> routes_;
};

Route route(std::string method, std::string pattern, Access access = Access::operators) {
  return {.method = std::move(method),
          .pattern = pattern,
          .operation = std::move(pattern),
          .access = access,
          .run = [](const std::shared_ptr<Call>&) {}};
}

http::Request request(std::string method, std::string target,
                      const std::vector<std::pair<std::string, std::string>>& headers = {}) {
  http::Request made{.method = std::move(method), .target = std::move(target)};
  EXPECT_TRUE(http::read_target(made));
  for (const auto& [name, value] : headers) made.headers.add(name, value);
  return made;
}

class Fronts : public ::testing::Test {
 protected:
  std::string token(Role role, std::vector<std::string> namespaces) {
    const NewToken made = make_token("", role, std::move(namespaces), real_clock().calendar_now(), {});
    file.add(made.record);
    return "Bearer " + made.text;
  }
  std::optional<http::Reply> admit(http::Request asked) {
    if (!front) {
      authority = std::make_unique<Authority>(file, log);
      front = std::make_unique<Front>(
          std::vector<const Door*>{&root, &api, &other}, *authority,
          FrontOptions{.max_requests_per_token = 2, .hosts = {"box"}, .logger = log, .metrics = metrics});
    }
    auto reply = front->admit(asked);
    if (!reply) admitted.push_back(asked.admission);
    return reply;
  }
  std::string outcome(http::Request asked) {
    const auto reply = admit(std::move(asked));
    return reply ? std::to_string(reply->status) + " " + reply->body : "admitted";
  }

  PlainDoor root{"", {route("GET", "/health", Access::anybody), route("GET", "/assets/*", Access::anybody)}};
  PlainDoor api{"/v1",
                {route("GET", "/v1/namespaces/{namespace}/things/{id}"),
                 route("DELETE", "/v1/namespaces/{namespace}/things/{id}", Access::admins),
                 route("POST", "/v1/poll", Access::workers), route("GET", "/v1/any", Access::any_token)}};
  PlainDoor other{"/api", {}};
  support::TemporaryFolder folder;
  TokenFile file{folder / "tokens"};
  std::shared_ptr<support::Lines> log = std::make_shared<support::Lines>();
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  std::unique_ptr<Authority> authority;
  std::unique_ptr<Front> front;
  std::vector<std::shared_ptr<void>> admitted;
};

TEST_F(Fronts, FindRoutesByTheirPatterns) {
  const Router router({&root, &api});
  const RouteMatch match = router.find(request("GET", "/v1/namespaces/a%2Fb/things/%7Bid%7D"));
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.parameters[0].second, "a/b");
  EXPECT_EQ(match.parameters[1].second, "{id}");
  EXPECT_NE(router.find(request("HEAD", "/health")).route, nullptr);
  EXPECT_NE(router.find(request("GET", "/assets/a/b.js")).route, nullptr);
  EXPECT_EQ(router.find(request("GET", "/asset")).route, nullptr);
  const RouteMatch wrong = router.find(request("PUT", "/v1/namespaces/a/things/b"));
  EXPECT_EQ(wrong.route, nullptr);
  EXPECT_EQ(wrong.methods, "GET, DELETE");
}

TEST_F(Fronts, TheTokenIsCheckedBeforeAnythingIsToldOfPaths) {
  const std::string ours = token(Role::operate, {"a"});
  EXPECT_EQ(outcome(request("GET", "/v1/nothing")), "401 /v1 unauthorized");
  EXPECT_EQ(outcome(request("PUT", "/v1/any")), "401 /v1 unauthorized");
  EXPECT_EQ(outcome(request("GET", "/nothing")), "401  unauthorized");
  EXPECT_EQ(outcome(request("GET", "/v1/any")), "401 /v1 unauthorized");
  EXPECT_EQ(outcome(request("GET", "/v1/any", {{"Authorization", "Bearer hft_0_0"}})),
            "401 /v1 unauthorized");
  EXPECT_EQ(outcome(request("GET", "/health")), "admitted");
  EXPECT_EQ(outcome(request("GET", "/v1/nothing", {{"Authorization", ours}})), "404 /v1 no_route");
  EXPECT_EQ(outcome(request("GET", "/v1", {{"Authorization", ours}})), "404 /v1 no_route");
  EXPECT_EQ(outcome(request("PUT", "/v1/any", {{"Authorization", ours}})), "405 /v1 method");
  EXPECT_EQ(outcome(request("GET", "/api/x", {{"Authorization", ours}})), "404 /api no_route");
  EXPECT_EQ(outcome(request("GET", "/v1/any", {{"Authorization", ours}})), "admitted");
}

TEST_F(Fronts, RolesAndNamespacesAreChecked) {
  const std::string worker = token(Role::worker, {"*"});
  const std::string operate = token(Role::operate, {"a", "b"});
  const std::string admin = token(Role::admin, {"*"});
  const auto asks = [&](const char* method, const char* target, const std::string& who) {
    const std::string said = outcome(request(method, target, {{"Authorization", who}}));
    admitted.clear();
    return said;
  };
  EXPECT_EQ(asks("GET", "/v1/namespaces/a/things/x", worker), "403 /v1 forbidden");
  EXPECT_EQ(asks("GET", "/v1/namespaces/b/things/x", operate), "admitted");
  EXPECT_EQ(asks("GET", "/v1/namespaces/c/things/x", operate), "403 /v1 forbidden_namespace");
  EXPECT_EQ(asks("GET", "/v1/namespaces/c/things/x", admin), "admitted");
  EXPECT_EQ(asks("DELETE", "/v1/namespaces/a/things/x", operate), "403 /v1 forbidden");
  EXPECT_EQ(asks("DELETE", "/v1/namespaces/a/things/x", admin), "admitted");
  EXPECT_EQ(asks("POST", "/v1/poll", worker), "admitted");
  EXPECT_EQ(asks("POST", "/v1/poll", operate), "403 /v1 forbidden");
  EXPECT_EQ(asks("POST", "/v1/poll", admin), "admitted");
}

TEST_F(Fronts, ATokenHasSoManyRequestsUnderWay) {
  const std::string ours = token(Role::operate, {"a"});
  const std::string theirs = token(Role::operate, {"a"});
  const auto asked = [&](const std::string& who) {
    return outcome(request("GET", "/v1/any", {{"Authorization", who}}));
  };
  EXPECT_EQ(asked(ours), "admitted");
  EXPECT_EQ(asked(ours), "admitted");
  EXPECT_EQ(asked(ours), "429 /v1 too_many_requests");
  EXPECT_EQ(asked(theirs), "admitted");
  admitted.erase(admitted.begin());
  EXPECT_EQ(asked(ours), "admitted");
}

TEST_F(Fronts, PagesOfOtherServersMayNotCall) {
  const std::string ours = token(Role::operate, {"a"});
  const auto from = [&](const char* name, const char* value) {
    return outcome(
        request("GET", "/v1/any", {{"Authorization", ours}, {"Host", "server:7420"}, {name, value}}));
  };
  EXPECT_EQ(from("Origin", "http://evil.example"), "403 /v1 other_origin");
  EXPECT_EQ(from("Origin", "null"), "403 /v1 other_origin");
  EXPECT_EQ(from("Sec-Fetch-Site", "cross-site"), "403 /v1 other_origin");
  EXPECT_EQ(from("Origin", "https://SERVER:7420"), "admitted");
  EXPECT_EQ(from("Sec-Fetch-Site", "same-origin"), "admitted");
}

TEST_F(Fronts, WithoutTokensOnlyNamesOfThisMachineAreAnswered) {
  authority = std::make_unique<Authority>(std::nullopt, log);
  front = std::make_unique<Front>(std::vector<const Door*>{&root}, *authority,
                                  FrontOptions{.hosts = {"box"}, .logger = log, .metrics = metrics});
  for (const char* host : {"localhost", "LOCALHOST:7420", "127.0.0.1:7420", "[::1]:7420", "box:7420"}) {
    EXPECT_EQ(outcome(request("GET", "/health", {{"Host", host}})), "admitted") << host;
  }
  for (const char* host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7420", "", "[::1", "box.example"}) {
    EXPECT_EQ(outcome(request("GET", "/health", {{"Host", host}})), "403  unknown_host") << host;
  }
  EXPECT_EQ(outcome(request("GET", "/health")), "403  unknown_host");
}

}  // namespace holdfast::server::front_test
