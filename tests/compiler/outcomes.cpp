#include "outcomes.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace holdfast::battery {

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const auto bar = line.find('|');
    cells.push_back(trimmed(line.substr(0, bar)));
    if (bar == std::string_view::npos) return cells;
    line.remove_prefix(bar + 1);
  }
}

}  // namespace

Rows read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " can't be read; run this from the top of the source tree");
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.find(" | ") == std::string::npos || line.starts_with("|--")) continue;
    std::erase(line, '`');
    if (line.starts_with('|')) line = line.substr(1, line.rfind('|') - 1);
    rows.push_back(cells_of(line));
  }
  return rows;
}

std::map<std::string, std::string, std::less<>> expected_outcomes(const Rows& table,
                                                                  std::string_view compiler) {
  std::map<std::string, std::string, std::less<>> expected;
  const auto& heading = table.at(0);
  const auto column = std::find(heading.begin(), heading.end(), compiler);
  if (column == heading.end()) return expected;
  for (auto row = table.begin() + 1; row != table.end(); ++row) {
    expected[row->at(0)] = row->at(static_cast<std::size_t>(column - heading.begin()));
  }
  return expected;
}

std::string this_compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__);
#elif defined(__GNUC__)
  return "g++ " + std::to_string(__GNUC__);
#else
  return "another compiler";
#endif
}

}  // namespace holdfast::battery
