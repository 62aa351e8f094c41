// Call: a request that was let in, for the one who answers it.
#pragma once

#include "server/front/route.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast::server {

/// Any thread. It is answered once; if it is dropped without a reply, that is one.
class Call {
 public:
  using OnAnswer = std::function<void(const Call&, int status)>;

  Call(std::shared_ptr<http::Exchange> exchange, RouteMatch match, Caller caller, OnAnswer on_answer);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const http::Request& request() const noexcept { return exchange_->request(); }
  [[nodiscard]] const Route& route() const noexcept { return *match_.route; }
  [[nodiscard]] const Caller& caller() const noexcept { return caller_; }
  /// A part of the path: `{id}` of the route.
  [[nodiscard]] const std::string& part(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& parts() const noexcept {
    return match_.parameters;
  }

  void reply(http::Reply reply);
  void refuse(const Refusal& refusal);
  /// What went wrong as a reply: RefusedRequest as it says, everything else as 500.
  void refuse(const std::exception_ptr& error);
  [[nodiscard]] std::shared_ptr<http::Stream> stream(http::Reply head, std::size_t room);

  /// As that of an exchange.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return exchange_->stop_token(); }
  [[nodiscard]] bool gone() const noexcept { return exchange_->gone(); }

 private:
  void answered(int status);

  const std::shared_ptr<http::Exchange> exchange_;
  const RouteMatch match_;
  const Caller caller_;
  const OnAnswer on_answer_;
  std::atomic<bool> answered_{false};
};

}  // namespace holdfast::server
