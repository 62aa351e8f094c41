// What those ask who watch over the server: /health, /ready, /metrics.
#pragma once

#include "server/api/namespaces.hpp"
#include "server/api/pool.hpp"
#include "server/front/route.hpp"
#include "server/http/loop.hpp"

#include <holdfast/metrics.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server {

/// Used in the loop's thread. `/health` says that this process answers; `/ready` that the store does, too.
class Monitoring final : public Door {
 public:
  /// All of them outlive it.
  Monitoring(std::shared_ptr<http::Loop> loop, Pool& pool, const Namespaces& namespaces,
             std::shared_ptr<Metrics> metrics);

  [[nodiscard]] std::string_view prefix() const noexcept override { return ""; }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept override { return routes_; }
  [[nodiscard]] http::Reply refuse(const http::Request& request, const Refusal& refusal) const override;

  /// From now on it is not ready. Nothing is asked of it once the loop has ended.
  void stop();

 private:
  void ready(const std::shared_ptr<Call>& call);
  void probe();
  void probed(const std::string& error);
  void answer_all(const std::string& error);

  const std::shared_ptr<http::Loop> loop_;
  Pool& pool_;
  const Namespaces& namespaces_;
  const std::shared_ptr<Metrics> metrics_;
  std::vector<Route> routes_;
  http::Alarm alarm_;
  std::vector<std::shared_ptr<Call>> asking_;
  bool probing_ = false;
  bool stopping_ = false;
};

}  // namespace holdfast::server
