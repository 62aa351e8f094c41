// This tree keeps to its layers; and made-up trees show that each way of breaking them would be found.
#include "scanner.hpp"
#include "source_text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::layers {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot read " + path.string() +
                             "; is the root of the tree the working folder?");
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

const Table& table() {
  static const Table table = parse_table(read("tests/layers/layers.txt"));
  return table;
}

bool is_cpp(const fs::path& path) {
  static const std::set<std::string> endings = {".hpp", ".cpp", ".h",   ".hh",  ".hxx",
                                                ".c",   ".cc",  ".cxx", ".ipp", ".inc"};
  return endings.contains(path.extension().string());
}

Tree tree_below(const fs::path& root) {
  Tree tree;
  for (fs::recursive_directory_iterator at(root), end; at != end; ++at) {
    const std::string name = at->path().filename().string();
    if (at->is_directory() && (name.starts_with('.') || matches_any(table().skipped, name))) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && is_cpp(at->path())) {
      tree[at->path().lexically_relative(root).generic_string()] = read(at->path());
    }
  }
  return tree;
}

/// What is wrong with a made-up tree, one line each.
std::string violations(const Tree& tree) {
  std::string text;
  for (const Violation& violation : find_violations(table(), tree))
    text.append(to_string(violation)).append("\n");
  return text;
}

std::string violations_in(const std::string& path, const std::string& content) {
  return violations({{path, content}});
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << part << "\" in:\n"
                                     << (text.empty() ? "(nothing)" : text);
}

// ---- this tree ----------------------------------------------------------------------------------

TEST(Layers, ThisTreeKeepsToThem) {
  const Tree tree = tree_below(".");
  ASSERT_TRUE(tree.contains("include/holdfast/errors.hpp"))
      << "the working folder is not the root of the tree";
  ASSERT_TRUE(tree.contains("tests/layers/layers_test.cpp"));
  EXPECT_EQ(violations(tree), "");
}

/// The public headers that one of them brings along, itself included.
std::set<std::string> brought_along_by(const std::string& header) {
  std::set<std::string> headers;
  std::vector<std::string> left = {header};
  while (!left.empty()) {
    const std::string next = left.back();
    left.pop_back();
    if (!headers.insert(next).second) continue;
    for (const Include& include : take_apart(read("include/" + next)).includes) {
      if (include.name.starts_with("holdfast/")) left.push_back(include.name);
    }
  }
  return headers;
}

TEST(Layers, ProgramsDoNotSeeTheContractOfStores) {
  const std::set<std::string> headers = brought_along_by("holdfast/holdfast.hpp");
  EXPECT_TRUE(headers.contains("holdfast/session_state.hpp"));
  for (const std::string& header : headers) EXPECT_FALSE(header.starts_with("holdfast/store/")) << header;
}

// ---- who may include whom -----------------------------------------------------------------------

TEST(Layers, IncludingDownwardsIsFine) {
  EXPECT_EQ(violations({{"include/holdfast/ids.hpp", "#include <cstdint>\n"},
                        {"include/holdfast/task.hpp", "#include <holdfast/ids.hpp>\n"},
                        {"src/codec/json.hpp", ""},
                        {"src/engine/turn.hpp", "#include \"codec/json.hpp\"\n"},
                        {"src/engine/turn.cpp", "#include \"turn.hpp\"\n#include <holdfast/task.hpp>\n"}}),
            "");
}

TEST(Layers, AnUpwardIncludeIsFoundWithItsLine) {
  const std::string found =
      violations({{"src/engine/turn.hpp", ""}, {"src/codec/json.cpp", "\n\n#include \"engine/turn.hpp\"\n"}});
  EXPECT_TRUE(says(found, "src/codec/json.cpp:3: includes src/engine/turn.hpp of layer engine"));
  EXPECT_TRUE(says(found, "layer codec may include base only"));
}

TEST(Layers, PublicHeadersHaveALayerToo) {
  EXPECT_TRUE(says(violations({{"include/holdfast/runtime.hpp", ""},
                               {"include/holdfast/ids.hpp", "#include <holdfast/runtime.hpp>\n"}}),
                   "include/holdfast/ids.hpp:1: includes include/holdfast/runtime.hpp of layer runtime, but "
                   "layer base may "
                   "include no other layer"));
}

