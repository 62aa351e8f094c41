// What a sweep looks for among sessions, as statements tell it to a database: whatever the rules would do
// something with is found, and nothing is due before the moment that the statements say. Each store with SQL
// asks its database about these sessions.
#pragma once

#include "stores/rules/calls.hpp"
#include "stores/rules/nowhere_test.hpp"
#include "stores/rules/sessions.hpp"

#include <holdfast/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::rules::sweep_conditions {

inline constexpr std::int64_t kNow = 100;
inline constexpr WorkerKey kStays{5};
inline constexpr WorkerKey kUnknown{6};
inline constexpr InstanceKey kRunning{7};
inline constexpr InstanceKey kEnded{8};

inline BootTime at(std::int64_t moment) { return BootTime(Duration(moment)); }
inline std::int64_t count(BootTime moment) { return moment.time_since_epoch().count(); }

inline SweepRequest request() {
  SweepRequest request;
  request.session_state_retention = Duration(10);
  request.session_record_retention = Duration(20);
  return request;
}

/// What a sweep does with a session that it sees for the first time, and when it wants to see it again.
struct Verdict {
  bool something = false;
  BootTime next = kNever;
};

inline Verdict by_rules(const Session& session) {
  Space space;
  Nowhere nowhere;
  Lapses lapses;
  space.workers.emplace(kStays, Worker{.key = kStays, .info = {.node = "here"}, .seen = at(kNow)});
  space.instances[kRunning].view.status = InstanceStatus::running;
  space.instances[kEnded].view.status = InstanceStatus::completed;
  space.sessions[session.id] = session;
  for (const ActivityId& id : session.in_flight) {
    Activity& activity = space.activities[id];
    activity.id = id;
    activity.session = session.id;
    activity.lock.until = at(200);
    space.activity_locks.emplace(activity.lock.until, id);
  }
  Transaction tx{.space = space, .rows = nowhere, .numbers = nowhere, .now = at(kNow), .calendar = {}};
  const SweepRequest swept_by = request();
  const Swept swept = sweep(tx, swept_by, lapses);
  const Session* const left = space.sessions.peek(session.id);
  const bool something = swept.sessions_expired + swept.sessions_lost + swept.sessions_removed > 0 ||
                         left->lease_until != session.lease_until || !lapses.sessions.empty();
  // The worker is to be looked at as well.
  const BootTime silent = at(kNow) + swept_by.worker_stale_after;
  return {something, space.next_sweep == silent ? kNever : space.next_sweep};
}

/// What decides about a session in a sweep.
struct Kind {
  bool ended = false;
  WorkerKey owner{};
  std::int64_t lease = 0;
  BootTime ttl = kNever;
  bool fails = false;
  bool on_record = false;
  bool saved = false;
  std::int64_t changed = 0;
  InstanceKey opener{};
  bool has_item = false;
};

inline Session session_of(const Kind& kind, std::size_t number) {
  const std::string digits = std::to_string(number);
  Session session{.id = std::string(8 - digits.size(), '0') + digits};
  if (kind.ended) session.ended = SessionStatus::closed;
  session.worker = kind.owner;
  session.ttl_until = kind.ttl;
  session.policy.when_lost = kind.fails ? SessionPolicy::WhenLost::fail : SessionPolicy::WhenLost::reclaim;
  session.policy.on_record = kind.on_record;
  session.policy.outlives_opener = true;
  session.lease_until = at(kind.lease);
  session.lease = Duration(30);
  session.changed = at(kind.changed);
  session.opener = kind.opener;
  if (kind.saved) session.saved.emplace();
  if (kind.has_item) session.in_flight.insert(ActivityId{kRunning, {1}, {2}});
  return session;
}

/// All kinds, as far as sweeps tell them apart, at moments around those that count.
inline std::vector<Session> all_sessions() {
  std::vector<Session> sessions;
  const auto both = {false, true};
  for (const bool ended : both) {
    for (const WorkerKey owner : {WorkerKey{}, kStays, kUnknown}) {
      for (const std::int64_t lease : {60, 99, 100, 101, 105}) {
        for (const BootTime ttl : {at(kNow), at(103), kNever}) {
          for (const bool fails : both) {
            for (const bool on_record : both) {
              for (const bool saved : both) {
                for (const std::int64_t changed : {80, 81, 90, 91, 100}) {
                  for (const InstanceKey opener : {InstanceKey{}, kRunning, kEnded}) {
                    for (const bool has_item : both) {
                      sessions.push_back(session_of(
                          {ended, owner, lease, ttl, fails, on_record, saved, changed, opener, has_item},
                          sessions.size()));
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
  return sessions;
}

/// The same at any moments.
inline std::vector<Session> random_sessions(std::size_t how_many) {
  SeededRandom random(17);
  const auto draw = [&](std::size_t n) { return below(random, n); };
  const auto moment = [&] { return static_cast<std::int64_t>(50 + draw(100)); };
  std::vector<Session> sessions;
  while (sessions.size() < how_many) {
    sessions.push_back(session_of({.ended = draw(2) == 0,
                                   .owner = std::array{WorkerKey{}, kStays, kUnknown}.at(draw(3)),
                                   .lease = moment(),
                                   .ttl = draw(2) == 0 ? kNever : at(moment()),
                                   .fails = draw(2) == 0,
                                   .on_record = draw(2) == 0,
                                   .saved = draw(2) == 0,
                                   .changed = moment(),
                                   .opener = std::array{InstanceKey{}, kRunning, kEnded}.at(draw(3)),
                                   .has_item = draw(2) == 0},
                                  sessions.size()));
  }
  return sessions;
}

inline std::string told(const Session& session) {
  return "ended " + std::to_string(session.ended.has_value()) + ", worker " +
         std::to_string(session.worker.value) + ", lease " + std::to_string(count(session.lease_until)) +
         ", ttl " + std::to_string(count(session.ttl_until)) + ", reclaim " +
         std::to_string(session.policy.when_lost == SessionPolicy::WhenLost::reclaim) + ", on record " +
         std::to_string(session.policy.on_record) + ", saved " + std::to_string(session.saved.has_value()) +
         ", changed " + std::to_string(count(session.changed)) + ", opener " +
         std::to_string(session.opener.value) + ", items " + std::to_string(session.in_flight.size());
}

/// `ask`: what the statements of a store say of each.
inline void expect_to_find_what_the_rules_act_on(
    const std::vector<Session>& sessions,
    const std::function<std::vector<Verdict>(std::span<const Session>)>& ask) {
  const std::vector<Verdict> asked = ask(sessions);
  ASSERT_EQ(asked.size(), sessions.size());
  std::size_t due = 0;
  std::size_t for_nothing = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const Verdict rules = by_rules(sessions[i]);
    if (rules.something) {
      ++due;
      EXPECT_TRUE(asked[i].something) << told(sessions[i]);
    }
    if (asked[i].something && !rules.something) ++for_nothing;
    if (asked[i].something) continue;  // what is brought tells by itself when it is due
    EXPECT_LE(asked[i].next, rules.next) << told(sessions[i]);
  }
  EXPECT_GT(due * 20, sessions.size());
  // Few are brought for nothing: a sweep may have thousands of sessions to leave alone.
  EXPECT_LT(for_nothing * 50, due);
}

}  // namespace holdfast::rules::sweep_conditions
