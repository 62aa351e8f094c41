#include "audit.hpp"

#include <utility>

namespace holdfast::torture {

using postgres_store::Answer;
using postgres_store::Connection;
using postgres_store::Parameters;
using postgres_store::Statement;

namespace {

// An instance that has ended must not change any more: that would be noted as one more end.
constexpr const char* kBegin = R"sql(
CREATE EXTENSION amcheck SCHEMA public;
CREATE SCHEMA audit;
CREATE TABLE audit.ends (name text NOT NULL);
CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO audit.ends VALUES (NEW.name); RETURN NULL; END $$;
CREATE TRIGGER note_end AFTER UPDATE ON instances FOR EACH ROW
  WHEN (NEW.status >= 3 AND (OLD.status <> NEW.status OR OLD.output IS DISTINCT FROM NEW.output))
  EXECUTE FUNCTION audit.note())sql";

constexpr Statement kEnds{"audit.ends", "SELECT name, count(*) FROM audit.ends GROUP BY name"};
constexpr Statement kTables{
    "audit.tables",
    "SELECT c.relname::text, pg_table_size(c.oid), pg_indexes_size(c.oid),"
    " (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || c.oid::regclass, false, true,"
    " '')))[1]::text::bigint FROM pg_class AS c WHERE c.relnamespace = current_schema::regnamespace"
    " AND c.relkind = 'r' ORDER BY pg_total_relation_size(c.oid) DESC, 1"};
constexpr Statement kDeadlocks{"audit.deadlocks", "SELECT sum(deadlocks)::bigint FROM pg_stat_database"};
constexpr Statement kIntegrity{
    "audit.integrity",
    "SELECT public.bt_index_check(c.oid, true) FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid"
    " WHERE c.relnamespace = current_schema::regnamespace AND i.indisvalid"};

Answer ask(Connection& connection, const Statement& statement) {
  connection.queue(statement, Parameters());
  return std::move(connection.exchange().front());
}

}  // namespace

Audit::Audit(std::string uri) : uri_(std::move(uri)) { reconnect(); }

void Audit::reconnect() {
  connection_ =
      std::make_unique<Connection>(postgres_store::ConnectionSetup{.uri = uri_, .schema = "holdfast"});
}

void Audit::begin() { connection_->run(kBegin); }

Problems Audit::ends(const std::set<std::string>& expected) {
  Problems problems;
  std::set<std::string> missing = expected;
  const Answer answer = ask(*connection_, kEnds);
  for (int row = 0; row < answer.rows(); ++row) {
    const std::string name(answer.bytes(row, 0));
    const std::int64_t times = answer.integer(row, 1);
    if (times != 1) problems.push_back(name + " ended " + std::to_string(times) + " times");
    if (!expected.contains(name)) problems.push_back(name + " ended, and nobody started it");
    missing.erase(name);
  }
  for (const std::string& name : missing) problems.push_back(name + " never ended");
  return problems;
}

std::vector<Table> Audit::tables() {
  std::vector<Table> tables;
  const Answer answer = ask(*connection_, kTables);
  for (int row = 0; row < answer.rows(); ++row) {
    tables.push_back({.name = std::string(answer.bytes(row, 0)),
                      .rows = answer.integer(row, 3),
                      .heap = answer.integer(row, 1),
                      .indexes = answer.integer(row, 2)});
  }
  return tables;
}

// The server forgets its statistics in a crash.
std::int64_t Audit::deadlocks() {
  const std::int64_t all = ask(*connection_, kDeadlocks).integer(0, 0);
  const std::int64_t more = all - (all < known_deadlocks_ ? 0 : known_deadlocks_);
  known_deadlocks_ = all;
  return more;
}

void Audit::vacuum() { connection_->run("VACUUM"); }

Problems Audit::integrity() {
  try {
    ask(*connection_, kIntegrity);
    return {};
  } catch (const postgres_store::SqlError& error) {
    return {std::string("integrity: ") + error.what()};
  }
}

}  // namespace holdfast::torture
