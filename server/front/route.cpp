#include "server/front/route.hpp"

#include <algorithm>

namespace holdfast::server {

namespace {

std::vector<std::string> segments_of(std::string_view pattern) {
  std::vector<std::string> segments;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    segments.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(end);
  }
  return segments;
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

bool has_prefix(const http::Request& request, std::string_view prefix) {
  const std::vector<std::string> wanted = segments_of(prefix);
  return wanted.size() <= request.path.size() &&
         std::equal(wanted.begin(), wanted.end(), request.path.begin());
}

}  // namespace

std::string_view to_string(Access access) noexcept {
  switch (access) {
    case Access::anybody:
      return "anybody";
    case Access::any_token:
      return "any token";
    case Access::workers:
      return "worker";
    case Access::operators:
      return "operator";
    case Access::admins:
      return "admin";
  }
  return "";
}

Router::Router(std::vector<const Door*> doors) : doors_(std::move(doors)) {
  std::ranges::sort(doors_,
                    [](const Door* a, const Door* b) { return a->prefix().size() > b->prefix().size(); });
  for (const Door* door : doors_) {
    for (const Route& route : door->routes()) {
      Entry entry{.door = door, .route = &route, .segments = segments_of(route.pattern)};
      if (!entry.segments.empty() && entry.segments.back() == "*") {
        entry.rest = true;
        entry.segments.pop_back();
      }
      entries_.push_back(std::move(entry));
    }
  }
}

RouteMatch Router::find(const http::Request& request) const {
  RouteMatch match;
  const auto door =
      std::ranges::find_if(doors_, [&](const Door* one) { return has_prefix(request, one->prefix()); });
  match.door = door == doors_.end() ? doors_.back() : *door;
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  for (const Entry& entry : entries_) {
    if (entry.rest ? request.path.size() < entry.segments.size()
                   : request.path.size() != entry.segments.size())
      continue;
    const bool fits =
        std::equal(entry.segments.begin(), entry.segments.end(), request.path.begin(),
                   [](const std::string& a, const std::string& b) { return a == b || is_parameter(a); });
    if (!fits) continue;
    if (entry.route->method != method) {
      match.methods += (match.methods.empty() ? "" : ", ") + entry.route->method;
      continue;
    }
    match.door = entry.door;
    match.route = entry.route;
    for (std::size_t i = 0; i < entry.segments.size(); ++i) {
      const std::string& name = entry.segments[i];
      if (is_parameter(name)) match.parameters.emplace_back(name.substr(1, name.size() - 2), request.path[i]);
    }
    return match;
  }
  return match;
}

}  // namespace holdfast::server
