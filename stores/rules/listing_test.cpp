#include "stores/rules/listing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::rules::listing_test {
namespace {

using By = ListPlan::By;
using Is = AttributeCondition::Is;

ListPlan planned(const InstanceFilter& filter, const std::vector<std::uint64_t>& counts,
                 std::optional<std::uint64_t> of_statuses = {}) {
  return plan_of(filter, ranges_of(filter), counts, of_statuses);
}

TEST(Listing, EntriesCompareAsValuesDo) {
  const auto entry = [](AttributeValue value) { return entry_of("n", std::move(value)); };
  EXPECT_LT(entry(std::int64_t{-1}), entry(std::int64_t{0}));
  EXPECT_LT(entry(std::int64_t{255}), entry(std::int64_t{256}));
  EXPECT_LT(entry(-2.0), entry(-1.5));
  EXPECT_LT(entry(-1.5), entry(0.0));
  EXPECT_LT(entry(0.0), entry(1e-300));
  EXPECT_LT(entry(std::string("a")), entry(std::string("ab")));
  EXPECT_LT(entry(std::string("ab")), entry(std::string("\xc3\xa9")));
  EXPECT_NE(entry_of("n", "x"), entry_of("nx", ""));
}

TEST(Listing, ConditionsOnOneValueAreOneRange) {
  const InstanceFilter filter{.attributes = {{"n", Is::above, std::int64_t{1}},
                                             {"t", Is::has, "x"},
                                             {"n", Is::at_most, std::int64_t{5}},
                                             {"t", Is::has, "y"}}};
  const std::vector<EntryRange> ranges = ranges_of(filter);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_FALSE(ranges[0].is_exact());
  EXPECT_EQ(ranges[0].from, entry_of("n", std::int64_t{1}) + std::string(1, '\0'));
  EXPECT_EQ(ranges[0].before, entry_of("n", std::int64_t{5}) + std::string(1, '\0'));
  EXPECT_TRUE(ranges[1].is_exact());
  EXPECT_TRUE(ranges[2].is_exact());
}

TEST(Listing, LooksWhereTheLeastIs) {
  InstanceFilter filter{.attributes = {{"a", Is::equal, "x"}, {"b", Is::above, std::int64_t{1}}}};
  EXPECT_EQ(planned(filter, {1000, 3}).by, By::few);
  EXPECT_EQ(planned(filter, {1000, 3}).range, ranges_of(filter)[1]);
  EXPECT_EQ(planned(filter, {1000, 1000}).by, By::entry);
  filter.statuses = {InstanceStatus::parked};
  EXPECT_EQ(planned(filter, {1000, 1000}, 12).by, By::statuses);
  EXPECT_EQ(planned(filter, {1000, 1000}, 100'000).by, By::entry);
  filter.order = {"b", AttributeType::integer, true};
  EXPECT_EQ(planned(filter, {1000, 1000}, 12).by, By::order);
  EXPECT_EQ(planned(filter, {1000, 1000}, 12).range, ranges_of(filter)[1]);
  EXPECT_EQ(planned({}, {}).by, By::all);
  EXPECT_EQ(planned({.parent = InstanceKey{3}}, {}).by, By::parent);
}

}  // namespace
}  // namespace holdfast::rules::listing_test
