// What a sweep looks for is what the rules act on: see stores/rules/sweep_conditions_test.hpp.
#include "stores/rules/sweep_conditions_test.hpp"

#include "conditions.hpp"
#include "connection.hpp"
#include "parameters.hpp"
#include "server_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::postgres_store::sweep_conditions_test {
namespace {

using rules::Session;
using rules::sweep_conditions::at;
using rules::sweep_conditions::count;
using rules::sweep_conditions::expect_to_find_what_the_rules_act_on;
using rules::sweep_conditions::kEnded;
using rules::sweep_conditions::kNow;
using rules::sweep_conditions::kRunning;
using rules::sweep_conditions::kStays;
using rules::sweep_conditions::Verdict;

std::string text(bool value) { return value ? "true" : "false"; }

/// The columns that the conditions are about, of tables that only one connection sees.
constexpr const char* kTables =
    "CREATE TABLE sessions (ns integer, id text COLLATE \"C\" PRIMARY KEY, ended smallint, worker bigint,"
    " reclaim boolean, on_record boolean, lease_until bigint, ttl_until bigint, changed bigint, opener "
    "bigint,"
    " saved bytea);"
    "CREATE TABLE activities (ns integer, session text COLLATE \"C\");"
    "CREATE TABLE instances (key bigint, status smallint)";

std::string row_of(const Session& session) {
  return "(1, '" + session.id + "', " + (session.ended ? rules::number(*session.ended) : "NULL") + ", " +
         to_string(session.worker) + ", " +
         text(session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim) + ", " +
         text(session.policy.on_record) + ", " + std::to_string(count(session.lease_until)) + ", " +
         std::to_string(count(session.ttl_until)) + ", " + std::to_string(count(session.changed)) + ", " +
         to_string(session.opener) + ", " + (session.saved ? "''" : "NULL") + ")";
}

std::vector<Verdict> ask_server(std::span<const Session> sessions) {
  Connection connection({.uri = TestServer::shared().uri(), .schema = "pg_temp"});
  connection.run(kTables);
  connection.run("INSERT INTO instances VALUES (" + to_string(kRunning) + ", " +
                 rules::number(store::InstanceStatus::running) + "), (" + to_string(kEnded) + ", " +
                 rules::number(store::InstanceStatus::completed) + ")");
  std::string rows;
  std::string items;
  for (const Session& session : sessions) {
    rows += (rows.empty() ? "" : ", ") + row_of(session);
    if (!session.in_flight.empty()) items += (items.empty() ? "" : ", ") + ("(1, '" + session.id + "')");
  }
  connection.run("INSERT INTO sessions VALUES " + rows);
  connection.run("INSERT INTO activities VALUES " + items + "; CREATE INDEX ON activities (ns, session)");

  const std::string statement = "SELECT " + rules::may_be_swept(sql::swept_session()) + "::integer, " +
                                rules::next_to_sweep(sql::swept_session()) +
                                " FROM sessions AS s WHERE s.ns = $1 GROUP BY s.id ORDER BY s.id LIMIT $6";
  const store::SweepRequest swept_by = rules::sweep_conditions::request();
  const Duration state = swept_by.session_state_retention;
  const Duration record = swept_by.session_record_retention;
  const BootTime now = at(kNow);
  Parameters parameters(std::int32_t{1}, now, rules::kept_until(now, state), rules::kept_until(now, record),
                        rules::kept_until(now, std::max(state, record)),
                        static_cast<std::int64_t>(sessions.size()));
  parameters.add_all(std::vector{kStays});
  connection.queue({"test.sweep_conditions", statement.c_str()}, parameters);
  const std::vector<Answer> answers = connection.exchange();
  std::vector<Verdict> verdicts;
  for (int i = 0; i < answers.front().rows(); ++i) {
    Row row(answers.front(), i);
    Verdict& verdict = verdicts.emplace_back();
    verdict.something = row.next<int>() != 0;
    for (const Duration kept : rules::kept_in_sweep(swept_by)) {
      if (const auto since = row.next<std::optional<BootTime>>())
        verdict.next = std::min(verdict.next, after(*since, kept));
    }
  }
  return verdicts;
}

TEST(PostgresSweepConditions, FindWhatTheRulesWouldDoSomethingWith) {
  expect_to_find_what_the_rules_act_on(rules::sweep_conditions::all_sessions(), ask_server);
  expect_to_find_what_the_rules_act_on(rules::sweep_conditions::random_sessions(5000), ask_server);
}

}  // namespace
}  // namespace holdfast::postgres_store::sweep_conditions_test
