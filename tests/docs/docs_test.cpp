// The pages of this tree: snippets are what is compiled, links lead somewhere, metrics exist.
#include "pages.hpp"

#include <holdfast/version.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
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

// Pages all of whose C++ has to be compiled code: all but those that show what doesn't compile, or goes
// wrong.
bool shows_compiled_code_only(const fs::path& page) {
  return page != "docs/traps.md" && page != "docs/compilers.md";
}

// Where a page may quote code from: programs for users, and tests that show how something is wired.
std::vector<fs::path> quoted_sources() {
  std::vector<fs::path> paths;
  for (const char* folder : {"examples", "stores", "tests/sim"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".cpp") paths.push_back(entry.path());
    }
  }
  return paths;
}

// The names of all metrics: texts of the library that begin like one.
std::set<std::string> metrics_of_the_code() {
  constexpr std::string_view kOpening = "\"holdfast_";
  std::set<std::string> names;
  for (const char* folder : {"src", "server"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp" || entry.path().stem().string().ends_with("_test")) continue;
      const std::string code = read(entry.path());
      for (std::size_t at = code.find(kOpening); at != std::string::npos; at = code.find(kOpening, at + 1)) {
        names.insert(code.substr(at + 1, code.find('"', at + 1) - at - 1));
      }
    }
  }
  return names;
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
  for (const fs::path& source : quoted_sources()) {
    for (const std::string& region : region_names(read(source))) {
      EXPECT_TRUE(shown.contains(source.generic_string() + "#" + region))
          << source << " marks a region '" << region << "' that no page shows";
    }
  }
}

TEST(Docs, LinksLeadToFilesAndHeadings) {
  for (const fs::path& page : pages()) {
    for (const Link& link : find_links(read(page))) {
      const fs::path target = link.file.empty() ? page : page.parent_path() / link.file;
      ASSERT_TRUE(fs::exists(target)) << page << " links to " << link.file;
      if (link.heading.empty() || target.extension() != ".md") continue;
      const std::vector<std::string> anchors = heading_anchors(read(target));
      EXPECT_TRUE(std::ranges::count(anchors, link.heading) > 0)
          << page << " links to " << link.file << "#" << link.heading << ", which no heading there has";
    }
  }
}

// docs/guide/logs.md lists what is logged by the words that the code has, and all of it.
TEST(Docs, LogMessagesAreThoseOfTheCode) {
  std::string code;
  for (const char* folder : {"src", "stores", "server"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp" || entry.path().stem().string().ends_with("_test")) continue;
      code += with_texts_joined(read(entry.path()));
    }
  }
  const std::vector<std::string> listed = first_cells(read("docs/guide/logs.md"));
  for (const std::string& message : listed) {
    EXPECT_NE(code.find('"' + message), std::string::npos) << "nothing logs: " << message;
  }
  static const std::regex kLogged("LogLevel::[a-z]+,\\s*\"([^\"]+)");
  for (std::sregex_iterator it(code.begin(), code.end(), kLogged), end; it != end; ++it) {
    const std::string logged = (*it)[1];
    EXPECT_TRUE(
        std::ranges::any_of(listed, [&](const std::string& known) { return logged.starts_with(known); }))
        << "docs/guide/logs.md does not list: " << logged;
  }
}

// docs/observability.md has a row for each metric, and no page names one that the code does not have.
TEST(Docs, MetricsAreThoseOfTheCode) {
  constexpr std::string_view kPrefix = "holdfast_";
  const std::set<std::string> metrics = metrics_of_the_code();
  ASSERT_FALSE(metrics.empty());
  const std::vector<std::string> rows = names_with(read("docs/observability.md"), kPrefix);
  for (const std::string& metric : metrics) {
    EXPECT_TRUE(std::ranges::count(rows, metric) > 0) << "docs/observability.md does not explain " << metric;
  }
  for (const fs::path& page : pages()) {
    for (const std::string& name : names_with(read(page), kPrefix)) {
      EXPECT_TRUE(metrics.contains(name)) << page << " names " << name << ", which is no metric of the code";
    }
  }
}

