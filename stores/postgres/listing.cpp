// Lists and counts of instances.
#include "stores/rules/listing.hpp"

#include "calls.hpp"
#include "list_statements.hpp"
#include "statements.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

namespace {

using rules::EntryRange;
using rules::ListPlan;
using store::InstanceFilter;
using store::InstanceStatus;
using By = ListPlan::By;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();

std::set<InstanceStatus> statuses_of(const InstanceFilter& filter) {
  if (!filter.statuses.empty()) return filter.statuses;
  std::set<InstanceStatus> all;
  for (int status = 0; status <= static_cast<int>(InstanceStatus::terminated); ++status)
    all.insert(static_cast<InstanceStatus>(status));
  return all;
}

std::vector<Bytes> bounds_of(const std::vector<EntryRange>& ranges, std::string EntryRange::* bound) {
  std::vector<Bytes> bounds;
  bounds.reserve(ranges.size());
  for (const EntryRange& range : ranges) bounds.push_back(Bytes{range.*bound});
  return bounds;
}

/// $1 to $12 of all lists.
Parameters filters_of(const WorkingSet& set, const InstanceFilter& filter,
                      const std::vector<EntryRange>& ranges, std::int64_t limit) {
  const bool begins = filter.after.key == InstanceKey{} || !filter.order.attribute.empty();
  Parameters wanted(set.ns(), begins ? kLast : static_cast<std::int64_t>(filter.after.key.value));
  wanted.add_all(statuses_of(filter)).add(filter.orchestration).add(filter.version).add(filter.prefix);
  wanted.add(filter.created_from).add(filter.created_before).add(limit).add(filter.parent);
  wanted.add_all(bounds_of(ranges, &EntryRange::from)).add_all(bounds_of(ranges, &EntryRange::before));
  return wanted;
}

std::vector<std::uint64_t> count_entries(WorkingSet& set, const std::vector<EntryRange>& ranges,
                                         std::uint64_t most) {
  std::vector<std::uint64_t> counts;
  if (ranges.empty()) return counts;
  Parameters wanted(set.ns());
  wanted.add_all(bounds_of(ranges, &EntryRange::from)).add_all(bounds_of(ranges, &EntryRange::before));
  set.ask(sql::kCountEntries, wanted.add(most), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i)
      counts.push_back(static_cast<std::uint64_t>(answer.integer(i, 0)));
  });
  set.bring();
  return counts;
}

ListPlan plan_of(WorkingSet& set, const InstanceFilter& filter, const std::vector<EntryRange>& ranges) {
  const std::vector<std::uint64_t> counts = count_entries(set, ranges, rules::kFewEntries);
  std::optional<std::uint64_t> of_statuses;
  if (!ranges.empty() && !filter.statuses.empty())
    of_statuses = rules::sum(count_by_status(set), filter.statuses);
  return rules::plan_of(filter, ranges, counts, of_statuses);
}

bool is_by_entries(const ListPlan& plan) {
  return plan.by == By::entry || plan.by == By::few || plan.by == By::order;
}

/// What is left to ask of those that the plan finds.
std::vector<EntryRange> others_of(std::vector<EntryRange> ranges, const ListPlan& plan) {
  if (is_by_entries(plan)) std::erase(ranges, plan.range);
  return ranges;
}

/// Asks for a list in the order of an attribute.
void ask_in_order(WorkingSet& set, const InstanceFilter& filter, const ListPlan& plan, Parameters wanted) {
  const bool descends = filter.order.descending;
  const bool few = plan.by == By::few;
  EntryRange range = few ? rules::range_of(filter.order) : plan.range;
  std::int64_t behind = kFirst;  // a key with its sign turned
  if (filter.after.key != InstanceKey{} && filter.after.value) {
    const std::string last = rules::entry_of(filter.order.attribute, *filter.after.value);
    std::string& bound = descends ? range.before : range.from;
    // A list whose conditions have changed between pages goes on where they let it.
    if (descends ? last < bound : last >= bound) {
      bound = last;
      behind = -static_cast<std::int64_t>(filter.after.key.value);
    }
  }
  wanted.add(Bytes{range.from}).add(Bytes{range.before}).add(behind);
  if (few) wanted.add(Bytes{plan.range.from}).add(Bytes{plan.range.before});
  const Statement& statement = few ? (descends ? sql::kListedFewDown : sql::kListedFewUp)
                                   : (descends ? sql::kListedDown : sql::kListedUp);
  if (!few) set.ask(sql::kInOrderOfIndex, Parameters());
  set.ask(statement, wanted, [&set](const Answer& answer) { set.take_instances(answer); });
  if (!few) set.ask(sql::kInAnyOrder, Parameters());
}

