// How instances are found for lists and counts. Each list comes in an order that only the index has which it
// is to take: by `-key`, the newest first, or by the entries of an attribute.
#pragma once

#include "tables.hpp"

#include <string>

namespace holdfast::postgres_store::sql {

/// What comes next is planned so that an index gives the order. Statistics that are older than most rows make
/// reading all of a namespace and sorting it look as cheap as a look at one place of the right index.
inline constexpr Statement kInOrderOfIndex{"postgres.in_order_of_index",
                                           "SELECT set_config('enable_sort', 'off', true)"};
inline constexpr Statement kInAnyOrder{"postgres.in_any_order",
                                       "SELECT set_config('enable_sort', 'on', true)"};

// ---- which keys ----------------------------------------------------------------------------------

// Of all of them: $1 is the namespace, $2: before this key, $3 to $8 and $11, $12: filters, $9: so many, $10:
// the parent, if it matters; 0: none. Those by the index of attributes have more: $13 and $14, the range.

/// What is asked of an instance `l` with its route `r`. `l.name || ''` keeps it from the index on names. $11
/// and $12: for each of these ranges it has an entry.
inline std::string is_listed() {
  return "($4::text = '' OR r.name = $4) AND ($5::text = '' OR r.version = $5)"
         " AND starts_with(l.name || '', $6) AND ($7::bigint IS NULL OR l.created_at >= $7)"
         " AND ($8::bigint IS NULL OR l.created_at < $8)"
         " AND (SELECT count(*) FROM unnest($11::bytea[], $12::bytea[]) AS c (first, last) WHERE EXISTS"
         " (SELECT 1 FROM attribute_entries AS e WHERE e.key = l.key AND e.entry >= c.first"
         " AND e.entry < c.last)) = cardinality($11::bytea[])";
}
inline std::string is_of_parent() { return "($10::bigint IS NULL OR coalesce(l.parent, 0) = $10)"; }

/// Each status has its place in an index, so those of one are found however many others there are.
inline std::string keys_by_status() {
  return "SELECT f.key FROM unnest($3::integer[]) AS s (status) CROSS JOIN LATERAL (SELECT l.key"
         " FROM instances AS l LEFT JOIN routes AS r ON r.id = l.route WHERE l.ns = $1"
         " AND l.status = s.status AND -l.key > -$2::bigint AND " +
         is_of_parent() + " AND " + is_listed() +
         " ORDER BY -l.key LIMIT $9) AS f ORDER BY f.key DESC LIMIT $9";
}
/// Children of $10.
inline std::string keys_by_parent() {
  return "SELECT l.key FROM instances AS l LEFT JOIN routes AS r ON r.id = l.route"
         " WHERE l.parent = $10 AND (l.parent, -l.key) > ($10, -$2::bigint) AND l.ns + 0 = $1"
         " AND l.status + 0 = ANY($3::integer[]) AND " +
         is_listed() + " ORDER BY -l.key LIMIT $9";
}
/// Keys `a.key` of `entries`, where the instance is wanted.
inline std::string keys_of(const std::string& entries, const std::string& where, const std::string& order) {
  return "SELECT a.key FROM " + entries +
         " CROSS JOIN LATERAL (SELECT o.* FROM instances AS o WHERE o.key = a.key LIMIT 1) AS l"
         " LEFT JOIN routes AS r ON r.id = l.route WHERE " +
         where + " AND l.status + 0 = ANY($3::integer[]) AND " + is_of_parent() + " AND " + is_listed() +
         " ORDER BY " + order + " LIMIT $9";
}
/// Of the one entry $13.
inline std::string keys_by_entry() {
  return keys_of("attribute_entries AS a",
                 "a.ns = $1 AND a.entry = $13::bytea AND -a.key > -$2::bigint AND $14::bytea IS NOT NULL",
                 "-a.key");
}
/// Few are in the range.
inline std::string keys_of_few() {
  return keys_of(
      "(SELECT DISTINCT e.key FROM attribute_entries AS e WHERE e.ns = $1"
      " AND e.entry >= $13::bytea AND e.entry < $14::bytea) AS a",
      "-a.key > -$2::bigint", "-a.key");
}
// In the order of entries: ascending behind ($13, $15) and before $14, descending before ($14, $15) and down
// to $13; $15 is `-key`. $2 says nothing.
inline std::string keys_up(const std::string& entries) {
  return keys_of(entries,
                 "a.ns = $1 AND (a.entry, -a.key) > ($13::bytea, $15::bigint) AND a.entry < $14::bytea"
                 " AND $2::bigint IS NOT NULL",
                 "a.entry, -a.key");
}
inline std::string keys_down(const std::string& entries) {
  return keys_of(entries,
                 "a.ns = $1 AND (a.entry, -a.key) < ($14::bytea, $15::bigint) AND a.entry >= $13::bytea"
                 " AND $2::bigint IS NOT NULL",
                 "a.entry DESC, -a.key DESC");
}
/// Entries of those that are in another range, $16 and $17, which are few.
inline std::string entries_of_few() {
  return "(SELECT x.ns, x.entry, x.key FROM (SELECT DISTINCT e.key FROM attribute_entries AS e"
         " WHERE e.ns = $1 AND e.entry >= $16::bytea AND e.entry < $17::bytea) AS u"
         " CROSS JOIN LATERAL (SELECT v.ns, v.entry, v.key FROM attribute_entries AS v WHERE v.key = u.key"
         " AND v.entry >= $13::bytea AND v.entry <= $14::bytea) AS x) AS a";
}

// ---- lists and counts ----------------------------------------------------------------------------

inline std::string list_of(const std::string& keys) {
  return table::select_instances("FROM (" + keys +
                                 ") AS w CROSS JOIN LATERAL (SELECT * FROM instances AS o"
                                 " WHERE o.key = w.key LIMIT 1) AS i");
}
inline std::string count_of(const std::string& keys) { return "SELECT count(*) FROM (" + keys + ") AS w"; }

inline constexpr Statement kListed{"postgres.listed", [] { return list_of(keys_by_status()); }};
inline constexpr Statement kListedChildren{"postgres.listed_children",
                                           [] { return list_of(keys_by_parent()); }};
inline constexpr Statement kListedByEntry{"postgres.listed_by_entry",
                                          [] { return list_of(keys_by_entry()); }};
inline constexpr Statement kListedFew{"postgres.listed_few", [] { return list_of(keys_of_few()); }};
inline constexpr Statement kListedUp{"postgres.listed_up",
                                     [] { return list_of(keys_up("attribute_entries AS a")); }};
inline constexpr Statement kListedDown{"postgres.listed_down",
                                       [] { return list_of(keys_down("attribute_entries AS a")); }};
inline constexpr Statement kListedFewUp{"postgres.listed_few_up",
                                        [] { return list_of(keys_up(entries_of_few())); }};
inline constexpr Statement kListedFewDown{"postgres.listed_few_down",
                                          [] { return list_of(keys_down(entries_of_few())); }};
inline constexpr Statement kCounted{"postgres.counted", [] { return count_of(keys_by_status()); }};
inline constexpr Statement kCountedChildren{"postgres.counted_children",
                                            [] { return count_of(keys_by_parent()); }};
inline constexpr Statement kCountedByEntry{"postgres.counted_by_entry",
                                           [] { return count_of(keys_by_entry()); }};
inline constexpr Statement kCountedFew{"postgres.counted_few", [] { return count_of(keys_of_few()); }};

/// How many entries are in each of these ranges, up to $4.
inline constexpr Statement kCountEntries{
    "postgres.count_entries",
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM attribute_entries AS e WHERE e.ns = $1 AND e.entry >= "
    "c.first"
    " AND e.entry < c.last LIMIT $4) AS found) FROM unnest($2::bytea[], $3::bytea[])"
    " WITH ORDINALITY AS c (first, last, n) ORDER BY n"};

}  // namespace holdfast::postgres_store::sql
