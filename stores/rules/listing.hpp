// Lists of instances: which of them a filter takes, in which order, and which index finds them.
//
// Attributes stand in an index of entries: name, type and value as bytes, so that entries of one attribute
// compare as its values do. A list of keywords has an entry for each of them. Entries of one name and another
// type are others: no instance is in the way of what another one keeps under the same name.
#pragma once

#include "rows.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::rules {

// ---- entries -------------------------------------------------------------------------------------

/// All entries of an instance, sorted.
std::vector<std::string> entries_of(std::span<const Attribute> attributes);
/// The entry of a value that is no list.
std::string entry_of(const std::string& name, const AttributeValue& value);

/// Entries from `from` on and before `before`.
struct EntryRange {
  std::string from{};
  std::string before{};

  /// Whether only one entry may be in it.
  [[nodiscard]] bool is_exact() const;
  friend bool operator==(const EntryRange&, const EntryRange&) = default;
};
EntryRange range_of(const AttributeCondition& condition);
/// Of an order by an attribute: where its entries stand.
EntryRange range_of(const ListOrder& order);
/// What has to be in the index for all conditions: conditions on one value are one range.
std::vector<EntryRange> ranges_of(const InstanceFilter& filter);

// ---- which instances, in which order -------------------------------------------------------------

/// Without what the order and the page ask for.
bool matches(const InstanceView& view, const InstanceFilter& filter);
/// Whether it comes behind `after` in the order of the list, and is in the list at all: one by an attribute
/// has only those that have the attribute.
bool is_behind(const InstanceView& view, const InstanceFilter& filter);
/// Adds it unless the page is full; then there is another one, and false says so.
bool add(InstancePage& page, const InstanceView& view, const InstanceFilter& filter);
/// The page of all that match, given in any order. The pointers are sorted on the way.
InstancePage page_of(std::vector<const InstanceView*> views, const InstanceFilter& filter);
/// Whether it is of statuses alone, which are counted anyway.
bool is_of_statuses(const InstanceFilter& filter);
/// Whether counting entries of the index counts instances: it asks for one range of one value that is no
/// list, or for one keyword, and for nothing else.
bool is_in_index_alone(const InstanceFilter& filter);
/// What is said of so many; whoever counts may stop behind InstanceCount::kMost.
InstanceCount counted(std::uint64_t count, const InstanceFilter& filter);
std::uint64_t sum(const StatusCounts& counts, const std::set<InstanceStatus>& statuses);

// ---- where to look -------------------------------------------------------------------------------

/// What a database looks through for a list.
struct ListPlan {
  enum class By : std::uint8_t {
    all,       ///< by key
    statuses,  ///< of each status by key
    parent,    ///< by key
    entry,     ///< of one entry of the index, by key
    few,       ///< all that are in `range`, which are few; they are to be sorted
    order,     ///< in `range`, in the order of the list
  };
  By by = By::all;
  EntryRange range{};
};
/// So many entries are read and sorted, rather than walked through in the hope of a page.
inline constexpr std::uint64_t kFewEntries = 300;
/// `counts`: how many entries are in each of the ranges, up to kFewEntries. `of_statuses`: how many instances
/// have the wanted statuses, if any are.
ListPlan plan_of(const InstanceFilter& filter, std::span<const EntryRange> ranges,
                 std::span<const std::uint64_t> counts, std::optional<std::uint64_t> of_statuses);

}  // namespace holdfast::rules
