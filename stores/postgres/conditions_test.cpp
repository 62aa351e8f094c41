// Rules that statements tell the server hold there as they do here.
#include "conditions.hpp"

#include "base/version_ranges.hpp"
#include "server_test.hpp"
#include "stores/rules/nowhere_test.hpp"
#include "stores/rules/readiness.hpp"
#include "stores/rules/sessions.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::postgres_store::conditions_test {
namespace {

constexpr BootTime kNow{Duration(100)};

BootTime at(std::int64_t moment) { return BootTime(Duration(moment)); }

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(std::int64_t value) {
  return value == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807 - 1)"
                                                           : std::to_string(value) + "::bigint";
}
std::string text(std::uint64_t value) { return text(static_cast<std::int64_t>(value)); }
std::string text(BootTime value) { return text(value.time_since_epoch().count()); }
std::string text(const std::string& value) { return "'" + value + "'"; }
std::string null_of(const std::string& type) { return "NULL::" + type; }
/// The last moment is NULL.
std::string text_or_null(BootTime value) { return value == rules::kNever ? null_of("bigint") : text(value); }

/// Rows with what a rule says of each. What they say is compared with an expression over their columns.
class Rows {
 public:
  explicit Rows(std::string columns) : columns_(std::move(columns)) {}
  void add(const std::vector<std::string>& values, const std::string& expected) {
    rows_ += (rows_.empty() ? "(" : ", (");
    for (const std::string& value : values) rows_ += value + ", ";
    rows_ += expected + ")";
    ++count_;
  }
  /// How many rows differ. `name`: what the expression calls their table.
  [[nodiscard]] std::int64_t differing(const TestSchema& schema, const std::string& name,
                                       const std::string& expression) const {
    const std::string from = " FROM (VALUES " + rows_ + ") AS " + name + " (" + columns_ + ", expected)";
    EXPECT_EQ(schema.number("SELECT count(*)" + from), count_);
    return schema.number("SELECT count(*)" + from + " WHERE (" + expression + ") IS DISTINCT FROM " + name +
                         ".expected");
  }

 private:
  std::string columns_;
  std::string rows_{};
  std::int64_t count_ = 0;
};

TEST(PostgresConditions, DeadlinesOfLocksThatAreOverAreThoseOfTheRules) {
  const TestSchema schema;
  Rows deadlines("until, ready_since, locked, start_within, total_until, session_over");
  Rows since("until, ready_since, locked, start_within, total_until, session_over");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t until : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{90}, kMost / 2}) {
    for (const Duration within : {never, Duration(0), Duration(7), Duration(kMost - 1)}) {
      for (const BootTime total : {rules::kNever, at(50), at(95)}) {
        for (const bool over : {false, true}) {
          for (const bool locked : {false, true}) {
            rules::Activity activity{.start_within = within, .total_until = total};
            activity.lock.until = at(until);
            activity.ready_since = at(3);
            if (over) activity.session_over = CancelReason::session_lost;
            const std::vector<std::string> row{
                text(until),         text(activity.ready_since),
                text(locked),        within == never ? null_of("bigint") : text(within.count()),
                text_or_null(total), over ? "1::smallint" : null_of("smallint")};
            if (locked) activity.ready_since = activity.lock.until;
            since.add(row, text(activity.ready_since));
            activity.ready_since = activity.lock.until;
            deadlines.add(row, text_or_null(activity.deadline()));
          }
        }
      }
    }
  }
  EXPECT_EQ(deadlines.differing(schema, "a", sql::deadline_after_lock("a")), 0);
  EXPECT_EQ(since.differing(schema, "a", sql::waits_since("a")), 0);
}