// The versions that stand behind `opening` in the page.
std::set<std::string> versions_behind(const std::string& page, std::string_view opening) {
  std::set<std::string> found;
  for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at + 1)) {
    const std::size_t begin = at + opening.size();
    const std::size_t end = page.find_first_not_of(".0123456789", begin);
    if (end != begin) found.insert(page.substr(begin, end - begin));
  }
  return found;
}

TEST(Docs, VersionsAreThatOfTheLibrary) {
  const std::string minor =
      std::to_string(HOLDFAST_VERSION_MAJOR) + "." + std::to_string(HOLDFAST_VERSION_MINOR);
  const std::string patch = minor + "." + std::to_string(HOLDFAST_VERSION_PATCH);
  EXPECT_TRUE(HOLDFAST_VERSION == patch || HOLDFAST_VERSION == patch + "-dev") << HOLDFAST_VERSION;
  EXPECT_EQ(HOLDFAST_PROJECT_VERSION, patch) << "CMake's";
  const std::string page = read("docs/using-in-your-build.md");
  EXPECT_EQ(versions_behind(page, "GIT_TAG v"), std::set{patch});
  EXPECT_EQ(versions_behind(page, "find_package(holdfast "), std::set{minor});
  EXPECT_EQ(versions_behind(page, "asking for "), std::set{minor});
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
  EXPECT_EQ(find_links("see [a](x.md), [b](y.md#part), [h](#here) and [c](https://example.org/z)\n"
                       "`[d](e)`\n```\n[f](g)\n```\n"),
            (std::vector<Link>{{"x.md", ""}, {"y.md", "part"}, {"", "here"}}));
}

TEST(Pages, AHeadingBecomesAnAnchor) {
  EXPECT_EQ(heading_anchors("# One, two\n```\n# no heading\n```\n### `co_await` in `catch`\n#none\n"),
            (std::vector<std::string>{"one-two", "co_await-in-catch"}));
}

TEST(Pages, FirstCellsAreTheTextsInBackticks) {
  EXPECT_EQ(first_cells("| `a b`, `c` | `d` |\n|---|---|\n| e | `f` |\n`g`\n"),
            (std::vector<std::string>{"a b", "c"}));
}

TEST(Pages, TextsInPartsAreJoined) {
  EXPECT_EQ(with_texts_joined("x(\"a \"\n  \"b\", \"c\")"), "x(\"a b\", \"c\")");
}

TEST(Pages, NamesStandInBackticks) {
  EXPECT_EQ(names_with("`ab_x`, `ab_y{state=\"z\"}`, ab_z\n```\n`ab_w`\n```\n", "ab_"),
            (std::vector<std::string>{"ab_x", "ab_y"}));
}

// How often each enum of that name stands in a public header, those of `detail` aside.
std::map<std::string, std::size_t> public_enums(const std::string& header) {
  constexpr std::string_view kOpening = "enum class ";
  const auto count = [](std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  std::map<std::string, std::size_t> enums;
  for (std::size_t at = header.find(kOpening); at != std::string::npos; at = header.find(kOpening, at + 1)) {
    const std::string_view before = std::string_view(header).substr(0, at);
    if (count(before, "namespace detail {") > count(before, "}  // namespace detail")) continue;
    const std::size_t name = at + kOpening.size();
    ++enums[header.substr(name, header.find(' ', name) - name)];
  }
  return enums;
}

// The guide says so of all enums that a program meets.
TEST(Headers, HaveATextForEachPublicEnum) {
  std::size_t all = 0;
  for (const auto& entry : fs::directory_iterator("include/holdfast")) {
    if (entry.path().extension() != ".hpp") continue;
    const std::string header = read(entry.path());
    for (const auto& [name, times] : public_enums(header)) {
      const std::regex text("to_string\\((\\w+::)*" + name + " ");
      const auto found =
          std::distance(std::sregex_iterator(header.begin(), header.end(), text), std::sregex_iterator());
      EXPECT_EQ(static_cast<std::size_t>(found), times)
          << entry.path() << ": " << name << " lacks a to_string()";
      all += times;
    }
  }
  EXPECT_GT(all, 20U);
}

}  // namespace
}  // namespace holdfast::docs
