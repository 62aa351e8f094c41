// Rules in the SQL of statements, where a row has to be found by them. conditions_test compares each with the
// rule itself. `of` is the table that the columns are of; other texts name parameters.
#pragma once

#include "stores/rules/in_sql.hpp"

#include <string>

namespace holdfast::postgres_store::sql {

/// The last moment, which doesn't come: rules::kNever.
inline const char* const kLastMoment = "9223372036854775807";

// ---- instances -----------------------------------------------------------------------------------

/// rules::suits(), of a row of routes: builds are compared as numbers without a sign.
inline std::string suits_build(const std::string& of, const std::string& oldest, const std::string& newest) {
  return "(" + of + ".build = 0 OR (" + of + ".build # (-9223372036854775808)) BETWEEN " + oldest + " AND " +
         newest + ")";
}

/// detail::is_range(), of a version as it is kept.
inline std::string is_range(const std::string& version) {
  return "(left(" + version + ", 1) IN ('^', '~', '>', '<', '='))";
}

// ---- activities ----------------------------------------------------------------------------------

/// Since when it waits, or will: one whose lock is over waits since then, also when nobody has noticed yet.
inline std::string waits_since(const std::string& of) {
  return "(CASE WHEN " + of + ".locked THEN " + of + ".until ELSE " + of + ".ready_since END)";
}

/// rules::Activity::deadline() once its lock is over; null when there is none.
inline std::string deadline_after_lock(const std::string& of) {
  const std::string start = "CASE WHEN " + of + ".start_within IS NOT NULL THEN " + of + ".until + least(" +
                            of + ".start_within, " + kLastMoment + " - greatest(" + of + ".until, 0)) END";
  return "(CASE WHEN " + of + ".session_over IS NOT NULL THEN " + of + ".until ELSE nullif(least(" + start +
         ", " + of + ".total_until), " + kLastMoment + ") END)";
}

/// The same, whether it is locked or not.
inline std::string deadline(const std::string& of) {
  return "(CASE WHEN " + of + ".locked THEN " + deadline_after_lock(of) + " ELSE " + of + ".deadline END)";
}

/// One in no session that a fetch may take.
inline std::string is_free(const std::string& of, const std::string& now) {
  return "NOT " + of + ".locked AND " + of + ".session IS NULL AND " + of + ".ready_since <= " + now +
         " AND (" + of + ".deadline IS NULL OR " + of + ".deadline > " + now + ")";
}

/// rules::can_run(), of a row of kinds.
inline std::string can_run(const std::string& of, const std::string& handlers, const std::string& any_queue,
                           const std::string& queues) {
  return of + ".name = ANY(" + handlers + "::text[]) AND (" + any_queue + " OR " + of + ".queue = ANY(" +
         queues + "::text[]))";
}

// ---- sessions ------------------------------------------------------------------------------------

/// rules::is_held_by(), of one that has not ended.
inline std::string is_held_by(const std::string& worker, const std::string& now) {
  return "(s.worker = " + worker + " AND s.lease_until > " + now + ")";
}

/// rules::is_claimable(), of one that has not ended.
inline std::string is_claimable(const std::string& now) {
  return "(s.ttl_until > " + now + " AND (s.worker = 0 OR (s.reclaim AND s.lease_until <= " + now + ")))";
}

/// rules::is_kept_from(), of one that is claimable.
inline std::string is_kept_from(const std::string& worker, const std::string& now) {
  return "((s.restarted OR s.wanted IS NOT NULL) AND s.worker = 0 AND s.lease_until > " + now +
         " AND coalesce(s.wanted, s.last_owner) <> coalesce((SELECT x.node FROM workers AS x"
         " WHERE x.key = " +
         worker + "), ''))";
}

/// What a sweep knows of a session. $1: the namespace, $2: now, $3 to $5: since when what was left is kept,
/// $7: workers that stay.
inline rules::SweptSession swept_session() {
  return {.now = "$2",
          .state = "$3::bigint",
          .record = "$4::bigint",
          .both = "$5::bigint",
          .has_saved = "(s.saved IS NOT NULL)",
          .has_items = "EXISTS (SELECT 1 FROM activities AS a WHERE a.ns = $1 AND a.session = s.id)",
          .stays = "(s.worker = ANY($7::bigint[]))"};
}

}  // namespace holdfast::postgres_store::sql
