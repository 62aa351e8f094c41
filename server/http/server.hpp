// Server: all connections of one port.
#pragma once

#include "server/http/exchange.hpp"
#include "server/http/limits.hpp"
#include "server/http/loop.hpp"

#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/random.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::server::http {

struct ServerOptions {
  Endpoint listen{.host = "127.0.0.1"};
  Tls* tls = nullptr;  ///< outlives the server
  Limits limits{};
  std::shared_ptr<Logger> logger{};
  std::shared_ptr<Metrics> metrics{};
  Random* random = nullptr;  ///< for ids of requests; empty: system_random()
};

/// Used in the loop's thread, or while the loop does not run. Lives at least as long as the loop runs; what
/// still answers its exchanges may live longer.
class Server {
 public:
  /// Listens at once; answers once the loop runs. Throws std::runtime_error when the port can't be had.
  Server(std::shared_ptr<Loop> loop, Service& service, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Accepts no more, ends connections that are idle and streams, stops the waiting of all others, and calls
  /// back when the last connection has ended, or `grace` has passed: then the rest is cut off.
  void stop(Duration grace, std::function<void()> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::server::http