TEST(Layers, StoresDoNotKnowEachOther) {
  EXPECT_TRUE(says(violations({{"stores/sqlite/file.hpp", ""},
                               {"stores/postgres/pg.cpp", "#include \"stores/sqlite/file.hpp\"\n"}}),
                   "layer store-postgres may include base, codec, contract, store-rules only"));
  EXPECT_TRUE(says(violations({{"stores/sqlite/file.hpp", ""},
                               {"stores/memory/m.cpp", "#include \"../sqlite/file.hpp\"\n"}}),
                   "stores/memory/m.cpp:1: includes stores/sqlite/file.hpp"));
}

TEST(Layers, TheLibraryDoesNotIncludeItsUmbrella) {
  EXPECT_TRUE(says(violations({{"include/holdfast/holdfast.hpp", ""},
                               {"src/runtime/steps.cpp", "#include <holdfast/holdfast.hpp>\n"}}),
                   "of layer umbrella"));
}

TEST(Layers, APublicHeaderDoesNotIncludeAPrivateOne) {
  EXPECT_TRUE(says(violations({{"src/engine/turn.hpp", ""},
                               {"include/holdfast/task.hpp", "#include \"engine/turn.hpp\"\n"}}),
                   "include/holdfast/task.hpp:1: is a public header, and includes src/engine/turn.hpp"));
}

TEST(Layers, AnExampleIncludesPublicHeadersOnly) {
  EXPECT_TRUE(
      says(violations({{"src/engine/turn.hpp", ""}, {"examples/demo.cpp", "#include \"engine/turn.hpp\"\n"}}),
           "examples/demo.cpp:1: includes the private header src/engine/turn.hpp"));
}

TEST(Layers, AnIncludeOfNoExistingPublicHeaderIsFound) {
  EXPECT_TRUE(says(violations_in("src/base/ids.cpp", "#include <holdfast/idz.hpp>\n"),
                   "there is no such public header"));
}

// ---- what is not in the tree --------------------------------------------------------------------

TEST(Layers, PublicHeadersIncludeNothingOfThirdParties) {
  for (const std::string external : {"<boost/asio.hpp>", "<sqlite3.h>", "<fmt/core.h>", "<unistd.h>"}) {
    EXPECT_TRUE(says(violations_in("include/holdfast/sqlite.hpp", "#include " + external + "\n"),
                     "public headers include the standard library and holdfast/ only"));
  }
}

TEST(Layers, AdaptorHeadersIncludeWhatTheyAdapt) {
  EXPECT_EQ(violations_in("include/holdfast/nlohmann.hpp", "#include <nlohmann/json.hpp>\n"), "");
  EXPECT_EQ(violations_in("include/holdfast/asio.hpp", "#include <asio/awaitable.hpp>\n"), "");
  EXPECT_EQ(violations_in("include/holdfast/testing/conformance.hpp", "#include <gtest/gtest.h>\n"), "");
  EXPECT_NE(violations_in("include/holdfast/testing/simulator.hpp", "#include <gtest/gtest.h>\n"), "");
  EXPECT_NE(violations_in("include/holdfast/asio.hpp", "#include <nlohmann/json.hpp>\n"), "");
}

TEST(Layers, AStoreIncludesItsOwnDatabaseOnly) {
  EXPECT_EQ(violations_in("stores/sqlite/file.cpp", "#include <sqlite3.h>\n"), "");
  EXPECT_TRUE(says(violations_in("stores/sqlite/file.cpp", "#include <libpq-fe.h>\n"),
                   "nor listed as external for layer store-sqlite in tests/layers/layers.txt"));
}

// ---- unit tests ---------------------------------------------------------------------------------

TEST(Layers, UnitTestsMayUseTestLibrariesAndThreads) {
  EXPECT_EQ(
      violations_in(
          "src/engine/turn_test.cpp",
          "#include <gtest/gtest.h>\n#include <rapidcheck/gtest.h>\n#include <thread>\nstd::thread t;\n"),
      "");
  EXPECT_NE(violations_in("src/engine/turn.cpp", "#include <gtest/gtest.h>\n"), "");
}

