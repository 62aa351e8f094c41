// Runs a fuzz target over the files of a folder, where there is no libFuzzer:
//   replay_<target> <folder>
#include "tests/fuzz/target.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " <folder>\n";
    return 2;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::cout << entry.path().filename().string() << std::endl;  // the last one printed is the one to blame
    std::ifstream file(entry.path(), std::ios::binary);
    holdfast::fuzz::run(std::string(std::istreambuf_iterator<char>(file), {}));
    ++files;
  }
  std::cout << files << " inputs\n";
  return files > 0 ? 0 : 1;
}
