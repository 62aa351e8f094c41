// Settings from a file in TOML.
#include "server/settings/settings.hpp"

#include <toml++/toml.h>

#include <sstream>

namespace holdfast::server {

namespace {

std::string value_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  throw SettingsError(where + ": a setting is a text, a whole number, true or false, or a list of texts");
}

}  // namespace

std::vector<Given> read_settings_file(const std::string& path) {
  std::vector<Given> found;
  try {
    const toml::table table = toml::parse_file(path);
    for (const auto& [key, node] : table) {
      const std::string where = "line " + std::to_string(key.source().begin.line) + " of " + path;
      Given given{.name = std::string(key.str()), .where = where};
      if (const auto* list = node.as_array()) {
        for (const toml::node& one : *list) given.values.push_back(value_text(one, where));
        if (list->empty()) given.values.emplace_back();
      } else {
        given.values.push_back(value_text(node, where));
      }
      found.push_back(std::move(given));
    }
  } catch (const toml::parse_error& error) {
    std::ostringstream text;
    if (error.source().begin.line > 0) text << "line " << error.source().begin.line << " of ";
    text << path << ": " << error.description();
    throw SettingsError(text.str());
  }
  return found;
}

}  // namespace holdfast::server
