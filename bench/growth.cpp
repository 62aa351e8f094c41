// Growth and tails, through the public API and the store contract: what a turn costs when the history is
// long, what a step costs beside many idle instances, what latency and memory do over time, what a slow type
// of activity does to a fast one, and what happens when clients start too much. Draws its curves as SVG.
// docs/benchmarks.md says what each figure means.
//
//   bench_growth [folder] [--quick] [--postgres] [--only=history,population,steady,neighbour,overload]
//                [--most=1000000] [--draw=<folder for the curves>]
//   bench_growth [folder] --minutes=60 [--postgres]     the steady load alone, each shape for so long
#include "bench/disk.hpp"
#include "bench/growth/parts.hpp"
#include "bench/growth/resident.hpp"
#include "bench/growth/workbench.hpp"
#include "bench/harness.hpp"
#include "bench/postgres_server.hpp"

#include <holdfast/sqlite.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::bench {
namespace {

struct Part {
  std::string_view name;
  void (*run)(Workbench&);
};
constexpr std::array<Part, 5> kParts{Part{"history", history_length}, Part{"population", population},
                                     Part{"steady", steady_load}, Part{"neighbour", slow_neighbour},
                                     Part{"overload", overload}};

bool is_wanted(const Suite& suite, std::string_view part) {
  if (suite.value_of("--minutes")) return part == "steady";
  const std::optional<std::string> only = suite.value_of("--only");
  return !only || ("," + *only + ",").find("," + std::string(part) + ",") != std::string::npos;
}

int run(Suite& suite, bool on_server) {
  const DiskFolder disk;
  suite.note("disk: " + disk.file_system());
  int files = 0;
  StoreKind kind{.name = "sqlite", .title = "SQLite", .make = [&] {
                   return sqlite(disk / (std::to_string(++files) + ".db"));
                 }};
  std::optional<PostgresServer> server;
  if (on_server) {
    server.emplace();
    kind = {.name = "postgres",
            .title = "PostgreSQL",
            .make = [&] { return server->store(); },
            .autovacuums = [&] { return server->autovacuums(); }};
  }
  const std::string curves = suite.value_of("--draw").value_or(suite.folder());
  if (!curves.empty()) std::filesystem::create_directories(curves);
  Workbench bench(suite, kind, curves);
  for (const Part& part : kParts) {
    if (!is_wanted(suite, part.name)) continue;
    std::cerr << "growth: " << part.name << "\n";
    return_freed_memory();
    part.run(bench);
  }
  return suite.finish();
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  const bool on_server = std::find(argv, argv + argc, std::string_view("--postgres")) != argv + argc;
  Suite suite(on_server ? "growth-postgres" : "growth", argc, argv);
  try {
    return run(suite, on_server);
  } catch (const std::exception& error) {
    std::cerr << "bench_growth: " << error.what() << "\n";
    return 1;
  }
}
