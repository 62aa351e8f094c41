// Routes: which request is for whom, who may make it, and what refuses it.
#pragma once

#include "server/auth/authority.hpp"
#include "server/http/exchange.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::server {

class Call;

/// Who may make a request. An admin may make all of them.
enum class Access : std::uint8_t {
  anybody,    ///< also without a token
  any_token,  ///< whoever has one
  workers,
  operators,
  admins,
};
std::string_view to_string(Access access) noexcept;

struct Route {
  std::string method{};   ///< "GET"
  std::string pattern{};  ///< "/v1/namespaces/{namespace}/instances/{id}"; an asterisk at its end: all below
  std::string operation{};  ///< "get_instance": in logs, metrics and descriptions of the API
  Access access = Access::operators;
  bool changes = false;                              ///< it is noted in the log who did it
  std::function<void(std::shared_ptr<Call>)> run{};  ///< in the loop's thread: it must not wait
};

/// Why a request is refused, whatever the door writes it as.
struct Refusal {
  int status = 400;
  std::string code{};     ///< for programs: "not_found"
  std::string message{};  ///< what is wrong, for people
  std::string where{};    ///< the part of the request: "query limit", "body.delay"; empty: as a whole
  std::string remedy{};   ///< what to do
};
/// Thrown by what answers a request.
class RefusedRequest : public std::exception {
 public:
  explicit RefusedRequest(Refusal refusal) : refusal_(std::move(refusal)) {}
  [[nodiscard]] const Refusal& refusal() const noexcept { return refusal_; }
  [[nodiscard]] const char* what() const noexcept override { return refusal_.message.c_str(); }

 private:
  Refusal refusal_;
};

/// One protocol: its routes, and how it says no. Several stand beside each other in one server.
class Door {
 public:
  virtual ~Door() = default;
  /// The beginning of the paths that are its own, such as "/v1"; empty: whatever no other has.
  [[nodiscard]] virtual std::string_view prefix() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<Route>& routes() const noexcept = 0;
  [[nodiscard]] virtual http::Reply refuse(const http::Request& request, const Refusal& refusal) const = 0;
};

/// How a request fits a table of routes.
struct RouteMatch {
  const Door* door = nullptr;
  const Route* route = nullptr;  ///< nothing: see `methods`
  std::vector<std::pair<std::string, std::string>> parameters{};
  std::string methods{};  ///< that the path has, if it is there with others: "GET, DELETE"
};

/// Finds routes; HEAD is answered by those of GET.
class Router {
 public:
  explicit Router(std::vector<const Door*> doors);
  [[nodiscard]] RouteMatch find(const http::Request& request) const;

 private:
  struct Entry {
    const Door* door = nullptr;
    const Route* route = nullptr;
    std::vector<std::string> segments{};
    bool rest = false;
  };
  std::vector<const Door*> doors_;
  std::vector<Entry> entries_;
};

}  // namespace holdfast::server
