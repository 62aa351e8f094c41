// The table of outcomes, as outcomes.txt and docs/compilers.md hold it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::battery {

/// One row per line that holds ` | `: its cells, without the blanks around them and without backquotes. A
/// Markdown table gives the same rows as a plain one: outer bars and the line of dashes don't count.
using Rows = std::vector<std::vector<std::string>>;

/// Throws std::runtime_error when the file can't be read.
Rows read_rows(const std::string& path);

/// Snippet to expected outcome for one compiler ("clang 19"); empty when the table has no column for it.
std::map<std::string, std::string, std::less<>> expected_outcomes(const Rows& table,
                                                                  std::string_view compiler);

/// The compiler of this binary, as the table's heading names it.
std::string this_compiler();

}  // namespace holdfast::battery
