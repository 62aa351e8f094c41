#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/testing/conformance.hpp>

namespace holdfast::testing::conformance_test {
namespace {

using support::TemporaryFolder;

class Database final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    // What is tested here is not the disk.
    return sqlite(
        folder_ / "conformance.db",
        {.ns = setup.ns, .durability = Durability::off, .clock = setup.clock, .faults = setup.faults});
  }

 private:
  TemporaryFolder folder_;
};

const bool kRegistered = register_conformance_tests({"sqlite", [] { return std::make_unique<Database>(); }});

}  // namespace
}  // namespace holdfast::testing::conformance_test