TEST(PostgresConditions, SessionsAreHeldClaimableAndKeptAsInTheRules) {
  const TestSchema schema;
  schema.open();
  const WorkerKey worker{5};
  schema.run(
      "INSERT INTO workers (ns, key, node, info, draining, superseded, joined_at, seen)"
      " VALUES (1, 5, 'here', '', false, false, 0, 0)");
  rules::Space space;
  rules::Nowhere nowhere;
  space.workers.emplace(worker, rules::Worker{.key = worker, .info = {.node = "here"}});
  const rules::Transaction tx{
      .space = space, .rows = nowhere, .numbers = nowhere, .now = kNow, .calendar = {}};
  const std::string columns =
      "ended, worker, lease_until, ttl_until, changed, reclaim, restarted, last_owner, wanted";
  Rows states(columns);
  Rows held(columns);
  Rows claimable(columns);
  Rows kept(columns);
  Rows left(columns);
  const auto add = [&](const rules::Session& session) {
    const std::vector<std::string> row{
        session.ended ? rules::number(*session.ended) + "::smallint" : null_of("smallint"),
        text(session.worker.value),
        text(session.lease_until),
        text(session.ttl_until),
        text(session.changed),
        text(session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim),
        text(session.restarted),
        text(session.last_owner),
        session.wanted ? text(*session.wanted) : null_of("text")};
    states.add(row, rules::number(state_of(tx, session)));
    if (session.ended) return;
    held.add(row, text(is_held_by(tx, session, worker)));
    claimable.add(row, text(is_claimable(tx, session)));
    if (is_claimable(tx, session)) kept.add(row, text(is_kept_from(tx, session, worker)));
    left.add(row, text(rules::left_at(session)));
  };
  using State = store::SessionStatus;
  using WhenLost = store::SessionPolicy::WhenLost;
  for (const auto ended :
       {std::optional<State>{}, std::optional(State::closed), std::optional(State::failed)}) {
    for (const std::uint64_t owner : {0U, 5U, 6U}) {
      for (const BootTime lease : {at(99), kNow, at(101)}) {
        for (const BootTime ttl : {kNow, rules::kNever}) {
          for (const WhenLost when_lost : {WhenLost::reclaim, WhenLost::fail}) {
            for (const bool restarted : {false, true}) {
              for (const char* const last : {"here", "there"}) {
                for (const auto& wanted : {std::optional<std::string>{}, std::optional<std::string>("here"),
                                           std::optional<std::string>("there")}) {
                  rules::Session session;
                  session.policy.when_lost = when_lost;
                  session.ended = ended;
                  session.worker = {owner};
                  session.lease_until = lease;
                  session.ttl_until = ttl;
                  session.changed = at(100);
                  session.restarted = restarted;
                  session.last_owner = last;
                  session.wanted = wanted;
                  add(session);
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(states.differing(schema, "s", rules::session_state("100")), 0);
  EXPECT_EQ(held.differing(schema, "s", sql::is_held_by("5", "100")), 0);
  EXPECT_EQ(claimable.differing(schema, "s", sql::is_claimable("100")), 0);
  EXPECT_EQ(kept.differing(schema, "s", sql::is_kept_from("5", "100")), 0);
  EXPECT_EQ(left.differing(schema, "s", rules::left_moment()), 0);
}

TEST(PostgresConditions, KindsAndStatesAreThoseOfTheRules) {
  const TestSchema schema;
  Rows of_execution("kind");
  Rows no_start("kind");
  for (int kind = 0; kind <= static_cast<int>(store::MessageKind::news); ++kind) {
    of_execution.add({std::to_string(kind)}, text(rules::belongs_to_execution(store::MessageKind(kind))));
    no_start.add({std::to_string(kind)}, text(rules::ends_with_instance(store::MessageKind(kind))));
  }
  EXPECT_EQ(of_execution.differing(schema, "m", rules::is_of_execution()), 0);
  EXPECT_EQ(no_start.differing(schema, "m", rules::is_no_start()), 0);
  Rows open("status");
  for (int status = 0; status <= static_cast<int>(Status::terminated); ++status) {
    open.add({std::to_string(status)}, text(!has_ended(Status(status))));
  }
  EXPECT_EQ(open.differing(schema, "i", rules::is_open("i.status")), 0);
  Rows running("state, until");
  for (int state = 0; state <= 2; ++state) {
    for (const BootTime until : {at(99), kNow, at(101)}) {
      rules::Cancel cancel{.until = until};
      cancel.record.state = store::CancelRecord::State(state);
      running.add({std::to_string(state), text(until)}, text(cancel.may_still_run(kNow)));
    }
  }
  EXPECT_EQ(running.differing(schema, "c", rules::may_still_run("c.", "100")), 0);
}

TEST(PostgresConditions, BuildsAreComparedWithoutASign) {
  const TestSchema schema;
  constexpr std::uint64_t kHigh = std::uint64_t{1} << 63U;
  const std::vector<std::uint64_t> builds{0, 1, 2, 7, kHigh - 1, kHigh, kHigh + 5, ~std::uint64_t{0}};
  Rows rows("build, oldest, newest");
  for (const std::uint64_t oldest : builds) {
    for (const std::uint64_t newest : builds) {
      const store::CodeVersion version{"order", "1"};
      const store::Code code{.orchestrations = {version}, .oldest_build = oldest, .newest_build = newest};
      for (const std::uint64_t build : builds) {
        rows.add({text(build), text(oldest ^ kHigh), text(newest ^ kHigh)},
                 text(rules::suits(code, {.code = version, .build = build})));
      }
    }
  }
  EXPECT_EQ(rows.differing(schema, "r", sql::suits_build("r", "r.oldest", "r.newest")), 0);
}

TEST(PostgresConditions, RangesOfVersionsAreToldFromVersions) {
  const TestSchema schema;
  Rows rows("version");
  for (const std::string version : {"", "1", "2.1-rc.1", "^2.1", "~2", ">=2 <3", ">1", "<3", "<=3"})
    rows.add({"'" + version + "'"}, text(holdfast::detail::is_range(version)));
  EXPECT_EQ(rows.differing(schema, "r", sql::is_range("r.version")), 0);
}

}  // namespace
}  // namespace holdfast::postgres_store::conditions_test
