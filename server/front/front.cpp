#include "server/front/front.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::server {

namespace {

// The host in "localhost:7420" or "[::1]:7420".
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == std::string_view::npos ? authority : authority.substr(1, end - 1);
  }
  return authority.substr(0, authority.find(':'));
}

// The host and port in "https://example.org:8443".
std::string_view authority_of(std::string_view origin) {
  const std::size_t begin = origin.find("://");
  return begin == std::string_view::npos ? origin : origin.substr(begin + 3);
}

bool is_open(const RouteMatch& match) {
  return match.route != nullptr && match.route->access == Access::anybody;
}

bool allows(const Caller& caller, Access access) {
  switch (access) {
    case Access::anybody:
    case Access::any_token:
      return true;
    case Access::workers:
      return caller.may(Role::worker);
    case Access::operators:
      return caller.may(Role::operate);
    case Access::admins:
      return caller.may(Role::admin);
  }
  return false;
}

std::string_view class_of(int status) {
  if (status < 300) return "2xx";
  if (status < 400) return "3xx";
  return status < 500 ? "4xx" : "5xx";
}

}  // namespace

// Counts a request of a token for as long as it lasts.
struct Front::Crowd {
  explicit Crowd(std::shared_ptr<std::atomic<std::size_t>> counter) : count(std::move(counter)) { ++*count; }
  ~Crowd() { --*count; }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  std::shared_ptr<std::atomic<std::size_t>> count;
};

struct Front::Admission {
  RouteMatch match{};
  Caller caller{};
  std::optional<Crowd> crowd{};
};

Front::Front(std::vector<const Door*> doors, Authority& authority, FrontOptions options)
    : router_(std::move(doors)), authority_(authority), options_(std::move(options)) {}

// Browsers send along what they know of a user to whoever a page names; what they say of the page is checked.
std::optional<Refusal> Front::check_origin(const http::Request& request) const {
  const std::string_view host = request.headers.find("Host").value_or("");
  if (authority_.open()) {
    const std::string_view name = host_of(host);
    const bool known = name == "127.0.0.1" || name == "::1" || http::same_text(name, "localhost") ||
                       std::ranges::any_of(options_.hosts, [&](const std::string& one) {
                         return http::same_text(one, name);
                       });
    if (!known) {
      return Refusal{
          .status = 403,
          .code = "unknown_host",
          .message =
              "this server has no tokens, and is called by localhost or an address of the loopback only",
          .where = "header Host",
          .remedy = "call it by that name, or add yours to the setting hosts, or make tokens"};
    }
  }
  const std::optional<std::string_view> origin = request.headers.find("Origin");
  const std::string_view site = request.headers.find("Sec-Fetch-Site").value_or("");
  if ((origin && !http::same_text(authority_of(*origin), host)) || site == "cross-site") {
    return Refusal{.status = 403,
                   .code = "other_origin",
                   .message = "pages of other servers may not call this one",
                   .where = "header Origin",
                   .remedy = "call it from a program, or from a page that it serves itself"};
  }
  return std::nullopt;
}

std::optional<Refusal> Front::check_access(const http::Request& request, const RouteMatch& match,
                                           const std::optional<Caller>& caller) const {
  if (is_open(match)) return std::nullopt;
  if (!caller) {
    return Refusal{
        .status = 401,
        .code = "unauthorized",
        .message = request.headers.find("Authorization")
                       ? "this token is not known, was revoked, or has expired"
                       : "this needs a token",
        .where = "header Authorization",
        .remedy = "send Authorization: Bearer <token>; an admin makes one with: holdfast token create"};
  }
  if (match.route == nullptr) {
    if (match.methods.empty()) {
      return Refusal{.status = 404,
                     .code = "no_route",
                     .message = "there is nothing under this path",
                     .where = "path",
                     .remedy = "GET /v1/openapi.json lists what there is"};
    }
    return Refusal{.status = 405,
                   .code = "method",
                   .message = "this path takes " + match.methods + ", not " + request.method,
                   .where = "method"};
  }
  if (!allows(*caller, match.route->access)) {
    return Refusal{.status = 403,
                   .code = "forbidden",
                   .message = "this needs a token with the role " +
                              std::string(to_string(match.route->access)) + ", and yours has the role " +
                              std::string(to_string(caller->role)),
                   .where = "header Authorization",
                   .remedy = "ask an admin for a token with that role"};
  }
  for (const auto& [name, value] : match.parameters) {
    if (name == "namespace" && !caller->covers(value)) {
      return Refusal{.status = 403,
                     .code = "forbidden_namespace",
                     .message = "your token is not for this namespace",
                     .where = "path {namespace}",
                     .remedy = "ask an admin for a token that covers it"};
    }
  }
  return std::nullopt;
}

