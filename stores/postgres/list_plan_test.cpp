// How instances are found that a list wants, among many that it does not.
#include "calls_test.hpp"
#include "list_statements.hpp"
#include "plan_test.hpp"
#include "stores/rules/listing.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
                                  std::optional<InstanceKey> parent = {}, const std::vector<Bytes>& from = {},
                                  const std::vector<Bytes>& before = {}) const {
    Parameters all(ns_, std::numeric_limits<std::int64_t>::max());
    all.add_all(statuses).add(std::string()).add(std::string()).add(std::string());
    all.add(std::optional<CalendarTime>()).add(std::optional<CalendarTime>());
    return all.add(std::int64_t{limit}).add(parent).add_all(from).add_all(before);
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

/// Many instances with the same two attributes, one of which tells them apart.
class PostgresAttributes : public PostgresList {
 protected:
  static constexpr int kLimit = 10;

  void SetUp() override {
    schema_.run("ALTER TABLE attribute_entries SET (autovacuum_enabled = false)");
    PostgresList::SetUp();
    const std::string customer = hex(rules::entry_of("customer", "acme"));
    const std::string rank = hex(rules::entry_of("rank", std::int64_t{0}));
    const auto insert = [&](const std::string& entry, const std::string& from) {
      schema_.run("INSERT INTO attribute_entries (ns, key, entry) SELECT ns, key, " + entry +
                  " FROM instances " + from);
    };
    if (GetParam() == Statistics::of_the_first_row) {
      insert(customer, "");
      schema_.run("VACUUM ANALYZE attribute_entries");
      schema_.run("DELETE FROM attribute_entries");
    }
    insert(customer, "");
    insert("overlay(" + rank + " placing int8send(key) from " + std::to_string(kPrefix) + ")", "");
    insert(hex(rules::entry_of("rare", true)), "ORDER BY key LIMIT 3");
    if (GetParam() == Statistics::of_all) schema_.run("ANALYZE attribute_entries");
  }

  static std::string hex(const std::string& bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "'\\x";
    for (const char c : bytes) {
      text += kDigits[static_cast<unsigned char>(c) >> 4U];
      text += kDigits[static_cast<unsigned char>(c) & 15U];
    }
    return text + "'::bytea";
  }
  /// Of a list with this range as its only one.
  [[nodiscard]] Parameters in_range(const rules::EntryRange& range) const {
    return wanted({InstanceStatus::running, InstanceStatus::completed}, kLimit, {}, {Bytes{range.from}},
                  {Bytes{range.before}})
        .add(Bytes{range.from})
        .add(Bytes{range.before});
  }
  void expect_a_page(const Statement& statement, const Parameters& parameters) {
    const auto plan = plan_of(schema_, statement, parameters, &sql::kInOrderOfIndex);
    EXPECT_NE(text_of(plan).find("attribute_entries_by_value"), std::string::npos) << text_of(plan);
    EXPECT_LE(rows_read(plan, "attribute_entries"), 3 * kLimit) << text_of(plan);
    EXPECT_LE(rows_read(plan, "instances"), 3 * kLimit) << text_of(plan);
  }

  static constexpr int kPrefix = 7;  // "rank", a zero, the type
};

INSTANTIATE_TEST_SUITE_P(Of, PostgresAttributes,
                         testing::Values(Statistics::none, Statistics::of_the_first_row, Statistics::of_all),
                         [](const auto& param) {
                           return param.param == Statistics::none     ? "AServerWithoutStatistics"
                                  : param.param == Statistics::of_all ? "AServerWithStatistics"
                                                                      : "AServerWithOldStatistics";
                         });

TEST_P(PostgresAttributes, APageOfOneValueReadsNoMore) {
  expect_a_page(sql::kListedByEntry,
                in_range(rules::range_of({"customer", AttributeCondition::Is::equal, "acme"})));
}

TEST_P(PostgresAttributes, APageInTheOrderOfValuesReadsNoMore) {
  const rules::EntryRange all = rules::range_of(ListOrder{"rank", AttributeType::integer, true});
  constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();
  expect_a_page(sql::kListedUp, in_range(all).add(kNobody));
  expect_a_page(sql::kListedDown, in_range(all).add(kNobody));
}

TEST_P(PostgresAttributes, AFewAreReadAsAWhole) {
  const auto plan = plan_of(schema_, sql::kListedFew,
                            in_range(rules::range_of({"rare", AttributeCondition::Is::equal, true})));
  EXPECT_LE(rows_read(plan, "attribute_entries"), 12) << "three, and what each of them has\n"
                                                      << text_of(plan);
  EXPECT_LE(rows_read(plan, "instances"), 10) << text_of(plan);
}

}  // namespace
}  // namespace holdfast::postgres_store::list_plan_test
