// Migrations: how a database file gets the schema that this version of Holdfast works with.
#pragma once

#include "connection.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::sqlite_store {

/// "Hldf": stands in the header of our files (PRAGMA application_id), so that others are told apart.
inline constexpr std::int32_t kApplicationId = 0x486c6466;

/// What the file says about itself, apart from the store's rows: such as which migrations ran.
inline constexpr std::string_view kMetaSchema =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID, STRICT";

/// One step forward; there is none back. Once released it never changes.
struct Migration {
  int number = 0;  ///< one more than that of the last; the highest that ran is the file's PRAGMA user_version
  std::string_view name{};
  std::string_view sql{};
  bool outlasts_leases = false;  ///< may take so long that engines at work would lose what they hold
};

struct MigrationPlan {
  /// The first makes a new file. Files from before it are refused.
  std::span<const Migration> migrations{};
  /// How many engines are at work on the file. Asked inside the write transaction, before anything is
  /// changed, and only when a migration that outlasts leases is to run.
  std::function<std::int64_t(Connection&)> live_engines{};

  [[nodiscard]] int oldest() const noexcept { return migrations.front().number; }
  [[nodiscard]] int newest() const noexcept { return migrations.back().number; }
};

/// Why a file was left as it was.
struct MigrationRefused : std::runtime_error {
  enum class Reason : std::uint8_t { foreign, newer, older, engines_at_work };
  MigrationRefused(Reason reason_, const std::string& message)
      : std::runtime_error(message), reason(reason_) {}

  Reason reason;
};

/// Brings the file of `database` to the newest schema, a new file from nothing: all or nothing, in one
/// transaction, so any number of processes may do it at once and a crash undoes it. Does not write when there
/// is nothing to do. Throws MigrationRefused or SqlError, having changed nothing. True when it changed
/// something.
bool migrate(Connection& database, const MigrationPlan& plan);

}  // namespace holdfast::sqlite_store
