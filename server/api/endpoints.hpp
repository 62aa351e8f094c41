// Endpoints: functions that answer requests of the API in the words of C++, and their description.
#pragma once

#include "server/api/json.hpp"
#include "server/api/namespaces.hpp"
#include "server/api/pool.hpp"
#include "server/api/schema.hpp"
#include "server/front/call.hpp"
#include "server/front/route.hpp"

#include <holdfast/client.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/options.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::server {

enum class ParameterKind : std::uint8_t { text, number, flag, time };
/// A parameter of a query.
struct Parameter {
  std::string_view name{};
  ParameterKind kind = ParameterKind::text;
  std::string_view help{};
};

/// A request of the API, for the function that answers it: what it reads is checked.
class Asked {
 public:
  Asked(const Call& call, const Client* client) : call_(call), client_(client) {}

  /// That of the namespace in the path.
  [[nodiscard]] const Client& client() const noexcept { return *client_; }
  [[nodiscard]] const Call& call() const noexcept { return call_; }
  [[nodiscard]] const std::string& part(std::string_view name) const { return call_.part(name); }

  // Parameters of the query; RefusedRequest when they can't be read.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
  /// From 1 to `most`.
  [[nodiscard]] std::size_t limit(std::size_t standard = 100, std::size_t most = 1000) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::optional<Duration> time(std::string_view name) const;

 private:
  const Call& call_;
  const Client* client_;
};

/// Refuses a request for a part of it: 422.
[[noreturn]] void refuse_part(std::string where, std::string message, std::string remedy = {});
/// What a call threw as a refusal: ClientError by its kind, other errors of Holdfast as 422.
[[nodiscard]] Refusal refusal_of(const std::exception_ptr& error);

/// No body, or nothing to reply.
struct Nothing {};

namespace detail_endpoint {
/// The body as text, if it is JSON by its header. Throws RefusedRequest.
std::string_view json_body(const http::Request& request);
/// Throws RefusedRequest for a field that is not among `known`.
void check_fields(std::string_view body, const std::vector<std::string_view>& known);
void check_query(const http::Request& request, const std::vector<Parameter>& known);
}  // namespace detail_endpoint

/// The body of a request as a T. Throws RefusedRequest, which names the field that is wrong.
template <class T>
T read_body(const http::Request& request) {
  const std::string_view text = detail_endpoint::json_body(request);
  detail_endpoint::check_fields(text, {detail::field_names<T>.begin(), detail::field_names<T>.end()});
  Result<T> value = decode<T>({kJsonEncoding, std::string(text)});
  if (!value) refuse_part("body", value.error().message);
  return *std::move(value);
}

/// How an endpoint is described.
struct Description {
  std::string_view summary{};
  std::vector<Parameter> query{};
  int status = 200;
};

/// A route and what is known of it.
struct Endpoint {
  Route route{};
  Description description{};
  std::string body_schema{};    ///< empty: none
  std::string answer_schema{};  ///< empty: none
};

/// Gathers endpoints. Their functions run in the pool, and may wait for the store.
class Endpoints {
 public:
  /// All outlive it, and what it makes.
  Endpoints(Pool& pool, const Namespaces& namespaces) : pool_(pool), namespaces_(namespaces) {}

  /// `answer` is called with `Asked`, and the body if there is one; what it gives is the reply.
  template <class Body, class Answer, class Function>
  void add(Route route, Description description, Function answer) {
    Endpoint endpoint = begin<Body, Answer>(std::move(route), std::move(description));
    int status = std::is_same_v<Answer, Nothing> ? 204 : endpoint.description.status;
    endpoint.description.status = status;
    set_run(endpoint, [answer, status](const Asked& asked) -> http::Reply {
      if constexpr (std::is_same_v<Answer, Nothing>) {
        call_with<Body>(answer, asked);
        return {.status = status};
      } else {
        return json_reply(call_with<Body>(answer, asked), status);
      }
    });
    all_.push_back(std::move(endpoint));
  }
  /// One that answers by itself, perhaps later; its function runs in the pool.
  template <class Answer, class Function>
  void add_later(Route route, Description description, Function answer) {
    Endpoint endpoint = begin<Nothing, Answer>(std::move(route), std::move(description));
    set_run_later(endpoint, std::move(answer));
    all_.push_back(std::move(endpoint));
  }
  [[nodiscard]] std::vector<Endpoint>& all() noexcept { return all_; }
  [[nodiscard]] SchemaTable& schemas() noexcept { return schemas_; }
  [[nodiscard]] Pool& pool() const noexcept { return pool_; }
  [[nodiscard]] const Namespaces& namespaces() const noexcept { return namespaces_; }

 private:
  using Run = std::function<http::Reply(const Asked&)>;
  using RunLater = std::function<void(const std::shared_ptr<Call>&, const Client*)>;

  template <class Body, class Answer>
  Endpoint begin(Route route, Description description) {
    Endpoint endpoint{.route = std::move(route), .description = std::move(description)};
    if constexpr (!std::is_same_v<Body, Nothing>) endpoint.body_schema = schema_of<Body>(schemas_);
    if constexpr (!std::is_same_v<Answer, Nothing>) endpoint.answer_schema = schema_of<Answer>(schemas_);
    return endpoint;
  }
  template <class Body, class Function>
  static auto call_with(Function& answer, const Asked& asked) {
    if constexpr (std::is_same_v<Body, Nothing>) {
      return answer(asked);
    } else {
      return answer(asked, read_body<Body>(asked.call().request()));
    }
  }
  void set_run(Endpoint& endpoint, Run run) const;
  void set_run_later(Endpoint& endpoint, RunLater run) const;

  Pool& pool_;
  const Namespaces& namespaces_;
  std::vector<Endpoint> all_;
  SchemaTable schemas_;
};

/// Posts to the pool; a call that finds no room there is refused. What `work` throws refuses the call.
void run_in(Pool& pool, std::shared_ptr<Call> call, std::function<void(const std::shared_ptr<Call>&)> work);

}  // namespace holdfast::server
