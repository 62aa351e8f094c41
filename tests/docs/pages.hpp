// Pages in Markdown and the snippets that they quote, as data.
//
// A fenced block names its source behind the language: `cpp examples/hello.cpp#hello` is the region between
// `// [snippet hello]` and `// [/snippet]` of that file, `text examples/expected/demo.txt` the whole file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::docs {

struct Fence {
  int line = 0;            ///< of the opening fence, from 1
  std::string language{};  ///< empty when none is named
  std::string source{};    ///< the file that it quotes; empty when none is named
  std::string region{};    ///< of the file; empty = all of it
  std::string content{};
};
std::vector<Fence> find_fences(std::string_view page);

/// The lines of a region, without the indentation of its first marker; nothing when there is no such region.
std::optional<std::string> find_region(std::string_view source, std::string_view name);
std::vector<std::string> region_names(std::string_view source);

/// The targets of links to files: no `https:`, no `#place`, nothing inside code.
std::vector<std::string> find_links(std::string_view page);

}  // namespace holdfast::docs
