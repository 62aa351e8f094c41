// What a sweep looks for is what the rules act on: see stores/rules/sweep_conditions_test.hpp.
#include "stores/rules/sweep_conditions_test.hpp"

#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/statements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store::sweep_conditions_test {
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
using store::InstanceStatus;
using store::SessionPolicy;
using store::SweepRequest;

class Asked {
 public:
  Asked() : db_(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    db_.exec(
        "CREATE TABLE sessions (ns, id, ended, worker, reclaim, on_record, lease_until, ttl_until, changed,"
        " opener, saved_size);"
        "CREATE TABLE queued (session, kind); CREATE TABLE running (session, kind);"
        "CREATE TABLE packs (ns, session); CREATE TABLE instances (key, status)");
    for (const auto& [key, status] :
         {std::pair(kRunning, InstanceStatus::running), std::pair(kEnded, InstanceStatus::completed)}) {
      Statement insert = db_.prepare("INSERT INTO instances VALUES (?1, ?2)");
      insert.bind_all(key, static_cast<int>(status));
      insert.step();
    }
    insert_ = db_.prepare("INSERT INTO sessions VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    insert_item_ = db_.prepare("INSERT INTO running VALUES (?1, ?2)");
    due_ = db_.prepare(std::string(statements_.due_sessions.sql()));
    next_ = db_.prepare(std::string(statements_.next_sessions.sql()));
  }

  std::vector<Verdict> about(std::span<const Session> sessions) {
    std::vector<Verdict> all;
    for (const Session& session : sessions) all.push_back(about(session));
    return all;
  }

 private:
  Verdict about(const Session& session) {
    db_.exec("DELETE FROM sessions; DELETE FROM running");
    insert_.reset();
    insert_.bind_all(session.id,
                     session.ended ? std::optional(static_cast<int>(*session.ended)) : std::nullopt,
                     session.worker, session.policy.when_lost == SessionPolicy::WhenLost::reclaim,
                     session.policy.on_record, count(session.lease_until), count(session.ttl_until),
                     count(session.changed), session.opener, session.saved ? std::optional(1) : std::nullopt);
    insert_.step();
    if (!session.in_flight.empty()) {
      insert_item_.reset();
      insert_item_.bind_all(session.id, std::int64_t{1} << 32);
      insert_item_.step();
    }
    const SweepRequest swept_by = rules::sweep_conditions::request();
    const auto until = [](Duration kept) { return count(rules::kept_until(at(kNow), kept)); };
    const auto ask = [&](Statement& statement, const auto&... more) {
      statement.reset();
      statement.bind_all(
          1, kNow, until(swept_by.session_state_retention), until(swept_by.session_record_retention),
          until(std::max(swept_by.session_state_retention, swept_by.session_record_retention)), more...);
      return statement.step();
    };
    Verdict asked{.something = ask(due_, "[" + std::to_string(kStays.value) + "]")};
    due_.reset();
    EXPECT_TRUE(ask(next_));
    int column = 0;
    for (const Duration kept : rules::kept_in_sweep(swept_by)) {
      if (!next_.is_null(column)) asked.next = std::min(asked.next, after(at(next_.int64(column)), kept));
      ++column;
    }
    next_.reset();
    return asked;
  }

  Statements statements_{};
  Connection db_;
  Statement insert_{};
  Statement insert_item_{};
  Statement due_{};
  Statement next_{};
};

TEST(SqliteSweepConditions, FindWhatTheRulesWouldDoSomethingWith) {
  Asked statements;
  const auto ask = [&](std::span<const Session> sessions) { return statements.about(sessions); };
  expect_to_find_what_the_rules_act_on(rules::sweep_conditions::all_sessions(), ask);
  expect_to_find_what_the_rules_act_on(rules::sweep_conditions::random_sessions(5000), ask);
}

}  // namespace
}  // namespace holdfast::sqlite_store::sweep_conditions_test
