// The conformance suite: whether a store keeps the contract of holdfast/store.hpp, rule by rule. A store of
// yours passes it by saying how to make one:
//
//   class MyDatabase : public holdfast::testing::StoreDatabase {
//    public:
//     std::shared_ptr<Store> open(const StoreSetup& setup) override { return my_store(folder_.path(), setup);
//     }
//    private:
//     TemporaryFolder folder_;
//   };
//
//   const bool registered = holdfast::testing::register_conformance_tests(
//       {.name = "mine", .make = [] { return std::make_unique<MyDatabase>(); }});
//
// Link holdfast::conformance and a main() of GoogleTest. The tests are called
// mine/TurnLocks.OneFetchLocksAllWithItsToken and so on.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/store.hpp>

#include <functional>
#include <memory>
#include <string>

namespace holdfast::testing {

/// What a store is opened with. The pointers stay valid for as long as the store lives.
struct StoreSetup {
  std::string ns = "default";
  /// The only clock that the store may ask, for both of its times. It stands still until a test moves it.
  const Clock* clock = nullptr;
  /// Asked before each operation that can fail. The point of a commit has a name that ends with "commit": a
  /// `lose_answer` there leaves all of the call's changes, at every other point none. A store that never asks
  /// passes without being tried for failures.
  FaultPlan* faults = nullptr;
};

/// One database, empty when it is made and removed with this object. All stores that it opens see the same
/// data, as if they were opened by several processes; all of them are closed before it goes.
class StoreDatabase {
 public:
  virtual ~StoreDatabase() = default;
  virtual std::shared_ptr<Store> open(const StoreSetup& setup) = 0;
};

struct StoreUnderTest {
  std::string name{};
  std::function<std::unique_ptr<StoreDatabase>()> make{};
};

/// Adds the whole suite to this program's tests. To be called before main(), or in it before
/// RUN_ALL_TESTS(). Always true, so that it may initialise a global.
bool register_conformance_tests(StoreUnderTest store);

}  // namespace holdfast::testing
