#include "server/api/openapi.hpp"

#include "server/api/views.hpp"

#include <holdfast/json.hpp>
#include <holdfast/version.hpp>

#include <map>

namespace holdfast::server {

namespace {

std::string_view schema_text(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::number:
      return R"({"type":"integer","minimum":0})";
    case ParameterKind::flag:
      return R"({"type":"boolean"})";
    case ParameterKind::time:
      return R"({"type":"string","pattern":"^[0-9]+(us|ms|s|min|h|d)$"})";
    case ParameterKind::text:
      break;
  }
  return R"({"type":"string"})";
}

void write_parameter(JsonWriter& out, std::string_view name, std::string_view in, std::string_view help,
                     std::string_view schema) {
  out.begin_object();
  out.key("name");
  out.string(name);
  out.key("in");
  out.string(in);
  out.key("required");
  out.boolean(in == "path");
  if (!help.empty()) {
    out.key("description");
    out.string(help);
  }
  out.key("schema");
  out.raw(schema);
  out.end_object();
}

void write_parameters(JsonWriter& out, const Endpoint& endpoint) {
  out.key("parameters");
  out.begin_array();
  const std::string& pattern = endpoint.route.pattern;
  for (std::size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{', at + 1)) {
    const std::string name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
    write_parameter(out, name, "path", "", R"({"type":"string"})");
  }
  for (const Parameter& one : endpoint.description.query) {
    write_parameter(out, one.name, "query", one.help, schema_text(one.kind));
  }
  out.end_array();
}

void write_content(JsonWriter& out, std::string_view schema) {
  out.key("content");
  out.begin_object();
  out.key("application/json");
  out.begin_object();
  out.key("schema");
  out.raw(schema);
  out.end_object();
  out.end_object();
}

void write_endpoint(JsonWriter& out, const Endpoint& endpoint, std::string_view refusal) {
  out.begin_object();
  out.key("operationId");
  out.string(endpoint.route.operation);
  out.key("summary");
  out.string(endpoint.description.summary);
  out.key("x-role");
  out.string(to_string(endpoint.route.access));
  write_parameters(out, endpoint);
  if (!endpoint.body_schema.empty()) {
    out.key("requestBody");
    out.begin_object();
    write_content(out, endpoint.body_schema);
    out.end_object();
  }
  out.key("responses");
  out.begin_object();
  out.key(std::to_string(endpoint.description.status));
  out.begin_object();
  out.key("description");
  out.string("done");
  if (!endpoint.answer_schema.empty()) write_content(out, endpoint.answer_schema);
  out.end_object();
  out.key("default");
  out.begin_object();
  out.key("description");
  out.string("refused");
  write_content(out, refusal);
  out.end_object();
  out.end_object();
  out.end_object();
}

}  // namespace

std::string openapi_document(Endpoints& endpoints) {
  const std::string refusal = schema_of<RefusalView>(endpoints.schemas());
  std::map<std::string, std::map<std::string, const Endpoint*>> paths;
  for (const Endpoint& endpoint : endpoints.all()) {
    std::string method = endpoint.route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    paths[endpoint.route.pattern][method] = &endpoint;
  }
  JsonWriter out;
  out.begin_object();
  out.key("openapi");
  out.string("3.1.0");
  out.key("info");
  out.raw(std::string(R"({"title":"Holdfast","version":")") + HOLDFAST_VERSION + "\"}");
  out.key("security");
  out.raw(R"([{"token":[]}])");
  out.key("paths");
  out.begin_object();
  for (const auto& [path, methods] : paths) {
    out.key(path);
    out.begin_object();
    for (const auto& [method, endpoint] : methods) {
      out.key(method);
      write_endpoint(out, *endpoint, refusal);
    }
    out.end_object();
  }
  out.end_object();
  out.key("components");
  out.begin_object();
  out.key("securitySchemes");
  out.raw(R"({"token":{"type":"http","scheme":"bearer"}})");
  out.key("schemas");
  out.begin_object();
  for (const auto& [name, schema] : endpoints.schemas()) {
    out.key(name);
    out.raw(schema);
  }
  out.end_object();
  out.end_object();
  out.end_object();
  return indented(out.text()) + "\n";
}

std::string indented(std::string_view text) {
  std::string result;
  std::size_t depth = 0;
  bool in_text = false;
  const auto new_line = [&] { result += "\n" + std::string(depth * 2, ' '); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      result += c;
      if (c == '\\') result += text[++i];
      if (c == '"') in_text = false;
      continue;
    }
    const bool empty =
        (c == '{' || c == '[') && i + 1 < text.size() && (text[i + 1] == '}' || text[i + 1] == ']');
    if (empty) {
      result += {c, text[++i]};
    } else if (c == '{' || c == '[') {
      result += c;
      ++depth;
      new_line();
    } else if (c == '}' || c == ']') {
      --depth;
      new_line();
      result += c;
    } else if (c == ',') {
      result += c;
      new_line();
    } else if (c == ':') {
      result += ": ";
    } else {
      in_text = c == '"';
      result += c;
    }
  }
  return result;
}

}  // namespace holdfast::server
