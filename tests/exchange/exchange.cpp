// Histories between compilers: the build of one writes what random programs did, the build of the other
// replays it and does it again.
#include "engine/generate_test.hpp"
#include "tests/exchange/recording.hpp"
#include "tests/exchange/search.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace holdfast::exchange {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage = R"(usage:
  exchange write <folder> <count>    runs random programs and writes what happened
  exchange check <folder>            replays what is in a folder, and runs it again
  exchange renew <folder>            runs what is in a folder again, and writes what happened now
  exchange search <seed> <count>     looks for programs in which something does not hold
)";

int write(const fs::path& folder, std::uint64_t count) {
  const std::uint64_t seed = std::random_device()();
  std::vector<Recording> recordings;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = static_cast<int>(i * 101 / count);
    const engine::Case what = engine::generate(seed + i, size, static_cast<engine::Theme>(i % 5));
    try {
      recordings.push_back(record(what));
    } catch (const std::exception& e) {
      std::cout << e.what() << "\nin this case:\n" << to_text(what) << "\n";
      return 1;
    }
  }
  fs::create_directories(folder);
  write_file(folder / "programs.json", recordings);
  std::cout << recordings.size() << " programs written to " << folder.string() << "\n";
  return 0;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    throw std::runtime_error(
        "there is nothing to check in " + folder.string() +
        ": run ./dev check tests/exchange first, which writes it with the first compiler");
  }
  std::sort(files.begin(), files.end());
  return files;
}

int check_all(const fs::path& folder) {
  std::size_t checked = 0;
  for (const fs::path& file : files_in(folder)) {
    for (const Recording& recording : read_file(file)) {
      const std::string problem = check(recording);
      if (!problem.empty()) {
        std::cout << file.string() << ": " << problem << "\nin this case:\n"
                  << to_text(recording.what)
                  << "\nIf the programs or the format were changed since this was written, write it anew: "
                     "./dev check tests/exchange, or exchange renew for what is in the repository.\n";
        return 1;
      }
      ++checked;
    }
  }
  std::cout << checked << " programs replay here as they ran there\n";
  return 0;
}

int renew(const fs::path& folder) {
  for (const fs::path& file : files_in(folder)) {
    std::vector<Recording> recordings;
    for (const Recording& recording : read_file(file)) recordings.push_back(record(recording.what));
    write_file(file, recordings);
  }
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "write") return write(arguments[1], std::stoull(arguments[2]));
  if (arguments.size() == 2 && arguments[0] == "check") return check_all(arguments[1]);
  if (arguments.size() == 2 && arguments[0] == "renew") return renew(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "search") {
    return search(std::stoull(arguments[1]), std::stoull(arguments[2])) ? 0 : 1;
  }
  std::cout << kUsage;
  return 2;
}

}  // namespace
}  // namespace holdfast::exchange

int main(int argc, char** argv) {
  try {
    return holdfast::exchange::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cout << e.what() << "\n";
    return 1;
  }
}
