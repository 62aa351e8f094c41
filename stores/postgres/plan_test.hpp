// How the server goes about a statement, for tests of what is read.
#pragma once

#include "open.hpp"
#include "server_test.hpp"

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

namespace holdfast::postgres_store {

/// The plan of a statement that has run with these parameters as it does for a store, line by line. `setting`
/// comes before it, if any.
inline std::vector<std::string> plan_of(const TestSchema& schema, const Statement& statement,
                                        const Parameters& parameters, const Statement* setting = nullptr) {
  Connection connection(connection_setup(schema.uri(), {.schema = schema.name()}));
  if (setting != nullptr) connection.queue(*setting, Parameters());
  const std::string explained = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + statement.sql();
  connection.queue({"test.explain", explained.c_str()}, parameters);
  std::vector<std::string> lines;
  const std::vector<Answer> answers = connection.exchange();
  for (int i = 0; i < answers.back().rows(); ++i) lines.emplace_back(answers.back().bytes(i, 0));
  return lines;
}

inline std::string text_of(const std::vector<std::string>& plan) {
  std::string text;
  for (const std::string& line : plan) text += line + '\n';
  return text;
}

/// How many rows of a table were looked at, by that plan.
inline std::int64_t rows_read(const std::vector<std::string>& plan, const std::string& table) {
  const std::regex scan("Scan .*on " + table + " .*rows=(\\d+) loops=(\\d+)");
  const std::regex node("rows=\\d+ loops=\\d+|never executed");
  const std::regex removed("Rows Removed by .*: (\\d+)");
  std::int64_t rows = 0;
  std::int64_t loops = 0;  // of the scan whose details follow
  for (const std::string& line : plan) {
    std::smatch found;
    if (std::regex_search(line, found, scan)) {
      loops = std::stoll(found[2]);
      rows += std::stoll(found[1]) * loops;
    } else if (std::regex_search(line, node)) {
      loops = 0;
    } else if (std::regex_search(line, found, removed)) {
      rows += std::stoll(found[1]) * loops;
    }
  }
  return rows;
}

}  // namespace holdfast::postgres_store
