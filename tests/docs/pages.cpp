#include "pages.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

namespace holdfast::docs {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

constexpr std::string_view kFence = "```";
constexpr std::string_view kOpen = "// [snippet ";
constexpr std::string_view kClose = "// [/snippet]";

bool is_fence(const std::string& line) { return line.starts_with(kFence); }

std::vector<std::string> lines_outside_fences(std::string_view page) {
  std::vector<std::string> lines;
  bool in_fence = false;
  for (const std::string& line : lines_of(page)) {
    if (is_fence(line)) {
      in_fence = !in_fence;
    } else if (!in_fence) {
      lines.push_back(line);
    }
  }
  return lines;
}

// `[snippet name]` -> `name`; nothing for other lines.
std::optional<std::string> opened_region(const std::string& line) {
  const std::size_t at = line.find(kOpen);
  if (at == std::string::npos) return std::nullopt;
  const std::string name = line.substr(at + kOpen.size());
  return name.substr(0, name.find(']'));
}

// Spans in backticks are blanked.
std::string without_code(std::string line) {
  bool inside = false;
  for (char& c : line) {
    if (c == '`') inside = !inside;
    if (inside) c = ' ';
  }
  return line;
}

}  // namespace

std::vector<Fence> find_fences(std::string_view page) {
  std::vector<Fence> fences;
  std::optional<Fence> open;
  int number = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (open && line == kFence) {
      fences.push_back(*std::exchange(open, std::nullopt));
    } else if (open) {
      open->content += line + "\n";
    } else if (is_fence(line)) {
      open = Fence{.line = number};
      std::istringstream words(line.substr(kFence.size()));
      std::string source;
      words >> open->language >> source;
      const std::size_t hash = std::min(source.find('#'), source.size());
      open->source = source.substr(0, hash);
      if (hash < source.size()) open->region = source.substr(hash + 1);
    }
  }
  return fences;
}

std::optional<std::string> find_region(std::string_view source, std::string_view name) {
  std::optional<std::string> content;
  std::size_t indentation = 0;
  for (const std::string& line : lines_of(source)) {
    if (content && line.find(kClose) != std::string::npos) return content;
    if (content) {
      *content += line.substr(std::min(indentation, line.size())) + "\n";
    } else if (opened_region(line) == name) {
      content.emplace();
      indentation = line.find(kOpen);
    }
  }
  return std::nullopt;
}

std::vector<std::string> region_names(std::string_view source) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(source)) {
    if (const auto name = opened_region(line)) names.push_back(*name);
  }
  return names;
}

std::vector<Link> find_links(std::string_view page) {
  std::vector<Link> links;
  for (const std::string& line : lines_outside_fences(page)) {
    const std::string text = without_code(line);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find(')', at + 2) - at - 2);
      if (target.empty() || target.find(':') != std::string::npos) continue;
      const std::size_t hash = std::min(target.find('#'), target.size());
      links.push_back({target.substr(0, hash), target.substr(std::min(hash + 1, target.size()))});
    }
  }
  return links;
}

std::vector<std::string> heading_anchors(std::string_view page) {
  std::vector<std::string> anchors;
  for (const std::string& line : lines_outside_fences(page)) {
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    std::string& anchor = anchors.emplace_back();
    for (const char c : line.substr(text + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(byte));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
  }
  return anchors;
}

std::vector<std::string> names_with(std::string_view page, std::string_view prefix) {
  std::vector<std::string> names;
  const std::string opening = "`" + std::string(prefix);
  for (const std::string& line : lines_outside_fences(page)) {
    for (std::size_t at = line.find(opening); at != std::string::npos; at = line.find(opening, at + 1)) {
      const std::size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at + 1);
      names.push_back(line.substr(at + 1, end - at - 1));
    }
  }
  return names;
}

std::vector<std::string> first_cells(std::string_view page) {
  std::vector<std::string> texts;
  for (const std::string& line : lines_outside_fences(page)) {
    if (!line.starts_with("| ")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const std::size_t end = std::min(cell.find('`', at + 1), cell.size());
      texts.push_back(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return texts;
}

std::string with_texts_joined(std::string_view source) {
  std::string joined;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const std::size_t next = source.find_first_not_of(" \n", at + 1);
    const bool is_seam =
        source[at] == '"' && next != std::string_view::npos && next > at + 1 && source[next] == '"';
    if (is_seam) {
      at = next;
    } else {
      joined += source[at];
    }
  }
  return joined;
}

}  // namespace holdfast::docs