std::optional<http::Reply> Front::admit(http::Request& request) {
  auto admission = std::make_shared<Admission>();
  admission->match = router_.find(request);
  const RouteMatch& match = admission->match;
  if (const auto refusal = check_origin(request)) return refused(request, match, *refusal);
  std::optional<Caller> caller;
  if (!is_open(match)) caller = authority_.caller(request.headers.find("Authorization"));
  if (const auto refusal = check_access(request, match, caller)) return refused(request, match, *refusal);
  if (caller) {
    admission->caller = *std::move(caller);
    admission->crowd.emplace(crowd_of(admission->caller.id));
    if (*admission->crowd->count > options_.max_requests_per_token) {
      return refused(request, match,
                     {.status = 429,
                      .code = "too_many_requests",
                      .message = "your token has too many requests under way",
                      .where = "header Authorization",
                      .remedy = "wait for some of them; the setting max_requests_per_token is the limit"});
    }
  }
  request.admission = std::move(admission);
  return std::nullopt;
}

std::shared_ptr<std::atomic<std::size_t>> Front::crowd_of(const std::string& token) {
  constexpr std::size_t kMany = 10'000;  // tokens come and go
  if (crowds_.size() > kMany) std::erase_if(crowds_, [](const auto& entry) { return *entry.second == 0; });
  auto& crowd = crowds_[token];
  if (!crowd) crowd = std::make_shared<std::atomic<std::size_t>>(0);
  return crowd;
}

void Front::serve(std::shared_ptr<http::Exchange> exchange) {
  const auto admission = std::static_pointer_cast<Admission>(exchange->request().admission);
  const auto began = std::chrono::steady_clock::now();
  auto call = std::make_shared<Call>(
      std::move(exchange), admission->match, admission->caller,
      [this, began](const Call& answered, int status) { note(answered, status, began); });
  try {
    admission->match.route->run(call);
  } catch (...) {
    call->refuse(std::current_exception());
  }
}

http::Reply Front::refuse(const http::Request& request, int status, const std::string& why) {
  return refused(request, router_.find(request),
                 {.status = status, .code = status == 503 ? "busy" : "malformed", .message = why});
}

http::Reply Front::refused(const http::Request& request, const RouteMatch& match, const Refusal& refusal) {
  options_.metrics
      ->counter("holdfast_server_requests_refused_total", "Requests that were not let in.",
                {{"reason", refusal.code}})
      .add();
  log(*options_.logger, LogLevel::debug, "request refused",
      {{"status", refusal.status},
       {"reason", refusal.code},
       {"from", request.from},
       {"request", request.id}});
  http::Reply reply = match.door->refuse(request, refusal);
  if (refusal.status == 401) reply.headers.add("WWW-Authenticate", "Bearer");
  if (refusal.status == 405) reply.headers.add("Allow", match.methods);
  if (refusal.status == 429) reply.headers.add("Retry-After", "1");
  return reply;
}

// Who did what is noted for each change, also for one that was refused.
void Front::note(const Call& call, int status, std::chrono::steady_clock::time_point began) const {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const std::string& operation = call.route().operation;
  options_.metrics
      ->counter("holdfast_server_requests_total", "Requests that were answered.",
                {{"operation", operation}, {"status", std::string(class_of(status))}})
      .add();
  options_.metrics
      ->histogram("holdfast_server_request_seconds", "From the whole request to its reply.",
                  latency_buckets(), {{"operation", operation}})
      .observe(took.count());
  const http::Request& request = call.request();
  if (!call.route().changes) {
    log(*options_.logger, LogLevel::debug, "request answered",
        {{"operation", operation}, {"status", status}, {"from", request.from}, {"request", request.id}});
    return;
  }
  std::string what;
  for (const auto& [name, value] : call.parts()) what += (what.empty() ? "" : " ") + name + "=" + value;
  log(*options_.logger, LogLevel::info, "audit",
      {{"operation", operation},
       {"target", what},
       {"status", status},
       {"token", call.caller().id},
       {"who", call.caller().name},
       {"from", request.from},
       {"request", request.id}});
}

}  // namespace holdfast::server
