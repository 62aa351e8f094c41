#include "open.hpp"

#include "adopt.hpp"
#include "base/utf8.hpp"
#include "contract/namespaces.hpp"
#include "schema.hpp"
#include "statements.hpp"
#include "uri.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace holdfast::postgres_store {

namespace {

using Why = StoreOpenError::Kind;

constexpr Statement kVersion{"open.version", "SELECT current_setting('server_version_num')::integer"};
constexpr Statement kEncoding{"open.encoding", "SELECT current_setting('server_encoding')"};
constexpr Statement kHasMigrations{
    "open.has_migrations",
    "SELECT count(*) FILTER (WHERE c.relname = 'migrations'), count(*) FROM pg_class AS c JOIN pg_namespace"
    " AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'"};
constexpr Statement kNewest{"open.newest", "SELECT max(number) FROM migrations"};
constexpr Statement kLock{"open.lock", "SELECT pg_advisory_lock(hashtext('holdfast'), hashtext($1))"};
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
  const auto newest = static_cast<std::int32_t>(number(connection, kNewest, Parameters()));
  if (newest == 0) {
    throw StoreOpenError(Why::corrupt,
                         "the table 'migrations' in the schema '" + schema +
                             "' is empty, so the version of the other tables is unknown: restore "
                             "it from a backup");
  }
  return newest;
}

// Names and ids are UTF-8, and others would change or refuse some of them.
void refuse_other_encoding(Connection& connection) {
  connection.queue(kEncoding, Parameters());
  const std::vector<Answer> answers = connection.exchange();
  const std::string encoding(answers.front().bytes(0, 0));
  if (encoding == "UTF8") return;
  throw StoreOpenError(Why::not_a_store,
                       "the database has the encoding " + encoding +
                           ", and the store needs UTF8: make another one with CREATE DATABASE name ENCODING "
                           "'UTF8' TEMPLATE template0");
}

void refuse_newer(const std::string& schema, std::int32_t there, std::int32_t known) {
  if (there <= known) return;
  throw StoreOpenError(Why::newer, "the schema '" + schema + "' is of version " + std::to_string(there) +
                                       ", this library knows version " + std::to_string(known) +
                                       ": use a newer library");
}

void refuse_older(const std::string& schema, std::int32_t there, std::int32_t known) {
  if (there == known) return;
  if (there == 0) {
    throw StoreOpenError(Why::missing,
                         "the database has no schema '" + schema +
                             "', and read_only does not create it; name another one, or open it "
                             "once without read_only");
  }
  throw StoreOpenError(Why::read_only,
                       "the schema '" + schema + "' is of version " + std::to_string(there) +
                           ", this library works with version " + std::to_string(known) +
                           ", and read_only does not upgrade it; open it once without read_only");
}

/// Every transaction reads this table before it writes anything, and what it finds there stays true until its
/// end: none is under way while the schema changes, and the next one finds the new number.
constexpr const char* kHoldOthersOff = "LOCK TABLE deployment IN ACCESS EXCLUSIVE MODE;";

void bring_up_to_date(Connection& connection, const PostgresOptions& options,
                      std::span<const Migration> known) {
  const std::string& schema = options.schema;
  number(connection, kLock, Parameters(schema));
  const std::optional<std::int32_t> there = newest_in(connection, schema);
  if (!there && !options.create) {
    throw StoreOpenError(Why::missing, "the database has no schema '" + schema +
                                           "', and it is not to be created; name another one, or set "
                                           "PostgresOptions::create");
  }
  refuse_newer(schema, there.value_or(0), known.back().number);
  try {
    if (!there) connection.run("CREATE SCHEMA IF NOT EXISTS " + quoted(schema));
    for (const Migration& migration : known) {
      if (migration.number <= there.value_or(0)) continue;
      connection.run("BEGIN;" + std::string(there ? kHoldOthersOff : "") + std::string(migration.sql) +
                     ";COMMIT");
    }
  } catch (const SqlError& error) {
    connection.rollback();
    if (error.state != "42501") throw;
    throw StoreOpenError(there ? Why::read_only : Why::no_schema,
                         "the schema '" + schema + "' has to be " + (there ? "upgraded" : "created") +
                             ", and this role lacks the right: let a role that has it run the SQL files that "
                             "are installed with the library (docs/postgres.md)");
  }
  connection.run("SELECT pg_advisory_unlock_all()");
}

/// What the server said by its SQLSTATE, in words that tell what to do.
[[noreturn]] void cannot_open(const SqlError& error) {
  const std::string why = error.what();
  const std::string& state = error.state;
  if (state == "3D000") {
    throw StoreOpenError(Why::no_database,
                         "the server has no such database; create it, or name another one: " + why);
  }
  if (state == "28P01") {
    throw StoreOpenError(Why::no_access, "the password of this role is wrong or missing: " + why);
  }
  if (state.starts_with("28")) {
    throw StoreOpenError(Why::no_access,
                         "the server does not let this role in; create it, or look into pg_hba.conf: " + why);
  }
  if (state == "42501" || state == "42P01") {  // tables in a schema that it may not use are not there
    throw StoreOpenError(Why::no_access,
                         "the role lacks a right; docs/postgres.md has those that it needs: " + why);
  }
  if (state == kIncomplete) throw StoreOpenError(Why::corrupt, why);
  if (state == "42939") throw StoreOpenError(Why::invalid, "the schema can't have that name: " + why);
  if (state == "53100") throw StoreOpenError(Why::disk_full, "the server's disk is full: " + why);
  if (state.starts_with("53")) throw StoreOpenError(Why::busy, "the server has no room: " + why);
  throw StoreOpenError(Why::unavailable, "the server can't be used now: " + why);
}

