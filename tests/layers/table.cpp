#include "table.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace holdfast::layers {

namespace {

using Words = std::vector<std::string>;

void append(std::vector<std::string>& list, const Words& words) {
  list.insert(list.end(), words.begin(), words.end());
}

bool names_layer(const Table& table, const std::string& name) {
  return std::ranges::any_of(table.layers, [&](const Layer& layer) { return layer.name == name; });
}

Words split(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

class Parser {
 public:
  Table parse(std::string_view text) {
    std::istringstream in{std::string(text)};
    for (std::string line; std::getline(in, line);) {
      ++line_;
      Words words = split(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      const std::string key = words.front();
      words.erase(words.begin());
      if (!read_global(key, words)) read_of_layer(key, words);
    }
    for (const Layer& layer : table_.layers) {
      for (const std::string& name : layer.test_uses) require_layer(name, "the tests of " + layer.name);
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("layers.txt:" + std::to_string(line_) + ": " + what);
  }

  void require_layer(const std::string& name, const std::string& by) const {
    if (!names_layer(table_, name)) fail("'" + name + "', used by " + by + ", is no layer (above this line)");
  }

  bool read_global(const std::string& key, const Words& words) {
    if (key == "layer") {
      if (words.size() != 1 || names_layer(table_, words[0])) fail("a layer has one name of its own");
      table_.layers.push_back({.name = words[0]});
    } else if (key == "skip") {
      append(table_.skipped, words);
    } else if (key == "test-files") {
      append(table_.test_files, words);
    } else if (key == "test-external") {
      append(table_.test_external, words);
    } else {
      return false;
    }
    return true;
  }

  void read_of_layer(const std::string& key, const Words& words) {
    if (table_.layers.empty()) fail("'" + key + "' stands before the first layer");
    Layer& layer = table_.layers.back();
    const std::map<std::string_view, std::function<void()>> readers = {
        {"files", [&] { append(layer.files, words); }},
        {"headers", [&] { add_headers(layer, words); }},
        {"uses", [&] { add_uses(layer, words); }},
        {"test-uses", [&] { layer.test_uses.insert(words.begin(), words.end()); }},
        {"external", [&] { append(layer.external, words); }},
        {"public-external", [&] { append(layer.public_external, words); }},
        {"only-public", [&] { layer.only_public = true; }},
        {"forbid-include", [&] { append(layer.forbidden_includes, words); }},
        {"forbid-token", [&] { append(layer.forbidden_tokens, words); }},
        {"forbid-text", [&] { layer.forbidden_texts.push_back(joined(words)); }},
    };
    const auto reader = readers.find(key);
    if (reader == readers.end()) fail("'" + key + "' is no word of this table");
    if (words.empty() != (key == "only-public")) fail("'" + key + "' has nothing, or too much, after it");
    reader->second();
  }

  static void add_headers(Layer& layer, const Words& names) {
    for (const std::string& name : names) layer.files.push_back("include/holdfast/" + name + ".hpp");
  }

  void add_uses(Layer& layer, const Words& names) {
    for (const std::string& name : names) {
      require_layer(name, layer.name);
      if (name == layer.name) fail("a layer always uses itself; there is no need to say so");
      layer.uses.insert(name);
    }
  }

  Table table_;
  int line_ = 0;
};

bool matches_from(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  if (pattern.front() != '*') {
    return !path.empty() && path.front() == pattern.front() &&
           matches_from(pattern.substr(1), path.substr(1));
  }
  const std::size_t name_end = std::min(path.find('/'), path.size());
  for (std::size_t taken = 0; taken <= name_end; ++taken) {
    if (matches_from(pattern.substr(1), path.substr(taken))) return true;
  }
  return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern == "*") return true;
  if (pattern.ends_with('/')) return path.starts_with(pattern);
  return matches_from(pattern, path);
}

bool matches_any(const std::vector<Pattern>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const Pattern& pattern) { return matches(pattern, path); });
}

Table parse_table(std::string_view text) { return Parser().parse(text); }

}  // namespace holdfast::layers