void ask_for_list(WorkingSet& set, const InstanceFilter& filter, const ListPlan& plan, Parameters wanted) {
  if (!filter.order.attribute.empty()) return ask_in_order(set, filter, plan, std::move(wanted));
  const bool by_index = plan.by == By::entry || plan.by == By::few;
  if (by_index) wanted.add(Bytes{plan.range.from}).add(Bytes{plan.range.before});
  const Statement& statement = plan.by == By::parent  ? sql::kListedChildren
                               : plan.by == By::entry ? sql::kListedByEntry
                               : plan.by == By::few   ? sql::kListedFew
                                                      : sql::kListed;
  if (plan.by != By::few) set.ask(sql::kInOrderOfIndex, Parameters());
  set.ask(statement, wanted, [&set](const Answer& answer) { set.take_instances(answer); });
  if (plan.by != By::few) set.ask(sql::kInAnyOrder, Parameters());
}

}  // namespace

store::InstancePage list(WorkingSet& set, const InstanceFilter& filter) {
  const std::vector<EntryRange> ranges = rules::ranges_of(filter);
  const ListPlan plan = plan_of(set, filter, ranges);
  const auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  const auto limit = static_cast<std::int64_t>(std::min(filter.limit, most)) + 1;
  ask_for_list(set, filter, plan, filters_of(set, filter, others_of(ranges, plan), limit));
  set.bring();
  std::vector<InstanceKey> keys;
  for (const auto& [key, instance] : set.tx().space.instances) keys.push_back(key);
  set.want_custom_status(keys);
  if (set.asked()) set.bring();
  std::vector<const store::InstanceView*> views;
  for (const auto& [key, instance] : std::as_const(set.tx().space.instances)) views.push_back(&instance.view);
  return rules::page_of(std::move(views), filter);
}

store::StatusCounts count_by_status(WorkingSet& set) {
  store::StatusCounts counts;
  set.ask(sql::kStatusCounts, Parameters(set.ns()), [&](const Answer& answer) {
    for (int status = 0; status <= static_cast<int>(InstanceStatus::terminated); ++status) {
      const std::int64_t count = answer.integer(0, status);
      if (count > 0) counts.emplace(static_cast<InstanceStatus>(status), static_cast<std::uint64_t>(count));
    }
  });
  set.bring();
  return counts;
}

store::InstanceCount count(WorkingSet& set, const InstanceFilter& filter) {
  if (rules::is_of_statuses(filter))
    return rules::counted(rules::sum(count_by_status(set), filter.statuses), filter);
  constexpr std::uint64_t kEnough = store::InstanceCount::kMost + 1;
  InstanceFilter all = filter;
  all.order = {};
  all.after = {};
  const std::vector<EntryRange> ranges = rules::ranges_of(all);
  if (rules::is_in_index_alone(all)) return rules::counted(count_entries(set, ranges, kEnough).front(), all);
  const ListPlan plan = plan_of(set, all, ranges);
  Parameters wanted = filters_of(set, all, others_of(ranges, plan), static_cast<std::int64_t>(kEnough));
  if (plan.by == By::entry || plan.by == By::few)
    wanted.add(Bytes{plan.range.from}).add(Bytes{plan.range.before});
  const Statement& statement = plan.by == By::parent  ? sql::kCountedChildren
                               : plan.by == By::entry ? sql::kCountedByEntry
                               : plan.by == By::few   ? sql::kCountedFew
                                                      : sql::kCounted;
  std::uint64_t count = 0;
  set.ask(statement, wanted,
          [&](const Answer& answer) { count = static_cast<std::uint64_t>(answer.integer(0, 0)); });
  set.bring();
  return rules::counted(count, all);
}

}  // namespace holdfast::postgres_store
