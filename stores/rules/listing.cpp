#include "listing.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <type_traits>
#include <variant>

namespace holdfast::rules {

namespace {

// ---- values as bytes that compare like them ------------------------------------------------------

void append_number(std::string& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(number >> static_cast<unsigned>(shift));
}

constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;

void append(std::string& bytes, const std::string& text) { bytes += text; }
void append(std::string& bytes, std::int64_t number) {
  append_number(bytes, static_cast<std::uint64_t>(number) ^ kSign);
}
// The larger a negative one's bits, the smaller it is.
void append(std::string& bytes, double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  append_number(bytes, (bits & kSign) != 0 ? ~bits : bits ^ kSign);
}
void append(std::string& bytes, bool value) { bytes += static_cast<char>(value); }
void append(std::string& bytes, CalendarTime time) { append(bytes, time.time_since_epoch().count()); }

/// Names have no control characters, so none is the beginning of another one's entries.
std::string beginning_of(const std::string& name, AttributeType type) {
  std::string entry = name;
  entry += '\0';
  entry += static_cast<char>(type);
  return entry;
}

/// The first that does not begin with it. Never all of its bytes are 255.
std::string behind_all_of(std::string beginning) {
  while (static_cast<unsigned char>(beginning.back()) == 0xff) beginning.pop_back();
  beginning.back() = static_cast<char>(static_cast<unsigned char>(beginning.back()) + 1);
  return beginning;
}
std::string next_of(std::string entry) {
  entry += '\0';
  return entry;
}

AttributeType type_asked(const AttributeCondition& condition) {
  return condition.is == AttributeCondition::Is::has ? AttributeType::keywords : type_of(condition.value);
}

std::string entry_asked(const AttributeCondition& condition) {
  if (condition.is != AttributeCondition::Is::has) return entry_of(condition.name, condition.value);
  return beginning_of(condition.name, AttributeType::keywords) + std::get<std::string>(condition.value);
}

bool holds(std::span<const Attribute> attributes, const AttributeCondition& condition) {
  const EntryRange range = range_of(condition);
  const AttributeType type = type_asked(condition);
  for (const Attribute& attribute : attributes) {
    if (attribute.name != condition.name || type_of(attribute.value) != type) continue;
    return std::ranges::any_of(entries_of({&attribute, 1}), [&](const std::string& entry) {
      return entry >= range.from && entry < range.before;
    });
  }
  return false;
}

/// Its place in a list by an attribute; none when it has no such attribute.
std::optional<std::string> ordered_entry(const InstanceView& view, const ListOrder& order) {
  for (const Attribute& attribute : view.attributes) {
    if (attribute.name == order.attribute && type_of(attribute.value) == order.type)
      return entry_of(attribute.name, attribute.value);
  }
  return std::nullopt;
}

ListPlace place_of(const InstanceView& view, const ListOrder& order) {
  for (const Attribute& attribute : view.attributes) {
    if (attribute.name == order.attribute && type_of(attribute.value) == order.type)
      return {view.key, attribute.value};
  }
  return view.key;
}

}  // namespace

// ---- entries -------------------------------------------------------------------------------------

std::string entry_of(const std::string& name, const AttributeValue& value) {
  std::string entry = beginning_of(name, type_of(value));
  std::visit(
      [&]<class T>(const T& own) {
        if constexpr (!std::is_same_v<T, Keywords>) append(entry, own);
      },
      value);
  return entry;
}

std::vector<std::string> entries_of(std::span<const Attribute> attributes) {
  std::vector<std::string> entries;
  for (const Attribute& attribute : attributes) {
    const auto* const keywords = std::get_if<Keywords>(&attribute.value);
    if (keywords == nullptr) {
      entries.push_back(entry_of(attribute.name, attribute.value));
      continue;
    }
    for (const std::string& keyword : *keywords)
      entries.push_back(beginning_of(attribute.name, AttributeType::keywords) + keyword);
  }
  std::ranges::sort(entries);
  const auto twice = std::ranges::unique(entries);
  entries.erase(twice.begin(), twice.end());
  return entries;
}

bool EntryRange::is_exact() const { return before == next_of(from); }

EntryRange range_of(const AttributeCondition& condition) {
  using Is = AttributeCondition::Is;
  const std::string first = beginning_of(condition.name, type_asked(condition));
  const std::string entry = entry_asked(condition);
  switch (condition.is) {
    case Is::starts_with:
      return {entry, behind_all_of(entry)};
    case Is::below:
      return {first, entry};
    case Is::at_most:
      return {first, next_of(entry)};
    case Is::above:
      return {next_of(entry), behind_all_of(first)};
    case Is::at_least:
      return {entry, behind_all_of(first)};
    case Is::equal:
    case Is::has:
      break;
  }
  return {entry, next_of(entry)};
}

EntryRange range_of(const ListOrder& order) {
  const std::string first = beginning_of(order.attribute, order.type);
  return {first, behind_all_of(first)};
}

std::vector<EntryRange> ranges_of(const InstanceFilter& filter) {
  std::vector<EntryRange> ranges;
  std::vector<std::string> beginnings;  // of the values that the ranges are about; empty: keywords
  for (const AttributeCondition& condition : filter.attributes) {
    EntryRange range = range_of(condition);
    const AttributeType type = type_asked(condition);
    const std::string beginning =
        type == AttributeType::keywords ? std::string() : beginning_of(condition.name, type);
    const auto same = beginning.empty() ? beginnings.end() : std::ranges::find(beginnings, beginning);
    if (same == beginnings.end()) {
      ranges.push_back(std::move(range));
      beginnings.push_back(beginning);
      continue;
    }
    EntryRange& both = ranges[static_cast<std::size_t>(same - beginnings.begin())];
    both.from = std::max(both.from, range.from);
    both.before = std::min(both.before, range.before);
  }
  return ranges;
}

// ---- which instances, in which order -------------------------------------------------------------

bool matches(const InstanceView& view, const InstanceFilter& filter) {
  return (filter.statuses.empty() || filter.statuses.contains(view.status)) &&
         (filter.orchestration.empty() || filter.orchestration == view.code.name) &&
         (filter.version.empty() || filter.version == view.code.version) &&
         view.instance.starts_with(filter.prefix) && (!filter.parent || *filter.parent == view.parent) &&
         (!filter.created_from || view.created_at >= *filter.created_from) &&
         (!filter.created_before || view.created_at < *filter.created_before) &&
         std::ranges::all_of(filter.attributes, [&](const AttributeCondition& condition) {
           return holds(view.attributes, condition);
         });
}

bool is_behind(const InstanceView& view, const InstanceFilter& filter) {
  const ListPlace& after = filter.after;
  if (filter.order.attribute.empty()) return after.key == InstanceKey{} || view.key < after.key;
  const auto entry = ordered_entry(view, filter.order);
  if (!entry) return false;
  if (after.key == InstanceKey{} || !after.value) return true;
  const std::string last = entry_of(filter.order.attribute, *after.value);
  const bool descends = filter.order.descending;
  if (*entry != last) return descends ? *entry < last : *entry > last;
  return descends ? view.key > after.key : view.key < after.key;
}

bool add(InstancePage& page, const InstanceView& view, const InstanceFilter& filter) {
  if (page.instances.size() < filter.limit) {
    page.instances.push_back(view);
    return true;
  }
  if (!page.instances.empty()) page.next = place_of(page.instances.back(), filter.order);
  return false;
}

InstancePage page_of(std::vector<const InstanceView*> views, const InstanceFilter& filter) {
  std::vector<std::pair<std::string, const InstanceView*>> sorted;
  for (const InstanceView* const view : views) {
    if (!is_behind(*view, filter)) continue;
    sorted.emplace_back(filter.order.attribute.empty() ? "" : *ordered_entry(*view, filter.order), view);
  }
  // Newest first among equals; one that descends is the same from its end.
  const bool descends = !filter.order.attribute.empty() && filter.order.descending;
  std::ranges::sort(sorted, [&](const auto& a, const auto& b) {
    const auto& [first, second] = descends ? std::tie(b, a) : std::tie(a, b);
    return first.first != second.first ? first.first < second.first : first.second->key > second.second->key;
  });
  InstancePage page;
  for (const auto& [entry, view] : sorted) {
    if (!add(page, *view, filter)) break;
  }
  return page;
}

bool is_of_statuses(const InstanceFilter& filter) {
  return filter.orchestration.empty() && filter.version.empty() && filter.prefix.empty() && !filter.parent &&
         !filter.created_from && !filter.created_before && filter.attributes.empty();
}

bool is_in_index_alone(const InstanceFilter& filter) {
  InstanceFilter others = filter;
  others.attributes.clear();
  return filter.statuses.empty() && is_of_statuses(others) && ranges_of(filter).size() == 1;
}

InstanceCount counted(std::uint64_t count, const InstanceFilter& filter) {
  if (count <= InstanceCount::kMost || is_of_statuses(filter)) return {.count = count};
  return {.count = InstanceCount::kMost, .at_least = true};
}

std::uint64_t sum(const StatusCounts& counts, const std::set<InstanceStatus>& statuses) {
  std::uint64_t total = 0;
  for (const auto& [status, count] : counts) {
    if (statuses.empty() || statuses.contains(status)) total += count;
  }
  return total;
}

// ---- where to look -------------------------------------------------------------------------------

ListPlan plan_of(const InstanceFilter& filter, std::span<const EntryRange> ranges,
                 std::span<const std::uint64_t> counts, std::optional<std::uint64_t> of_statuses) {
  using By = ListPlan::By;
  const bool ordered = !filter.order.attribute.empty();
  const auto least = std::ranges::min_element(counts);
  if (least != counts.end() && *least < kFewEntries)
    return {By::few, ranges[static_cast<std::size_t>(least - counts.begin())]};
  if (ordered) {
    // The range of the attribute is among those of the conditions, which may be narrower.
    const EntryRange all = range_of(filter.order);
    for (const EntryRange& range : ranges) {
      if (range.from >= all.from && range.before <= all.before) return {By::order, range};
    }
    return {By::order, all};
  }
  if (filter.parent && *filter.parent != InstanceKey{}) return {By::parent, {}};
  if (of_statuses && *of_statuses < kFewEntries) return {By::statuses, {}};
  const auto exact = std::ranges::find_if(ranges, &EntryRange::is_exact);
  if (exact != ranges.end()) return {By::entry, *exact};
  return {filter.statuses.empty() ? By::all : By::statuses, {}};
}

}  // namespace holdfast::rules
