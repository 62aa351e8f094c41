#include "server/api/endpoints.hpp"

#include "server/settings/units.hpp"

#include <holdfast/errors.hpp>

#include <stdexcept>

namespace holdfast::server {

namespace {

Refusal refusal_for(const ClientError& error) {
  const std::string code(to_string(error.kind()));
  const std::string& message = error.failure().message;
  switch (error.kind()) {
    case ClientError::Kind::conflict:
      return {.status = 409, .code = code, .message = message, .remedy = "look at what is there now"};
    case ClientError::Kind::not_found:
      return {.status = 404, .code = code, .message = message};
    case ClientError::Kind::invalid:
      return {.status = 422, .code = code, .message = message};
    case ClientError::Kind::damaged:
      return {.status = 500,
              .code = code,
              .message = message,
              .remedy = "look at the log of the workers, and at the store"};
    case ClientError::Kind::unavailable:
      break;
  }
  return {.status = 503,
          .code = code,
          .message = message,
          .remedy = "repeat the request: what is repeated with the same id or key takes effect once"};
}

// That of the namespace in the path; nothing where there is none.
const Client* client_of(const Call& call, const Namespaces& namespaces) {
  for (const auto& [name, value] : call.parts()) {
    if (name != "namespace") continue;
    if (const Client* client = namespaces.find(value)) return client;
    throw RefusedRequest({.status = 404,
                          .code = "no_namespace",
                          .message = "this server does not serve the namespace '" + value + "'",
                          .where = "path {namespace}",
                          .remedy = "GET /v1/namespaces lists those that it serves"});
  }
  return nullptr;
}

}  // namespace

void refuse_part(std::string where, std::string message, std::string remedy) {
  throw RefusedRequest({.status = 422,
                        .code = "invalid",
                        .message = std::move(message),
                        .where = std::move(where),
                        .remedy = std::move(remedy)});
}

Refusal refusal_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RefusedRequest& refused) {
    return refused.refusal();
  } catch (const ClientError& failed) {
    return refusal_for(failed);
  } catch (const Error& failed) {
    return {.status = 422,
            .code = failed.failure().type.empty() ? "invalid" : failed.failure().type,
            .message = failed.failure().message};
  } catch (const std::invalid_argument& wrong) {
    return {.status = 422, .code = "invalid", .message = wrong.what()};
  } catch (const std::exception& other) {
    return {.status = 500,
            .code = "internal",
            .message = other.what(),
            .remedy = "this is a mistake in the server: its log has the request id"};
  }
}

// ---- what a request says --------------------------------------------------------------------------

std::string Asked::text(std::string_view name) const {
  return std::string(call_.request().parameter(name).value_or(""));
}

std::optional<std::uint64_t> Asked::number(std::string_view name) const {
  const auto given = call_.request().parameter(name);
  if (!given) return std::nullopt;
  try {
    return parse_count(*given);
  } catch (const std::invalid_argument& error) {
    refuse_part("query " + std::string(name), error.what());
  }
}

std::size_t Asked::limit(std::size_t standard, std::size_t most) const {
  const std::uint64_t given = number("limit").value_or(standard);
  if (given < 1 || given > most) refuse_part("query limit", "it is from 1 to " + std::to_string(most));
  return given;
}

bool Asked::flag(std::string_view name) const {
  const auto given = call_.request().parameter(name);
  if (!given || *given == "false") return false;
  if (*given == "true" || given->empty()) return true;
  refuse_part("query " + std::string(name), "it is true or false");
}

std::optional<Duration> Asked::time(std::string_view name) const {
  const auto given = call_.request().parameter(name);
  if (!given) return std::nullopt;
  try {
    return parse_time(*given);
  } catch (const std::invalid_argument& error) {
    refuse_part("query " + std::string(name), error.what());
  }
}

namespace detail_endpoint {

std::string_view json_body(const http::Request& request) {
  if (request.body.empty()) return "{}";
  const std::string_view type = request.headers.find("Content-Type").value_or("");
  if (!http::same_text(type.substr(0, type.find(';')), "application/json")) {
    throw RefusedRequest({.status = 415,
                          .code = "content_type",
                          .message = "the body is no JSON by its Content-Type",
                          .where = "header Content-Type",
                          .remedy = "send Content-Type: application/json"});
  }
  JsonReader reader(request.body);
  if (!reader.skip() || !reader.finish()) {
    throw RefusedRequest({.status = 400, .code = "no_json", .message = reader.error(), .where = "body"});
  }
  return request.body;
}

void check_fields(std::string_view body, const std::vector<std::string_view>& known) {
  JsonReader reader(body);
  if (reader.peek() != JsonKind::object) refuse_part("body", "it is an object");
  reader.object([&](std::string_view key) {
    if (std::ranges::find(known, key) == known.end()) {
      std::string names;
      for (const std::string_view one : known) names += (names.empty() ? "" : ", ") + std::string(one);
      refuse_part("body." + std::string(key), "there is no such field",
                  names.empty() ? "the body is empty" : "the fields are " + names);
    }
    return reader.skip();
  });
}

void check_query(const http::Request& request, const std::vector<Parameter>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name, &Parameter::name) != known.end()) continue;
    std::string names;
    for (const Parameter& one : known) names += (names.empty() ? "" : ", ") + std::string(one.name);
    refuse_part("query " + name, "there is no such parameter",
                names.empty() ? "there are none" : "the parameters are " + names);
  }
}

}  // namespace detail_endpoint

// ---- how it is run --------------------------------------------------------------------------------

void run_in(Pool& pool, std::shared_ptr<Call> call, std::function<void(const std::shared_ptr<Call>&)> work) {
  const bool posted = pool.post([call, work = std::move(work)] {
    try {
      work(call);
    } catch (...) {
      call->refuse(refusal_of(std::current_exception()));
    }
  });
  if (!posted) {
    call->refuse(
        Refusal{.status = 503,
                .code = "busy",
                .message = "too many requests wait for the store",
                .remedy = "repeat the request; if it lasts, look at the store, or raise store_threads"});
  }
}

void Endpoints::set_run(Endpoint& endpoint, Run run) const {
  set_run_later(endpoint, [run = std::move(run)](const std::shared_ptr<Call>& call, const Client* client) {
    call->reply(run(Asked(*call, client)));
  });
}

void Endpoints::set_run_later(Endpoint& endpoint, RunLater run) const {
  endpoint.route.run = [&pool = pool_, &namespaces = namespaces_, run = std::move(run),
                        query = endpoint.description.query,
                        changes = endpoint.route.changes](std::shared_ptr<Call> call) {
    run_in(pool, std::move(call), [&namespaces, run, query, changes](const std::shared_ptr<Call>& waited) {
      // Nobody needs an answer of which nothing follows.
      if (waited->gone() && !changes) return;
      detail_endpoint::check_query(waited->request(), query);
      run(waited, client_of(*waited, namespaces));
    });
  };
}

}  // namespace holdfast::server
