#include "scanner.hpp"

#include "source_text.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace holdfast::layers {

namespace {

constexpr std::string_view kPublicFolder = "include/";

bool is_public(std::string_view path) { return path.starts_with(kPublicFolder); }

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The path with its `.` and `..` taken out.
std::string normalised(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (part != "." && !part.empty()) {
      parts.push_back(part);
    }
  }
  std::string result;
  for (const std::string_view part : parts) result.append(result.empty() ? "" : "/").append(part);
  return result;
}

/// The standard library's headers are the ones without a folder and an ending.
bool is_standard(const Include& include) {
  return !include.quoted && include.name.find_first_of("./") == std::string::npos;
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "no other layer" : text + " only";
}

/// Where `what` stands in `text` as whole words: `rand(` is not found in `operand(`.
std::optional<std::size_t> find_words(std::string_view text, std::string_view what, std::size_t from) {
  for (std::size_t at = text.find(what, from); at != std::string_view::npos; at = text.find(what, at + 1)) {
    const std::size_t end = at + what.size();
    const bool begins = at == 0 || !is_word(text[at - 1]) || !is_word(what.front());
    const bool ends = end == text.size() || !is_word(text[end]) || !is_word(what.back());
    if (begins && ends) return at;
  }
  return std::nullopt;
}

/// Checks one file after the other against the table.
class Scan {
 public:
  Scan(const Table& table, const Tree& tree) : table_(table), tree_(tree) {}

  std::vector<Violation> run() {
    for (const auto& [path, content] : tree_) {
      file_ = path;
      layer_ = only_layer_of(path);
      is_test_ = matches_any(table_.test_files, file_name(path));
      if (layer_ == nullptr) continue;
      const SourceText source = take_apart(content);
      for (const Include& include : source.includes) check_include(include);
      if (!is_test_) check_words(source);
    }
    std::ranges::sort(violations_, {}, [](const Violation& v) { return std::tie(v.file, v.line, v.what); });
    return std::move(violations_);
  }

 private:
  void report(int line, std::string what) { violations_.push_back({file_, line, std::move(what)}); }

  [[nodiscard]] const Layer* layer_of(std::string_view path) const {
    const auto found = std::ranges::find_if(
        table_.layers, [&](const Layer& layer) { return matches_any(layer.files, path); });
    return found == table_.layers.end() ? nullptr : &*found;
  }

  const Layer* only_layer_of(const std::string& path) {
    const Layer* layer = layer_of(path);
    if (layer == nullptr) report(1, "belongs to no layer; add it, or its folder, to tests/layers/layers.txt");
    for (const Layer& other : table_.layers) {
      if (layer != nullptr && &other != layer && matches_any(other.files, path)) {
        report(1, "belongs to two layers, " + layer->name + " and " + other.name +
                      "; tests/layers/layers.txt must give it to one");
      }
    }
    return layer;
  }

  /// The file of this tree that is meant, found as the compiler does: beside the includer, then in the roots.
  [[nodiscard]] std::optional<std::string> resolve(const Include& include) const {
    std::vector<std::string> roots = {"include/", "src/", ""};
    if (include.quoted) roots.insert(roots.begin(), file_.substr(0, file_.rfind('/') + 1));
    for (const std::string& root : roots) {
      std::string path = normalised(root + include.name);
      if (tree_.contains(path)) return path;
    }
    return std::nullopt;
  }

  void check_include(const Include& include) {
    if (!is_test_ && matches_any(layer_->forbidden_includes, include.name)) {
      report(include.line, "includes <" + include.name + ">, which is forbidden in layer " + layer_->name);
    } else if (const auto target = resolve(include)) {
      check_target(include, *target);
    } else if (!is_standard(include)) {
      check_external(include);
    }
  }

  void check_target(const Include& include, const std::string& target) {
    const Layer* layer = layer_of(target);
    if (layer == nullptr) return;  // reported where that file itself is looked at
    if (is_public(file_) && !is_public(target)) {
      report(include.line,
             "is a public header, and includes " + target + ", which is private and not installed");
    }
    if (layer == layer_) return;
    if (!layer_->uses.contains(layer->name) && !(is_test_ && layer_->test_uses.contains(layer->name))) {
      report(include.line, "includes " + target + " of layer " + layer->name + ", but layer " + layer_->name +
                               " may include " + listed(layer_->uses));
    } else if (layer_->only_public && !is_public(target)) {
      report(include.line, "includes the private header " + target + ", but layer " + layer_->name +
                               " uses public headers only");
    }
  }

  void check_external(const Include& include) {
    if (include.name.starts_with("holdfast/")) {
      return report(include.line, "includes <" + include.name + ">, but there is no such public header");
    }
    if (is_test_ && matches_any(table_.test_external, include.name)) return;
    const bool in_public = is_public(file_);
    if (matches_any(in_public ? layer_->public_external : layer_->external, include.name)) return;
    report(include.line,
           "includes " + include.name +
               (in_public ? ", but public headers include the standard library and holdfast/ only"
                          : ", which is neither in this tree nor listed as external for layer " +
                                layer_->name + " in tests/layers/layers.txt"));
  }

  void check_words(const SourceText& source) {
    for (const std::string& token : layer_->forbidden_tokens) {
      for (auto at = find_words(source.code, token, 0); at; at = find_words(source.code, token, *at + 1)) {
        const auto lines =
            std::count(source.code.begin(), source.code.begin() + static_cast<std::ptrdiff_t>(*at), '\n');
        report(static_cast<int>(lines) + 1,
               "uses " + token + ", which is forbidden in layer " + layer_->name);
      }
    }
    for (const Literal& literal : source.literals) {
      for (const std::string& text : layer_->forbidden_texts) {
        if (!find_words(literal.text, text, 0)) continue;
        report(literal.line, "has a string with " + text + ", which is forbidden in layer " + layer_->name);
      }
    }
  }

  const Table& table_;
  const Tree& tree_;
  std::string file_;  // the file being checked, its layer, and whether it is a unit test
  const Layer* layer_ = nullptr;
  bool is_test_ = false;
  std::vector<Violation> violations_;
};

}  // namespace

std::string to_string(const Violation& violation) {
  return violation.file + ":" + std::to_string(violation.line) + ": " + violation.what;
}

std::vector<Violation> find_violations(const Table& table, const Tree& tree) {
  return Scan(table, tree).run();
}

}  // namespace holdfast::layers
