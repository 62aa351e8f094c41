// A case with everything that happened in it: what one compiler's build writes and another's checks.
#pragma once

#include "engine/world_test.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::exchange {

struct Recording {
  engine::Case what{};
  std::vector<std::vector<engine::TurnRecord>> executions{};
};

/// Runs a case. Throws std::runtime_error when something does not hold in it.
Recording record(const engine::Case& what);

/// What this build finds wrong with a recording: its histories must replay in strict mode, and the same
/// script run from scratch must give the same bytes. Empty when all is well.
std::string check(const Recording& recording);

/// One recording per line, as JSON.
void write_file(const std::filesystem::path& file, const std::vector<Recording>& recordings);
/// Throws std::runtime_error when the file can't be read.
std::vector<Recording> read_file(const std::filesystem::path& file);

}  // namespace holdfast::exchange