/// What makes a server refuse a connection is told apart by asking once more.
std::unique_ptr<Connection> connect(const ConnectionSetup& setup) {
  try {
    return std::make_unique<Connection>(setup);
  } catch (const SqlError& error) {
    if (!error.state.empty()) throw;
    if (is_never_tried(setup)) {
      throw StoreOpenError(Why::invalid,
                           "no server can be reached with this PostgreSQL URI: " + std::string(error.what()));
    }
    throw SqlError(state_of_refusal(setup), error.what());
  }
}

// What the server takes for its own timeouts.
void check_timeout(std::chrono::milliseconds timeout) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  if (timeout.count() >= 0 && timeout.count() <= kLongest) return;
  throw StoreOpenError(Why::invalid, "PostgresOptions::timeout is " + std::to_string(timeout.count()) +
                                         " ms; it may be 0 to " + std::to_string(kLongest));
}

// The server cuts longer names off: two of them could be one.
void check_schema(const std::string& schema) {
  constexpr std::size_t kLongest = 63;
  if (!detail::is_utf8(schema)) {
    throw StoreOpenError(Why::invalid, "PostgresOptions::schema is not valid UTF-8");
  }
  if (!schema.empty() && schema.size() <= kLongest && schema.find('\0') == std::string::npos) return;
  throw StoreOpenError(Why::invalid, "PostgresOptions::schema has " + std::to_string(schema.size()) +
                                         " bytes; a name in PostgreSQL has 1 to " + std::to_string(kLongest));
}

}  // namespace

std::span<const Migration> migrations() {
  static constexpr std::array kAll{Migration{1, kMigration1}, Migration{2, kMigration2},
                                   Migration{3, kMigration3}, Migration{4, kMigration4},
                                   Migration{5, kMigration5}, Migration{6, kMigration6},
                                   Migration{7, kMigration7}, Migration{8, kMigration8}};
  return kAll;
}

// Statements find their rows by indexes, in the order of their joins, however old the statistics are. Limits
// that the role or the database sets for others would end connections that wait for work, or calls that take
// no longer than they may; `transaction_timeout` came with PostgreSQL 17.
ConnectionSetup connection_setup(std::string_view uri, const PostgresOptions& options) {
  store::check_namespace(options.ns);
  check_uri(std::string(uri));
  check_schema(options.schema);
  check_timeout(options.timeout);
  return {.uri = std::string(uri),
          .schema = options.schema,
          .settings =
              "SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
              "SET max_parallel_workers_per_gather = 0; SET enable_bitmapscan = off; SET enable_hashjoin = "
              "off; SET enable_mergejoin = off; SET "
              "join_collapse_limit = 1;"
              "SET statement_timeout = " +
              std::to_string(options.timeout.count()) +
              "; SET idle_in_transaction_session_timeout = " + std::to_string(options.timeout.count()) +
              "; SET idle_session_timeout = 0; SET lock_timeout = 0;"
              "SELECT set_config('transaction_timeout', '0', false)"
              " WHERE current_setting('transaction_timeout', true) IS NOT NULL"
              "; SET synchronous_commit = " +
              (options.wait_for_disk ? "on" : "off"),
          // The server ends what takes too long, and says so: it has a moment for that.
          .silence = options.timeout + std::chrono::seconds(1)};
}

std::int32_t intern_namespace(Connection& connection, const std::string& ns) {
  return static_cast<std::int32_t>(number(connection, sql::kInternNamespace, Parameters(ns)));
}

/// One that is not to be made.
std::int32_t find_namespace(Connection& connection, const std::string& ns, store::NotMade why) {
  constexpr Statement kFind{"open.namespace", "SELECT id FROM namespaces WHERE name = $1"};
  const std::int64_t found = number(connection, kFind, Parameters(ns));
  if (found == 0) store::refuse_missing_namespace(ns, why);
  return static_cast<std::int32_t>(found);
}

std::int32_t open_schema(const ConnectionSetup& setup, const PostgresOptions& options,
                         std::span<const Migration> known) {
  try {
    const std::unique_ptr<Connection> made = connect(setup);
    Connection& connection = *made;
    if (number(connection, kVersion, Parameters()) < 150'000) {
      throw StoreOpenError(Why::not_a_store, "the server is older than PostgreSQL 15");
    }
    refuse_other_encoding(connection);
    const std::int32_t newest = newest_in(connection, setup.schema).value_or(0);
    refuse_newer(setup.schema, newest, known.back().number);
    if (options.read_only) {
      refuse_older(setup.schema, newest, known.back().number);
      return find_namespace(connection, options.ns, store::NotMade::read_only);
    }
    if (newest < known.back().number) bring_up_to_date(connection, options, known);
    adopt_server(connection, options.logger);
    if (!options.create) return find_namespace(connection, options.ns, store::NotMade::create_is_false);
    return intern_namespace(connection, options.ns);
  } catch (const SqlError& error) {
    cannot_open(error);
  }
}

}  // namespace holdfast::postgres_store
