// The layer rules: which file breaks the table, where, and how to say so.
#pragma once

#include "table.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::layers {

/// The C++ files of a tree: path from its root, with '/' between the names, and content.
using Tree = std::map<std::string, std::string>;

struct Violation {
  std::string file{};
  int line = 0;
  std::string what{};  ///< a sentence that says what is wrong and, where it is not plain, what to do
};

std::string to_string(const Violation& violation);

/// Everything in `tree` that the table does not allow, in the order of files and lines. Reads nothing else.
std::vector<Violation> find_violations(const Table& table, const Tree& tree);

}  // namespace holdfast::layers
