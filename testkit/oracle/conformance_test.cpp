// The model keeps the contract, too: what stores are compared with is tested as they are.
#include "testkit/oracle/oracle.hpp"

#include <holdfast/testing/conformance.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::testing::conformance_test {
namespace {

class ModelDatabase final : public StoreDatabase {
 public:
  std::shared_ptr<Store> open(const StoreSetup& setup) override {
    return std::make_shared<oracle::Oracle>(database_, setup.ns, *setup.clock);
  }

 private:
  std::shared_ptr<oracle::Database> database_ = std::make_shared<oracle::Database>();
};

const bool kRegistered =
    register_conformance_tests({"oracle", [] { return std::make_unique<ModelDatabase>(); }});

}  // namespace
}  // namespace holdfast::testing::conformance_test

// Without what the model leaves out: waiting, threads, and what errors say.
int main(int argc, char** argv) {
  GTEST_FLAG_SET(filter,
                 "-oracle/Listening.*:oracle/Threads.*:"
                 "oracle/SessionWishes.ForANodeThatCouldNotClaimItAreRefusedWithWhatItLacks");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