TEST(Layers, UnitTestsDoNotIncludeUpwardsEither) {
  EXPECT_NE(violations({{"src/runtime/steps.hpp", ""},
                        {"src/engine/turn_test.cpp", "#include \"runtime/steps.hpp\"\n"}}),
            "");
}

TEST(Layers, UnitTestsReachWhatTheTableGrantsThem) {
  const Tree granted = {{"include/holdfast/memory.hpp", ""},
                        {"src/runtime/steps_test.cpp", "#include <holdfast/memory.hpp>\n"}};
  const Tree refused = {{"include/holdfast/memory.hpp", ""},
                        {"src/runtime/steps.cpp", "#include <holdfast/memory.hpp>\n"}};
  EXPECT_EQ(violations(granted), "");
  EXPECT_NE(violations(refused), "");
}

// ---- what the engine must not touch -------------------------------------------------------------

TEST(Layers, TheEngineHasNoThreads) {
  EXPECT_TRUE(says(violations_in("src/engine/turn.cpp", "#include <thread>\n"),
                   "src/engine/turn.cpp:1: includes <thread>, which is forbidden in layer engine"));
  EXPECT_TRUE(says(violations_in("src/engine/turn.cpp", "\nstd::mutex m;\n"),
                   "src/engine/turn.cpp:2: uses std::mutex"));
  EXPECT_NE(violations_in("src/engine/turn.cpp", "thread_local int depth = 0;\n"), "");
  EXPECT_NE(violations_in("include/holdfast/context.hpp", "#include <atomic>\n"), "");
}

TEST(Layers, TheEngineHasNoClock) {
  EXPECT_TRUE(says(violations_in("src/engine/turn.cpp", "auto t = std::chrono::steady_clock::now();\n"),
                   "src/engine/turn.cpp:1: uses steady_clock"));
  EXPECT_NE(violations_in("include/holdfast/context.hpp", "auto t = std::chrono::system_clock::now();\n"),
            "");
  EXPECT_EQ(violations_in("src/engine/turn.cpp", "#include <chrono>\nstd::chrono::seconds wait{3};\n"), "");
}

TEST(Layers, TheEngineHasNoSocketsFilesOrDatabases) {
  for (const std::string header : {"sys/socket.h", "fstream", "filesystem", "sqlite3.h", "libpq-fe.h"}) {
    EXPECT_TRUE(says(violations_in("src/engine/turn.cpp", "#include <" + header + ">\n"),
                     "forbidden in layer engine"))
        << header;
  }
}

TEST(Layers, TheEngineHasNoChanceAndNoEnvironment) {
  EXPECT_NE(violations_in("src/engine/turn.cpp", "int x = std::rand();\n"), "");
  EXPECT_NE(violations_in("src/engine/turn.cpp", "std::random_device d;\n"), "");
  EXPECT_NE(violations_in("src/engine/turn.cpp", "auto home = std::getenv(\"HOME\");\n"), "");
  EXPECT_EQ(violations_in("src/engine/turn.cpp", "int x = operand(1);\n"), "") << "part of a longer word";
}

TEST(Layers, TheEngineHasNoSql) {
  EXPECT_TRUE(says(violations_in("src/engine/turn.cpp", "\nauto q = \"SELECT * FROM t\";\n"),
                   "src/engine/turn.cpp:2: has a string with SELECT"));
  EXPECT_NE(violations_in("src/engine/turn.cpp", "auto q = R\"sql(\n  INSERT INTO t VALUES (1)\n)sql\";\n"),
            "");
  EXPECT_NE(violations_in("src/engine/turn.cpp", "auto q = \"CREATE \"\n         \"TABLE t\";\n"), "");
  EXPECT_EQ(violations_in("stores/sqlite/queries.cpp", "auto q = \"SELECT 1\";\n"), "");
}

TEST(Layers, WhatOnlyStandsInACommentOrAStringIsFine) {
  EXPECT_EQ(violations_in("src/engine/turn.cpp",
                          "// #include <thread>\n"
                          "/* std::mutex,\n#include \"runtime/steps.hpp\"\n SELECT */\n"
                          "auto why = \"no std::thread or system_clock here\";\n"
                          "auto snippet = R\"(\n#include <mutex>\n)\";\n"),
            "");
}

