// Tests of what users see, on each store that comes with the library.
#pragma once

#include "program_test.hpp"
#include "stores/postgres/server_test.hpp"
#include "testkit/support/eventually.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::e2e {

using support::eventually;

enum class Kept : std::uint8_t { in_memory, in_a_file, on_a_server };

/// Runtimes and clients on one database.
class OnEachStore : public ::testing::TestWithParam<Kept> {
 protected:
  using Run = holdfast::Run;  // not the test framework's own

  /// One more handle of the database; its calls fail as `plan` says.
  std::shared_ptr<Store> store(FaultPlan* plan = nullptr) {
    if (GetParam() == Kept::in_a_file) return sqlite(folder / "app.db", {.faults = plan});
    if (GetParam() == Kept::on_a_server) {
      if (!schema) schema.emplace();
      return schema->open({.faults = plan});
    }
    return memory({.database = database, .faults = plan});
  }

  /// The name of the same place to fail, in each store.
  static std::string_view point(std::string_view in_memory, std::string_view in_a_file,
                                std::string_view on_a_server) {
    if (GetParam() == Kept::in_memory) return in_memory;
    return GetParam() == Kept::in_a_file ? in_a_file : on_a_server;
  }

  /// A runtime that has started, with the code that `add` registers.
  std::unique_ptr<Runtime> runtime(RuntimeOptions options, const std::function<void(Runtime&)>& add) {
    if (!options.logger) options.logger = log;
    if (options.activity_slots == 0) options.activity_slots = 4;
    auto rt = std::make_unique<Runtime>(store(), std::move(options));
    add(*rt);
    rt->start();
    return rt;
  }
  std::unique_ptr<Runtime> runtime(const std::function<void(Runtime&)>& add) { return runtime({}, add); }

  TemporaryFolder folder;
  std::shared_ptr<MemoryDatabase> database = memory_database();
  std::optional<postgres_store::TestSchema> schema{};
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
};

inline std::string kept_name(const ::testing::TestParamInfo<Kept>& info) {
  switch (info.param) {
    case Kept::in_a_file:
      return "Sqlite";
    case Kept::on_a_server:
      return "Postgres";
    case Kept::in_memory:
      break;
  }
  return "Memory";
}

#define HOLDFAST_ON_EACH_STORE(Fixture)                                                            \
  INSTANTIATE_TEST_SUITE_P(OnEachStore, Fixture,                                                   \
                           ::testing::Values(Kept::in_memory, Kept::in_a_file, Kept::on_a_server), \
                           kept_name)

/// The first wait of this kind; the test fails when there is none.
inline RunWait wait_of(const RunDetail& detail, RunWait::Kind kind) {
  for (const RunWait& wait : detail.waits) {
    if (wait.kind == kind) return wait;
  }
  ADD_FAILURE() << "it does not wait for anything of this kind";
  return {};
}

inline bool waits_for(const RunDetail& detail, RunWait::Kind kind, std::string_view name) {
  for (const RunWait& wait : detail.waits) {
    if (wait.kind == kind && wait.name == name) return true;
  }
  return false;
}

}  // namespace holdfast::e2e
