#include "tests/sim/databases.hpp"

#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::sim {
namespace {

// In memory, where the machine has such a place: nothing here is about disks.
std::filesystem::path where() {
  return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

testing::StoreOpener in_memory(const Clock& clock) {
  const auto store = sqlite(":memory:", {.clock = &clock});
  return [store] { return store; };
}

// [snippet database]
testing::StoreOpener in_file(const Clock& clock) {
  const auto folder = std::make_shared<support::TemporaryFolder>(where());
  return [folder, &clock] {
    return sqlite(*folder / "simulated.db", {.durability = Durability::off, .clock = &clock});
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
