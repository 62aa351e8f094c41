#include "tests/sim/databases.hpp"

#include <holdfast/sqlite.hpp>

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::sim {
namespace {

// In memory, where the machine has such a place: nothing here is about disks.
class Folder {
 public:
  Folder() {
    const bool shared_memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern =
        (shared_memory ? "/dev/shm" : std::filesystem::temp_directory_path()) / "simulated-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("there is no place for " + pattern);
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path{};
};

testing::StoreOpener in_memory(const Clock& clock) {
  const auto store = sqlite(":memory:", {.clock = &clock});
  return [store] { return store; };
}

// [snippet database]
testing::StoreOpener in_file(const Clock& clock) {
  const auto folder = std::make_shared<Folder>();
  return [folder, &clock] {
    return sqlite(folder->path / "simulated.db", {.durability = Durability::off, .clock = &clock});
  };
}
// [/snippet]

}  // namespace

bool is_database(std::string_view name) { return name == "memory" || name == "sqlite" || name == "file"; }

std::function<testing::StoreOpener(const Clock&)> database(std::string_view name) {
  if (name == "sqlite") return in_memory;
  if (name == "file") return in_file;
  return {};
}

}  // namespace holdfast::sim
