#include "adopt.hpp"

#include "schema.hpp"

#include <holdfast/log.hpp>

namespace holdfast::postgres_store {

namespace {

#define HOLDFAST_SERVER                                                                                     \
  "SELECT (SELECT system_identifier FROM pg_control_system())::text, CASE WHEN pg_is_in_recovery() THEN ''" \
  " ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END, server, timeline FROM deployment"         \
  " WHERE id = 1"
constexpr Statement kServer{"adopt.server", HOLDFAST_SERVER};
constexpr Statement kServerLocked{"adopt.server_locked", HOLDFAST_SERVER " FOR UPDATE"};
constexpr Statement kAdopted{"adopt.adopted",
                             "UPDATE deployment SET server = $1, timeline = $2 WHERE id = 1"};

/// The one that answers, and the one that the tables were written by.
struct Servers {
  std::string server{};
  std::string timeline{};  ///< of a standby: empty
  std::string known_server{};
  std::string known_timeline{};
  [[nodiscard]] bool same() const { return server == known_server && timeline == known_timeline; }
};

Servers servers(Connection& connection, const Statement& statement) {
  connection.queue(statement, Parameters());
  const std::vector<Answer> answers = connection.exchange();
  if (answers.front().rows() == 0) throw missing_deployment();
  Row row(answers.front(), 0);
  Servers found;
  found.server = row.next<std::string>();
  found.timeline = row.next<std::string>();
  found.known_server = row.next<std::string>();
  found.known_timeline = row.next<std::string>();
  if (found.timeline.empty()) {
    throw SqlError("25006",
                   "the server is a standby, which takes no writes: name all servers in the URI, and say "
                   "target_session_attrs=read-write");
  }
  return found;
}

}  // namespace

bool adopt_server(Connection& connection, Logger* logger) {
  if (servers(connection, kServer).same()) return false;
  connection.run("BEGIN");
  const Servers found = servers(connection, kServerLocked);
  const bool new_tables = found.known_server.empty();
  if (!found.same()) {
    if (!new_tables) connection.run(std::string(kFailover));
    connection.queue(kAdopted, Parameters(found.server, found.timeline));
    connection.exchange();
  }
  connection.run("COMMIT");
  if (found.same() || new_tables) return false;
  if (logger != nullptr) {
    log(*logger, LogLevel::warn, "another server has taken over: all locks and sessions are given up",
        {{"timeline", found.timeline}, {"before", found.known_timeline}});
  }
  return true;
}

}  // namespace holdfast::postgres_store
