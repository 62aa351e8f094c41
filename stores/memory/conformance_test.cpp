#include <holdfast/memory.hpp>
#include <holdfast/testing/conformance.hpp>

namespace holdfast::testing {
namespace {

// [snippet conformance]
class Database final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    return memory({.ns = setup.ns, .database = database_, .clock = setup.clock, .faults = setup.faults});
  }

 private:
  std::shared_ptr<MemoryDatabase> database_ = memory_database();
};

const bool kRegistered = register_conformance_tests({"memory", [] { return std::make_unique<Database>(); }});
// [/snippet]

}  // namespace
}  // namespace holdfast::testing
