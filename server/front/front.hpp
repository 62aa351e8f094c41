// Front: lets requests in, or says why not, and notes what became of them.
#pragma once

#include "server/auth/authority.hpp"
#include "server/front/call.hpp"
#include "server/front/route.hpp"

#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace holdfast::server {

struct FrontOptions {
  std::size_t max_requests_per_token = 12'000;
  /// Names by which a server without tokens may be called, besides those of the loopback: a page of somebody
  /// else's, whose name leads to this machine, must not reach it.
  std::vector<std::string> hosts{};
  std::shared_ptr<Logger> logger{};
  std::shared_ptr<Metrics> metrics{};
};

/// The order of the checks: where the request comes from, the token (401), the path (404, 405), the role
/// (403), the namespace (403), the number of requests (429). So nobody learns what exists who may not know.
class Front final : public http::Service {
 public:
  /// `doors` and `authority` outlive it.
  Front(std::vector<const Door*> doors, Authority& authority, FrontOptions options);

  std::optional<http::Reply> admit(http::Request& request) override;
  void serve(std::shared_ptr<http::Exchange> exchange) override;
  http::Reply refuse(const http::Request& request, int status, const std::string& why) override;

 private:
  struct Admission;
  struct Crowd;

  std::optional<Refusal> check_origin(const http::Request& request) const;
  std::optional<Refusal> check_access(const http::Request& request, const RouteMatch& match,
                                      const std::optional<Caller>& caller) const;
  http::Reply refused(const http::Request& request, const RouteMatch& match, const Refusal& refusal);
  std::shared_ptr<std::atomic<std::size_t>> crowd_of(const std::string& token);
  void note(const Call& call, int status, std::chrono::steady_clock::time_point began) const;

  const Router router_;
  Authority& authority_;
  const FrontOptions options_;
  std::unordered_map<std::string, std::shared_ptr<std::atomic<std::size_t>>> crowds_;  // by token
};

}  // namespace holdfast::server
