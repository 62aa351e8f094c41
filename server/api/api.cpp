#include "server/api/api.hpp"

#include "server/api/openapi.hpp"
#include "server/api/views.hpp"

#include <utility>

namespace holdfast::server {

struct NamespaceListView {
  std::vector<std::string> namespaces{};
};
HOLDFAST_GIVEN(NamespaceListView, "NamespaceList");

Route below_namespace(std::string method, const std::string& path, std::string operation, bool changes) {
  return {.method = std::move(method),
          .pattern = "/v1/namespaces/{namespace}" + path,
          .operation = std::move(operation),
          .access = Access::operators,
          .changes = changes};
}

void add_namespaces(Endpoints& endpoints) {
  endpoints.add<Nothing, NamespaceListView>(
      {.method = "GET", .pattern = "/v1/namespaces", .operation = "list_namespaces"},
      {.summary = "The namespaces that are served, and that the token covers"},
      [&served = endpoints.namespaces()](const Asked& asked) {
        NamespaceListView list{.namespaces = served.names()};
        std::erase_if(list.namespaces,
                      [&](const std::string& name) { return !asked.call().caller().covers(name); });
        return list;
      });
}

Api::Api(Pool& pool, const Namespaces& namespaces, Duration poll_time) {
  Endpoints endpoints(pool, namespaces);
  add_namespaces(endpoints);
  add_instances(endpoints);
  add_waits(endpoints, poll_time);
  add_sessions(endpoints);
  add_workers(endpoints);
  add_schedules(endpoints);
  description_ = openapi_document(endpoints);
  for (Endpoint& endpoint : endpoints.all()) routes_.push_back(std::move(endpoint.route));
  routes_.push_back(
      {.method = "GET",
       .pattern = "/v1/openapi.json",
       .operation = "openapi",
       .access = Access::any_token,
       .run = [this](const std::shared_ptr<Call>& call) { call->reply({.body = description_}); }});
}

http::Reply Api::refuse(const http::Request& request, const Refusal& refusal) const {
  return json_refusal(request, refusal);
}

}  // namespace holdfast::server
