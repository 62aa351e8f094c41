#include "server_test.hpp"

#include <holdfast/testing/conformance.hpp>

namespace holdfast::testing::conformance_test {
namespace {

class Database final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    return schema_.open({.ns = setup.ns, .clock = setup.clock, .faults = setup.faults});
  }

 private:
  postgres_store::TestSchema schema_;
};

const bool kRegistered =
    register_conformance_tests({"postgres", [] { return std::make_unique<Database>(); }});

}  // namespace
}  // namespace holdfast::testing::conformance_test
