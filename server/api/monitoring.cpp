#include "server/api/monitoring.hpp"

#include "server/api/json.hpp"
#include "server/front/call.hpp"

#include <holdfast/version.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace holdfast::server {

namespace {

struct HealthView {
  std::string status{};
  std::string version{};
};
struct ReadyView {
  std::string status{};
  std::vector<std::string> namespaces{};
};

constexpr Duration kPatience = std::chrono::seconds(3);  // with the store, when one asks whether it is ready

}  // namespace

Monitoring::Monitoring(std::shared_ptr<http::Loop> loop, Pool& pool, const Namespaces& namespaces,
                       std::shared_ptr<Metrics> metrics)
    : loop_(std::move(loop)),
      pool_(pool),
      namespaces_(namespaces),
      metrics_(std::move(metrics)),
      alarm_(*loop_) {
  routes_.push_back({.method = "GET",
                     .pattern = "/health",
                     .operation = "health",
                     .access = Access::anybody,
                     .run = [](const std::shared_ptr<Call>& call) {
                       call->reply(json_reply(HealthView{"up", HOLDFAST_VERSION}));
                     }});
  routes_.push_back({.method = "GET",
                     .pattern = "/ready",
                     .operation = "ready",
                     .access = Access::anybody,
                     .run = [this](const std::shared_ptr<Call>& call) { ready(call); }});
  routes_.push_back({.method = "GET",
                     .pattern = "/metrics",
                     .operation = "metrics",
                     .access = Access::any_token,
                     .run = [this](const std::shared_ptr<Call>& call) {
                       call->reply({.body = metrics_->prometheus(),
                                    .content_type = "text/plain; version=0.0.4; charset=utf-8"});
                     }});
}

http::Reply Monitoring::refuse(const http::Request& request, const Refusal& refusal) const {
  return json_refusal(request, refusal);
}

void Monitoring::stop() {
  stopping_ = true;
  alarm_.cancel();
  answer_all("the server is being stopped");
}

// However many ask at a time, the store is asked once.
void Monitoring::ready(const std::shared_ptr<Call>& call) {
  if (stopping_) {
    return call->refuse(Refusal{.status = 503,
                                .code = "stopping",
                                .message = "the server is being stopped",
                                .remedy = "ask another one"});
  }
  asking_.push_back(call);
  if (asking_.size() > 1) return;
  alarm_.set(std::chrono::steady_clock::now() + kPatience,
             [this] { answer_all("the store does not answer"); });
  probe();
}

void Monitoring::probe() {
  if (probing_) return;
  probing_ = pool_.post([this] {
    std::string error;
    try {
      namespaces_.probe();
    } catch (const std::exception& failed) {
      error = failed.what();
    }
    loop_->post([this, error] { probed(error); });
  });
  if (!probing_) answer_all("all threads that call the store are busy, and too many requests wait for them");
}

void Monitoring::probed(const std::string& error) {
  probing_ = false;
  alarm_.cancel();
  answer_all(error);
}

void Monitoring::answer_all(const std::string& error) {
  for (const std::shared_ptr<Call>& call : std::exchange(asking_, {})) {
    if (error.empty()) {
      call->reply(json_reply(ReadyView{"ready", namespaces_.names()}));
    } else {
      call->refuse(Refusal{.status = 503,
                           .code = "not_ready",
                           .message = error,
                           .remedy = "look at the store, and at the log of the server"});
    }
  }
}

}  // namespace holdfast::server
