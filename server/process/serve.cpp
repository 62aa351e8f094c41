#include "server/process/serve.hpp"

#include "server/api/api.hpp"
#include "server/api/monitoring.hpp"
#include "server/api/namespaces.hpp"
#include "server/api/pool.hpp"
#include "server/auth/authority.hpp"
#include "server/front/front.hpp"
#include "server/http/open_files.hpp"
#include "server/http/server.hpp"
#include "server/process/json_logger.hpp"
#include "server/process/notify.hpp"

#include <holdfast/version.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::server {

namespace {

std::shared_ptr<Logger> make_logger(const Settings& settings) {
  return settings.log_format == LogFormat::json ? json_logger(settings.log_level)
                                                : stderr_logger(settings.log_level);
}

// Whoever reaches the port could do everything: so a port that others reach has tokens, and nobody on the way
// reads them.
void check_exposure(const Settings& settings, const http::Endpoint& endpoint, Authority& authority) {
  if (http::is_loopback(endpoint.host)) return;
  if (authority.open()) {
    throw SettingsError("listening on " + settings.listen +
                        ", which other machines reach, needs tokens: make one with 'holdfast token create "
                        "--tokens FILE', and name the file with --tokens");
  }
  if (authority.tokens() == 0) {
    throw SettingsError("no token in '" + settings.tokens +
                        "' is valid: make one with 'holdfast token create --tokens " + settings.tokens + "'");
  }
  if (settings.tls_certificate.empty() && !settings.insecure) {
    throw SettingsError("listening on " + settings.listen +
                        ", which other machines reach, needs TLS: --tls-certificate and --tls-key; behind a "
                        "proxy that has TLS: --insecure");
  }
}

// Those of connections, and some for the store and files.
void check_open_files(const Settings& settings, Logger& logger) {
  constexpr std::uint64_t kOthers = 200;
  const std::uint64_t limit = http::raise_open_files();
  if (limit >= settings.max_connections + kOthers) return;
  log(logger, LogLevel::warn,
      "few open files are allowed: connections will be refused before max_connections is reached",
      {{"limit", limit},
       {"max_connections", settings.max_connections},
       {"remedy", "ulimit -n, or LimitNOFILE in the unit of systemd"}});
}

http::Limits limits_of(const Settings& settings) {
  http::Limits limits;
  limits.header_bytes = settings.max_header;
  limits.body_bytes = settings.max_body;
  limits.held_bytes = settings.max_bodies;
  limits.connections = settings.max_connections;
  limits.connections_per_address = settings.max_connections_per_address;
  limits.header_time = settings.header_time;
  limits.body_time = settings.body_time;
  limits.write_time = settings.write_time;
  limits.idle_time = settings.idle_time;
  limits.answer_time = settings.poll_time + std::chrono::seconds(60);
  return limits;
}

// What stands between the signal and the end of the process.
void end_in_time(const Settings& settings) {
  const auto grace =
      std::chrono::duration_cast<std::chrono::seconds>(settings.stop_time) + std::chrono::seconds(20);
  ::alarm(static_cast<unsigned>(grace.count()));  // whose signal ends the process, if the store never answers
}

}  // namespace

void serve(const Settings& settings) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::shared_ptr<Logger> logger = make_logger(settings);
  const auto metrics = std::make_shared<Metrics>();
  const http::Endpoint endpoint = http::parse_endpoint(settings.listen);
  Authority authority(settings.tokens.empty() ? std::nullopt : std::optional(TokenFile(settings.tokens)),
                      logger);
  check_exposure(settings, endpoint, authority);
  check_open_files(settings, *logger);

  std::unique_ptr<http::Tls> tls;
  if (!settings.tls_certificate.empty())
    tls = std::make_unique<http::Tls>(settings.tls_certificate, settings.tls_key);
  const auto loop = std::make_shared<http::Loop>();
  Namespaces namespaces({.store = settings.store,
                         .names = settings.namespaces,
                         .schedules = settings.schedules,
                         .store_time = settings.store_time,
                         .logger = logger,
                         .metrics = metrics});
  Pool pool(settings.store_threads, settings.max_waiting);
  Monitoring monitoring(loop, pool, namespaces, metrics);
  const Api api(pool, namespaces, settings.poll_time);
  Front front({&monitoring, &api}, authority,
              {.max_requests_per_token = settings.max_requests_per_token,
               .hosts = settings.hosts,
               .logger = logger,
               .metrics = metrics});
  http::Server server(loop, front,
                      {.listen = endpoint,
                       .tls = tls.get(),
                       .limits = limits_of(settings),
                       .logger = logger,
                       .metrics = metrics});

  loop->on_signals({SIGTERM, SIGINT}, [&](int signal) {
    log(*logger, LogLevel::info, "server stopping", {{"signal", signal}});
    notify_manager("STOPPING=1");
    end_in_time(settings);
    monitoring.stop();
    server.stop(settings.stop_time, [&] { loop->stop(); });
  });
  log(*logger, LogLevel::info, "server listening",
      {{"address", to_string(http::Endpoint{endpoint.host, server.port()})},
       {"tls", tls != nullptr},
       {"tokens", !authority.open()},
       {"version", HOLDFAST_VERSION}});
  notify_manager("READY=1");
  loop->run();
  namespaces.stop();
  pool.stop();
  log(*logger, LogLevel::info, "server stopped");
}

}  // namespace holdfast::server
