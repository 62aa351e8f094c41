#include "tests/exchange/recording.hpp"

#include <holdfast/codec.hpp>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::exchange {

using engine::TurnRecord;

namespace {

std::string first_difference(const std::vector<TurnRecord>& recorded, const std::vector<TurnRecord>& here) {
  for (std::size_t i = 0; i < recorded.size() && i < here.size(); ++i) {
    if (recorded[i] == here[i]) continue;
    return "turn " + std::to_string(i + 1) + " differs:\n  recorded " + to_text(recorded[i]) +
           "\n  here     " + to_text(here[i]);
  }
  if (recorded.size() == here.size()) return {};
  return std::to_string(recorded.size()) + " turns were recorded, and here are " +
         std::to_string(here.size());
}

}  // namespace

Recording record(const engine::Case& what) {
  engine::Run happened = engine::run(what);
  if (!happened.problems.empty()) throw std::runtime_error(happened.problems.front());
  return {what, std::move(happened.executions)};
}

std::string check(const Recording& recording) {
  const auto& recorded = recording.executions;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::string problem = engine::replay(recorded[i], i + 1);
    if (!problem.empty()) return "execution " + std::to_string(i + 1) + " does not replay: " + problem;
  }
  const engine::Run here = engine::run(recording.what);
  if (!here.problems.empty()) return here.problems.front();
  if (here.executions.size() != recorded.size()) return "another number of executions was recorded";
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::string difference = first_difference(recorded[i], here.executions[i]);
    if (!difference.empty()) return "execution " + std::to_string(i + 1) + ", " + difference;
  }
  return {};
}

// Under another name first, so that nobody reads a part of it.
void write_file(const std::filesystem::path& file, const std::vector<Recording>& recordings) {
  const std::filesystem::path unfinished = file.string() + ".new";
  std::ofstream out(unfinished, std::ios::binary);
  for (const Recording& recording : recordings) out << encode(recording).bytes << "\n";
  out.close();
  if (!out) throw std::runtime_error("can't write " + unfinished.string());
  std::filesystem::rename(unfinished, file);
}

std::vector<Recording> read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + file.string());
  std::vector<Recording> recordings;
  for (std::string line; std::getline(in, line);) {
    Result<Recording> recording = decode<Recording>(Payload{kJsonEncoding, line});
    if (!recording) {
      throw std::runtime_error(file.string() + ", line " + std::to_string(recordings.size() + 1) + ": " +
                               recording.error().message);
    }
    recordings.push_back(*std::move(recording));
  }
  return recordings;
}

}  // namespace holdfast::exchange
