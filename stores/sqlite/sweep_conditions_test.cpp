// What a sweep looks for among sessions, as statements tell it to SQLite: whatever the rules would do
// something with is found, and nothing is due before the moment that the statements say.
#include "stores/rules/calls.hpp"
#include "stores/rules/sessions.hpp"
#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/statements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace holdfast::sqlite_store::sweep_conditions_test {
namespace {

using rules::Session;
using store::InstanceStatus;
using store::SessionPolicy;
using store::SessionStatus;
using store::SweepRequest;
using store::Swept;

constexpr std::int64_t kNow = 100;
constexpr WorkerKey kStays{5};
constexpr WorkerKey kUnknown{6};
constexpr InstanceKey kRunning{7};
constexpr InstanceKey kEnded{8};

BootTime at(std::int64_t moment) { return BootTime(Duration(moment)); }

struct Nowhere final : rules::Source, rules::Numbers {
  std::string name_of(InstanceKey) override { return {}; }
  InstanceKey next_instance() override { return {}; }
  MessageId next_message() override { return {}; }
  WorkerKey next_worker() override { return {}; }
  Generation next_generation() override { return {}; }
  std::uint64_t next_delayed() override { return 0; }
  std::uint64_t next_log_entry() override { return 0; }
  std::uint64_t next_set_aside() override { return 0; }
};

SweepRequest request() {
  SweepRequest request;
  request.session_state_retention = Duration(10);
  request.session_record_retention = Duration(20);
  return request;
}

/// What the rules do with a session that they see for the first time, and when they want to see it again.
struct Ruled {
  bool something = false;
  BootTime next{};
};
Ruled by_rules(const Session& session) {
  rules::Space space;
  Nowhere nowhere;
  rules::Lapses lapses;
  space.workers.emplace(kStays, rules::Worker{.key = kStays, .info = {.node = "here"}, .seen = at(kNow)});
  space.instances[kRunning].view.status = InstanceStatus::running;
  space.instances[kEnded].view.status = InstanceStatus::completed;
  space.sessions[session.id] = session;
  for (const store::ActivityId& id : session.in_flight) {
    rules::Activity& activity = space.activities[id];
    activity.id = id;
    activity.session = session.id;
    activity.lock.until = at(200);
    space.activity_locks.emplace(activity.lock.until, id);
  }
  rules::Transaction tx{.space = space, .rows = nowhere, .numbers = nowhere, .now = at(kNow), .calendar = {}};
  const SweepRequest swept_by = request();
  const Swept swept = rules::sweep(tx, swept_by, lapses);
  const Session* const left = space.sessions.peek(session.id);
  const bool something = swept.sessions_expired + swept.sessions_lost + swept.sessions_removed > 0 ||
                         left->lease_until != session.lease_until || !lapses.sessions.empty();
  // The worker is to be looked at as well.
  const BootTime silent = at(kNow) + swept_by.worker_stale_after;
  return {something, space.next_sweep == silent ? rules::kNever : space.next_sweep};
}

/// The same, by statements.
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

  Ruled about(const Session& session) {
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
    const SweepRequest swept_by = request();
    const auto until = [](Duration kept) { return count(rules::kept_until(at(kNow), kept)); };
    const auto ask = [&](Statement& statement, const auto&... more) {
      statement.reset();
      statement.bind_all(
          1, kNow, until(swept_by.session_state_retention), until(swept_by.session_record_retention),
          until(std::max(swept_by.session_state_retention, swept_by.session_record_retention)), more...);
      return statement.step();
    };
    Ruled asked{.something = ask(due_, "[" + std::to_string(kStays.value) + "]"), .next = rules::kNever};
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

 private:
  static std::int64_t count(BootTime moment) { return moment.time_since_epoch().count(); }

  Statements statements_{};
  Connection db_;
  Statement insert_{};
  Statement insert_item_{};
  Statement due_{};
  Statement next_{};
};

/// Sessions of all kinds, as far as sweeps tell them apart.
template <class Do>
void for_all_sessions(Do&& visit) {
  for (const auto ended : {std::optional<SessionStatus>{}, std::optional(SessionStatus::closed)}) {
    for (const WorkerKey owner : {WorkerKey{}, kStays, kUnknown}) {
      for (const std::int64_t lease : {60, 99, 100, 101, 105}) {
        for (const BootTime ttl : {at(kNow), at(103), rules::kNever}) {
          for (const auto when_lost : {SessionPolicy::WhenLost::reclaim, SessionPolicy::WhenLost::fail}) {
            for (const bool on_record : {false, true}) {
              for (const bool saved : {false, true}) {
                for (const std::int64_t changed : {80, 81, 90, 91, 100}) {
                  for (const InstanceKey opener : {InstanceKey{}, kRunning, kEnded}) {
                    for (const bool item : {false, true}) {
                      Session session{.id = "s", .ended = ended, .worker = owner, .ttl_until = ttl};
                      session.policy.when_lost = when_lost;
                      session.policy.on_record = on_record;
                      session.policy.outlives_opener = true;
                      session.lease_until = at(lease);
                      session.lease = Duration(30);
                      session.changed = at(changed);
                      session.opener = opener;
                      if (saved) session.saved.emplace();
                      if (item) session.in_flight.insert(store::ActivityId{kRunning, {1}, {2}});
                      visit(session);
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

std::string told(const Session& session) {
  return "ended " + std::to_string(session.ended.has_value()) + ", worker " +
         std::to_string(session.worker.value) + ", lease " +
         std::to_string(session.lease_until.time_since_epoch().count()) + ", ttl " +
         std::to_string(session.ttl_until.time_since_epoch().count()) + ", reclaim " +
         std::to_string(session.policy.when_lost == SessionPolicy::WhenLost::reclaim) + ", on record " +
         std::to_string(session.policy.on_record) + ", saved " + std::to_string(session.saved.has_value()) +
         ", changed " + std::to_string(session.changed.time_since_epoch().count()) + ", opener " +
         std::to_string(session.opener.value) + ", item " + std::to_string(session.in_flight.size());
}

TEST(SqliteSweepConditions, FindWhatTheRulesWouldDoSomethingWith) {
  Asked statements;
  std::size_t due = 0;
  std::size_t for_nothing = 0;
  for_all_sessions([&](const Session& session) {
    const Ruled rules = by_rules(session);
    const Ruled asked = statements.about(session);
    if (rules.something) EXPECT_TRUE(asked.something) << told(session);
    // What is brought tells by itself when it is due.
    if (!asked.something) EXPECT_LE(asked.next, rules.next) << told(session);
    due += rules.something ? 1 : 0;
    for_nothing += asked.something && !rules.something ? 1 : 0;
  });
  EXPECT_GT(due, 1000U);
  // Few are brought for nothing: a sweep may have thousands of sessions to leave alone.
  EXPECT_LT(for_nothing * 50, due);
}

}  // namespace
}  // namespace holdfast::sqlite_store::sweep_conditions_test