// ---- every file is known ------------------------------------------------------------------------

TEST(Layers, AnUnknownFolderIsFound) {
  EXPECT_TRUE(
      says(violations_in("plugins/x.cpp", ""),
           "plugins/x.cpp:1: belongs to no layer; add it, or its folder, to tests/layers/layers.txt"));
  EXPECT_NE(violations_in("stores/redis/r.cpp", ""), "");
}

TEST(Layers, AnUnknownPublicHeaderIsFound) {
  EXPECT_TRUE(says(violations_in("include/holdfast/brand_new.hpp", ""),
                   "add it, or its folder, to tests/layers/layers.txt"));
  EXPECT_NE(violations_in("include/holdfast/detail/brand_new.hpp", ""), "");
  EXPECT_EQ(violations_in("include/holdfast/detail/codec_scalars.hpp", ""), "");
}

// ---- the table ----------------------------------------------------------------------------------

TEST(LayerTable, UsesOnlyWhatStandsAbove) {
  EXPECT_THROW(parse_table("layer a\n uses b\nlayer b\n files b/\n"), std::runtime_error);
  EXPECT_THROW(parse_table("layer a\n test-uses c\n"), std::runtime_error);
  EXPECT_NO_THROW(parse_table("layer a\n test-uses b\nlayer b\n uses a\n"));
}

TEST(LayerTable, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(parse_table("files a/\n"), std::runtime_error);
  EXPECT_THROW(parse_table("layer a\n file a/\n"), std::runtime_error);
  EXPECT_THROW(parse_table("layer a\nlayer a\n"), std::runtime_error);
  EXPECT_THROW(parse_table("layer a\n uses\n"), std::runtime_error);
}

TEST(LayerTable, AFileOfTwoLayersIsFound) {
  const Table twice = parse_table("layer a\n files src/\nlayer b\n files src/b/\n");
  const auto found = find_violations(twice, {{"src/b/x.cpp", ""}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(says(to_string(found[0]), "belongs to two layers, a and b"));
}

TEST(LayerTable, AStarStaysWithinAName) {
  EXPECT_TRUE(matches("include/holdfast/detail/codec*.hpp", "include/holdfast/detail/codec_scalars.hpp"));
  EXPECT_FALSE(matches("include/holdfast/json*.hpp", "include/holdfast/json/writer.hpp"));
  EXPECT_TRUE(matches("src/base/", "src/base/deep/down.cpp"));
  EXPECT_FALSE(matches("src/base/", "src/basement/x.cpp"));
  EXPECT_TRUE(matches("*", "any/thing.h"));
}

// ---- reading C++ --------------------------------------------------------------------------------

TEST(SourceText, KeepsLinesAndDropsCommentsAndLiterals) {
  const SourceText source =
      take_apart("int a = 10'000;  // one 'two\nchar b = '\"'; /* x\ny */ int c;\nauto s = \"\\\"q\";\n");
  EXPECT_EQ(std::count(source.code.begin(), source.code.end(), '\n'), 4);
  EXPECT_NE(source.code.find("int c;"), std::string::npos);
  EXPECT_EQ(source.code.find("two"), std::string::npos);
  ASSERT_EQ(source.literals.size(), 1U);
  EXPECT_EQ(source.literals[0].text, "\\\"q");
  EXPECT_EQ(source.literals[0].line, 4);
}

TEST(SourceText, FindsIncludesOfBothKinds) {
  const SourceText source =
      take_apart("#include <a.h>\n  #  include \"b/c.hpp\"  // why\n#if X\n#include MACRO\n#endif\n");
  ASSERT_EQ(source.includes.size(), 2U);
  EXPECT_EQ(source.includes[0].name, "a.h");
  EXPECT_FALSE(source.includes[0].quoted);
  EXPECT_EQ(source.includes[1].name, "b/c.hpp");
  EXPECT_TRUE(source.includes[1].quoted);
  EXPECT_EQ(source.includes[1].line, 2);
}

TEST(SourceText, TextThatBreaksOffIsNoTrouble) {
  for (const std::string text :
       {"\"", "'", "/*", "R\"(", "R\"", "#include", "#include <", "#", "\"\\", "//\\"})
    take_apart(text);
}

}  // namespace
}  // namespace holdfast::layers
