// The control API: /v1.
#pragma once

#include "server/api/endpoints.hpp"
#include "server/api/namespaces.hpp"
#include "server/api/pool.hpp"
#include "server/front/route.hpp"

#include <holdfast/options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server {

class Api final : public Door {
 public:
  /// `poll_time` is the longest that a request waits for news. The others outlive it.
  Api(Pool& pool, const Namespaces& namespaces, Duration poll_time);

  [[nodiscard]] std::string_view prefix() const noexcept override { return "/v1"; }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept override { return routes_; }
  [[nodiscard]] http::Reply refuse(const http::Request& request, const Refusal& refusal) const override;
  /// As an OpenAPI 3.1 document, made from the endpoints.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

 private:
  std::vector<Route> routes_;
  std::string description_;
};

// Parts of the API.
void add_namespaces(Endpoints& endpoints);
void add_instances(Endpoints& endpoints);
void add_waits(Endpoints& endpoints, Duration poll_time);
void add_sessions(Endpoints& endpoints);
void add_workers(Endpoints& endpoints);
void add_schedules(Endpoints& endpoints);

/// A route below a namespace.
[[nodiscard]] Route below_namespace(std::string method, const std::string& path, std::string operation,
                                    bool changes = false);

}  // namespace holdfast::server
