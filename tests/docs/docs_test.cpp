// The pages of this tree: snippets are what is compiled, links lead to files that exist.
#include "pages.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace holdfast::docs {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

std::vector<fs::path> pages() {
  std::vector<fs::path> paths = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator("docs")) {
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  return paths;
}

// Pages all of whose C++ has to be compiled code.
bool shows_compiled_code_only(const fs::path& page) {
  return page == "README.md" || page.parent_path() == "docs/guide";
}

TEST(Docs, SnippetsAreWhatIsCompiled) {
  for (const fs::path& page : pages()) {
    for (const Fence& fence : find_fences(read(page))) {
      SCOPED_TRACE(page.string() + ":" + std::to_string(fence.line));
      if (fence.source.empty()) {
        EXPECT_FALSE(fence.language == "cpp" && shows_compiled_code_only(page))
            << "C++ in this page names its source: ```cpp examples/<file>.cpp#<region>";
        continue;
      }
      const std::string source = read(fence.source);
      const std::optional<std::string> wanted =
          fence.region.empty() ? source : find_region(source, fence.region);
      ASSERT_TRUE(wanted) << fence.source << " has no region '" << fence.region << "'";
      EXPECT_EQ(fence.content, *wanted) << "the page does not show " << fence.source << " as it is";
    }
  }
}

TEST(Docs, EveryRegionIsShownSomewhere) {
  std::set<std::string> shown;
  for (const fs::path& page : pages()) {
    for (const Fence& fence : find_fences(read(page))) shown.insert(fence.source + "#" + fence.region);
  }
  for (const auto& entry : fs::directory_iterator("examples")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& region : region_names(read(entry.path()))) {
      EXPECT_TRUE(shown.contains(entry.path().generic_string() + "#" + region))
          << entry.path() << " marks a region '" << region << "' that no page shows";
    }
  }
}

TEST(Docs, LinksLeadToFiles) {
  for (const fs::path& page : pages()) {
    for (const std::string& link : find_links(read(page))) {
      EXPECT_TRUE(fs::exists(page.parent_path() / link)) << page << " links to " << link;
    }
  }
}

TEST(Docs, TheReadmeShowsTheTwoCommands) {
  const std::string readme = read("README.md");
  EXPECT_NE(readme.find("\n./dev run\n"), std::string::npos);
  EXPECT_NE(readme.find("\n./dev test\n"), std::string::npos);
}

// ---- how pages are read -------------------------------------------------------------------------

TEST(Pages, AFenceNamesItsSource) {
  const auto fences =
      find_fences("text\n```cpp a/b.cpp#r\nint x;\n\n```\n```\nplain\n```\n```text a.txt\n```\n");
  ASSERT_EQ(fences.size(), 3U);
  EXPECT_EQ(fences[0].line, 2);
  EXPECT_EQ(fences[0].language, "cpp");
  EXPECT_EQ(fences[0].source, "a/b.cpp");
  EXPECT_EQ(fences[0].region, "r");
  EXPECT_EQ(fences[0].content, "int x;\n\n");
  EXPECT_EQ(fences[1].source, "");
  EXPECT_EQ(fences[2].source, "a.txt");
  EXPECT_EQ(fences[2].content, "");
}

TEST(Pages, ARegionLosesItsIndentation) {
  const std::string source =
      "  // [snippet a]\n  int x;\n\n    int y;\n  // [/snippet]\n// [snippet b]\nint z;\n";
  EXPECT_EQ(find_region(source, "a"), "int x;\n\n  int y;\n");
  EXPECT_EQ(find_region(source, "b"), std::nullopt) << "it is never closed";
  EXPECT_EQ(find_region(source, "c"), std::nullopt);
  EXPECT_EQ(region_names(source), (std::vector<std::string>{"a", "b"}));
}

TEST(Pages, LinksInCodeAndToOtherHostsDoNotCount) {
  EXPECT_EQ(find_links(
                "see [a](x.md), [b](y.md#part) and [c](https://example.org/z)\n`[d](e)`\n```\n[f](g)\n```\n"),
            (std::vector<std::string>{"x.md", "y.md"}));
}

}  // namespace
}  // namespace holdfast::docs
