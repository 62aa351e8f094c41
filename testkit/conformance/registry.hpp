// How a test of the suite becomes one of GoogleTest's, once for each store.
#pragma once

#include "testkit/conformance/world.hpp"

#include <holdfast/testing/conformance.hpp>

#include <memory>
#include <type_traits>

namespace holdfast::testing::conformance {

/// A test: a world with one store in it, and what happens there.
class Story : public World {
 public:
  using World::World;
  virtual void run() = 0;
};

struct StoryInfo {
  const char* suite = nullptr;
  const char* name = nullptr;
  const char* file = nullptr;
  int line = 0;
  std::unique_ptr<Story> (*make)(const StoreUnderTest& store) = nullptr;
  bool damages_rows = false;
};

/// Stories and stores may come in any order, also while globals are being initialised: each meets all others.
bool add_story(const StoryInfo& story);

}  // namespace holdfast::testing::conformance

/// Opens a file of the suite; `name` is the file's. Without it the linker would leave out an object file that
/// nobody calls.
#define HOLDFAST_CONFORMANCE_FILE(name)             \
  namespace holdfast::testing::conformance::files { \
  void name(); /* called by the registry */         \
  void name() {}                                    \
  }                                                 \
  static_assert(true)

/// STORE_TEST(TurnLocks, OneFetchLocksAllWithItsToken) { ... }: the body is a member of a Story.
#define STORE_TEST(suite_name, test_name) HOLDFAST_STORY(suite_name, test_name, false)
/// The same for stores whose rows can be damaged.
#define DAMAGE_TEST(suite_name, test_name) HOLDFAST_STORY(suite_name, test_name, true)
#define HOLDFAST_STORY(suite_name, test_name, needs_damage)                  \
  struct suite_name##_##test_name final : Story {                            \
    using Story::Story;                                                      \
    void run() override;                                                     \
    static const bool kAdded;                                                \
  };                                                                         \
  const bool suite_name##_##test_name::kAdded =                              \
      add_story({#suite_name, #test_name, __FILE__, __LINE__,                \
                 [](const StoreUnderTest& store) -> std::unique_ptr<Story> { \
                   return std::make_unique<suite_name##_##test_name>(store); \
                 },                                                          \
                 needs_damage});                                             \
  void suite_name##_##test_name::run()
