// The table of layers (layers.txt) as data.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::layers {

/// A path, or everything in a folder when it ends in '/'; `*` stands for any text within a name. A lone `*`
/// matches everything.
using Pattern = std::string;
bool matches(std::string_view pattern, std::string_view path);
bool matches_any(const std::vector<Pattern>& patterns, std::string_view path);

struct Layer {
  std::string name{};
  std::vector<Pattern> files{};  ///< public headers too, as paths from the root
  std::set<std::string> uses{};
  std::set<std::string> test_uses{};
  std::vector<Pattern> external{};
  std::vector<Pattern> public_external{};
  bool only_public = false;
  std::vector<Pattern> forbidden_includes{};
  std::vector<std::string> forbidden_tokens{};
  std::vector<std::string> forbidden_texts{};
};

struct Table {
  std::vector<Layer> layers{};
  std::vector<Pattern> skipped{};     ///< names of folders that hold nothing of ours, wherever they are
  std::vector<Pattern> test_files{};  ///< names of files that are unit tests, in whichever folder
  std::vector<Pattern> test_external{};
};

/// Reads the text of layers.txt. Throws std::runtime_error with the line when it makes no sense, also when a
/// layer uses one that does not stand above it: that is what keeps circles out of the table itself.
Table parse_table(std::string_view text);

}  // namespace holdfast::layers
