// How instances are found that a list wants, among many that it does not.
#include "calls_test.hpp"
#include "plan_test.hpp"
#include "statements.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <set>

namespace holdfast::postgres_store::list_plan_test {
namespace {

using store::InstanceStatus;

/// What the server knows about the table.
enum class Statistics : std::uint8_t { none, of_the_first_row, of_all };

/// One instance that runs, among many that have ended, which are its children. Plans change with statistics.
class PostgresList : public testing::TestWithParam<Statistics> {
 protected:
  static constexpr int kEnded = 2000;

  void SetUp() override {
    schema_.run("ALTER TABLE instances SET (autovacuum_enabled = false)");
    ASSERT_TRUE(start(*store_, start_of("first")));
    if (GetParam() == Statistics::of_the_first_row) schema_.run("VACUUM ANALYZE instances");
    schema_.run(
        "INSERT INTO instances (key, ns, route, execution, status, locked, woken, delivery, until, worker, "
        "seen,"
        " not_before, created_at, updated_at, name, parent) SELECT nextval('instance_keys'), i.ns, i.route, "
        "1, 3,"
        " false, false, 0, 0, 0, 0, 0, 0, 0, 'ended-' || n, i.key FROM instances AS i, generate_series(1, " +
        std::to_string(kEnded) + ") AS n");
    if (GetParam() == Statistics::of_all) schema_.run("ANALYZE instances");
    ns_ = static_cast<std::int32_t>(schema_.number("SELECT id FROM namespaces"));
  }

  [[nodiscard]] Parameters wanted(const std::set<InstanceStatus>& statuses, int limit,
                                  std::optional<InstanceKey> parent = {}) const {
    Parameters all(ns_, std::numeric_limits<std::int64_t>::max());
    all.add_all(statuses).add(std::string()).add(std::string()).add(std::string());
    all.add(std::optional<CalendarTime>()).add(std::optional<CalendarTime>());
    return all.add(std::int64_t{limit}).add(parent);
  }

  TestSchema schema_{};
  std::shared_ptr<Store> store_ = schema_.open();
  std::int32_t ns_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Of, PostgresList,
                         testing::Values(Statistics::none, Statistics::of_the_first_row, Statistics::of_all),
                         [](const auto& param) {
                           return param.param == Statistics::none     ? "AServerWithoutStatistics"
                                  : param.param == Statistics::of_all ? "AServerWithStatistics"
                                                                      : "AServerWithOldStatistics";
                         });

TEST_P(PostgresList, FindsTheOneThatRunsAmongManyThatHaveEnded) {
  const auto plan =
      plan_of(schema_, sql::kListed, wanted({InstanceStatus::running}, 101), &sql::kInOrderOfIndex);
  EXPECT_NE(text_of(plan).find("instances_by_status"), std::string::npos) << text_of(plan);
  EXPECT_LE(rows_read(plan, "instances"), 2) << text_of(plan);
  const auto page = store_->list({.statuses = {InstanceStatus::running}});
  ASSERT_EQ(page->instances.size(), 1U);
  EXPECT_EQ(page->instances[0].instance, "first");
  EXPECT_FALSE(page->next);
}

TEST_P(PostgresList, ReadsNoMoreThanAPageOfEachStatus) {
  constexpr int kLimit = 10;
  const auto all =
      plan_of(schema_, sql::kListed, wanted({InstanceStatus::running, InstanceStatus::completed}, kLimit),
              &sql::kInOrderOfIndex);
  EXPECT_LE(rows_read(all, "instances"), 3 * kLimit) << text_of(all);
  const InstanceKey parent = store_->find("first")->key;
  const auto children = plan_of(schema_, sql::kListedChildren,
                                wanted({InstanceStatus::running, InstanceStatus::completed}, kLimit, parent),
                                &sql::kInOrderOfIndex);
  EXPECT_NE(text_of(children).find("instances_by_parent"), std::string::npos) << text_of(children);
  EXPECT_LE(rows_read(children, "instances"), 2 * kLimit) << text_of(children);
}

}  // namespace
}  // namespace holdfast::postgres_store::list_plan_test
