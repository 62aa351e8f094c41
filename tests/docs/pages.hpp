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

/// A link to a file, or to a heading of one.
struct Link {
  std::string file{};     ///< empty: the page itself
  std::string heading{};  ///< what stands behind `#`; empty when nothing does
  friend bool operator==(const Link&, const Link&) = default;
};
/// Links to files and headings: no `https:`, nothing inside code.
std::vector<Link> find_links(std::string_view page);

/// What links to the headings of a page say behind `#`, as GitHub makes it of their text.
std::vector<std::string> heading_anchors(std::string_view page);

/// Names in backticks that begin with `prefix`, outside of fenced blocks, without what follows the name.
std::vector<std::string> names_with(std::string_view page, std::string_view prefix);

/// The texts in backticks that stand in the first cells of tables.
std::vector<std::string> first_cells(std::string_view page);

/// C++ in which a text that is written in several parts is one.
std::string with_texts_joined(std::string_view source);

}  // namespace holdfast::docs
