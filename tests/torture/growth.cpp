#include "growth.hpp"

#include <unistd.h>

#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

namespace holdfast::torture {

namespace {

constexpr std::int64_t kMega = 1024 * 1024;

#ifdef HOLDFAST_SANITIZED
constexpr std::int64_t kMoreMemory =
    1024 * kMega;  // sanitizers keep what was freed, to find those who use it
#else
constexpr std::int64_t kMoreMemory = 32 * kMega;
#endif
constexpr std::int64_t kMoreRoom = 16 * kMega;
constexpr std::int64_t kEmptyHeap = kMega;

/// How many rows a table keeps when there is no work; the others none.
const std::map<std::string, std::string> kKeepsRows{
    {"migrations", "one for each"},    {"deployment", "one"},
    {"namespaces", "names, interned"}, {"routes", "names, interned"},
    {"kinds", "names, interned"},      {"session_log", "what became of sessions, for a week"},
    {"requests", "of the last day"},   {"status_counts", "one for each connection"},
};

bool is_hot(const Table& table) { return !kKeepsRows.contains(table.name); }

std::int64_t hot_room(const Sizes& sizes) {
  std::int64_t bytes = 0;
  for (const Table& table : sizes.tables) {
    if (is_hot(table)) bytes += table.heap + table.indexes;
  }
  return bytes;
}

const Table* find(const Sizes& sizes, const std::string& name) {
  for (const Table& table : sizes.tables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

std::string megabytes(std::int64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / static_cast<double>(kMega);
  return text.str();
}

void row(std::ostream& out, const std::string& name, const std::vector<std::string>& cells,
         const std::string& remark) {
  out << "  " << std::left << std::setw(22) << name << std::right;
  for (const std::string& cell : cells) out << std::setw(14) << cell;
  out << (remark.empty() ? "" : "  " + remark) << "\n";
}

}  // namespace

std::int64_t resident_memory(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Problems above_floor(const std::vector<Table>& tables, std::uint64_t acknowledged, std::size_t running) {
  Problems problems;
  for (const Table& table : tables) {
    // Those who still run are there, and listen. Those who were killed are swept away by the others.
    if (table.name == "workers" && table.rows > static_cast<std::int64_t>(running)) {
      problems.push_back("table workers has " + std::to_string(table.rows) + " rows for " +
                         std::to_string(running) + " engines");
    }
    if (table.name == "workers" || table.name == "listeners") continue;
    if (is_hot(table) && table.rows > 0) {
      problems.push_back("table " + table.name + " still has " + std::to_string(table.rows) + " rows");
    }
    if (table.name == "requests" && table.rows > static_cast<std::int64_t>(acknowledged)) {
      problems.push_back("table requests has " + std::to_string(table.rows) + " rows for " +
                         std::to_string(acknowledged) + " calls");
    }
  }
  return problems;
}

Problems Growth::problems() const {
  Problems problems;
  const std::int64_t memory = early_.memory + early_.memory / 2 + kMoreMemory;
  for (const Sizes* const sizes : {&loaded_, &at_rest_}) {
    if (sizes->memory <= memory) continue;
    problems.push_back("the engine that lived through has grown from " + megabytes(early_.memory) + " to " +
                       megabytes(sizes->memory) + " MB");
  }
  if (hot_room(loaded_) > 3 * hot_room(early_) + kMoreRoom) {
    problems.push_back("the tables of work have grown from " + megabytes(hot_room(early_)) + " to " +
                       megabytes(hot_room(loaded_)) + " MB under the same load");
  }
  for (const Table& table : vacuumed_.tables) {
    if (is_hot(table) && table.rows > 0) {
      problems.push_back("table " + table.name + " has " + std::to_string(table.rows) + " rows at the end");
    }
    if (is_hot(table) && table.heap > kEmptyHeap) {
      problems.push_back("table " + table.name + " is empty and takes " + megabytes(table.heap) + " MB");
    }
  }
  return problems;
}

std::string Growth::report() const {
  std::ostringstream out;
  row(out, "MB", {"early", "end of load", "at rest", "after VACUUM", "rows"}, "");
  row(out, "engine, in memory",
      {megabytes(early_.memory), megabytes(loaded_.memory), megabytes(at_rest_.memory), "-", "-"}, "");
  for (const Table& table : loaded_.tables) {
    if (table.heap + table.indexes < kMega / 10) continue;
    std::vector<std::string> cells;
    for (const Sizes* const sizes : {&early_, &loaded_, &at_rest_, &vacuumed_}) {
      const Table* const then = find(*sizes, table.name);
      cells.push_back(then == nullptr ? "-" : megabytes(then->heap + then->indexes));
    }
    const Table* const last = find(vacuumed_, table.name);
    cells.push_back(last == nullptr ? "-" : std::to_string(last->rows));
    const auto keeps = kKeepsRows.find(table.name);
    row(out, table.name, cells, keeps == kKeepsRows.end() ? "" : keeps->second);
  }
  return out.str();
}

}  // namespace holdfast::torture
