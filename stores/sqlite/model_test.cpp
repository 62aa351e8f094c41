// The SQLite store does what the model of the contract does, call by call. HOLDFAST_MODEL_PROGRAMS=10000 and
// its siblings (holdfast/testing/model_comparison.hpp) search longer.
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/testing/model_comparison.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast::sqlite_store::model_test {
namespace {

using support::TemporaryFolder;
using testing::OpenHandle;
using testing::StoreSubject;

// [snippet model]
// No power is cut here: nothing waits for the disk.
StoreSubject sqlite_subject() {
  return {"sqlite", [](const Clock& clock) -> OpenHandle {
            return [&clock, folder = std::make_shared<TemporaryFolder>()](const std::string& ns) {
              return sqlite(*folder / "model.db", {.ns = ns, .durability = Durability::off, .clock = &clock});
            };
          }};
}

TEST(SqliteModel, DoesWhatTheModelDoes) {
  const auto options =
      testing::from_environment({.programs = 40,
                                 .command = "build/dev/stores/sqlite/sqlite_model_tests "
                                            "--gtest_filter=SqliteModel.DoesWhatTheModelDoes"});
  const auto difference = compare_with_model(sqlite_subject(), options);
  EXPECT_FALSE(difference) << to_string(*difference);
}
// [/snippet]

}  // namespace
}  // namespace holdfast::sqlite_store::model_test
