// What clients ask about instances beside their work, through the public API: a part for each kind of call.
// docs/benchmarks.md says what each figure means.
//
//   bench_vocabulary [folder] [--quick] [--postgres] [--only=attributes] [--instances=1000000]
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/postgres_server.hpp"
#include "bench/vocabulary/parts.hpp"

#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::bench {
namespace {

struct Part {
  std::string_view name;
  void (*run)(Vocabulary&);
};
/// In the order in which they run; each has a store of its own.
constexpr std::array kParts{Part{"attributes", attributes}};

bool is_wanted(const Suite& suite, std::string_view part) {
  const std::optional<std::string> only = suite.value_of("--only");
  return !only || ("," + *only + ",").find("," + std::string(part) + ",") != std::string::npos;
}

int run(Suite& suite, bool on_server) {
  const DiskFolder disk;
  suite.note("disk: " + disk.file_system());
  std::optional<PostgresServer> server;
  if (on_server) server.emplace();
  int files = 0;
  for (const Part& part : kParts) {
    if (!is_wanted(suite, part.name)) continue;
    std::cerr << "vocabulary: " << part.name << "\n";
    Vocabulary bench{.suite = suite, .store = server ? "postgres" : "sqlite", .make_store = [&] {
                       return server ? server->store() : sqlite(disk / (std::to_string(++files) + ".db"));
                     }};
    part.run(bench);
  }
  return suite.finish();
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  const bool on_server = std::find(argv, argv + argc, std::string_view("--postgres")) != argv + argc;
  Suite suite(on_server ? "vocabulary-postgres" : "vocabulary", argc, argv);
  try {
    return run(suite, on_server);
  } catch (const std::exception& error) {
    std::cerr << "bench_vocabulary: " << error.what() << "\n";
    return 1;
  }
}
