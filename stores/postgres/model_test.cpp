// The PostgreSQL store does what the model of the contract does, call by call. HOLDFAST_MODEL_PROGRAMS=10000
// and its siblings (holdfast/testing/model_comparison.hpp) search longer.
#include "server_test.hpp"

#include <holdfast/testing/model_comparison.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast::postgres_store::model_test {
namespace {

using testing::OpenHandle;
using testing::StoreSubject;

StoreSubject postgres_subject() {
  return {"postgres", [](const Clock& clock) -> OpenHandle {
            return [&clock, schema = std::make_shared<TestSchema>()](const std::string& ns) {
              return schema->open({.ns = ns, .clock = &clock});
            };
          }};
}

TEST(PostgresModel, DoesWhatTheModelDoes) {
  const auto options =
      testing::from_environment({.programs = 40,
                                 .command = "build/dev/stores/postgres/postgres_model_tests "
                                            "--gtest_filter=PostgresModel.DoesWhatTheModelDoes"});
  const auto difference = compare_with_model(postgres_subject(), options);
  EXPECT_FALSE(difference) << to_string(*difference);
}

}  // namespace
}  // namespace holdfast::postgres_store::model_test
