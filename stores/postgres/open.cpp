#include "open.hpp"

#include "schema.hpp"
#include "statements.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>

#include <array>
#include <optional>

namespace holdfast::postgres_store {

namespace {

using Why = StoreOpenError::Kind;

constexpr Statement kVersion{"open.version", "SELECT current_setting('server_version_num')::integer"};
constexpr Statement kHasMigrations{
    "open.has_migrations",
    "SELECT count(*) FILTER (WHERE c.relname = 'migrations'), count(*) FROM pg_class AS c JOIN pg_namespace"
    " AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'"};
constexpr Statement kNewest{"open.newest", "SELECT max(number) FROM migrations"};
constexpr Statement kLock{"open.lock", "SELECT pg_advisory_lock(hashtext('holdfast'), hashtext($1))"};
/// The server that answers: it is another one after a failover, or when a backup was restored.
constexpr Statement kServer{
    "open.server",
    "SELECT (SELECT system_identifier FROM pg_control_system())::text,"
    " CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,"
    " server, timeline FROM deployment WHERE id = 1"};

/// The first column of the only row.
std::int64_t number(Connection& connection, const Statement& statement, const Parameters& parameters) {
  connection.queue(statement, parameters);
  const std::vector<Answer> answers = connection.exchange();
  return answers.front().rows() == 0 ? 0 : answers.front().integer(0, 0);
}

/// The newest migration that ran there; none when there is no schema of Holdfast's.
std::optional<std::int32_t> newest_in(Connection& connection, const std::string& schema) {
  connection.queue(kHasMigrations, Parameters(schema));
  const std::vector<Answer> answers = connection.exchange();
  const bool there = answers.front().integer(0, 0) > 0;
  if (!there && answers.front().integer(0, 1) > 0) {
    throw StoreOpenError(Why::not_a_store, "the schema '" + schema +
                                               "' has tables of another program: name another one in "
                                               "PostgresOptions::schema");
  }
  if (!there) return std::nullopt;
  return static_cast<std::int32_t>(number(connection, kNewest, Parameters()));
}

void refuse_newer(const std::string& schema, std::int32_t there, std::int32_t known) {
  if (there <= known) return;
  throw StoreOpenError(Why::newer, "the schema '" + schema + "' is of version " + std::to_string(there) +
                                       ", this library knows version " + std::to_string(known) +
                                       ": use a newer library");
}

void bring_up_to_date(Connection& connection, const std::string& schema, std::span<const Migration> known) {
  number(connection, kLock, Parameters(schema));
  const std::optional<std::int32_t> there = newest_in(connection, schema);
  refuse_newer(schema, there.value_or(0), known.back().number);
  try {
    if (!there) connection.run("CREATE SCHEMA IF NOT EXISTS " + quoted(schema));
    for (const Migration& migration : known) {
      if (migration.number <= there.value_or(0)) continue;
      connection.run("BEGIN;" + std::string(migration.sql) + ";COMMIT");
    }
  } catch (const SqlError& error) {
    connection.rollback();
    if (error.state != "42501") throw;
    throw StoreOpenError(Why::read_only,
                         "the schema '" + schema + "' has to be " + (there ? "brought up to date" : "made") +
                             ", and this role may not: let one that may run the SQL files that are installed "
                             "with the library (docs/postgres.md)");
  }
  connection.run("SELECT pg_advisory_unlock_all()");
}

/// A server that took over from another may have lost the last commits of it. Whatever was held then is free:
/// locks, sessions; and numbers that may have been given are given no more.
void adopt_server(Connection& connection, Logger* logger) {
  connection.queue(kServer, Parameters());
  const std::vector<Answer> answers = connection.exchange();
  Row row(answers.front(), 0);
  const auto server = row.next<std::string>();
  const auto timeline = row.next<std::string>();
  const auto known_server = row.next<std::string>();
  const auto known_timeline = row.next<std::string>();
  if (timeline.empty() || (server == known_server && timeline == known_timeline)) return;
  if (!known_server.empty()) {
    if (logger != nullptr) {
      log(*logger, LogLevel::warn, "another server has taken over: all locks and sessions are given up",
          {{"timeline", timeline}, {"before", known_timeline}});
    }
    connection.run(std::string(kFailover));
  }
  connection.run("UPDATE deployment SET server = '" + server + "', timeline = '" + timeline +
                 "' WHERE id = 1");
}

[[noreturn]] void cannot_open(const SqlError& error) {
  const std::string why = error.what();
  if (error.state.starts_with("3D") || error.state.starts_with("28")) {
    throw StoreOpenError(Why::not_a_store, "the database can't be opened: " + why);
  }
  if (error.state == "53100") throw StoreOpenError(Why::disk_full, "the server's disk is full: " + why);
  if (error.state.starts_with("53")) throw StoreOpenError(Why::busy, "the server has no room: " + why);
  throw StoreOpenError(Why::unavailable, "the server can't be used now: " + why);
}

}  // namespace

std::span<const Migration> migrations() {
  static constexpr std::array kAll{Migration{1, kMigration1}};
  return kAll;
}

// Statements find their rows by indexes, in the order of their joins, however old the statistics are.
ConnectionSetup connection_setup(std::string_view uri, const PostgresOptions& options) {
  return {.uri = std::string(uri),
          .schema = options.schema,
          .settings =
              "SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
              "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET "
              "join_collapse_limit = 1;"
              "SET statement_timeout = " +
              std::to_string(options.timeout.count()) +
              "; SET idle_in_transaction_session_timeout = " + std::to_string(options.timeout.count()) +
              "; SET synchronous_commit = " + (options.wait_for_disk ? "on" : "off"),
          // The server ends what takes too long, and says so: it has a moment for that.
          .silence = options.timeout + std::chrono::seconds(1)};
}

std::int32_t open_schema(const ConnectionSetup& setup, const PostgresOptions& options,
                         std::span<const Migration> known) {
  try {
    Connection connection(setup);
    if (number(connection, kVersion, Parameters()) < 150'000) {
      throw StoreOpenError(Why::not_a_store, "the server is older than PostgreSQL 15");
    }
    const std::int32_t newest = newest_in(connection, setup.schema).value_or(0);
    refuse_newer(setup.schema, newest, known.back().number);
    if (newest < known.back().number) bring_up_to_date(connection, setup.schema, known);
    adopt_server(connection, options.logger);
    return static_cast<std::int32_t>(number(connection, sql::kInternNamespace, Parameters(options.ns)));
  } catch (const SqlError& error) {
    cannot_open(error);
  }
}

}  // namespace holdfast::postgres_store
