// The conformance suite: tests whether a store keeps the contract of holdfast/store.hpp, rule by rule. To run
// it on a store of your own, say how to make a database:
//
//   class MyDatabase : public holdfast::testing::StoreDatabase {
//    public:
//     std::shared_ptr<Store> open(const StoreSetup& setup) override { return my_store(folder_, setup); }
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

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::testing {

/// What a store is opened with. The pointers stay valid for as long as the store lives.
struct StoreSetup {
  std::string ns = "default";
  /// The only clock that the store may read, for lease time and calendar time. It stands still until a test
  /// moves it.
  const Clock* clock = nullptr;
  /// The store asks it before each operation that can fail. The name of a commit's point ends with "commit":
  /// a `lose_answer` there leaves all of the call's changes, at every other point none. A store that never
  /// asks passes, but is not tested for failures.
  FaultPlan* faults = nullptr;
};

/// Bytes that a store keeps for itself, and finds damaged one day.
struct Damage {
  enum class To : std::uint8_t {
    waits,     ///< what the instance waits for
    code,      ///< which code the instance needs: it refers to something that is missing
    messages,  ///< bodies that the store has made (store::decode_body()), of unread messages of the instance
    policy,    ///< what was agreed for the session
    worker,    ///< what workers of the node said when they joined
  };
  To to{};
  std::string id{};     ///< of the instance or session, or the node
  std::string bytes{};  ///< that stand there from now on: no store can decode them
};

/// One database, empty when it is made and removed with this object. All stores that it opens see the same
/// data, as if they were opened by several processes; all of them are closed before it is destroyed.
class StoreDatabase {
 public:
  virtual ~StoreDatabase() = default;
  virtual std::shared_ptr<Store> open(const StoreSetup& setup) = 0;
  /// Damages rows behind the back of all stores; answers how many. Called if StoreUnderTest::damages_rows.
  virtual std::uint64_t damage(const Damage& /*damage*/) { return 0; }
};

struct StoreUnderTest {
  std::string name{};
  std::function<std::unique_ptr<StoreDatabase>()> make{};
  /// Whether rows can be damaged: the part of the suite that does so is left out else. For stores that keep
  /// bytes of their own.
  bool damages_rows = false;
};

/// Adds the whole suite to this program's tests. Call it before RUN_ALL_TESTS(). It returns true, so that it
/// can initialise a global.
bool register_conformance_tests(StoreUnderTest store);

}  // namespace holdfast::testing
