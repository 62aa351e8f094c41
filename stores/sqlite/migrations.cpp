#include "migrations.hpp"

#include "lease_clock.hpp"

#include <holdfast/version.hpp>

#include <algorithm>
#include <string>

namespace holdfast::sqlite_store {

namespace {

using Reason = MigrationRefused::Reason;

bool in_transaction(Connection& database, std::string_view begin, const std::function<bool()>& work) {
  database.exec(begin);
  try {
    const bool result = work();
    database.commit();
    return result;
  } catch (...) {
    database.rollback();
    throw;
  }
}

bool is_empty(Connection& database) { return database.int64_of("SELECT count(*) FROM sqlite_schema") == 0; }

void refuse_while_engines_run(Connection& database, const MigrationPlan& plan,
                              std::span<const Migration> pending) {
  const auto slow = std::ranges::find_if(pending, &Migration::outlasts_leases);
  if (slow == pending.end() || !plan.live_engines) return;
  const std::int64_t engines = plan.live_engines(database);
  if (engines == 0) return;
  throw MigrationRefused(Reason::engines_at_work,
                         "the upgrade to schema " + std::to_string(slow->number) + " (" +
                             std::string(slow->name) + ") takes long, and " + std::to_string(engines) +
                             " workers are at work on the file; stop them, then open it again");
}

void run(Connection& database, const Migration& migration) {
  database.exec(migration.sql);
  database.prepare("INSERT INTO meta (key, value) VALUES ('migration ' || ?, ? || ', by Holdfast ' || ?)")
      .run(migration.number, migration.name, std::string_view(HOLDFAST_VERSION));
}

void begin_file(Connection& database) {
  database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.exec(kMetaSchema);
  database.exec(kLeaseClockSchema);
}

// Inside a write transaction.
void migrate_from(Connection& database, const MigrationPlan& plan, int version) {
  const auto first =
      std::ranges::find_if(plan.migrations, [&](const Migration& m) { return m.number > version; });
  const std::span<const Migration> pending(first, plan.migrations.end());
  if (version == 0) {
    begin_file(database);
  } else {
    refuse_while_engines_run(database, plan, pending);
  }
  for (const Migration& migration : pending) run(database, migration);
  database.exec("PRAGMA user_version = " + std::to_string(plan.newest()));
}

// Inside a transaction, or another process might change the answers from one question to the next. 0: the
// file is empty.
int checked_version(Connection& database, const MigrationPlan& plan) {
  const auto application = database.int64_of("PRAGMA application_id");
  const auto version = database.int64_of("PRAGMA user_version");
  if (application == 0 && version == 0 && is_empty(database)) return 0;
  if (application != kApplicationId || version < 1) {
    throw MigrationRefused(Reason::foreign, "it is the database of another program");
  }
  if (version > plan.newest()) {
    throw MigrationRefused(Reason::newer, "its schema is " + std::to_string(version) +
                                              ", written by a newer version of Holdfast; this one (" +
                                              HOLDFAST_VERSION + ") knows schemas up to " +
                                              std::to_string(plan.newest()));
  }
  if (version < plan.oldest()) {
    throw MigrationRefused(Reason::older, "its schema is " + std::to_string(version) +
                                              ", of a version before the first release; this one (" +
                                              HOLDFAST_VERSION + ") begins with schema " +
                                              std::to_string(plan.oldest()));
  }
  return static_cast<int>(version);
}

}  // namespace

bool migrate(Connection& database, const MigrationPlan& plan) {
  // Most files are up to date, which costs no turn at the write lock.
  if (in_transaction(database, "BEGIN", [&] { return checked_version(database, plan) == plan.newest(); })) {
    return false;
  }
  return in_transaction(database, "BEGIN IMMEDIATE", [&] {
    const int version = checked_version(database, plan);  // another process may have been first
    if (version == plan.newest()) return false;
    migrate_from(database, plan, version);
    return true;
  });
}

}  // namespace holdfast::sqlite_store
