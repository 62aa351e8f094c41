// A client of the control API for tests, which checks each reply against the description of the API.
#pragma once

#include "server_process_test.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server_tests {

using nlohmann::json;

/// As much of JSON Schema as the description uses. Says what is wrong, and where; empty when nothing is.
class SchemaCheck {
 public:
  explicit SchemaCheck(const json& document) : document_(document) {}

  [[nodiscard]] std::string problem(const json& schema, const json& value, const std::string& where) const {
    if (schema.contains("$ref")) return problem(document_.at(pointer(schema.at("$ref"))), value, where);
    if (schema.contains("anyOf")) {
      std::string all;
      for (const json& one : schema.at("anyOf")) {
        const std::string wrong = problem(one, value, where);
        if (wrong.empty()) return "";
        all += "; " + wrong;
      }
      return all;
    }
    if (schema.contains("enum") && std::ranges::count(schema.at("enum"), value) == 0)
      return where + " is " + value.dump();
    const std::string type = schema.value("type", "");
    if (type == "object") return object_problem(schema, value, where);
    if (type == "array") {
      if (!value.is_array()) return where + " is no array";
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string wrong =
            problem(schema.at("items"), value[i], where + "[" + std::to_string(i) + "]");
        if (!wrong.empty()) return wrong;
      }
      return "";
    }
    const bool good = type.empty() || (type == "string" && value.is_string()) ||
                      (type == "integer" && value.is_number_integer()) ||
                      (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
    return good ? "" : where + " is no " + type + " but " + value.dump();
  }

 private:
  static json::json_pointer pointer(const std::string& reference) {
    return json::json_pointer(reference.substr(1));
  }
  [[nodiscard]] std::string object_problem(const json& schema, const json& value,
                                           const std::string& where) const {
    if (!value.is_object()) return where + " is no object";
    for (const json& name : schema.value("required", json::array())) {
      if (!value.contains(name.get<std::string>())) return where + " has no " + name.get<std::string>();
    }
    const json known = schema.value("properties", json::object());
    for (const auto& [name, field] : value.items()) {
      if (!known.contains(name)) return where + " has a field " + name + ", which is not described";
      const std::string wrong = problem(known.at(name), field, where + "." + name);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  const json& document_;
};

struct ApiReply {
  int status = 0;
  json body{};
  std::string text{};
};

/// For one namespace. Each request has a connection of its own.
class ApiClient {
 public:
  ApiClient(std::uint16_t port, std::string ns, support::HttpHeaders headers = {})
      : port_(port), ns_(std::move(ns)), headers_(std::move(headers)) {
    document_ = json::parse(support::HttpClient(port_).ask("GET", "/v1/openapi.json", "", headers_).body);
  }

  [[nodiscard]] const json& document() const noexcept { return document_; }
  [[nodiscard]] std::string target(std::string_view path) const {
    return "/v1/namespaces/" + ns_ + std::string(path);
  }
  /// `path` is below the namespace.
  ApiReply ask(const std::string& method, const std::string& path, std::string_view body = {}) {
    support::HttpClient client(port_);
    client.send(support::HttpClient::request(method, target(path), body, headers_));
    return read(client, method, target(path));
  }
  ApiReply get(const std::string& path) { return ask("GET", path); }
  ApiReply post(const std::string& path, const json& body = nullptr) {
    return ask("POST", path, body.is_null() ? "" : body.dump());
  }
  /// A request whose answer is read later.
  std::unique_ptr<support::HttpClient> begin(const std::string& path) const {
    auto client = std::make_unique<support::HttpClient>(port_);
    client->send(support::HttpClient::request("GET", target(path), "", headers_));
    return client;
  }
  ApiReply read(support::HttpClient& client, const std::string& method,
                const std::string& full_target) const {
    const support::HttpReply reply = client.read_reply();
    ApiReply shown{.status = reply.status, .text = reply.body};
    if (!reply.body.empty()) shown.body = json::parse(reply.body);
    EXPECT_EQ(problem_of(method, full_target, shown), "")
        << method << " " << full_target << " " << reply.body;
    return shown;
  }

 private:
  // Against what is said of this method and path.
  [[nodiscard]] std::string problem_of(const std::string& method, const std::string& full_target,
                                       const ApiReply& reply) const {
    const SchemaCheck check(document_);
    const json* const described = find(method, full_target.substr(0, full_target.find('?')));
    const json refusal = {{"$ref", "#/components/schemas/Refusal"}};
    if (described == nullptr)
      return reply.status >= 400 ? check.problem(refusal, reply.body, "refusal")
                                 : "the path is not described";
    const json& answers = described->at("responses");
    const std::string status = std::to_string(reply.status);
    if (reply.status >= 400) return check.problem(refusal, reply.body, "refusal");
    if (!answers.contains(status)) return "the status " + status + " is not described";
    if (!answers.at(status).contains("content")) return reply.text.empty() ? "" : "it has a body";
    return check.problem(answers.at(status).at("content").at("application/json").at("schema"), reply.body,
                         "reply");
  }
  [[nodiscard]] const json* find(std::string method, const std::string& path) const {
    std::ranges::transform(method, method.begin(), [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    for (const auto& [pattern, methods] : document_.at("paths").items()) {
      if (fits(pattern, path) && methods.contains(method)) return &methods.at(method);
    }
    return nullptr;
  }
  static bool fits(std::string_view pattern, std::string_view path) {
    while (!pattern.empty() && !path.empty()) {
      const std::string_view a = pattern.substr(0, pattern.find('/', 1));
      const std::string_view b = path.substr(0, path.find('/', 1));
      if (a != b && !a.starts_with("/{")) return false;
      pattern.remove_prefix(a.size());
      path.remove_prefix(b.size());
    }
    return pattern.empty() && path.empty();
  }

  std::uint16_t port_;
  std::string ns_;
  support::HttpHeaders headers_;
  json document_;
};

}  // namespace holdfast::server_tests
