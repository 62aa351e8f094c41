#include "store_plan.hpp"

#include "lease_clock.hpp"
#include "schema.hpp"

#include <array>
#include <chrono>

namespace holdfast::sqlite_store {

namespace {

/// Numbers before this one were schemas before the first release.
constexpr std::array kMigrations{
    Migration{.number = 5, .name = "the first schema", .sql = kSchema},
    Migration{.number = 6, .name = "who waits for the end of an instance", .sql = kEndWatchers},
    Migration{.number = 7, .name = "instances that any worker may terminate", .sql = kTerminating},
    Migration{.number = 8, .name = "questions between processes", .sql = kAsks},
    Migration{.number = 9, .name = "search attributes, and counts by status", .sql = kAttributes}};

constexpr std::chrono::microseconds kSilence = std::chrono::minutes{1};

}  // namespace

MigrationPlan store_plan(const Clock& clock) {
  return {.migrations = kMigrations,
          .live_engines = [&clock](Connection& database) { return live_engines(database, clock); }};
}

std::int64_t live_engines(Connection& database, const Clock& clock) {
  const std::int64_t now = LeaseClock(database, clock).now();
  Statement count = database.prepare("SELECT count(*) FROM workers WHERE superseded = 0 AND seen > ?");
  Cursor row(count, now - kSilence.count());
  return row.next() ? row->int64(0) : 0;
}

}  // namespace holdfast::sqlite_store
