// All SQL of the calls, by name. Rows go there as one array per column.
#pragma once

#include "conditions.hpp"
#include "tables.hpp"

namespace holdfast::postgres_store::sql {

// ---- transactions and time -----------------------------------------------------------------------

inline constexpr Statement kBegin{"postgres.begin", "BEGIN"};
inline constexpr Statement kBeginRead{"postgres.begin_read",
                                      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
inline constexpr Statement kCommit{"postgres.commit", "COMMIT"};
inline constexpr Statement kRollback{"postgres.rollback", "ROLLBACK"};
/// How long this transaction waits for a lock.
inline constexpr Statement kPatience{"postgres.patience", "SELECT set_config('lock_timeout', $1, true)"};
inline constexpr Statement kTime{
    "postgres.time",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, lease_offset, lease_high,"
    " (SELECT number FROM migrations ORDER BY number DESC LIMIT 1) FROM deployment WHERE id = 1"};

// ---- questions -----------------------------------------------------------------------------------

inline constexpr Statement kAsks{"postgres.asks", "SELECT id, body FROM asks WHERE ns = $1"};
inline constexpr Statement kLockedAsks{"postgres.locked_asks",
                                       "SELECT id, body FROM asks WHERE ns = $1 ORDER BY id FOR UPDATE"};
inline constexpr Statement kAnyAsk{"postgres.any_ask", "SELECT 1 FROM asks WHERE ns = $1 LIMIT 1"};
inline constexpr Statement kWriteAsk{"postgres.write_ask",
                                     "INSERT INTO asks (ns, id, body) VALUES ($1, $2, $3)"
                                     " ON CONFLICT (ns, id) DO UPDATE SET body = excluded.body"};
inline constexpr Statement kDeleteAsk{"postgres.delete_ask", "DELETE FROM asks WHERE ns = $1 AND id = $2"};

// ---- guards --------------------------------------------------------------------------------------

// What a transaction relies on without having read it. A guard that fails is a division by zero, the only one
// there is: see SqlError::is_broken_guard().

/// As many rows as $1 says, or it fails: `change` returns one for each.
inline std::string guarded(const std::string& change) {
  return "WITH done AS (" + change + ") SELECT 1 / (count(*) = $1)::integer FROM done";
}
/// The time; $1 is the version of the schema; $3: no activity of higher priority is there; $4: these workers
/// are, neither replaced nor draining.
inline constexpr Statement kGuards{
    "postgres.guards",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, d.lease_offset, d.lease_high,"
    " 1 / coalesce(d.id = 1"
    " AND (SELECT number FROM migrations ORDER BY number DESC LIMIT 1) = $1::bigint"
    " AND NOT ($3 AND EXISTS (SELECT 1 FROM activities AS a WHERE a.ns = $2 AND a.rank < 0))"
    " AND NOT EXISTS (SELECT 1 FROM unnest($4::bigint[]) AS u (key) LEFT JOIN workers AS w ON w.key = u.key"
    " WHERE w.key IS NULL OR w.superseded OR w.draining), false)::integer"
    " FROM (SELECT 1) AS one LEFT JOIN deployment AS d ON d.id = 1"};
/// The number of a transaction that has written something: the version of these rows.
inline constexpr Statement kOwnVersion{"postgres.own_version", "SELECT pg_current_xact_id()::xid"};

inline constexpr Statement kSaveTime{
    "postgres.save_time",
    "UPDATE deployment SET lease_offset = greatest(lease_offset, $1), lease_high = greatest(lease_high, $2)"
    " WHERE id = 1"};
/// The same when only the time has moved on. It waits for nobody: the next transaction tries again.
inline constexpr Statement kSaveTimeIfFree{
    "postgres.save_time_if_free",
    "UPDATE deployment SET lease_high = greatest(lease_high, $1)"
    " WHERE id = (SELECT d.id FROM deployment AS d WHERE d.id = 1 FOR UPDATE SKIP LOCKED)"};
/// In a transaction of its own after the commit: who listens is looked for then, and one that comes later
/// finds what was committed. News may be lost, so it doesn't wait for the disk; and those who notify go one
/// after the other, so they should not be long.
inline constexpr Statement kNotify{"postgres.notify",
                                   "SELECT set_config('synchronous_commit', 'off', true), pg_notify($3, $4)"
                                   " WHERE EXISTS (SELECT 1 FROM listeners WHERE ns = $1 AND id <> $2)"};

// ---- what others have locked ---------------------------------------------------------------------

// Of what is asked for, what somebody else has locked now. None of these waits; what they lock themselves is
// let go of at once.

/// The key of the advisory lock of a name. Such locks belong to the whole database: the schema is in it, so
/// that deployments that share a database don't wait for each other.
inline std::string key_of_name(const std::string& name, const std::string& ns) {
  return "hashtextextended(" + name + ", hashtextextended(current_schema(), " + ns + "))";
}
inline std::string key_of_session_id(const std::string& id) { return key_of_name(id, "-$1::integer"); }

inline constexpr Statement kLockedNames{
    "postgres.locked_names", [] {
      return "SELECT n FROM unnest($2::text[]) AS n WHERE NOT pg_try_advisory_xact_lock(" +
             key_of_name("n", "$1::integer") + ")";
    }};
inline constexpr Statement kLockedSessionIds{
    "postgres.locked_session_ids", [] {
      return "SELECT n FROM unnest($2::text[]) AS n WHERE NOT pg_try_advisory_xact_lock(" +
             key_of_session_id("n") + ")";
    }};
/// With whose it is: one that was named, the session of an activity, or one that an instance which ends has
/// opened or has activities in.
inline constexpr Statement kLockedSessions{
    "postgres.locked_sessions",
    "WITH w (id, key, execution, event) AS MATERIALIZED ("
    " SELECT n, 0::bigint, 0::bigint, 0::bigint FROM unnest($5::text[]) AS n"
    " UNION ALL SELECT a.session, a.key, a.execution, a.event"
    " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u (key, execution, event) JOIN activities AS a"
    " ON a.key = u.key AND a.execution = u.execution AND a.event = u.event AND a.session IS NOT NULL"
    " UNION ALL SELECT a.session, a.key, 0, 0 FROM activities AS a WHERE a.key = ANY($6::bigint[])"
    " AND a.session IS NOT NULL"
    " UNION ALL SELECT o.id, o.opener, 0, 0 FROM sessions AS o WHERE o.opener = ANY($6::bigint[])"
    " AND o.opener <> 0 AND o.ended IS NULL),"
    " free AS MATERIALIZED (SELECT s.id FROM sessions AS s WHERE s.ns = $1"
    " AND s.id = ANY(ARRAY(SELECT w.id FROM w)) FOR UPDATE SKIP LOCKED)"
    " SELECT w.id, w.key, w.execution, w.event FROM w JOIN sessions AS s ON s.ns = $1 AND s.id = w.id"
    " WHERE w.id <> ALL(ARRAY(SELECT f.id FROM free AS f))"};
inline constexpr Statement kLockedInstances{
    "postgres.locked_instances",
    "WITH w AS MATERIALIZED (SELECT i.key, i.name FROM instances AS i WHERE i.key = ANY(ARRAY(SELECT n.key"
    " FROM unnest($3::text[]) AS w CROSS JOIN LATERAL (SELECT l.key FROM instances AS l WHERE l.ns = $1"
    " AND l.name = w LIMIT 1) AS n) || $2::bigint[]) AND i.ns + 0 = $1),"
    " free AS MATERIALIZED (SELECT i.key FROM instances AS i WHERE i.key = ANY(ARRAY(SELECT w.key FROM w))"
    " FOR UPDATE SKIP LOCKED)"
    " SELECT w.key, w.name FROM w WHERE w.key <> ALL(ARRAY(SELECT f.key FROM free AS f))"};
inline constexpr Statement kLockedActivities{
    "postgres.locked_activities",
    "WITH w (key, execution, event) AS MATERIALIZED (SELECT a.key, a.execution, a.event"
    " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u (key, execution, event) JOIN activities AS a"
    " ON a.key = u.key AND a.execution = u.execution AND a.event = u.event AND a.ns + 0 = $1"
    " UNION SELECT l.key, l.execution, l.event FROM activities AS l WHERE l.key = ANY($5::bigint[])),"
    " free AS MATERIALIZED (SELECT a.key, a.execution, a.event FROM w JOIN activities AS a ON a.key = w.key"
    " AND a.execution = w.execution AND a.event = w.event FOR UPDATE OF a SKIP LOCKED)"
    " SELECT w.key, w.execution, w.event FROM w WHERE NOT EXISTS (SELECT 1 FROM free AS f"
    " WHERE f.key = w.key AND f.execution = w.execution AND f.event = w.event)"};

// ---- numbers and interned names ------------------------------------------------------------------

inline constexpr Statement kNextInstances{
    "postgres.next_instances", "SELECT nextval('instance_keys') FROM generate_series(1, $1::integer)"};
inline constexpr Statement kNextMessages{
    "postgres.next_messages", "SELECT nextval('message_ids') FROM generate_series(1, $1::integer)"};
// Who holds something under one of these is told apart by it, so a crash of the server must not give it to
// another: whatever is said of waiting for the disk, these transactions do.
inline constexpr Statement kNextWorker{
    "postgres.next_worker", "SELECT nextval('worker_keys'), set_config('synchronous_commit', 'on', true)"};
inline constexpr Statement kNextGeneration{
    "postgres.next_generation",
    "SELECT nextval('generations'), set_config('synchronous_commit', 'on', true)"};
inline constexpr Statement kInternNamespace{
    "postgres.intern_namespace",
    "INSERT INTO namespaces (name) VALUES ($1)"
    " ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name RETURNING id"};
inline constexpr Statement kRoutes{"postgres.routes",
                                   "SELECT id, name, version, build, terminating FROM routes"
                                   " WHERE ns = $1"};
inline constexpr Statement kInternRoute{
    "postgres.intern_route",
    "INSERT INTO routes (ns, name, version, build, terminating) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (ns, name, version, build, terminating) DO UPDATE SET build = EXCLUDED.build RETURNING id"};
inline constexpr Statement kKinds{"postgres.kinds", "SELECT id, queue, name FROM kinds WHERE ns = $1"};
inline constexpr Statement kInternKind{
    "postgres.intern_kind",
    "INSERT INTO kinds (ns, queue, name) VALUES ($1, $2, $3)"
    " ON CONFLICT (ns, queue, name) DO UPDATE SET name = EXCLUDED.name RETURNING id"};

// ---- instances -----------------------------------------------------------------------------------

// Rows are found by key or by name, whatever the planner knows of the tables: `ns + 0` keeps it from the
// index on names where keys are given.

/// Nobody else gives these ids to new instances, or keeps anything for them, until the transaction is over.
inline constexpr Statement kReserve{"postgres.reserve", [] {
                                      return "SELECT pg_advisory_xact_lock(key) FROM (SELECT " +
                                             key_of_name("n", "$1::integer") +
                                             " AS key FROM unnest($2::text[]) AS n ORDER BY key) AS keys";
                                    }};
inline constexpr Statement kInstances{
    "postgres.instances", [] {
      return table::select_versioned_instances(
          "FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1"
          " ORDER BY i.key FOR UPDATE");
    }};
inline constexpr Statement kInstancesNow{
    "postgres.instances_now", [] {
      return table::select_versioned_instances(
          "FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1"
          " ORDER BY i.key FOR UPDATE SKIP LOCKED");
    }};
inline constexpr Statement kInstancesByName{
    "postgres.instances_by_name", [] {
      return table::select_versioned_instances(
          "FROM instances AS i WHERE i.key = ANY(ARRAY(SELECT n.key FROM unnest($3::text[]) AS w"
          " CROSS JOIN LATERAL (SELECT l.key FROM instances AS l WHERE l.ns = $1 AND l.name = w LIMIT 1)"
          " AS n) || $2::bigint[]) AND i.ns + 0 = $1 ORDER BY i.key FOR UPDATE");
    }};
inline constexpr Statement kReadInstances{
    "postgres.read_instances", [] {
      return table::select_instances("FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1");
    }};
inline constexpr Statement kReadInstancesByName{
    "postgres.read_instances_by_name", [] {
      return table::select_instances(
          "FROM unnest($2::text[]) AS w JOIN instances AS i ON i.ns = $1 AND i.name = w");
    }};
inline constexpr Statement kReadChildren{
    "postgres.read_children", [] {
      return table::select_instances("FROM instances AS i WHERE i.parent = $1 AND " +
                                     rules::is_open("i.status + 0") +
                                     " ORDER BY -i.key DESC LIMIT $2::integer");
    }};
inline constexpr Statement kCountChildren{
    "postgres.count_children", [] {
      return "SELECT count(*) FROM instances AS i WHERE i.parent = $1 AND " + rules::is_open("i.status + 0");
    }};
inline constexpr Statement kReadAllInstances{
    "postgres.read_all_instances",
    [] { return table::select_instances("FROM instances AS i WHERE i.ns = $1"); }};
inline constexpr Statement kParked{
    "postgres.parked", [] {
      return table::select_instances("FROM instances AS i WHERE i.ns = $1 AND i.status = " +
                                     rules::number(store::InstanceStatus::parked) +
                                     " AND -i.key < -$2::bigint ORDER BY -i.key DESC LIMIT $3 FOR UPDATE");
    }};
inline constexpr Statement kInstanceNames{"postgres.instance_names",
                                          "SELECT key, name FROM instances WHERE ns + 0 = $1"
                                          " AND key = ANY($2::bigint[])"};
inline constexpr ShapedStatement kInsertInstances{"postgres.insert_instances", [](const Shape& shape) {
                                                    const ColumnList columns = table::instances();
                                                    return "INSERT INTO instances (ns, " + columns.names() +
                                                           ") SELECT $1, " + columns.in_shape(shape, 2) +
                                                           " FROM " + columns.rows_in_shape(shape, 2);
                                                  }};
/// What most turns change.
inline constexpr ShapedStatement kUpdateTurns{"postgres.update_turns", [](const Shape& shape) {
                                                return table::update_instances(shape, table::turns());
                                              }};
inline constexpr ShapedStatement kUpdateInstances{
    "postgres.update_instances",
    [](const Shape& shape) { return table::update_instances(shape, table::turns() + table::states()); }};
/// Rows that are kept: their versions are $3.
inline constexpr ShapedStatement kUpdateKept{
    "postgres.update_kept", [](const Shape& shape) {
      const ColumnList columns =
          table::instance_keys() + table::versions() + table::turns() + table::states();
      return guarded("UPDATE instances AS i SET " + columns.set_in_shape(shape, 2, 2) + " FROM " +
                     columns.rows_in_shape(shape, 2) +
                     " WHERE i.key = n.key AND i.xmin = n.version RETURNING 1");
    }};
inline constexpr Statement kLockKept{
    "postgres.lock_kept", [] {
      return guarded(
          "SELECT 1 FROM unnest($2::bigint[], $3::xid[]) AS n (key, version)"
          " JOIN instances AS i ON i.key = n.key AND i.xmin = n.version FOR UPDATE OF i");
    }};
inline constexpr Statement kDeleteInstances{"postgres.delete_instances",
                                            "DELETE FROM instances WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteMessagesOf{"postgres.delete_messages_of",
                                             "DELETE FROM messages WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteDelayedOf{"postgres.delete_delayed_of",
                                            "DELETE FROM delayed WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteValuesOf{"postgres.delete_values_of",
                                           "DELETE FROM kept_values WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteStatusOf{"postgres.delete_status_of",
                                           "DELETE FROM custom_status WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteEntriesOf{"postgres.delete_entries_of",
                                            "DELETE FROM attribute_entries WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kDeleteEntries{
    "postgres.delete_entries",
    "DELETE FROM attribute_entries AS e USING unnest($1::bigint[], $2::bytea[]) AS n (key, entry)"
    " WHERE e.key = n.key AND e.entry = n.entry"};
inline constexpr Statement kInsertEntries{
    "postgres.insert_entries",
    "INSERT INTO attribute_entries (ns, key, entry) SELECT $1, n.key, n.entry"
    " FROM unnest($2::bigint[], $3::bytea[]) AS n (key, entry) ON CONFLICT DO NOTHING"};

/// Nobody else writes this row while the connection lives.
inline std::string status_counts() {
  return "running, suspended, parked, completed, failed, cancelled, terminated";
}
inline std::string add_to_status_counts(const std::string& source) {
  return "INSERT INTO status_counts AS c (ns, backend, " + status_counts() + ") " + source +
         " ON CONFLICT (ns, backend) DO UPDATE SET running = c.running + excluded.running,"
         " suspended = c.suspended + excluded.suspended, parked = c.parked + excluded.parked,"
         " completed = c.completed + excluded.completed, failed = c.failed + excluded.failed,"
         " cancelled = c.cancelled + excluded.cancelled, terminated = c.terminated + excluded.terminated";
}
inline constexpr Statement kAddStatusCounts{
    "postgres.add_status_counts", [] {
      return add_to_status_counts(
          "VALUES ($1::integer, pg_backend_pid(), $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint,"
          " $7::bigint, $8::bigint)");
    }};
/// Rows of connections that are gone, once there are many.
inline constexpr Statement kFoldStatusCounts{
    "postgres.fold_status_counts", [] {
      return "WITH gone AS (DELETE FROM status_counts AS d WHERE d.ns = $1 AND d.backend = ANY(ARRAY("
             "SELECT s.backend FROM status_counts AS s WHERE s.ns = $1 AND s.backend <> pg_backend_pid()"
             " AND (SELECT count(*) FROM status_counts AS m WHERE m.ns = $1) > 16"
             " AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS p WHERE p.pid = s.backend)"
             " LIMIT 100 FOR UPDATE OF s SKIP LOCKED)) RETURNING d.*) " +
             add_to_status_counts(
                 "SELECT $1::integer, pg_backend_pid(), sum(running), sum(suspended), sum(parked),"
                 " sum(completed), sum(failed), sum(cancelled), sum(terminated) FROM gone"
                 " HAVING count(*) > 0");
    }};
inline constexpr Statement kStatusCounts{
    "postgres.status_counts",
    "SELECT coalesce(sum(running), 0)::bigint, coalesce(sum(suspended), 0)::bigint,"
    " coalesce(sum(parked), 0)::bigint, coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), "
    "0)::bigint,"
    " coalesce(sum(cancelled), 0)::bigint, coalesce(sum(terminated), 0)::bigint FROM status_counts"
    " WHERE ns = $1"};
/// A long history goes in slices, by sweeps.
inline constexpr Statement kRemains{
    "postgres.remains",
    "INSERT INTO remains SELECT k FROM unnest($1::bigint[]) AS k WHERE (SELECT count(*) FROM"
    " (SELECT 1 FROM history WHERE key = k LIMIT 1001) AS s) > 1000 ON CONFLICT DO NOTHING"};
inline constexpr Statement kDeleteHistoryOf{
    "postgres.delete_history_of",
    "DELETE FROM history AS h WHERE h.key = ANY($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM remains AS r WHERE r.key = h.key)"};

// ---- turns ---------------------------------------------------------------------------------------

inline constexpr Statement kDueKeys{
    "postgres.due_keys",
    "(SELECT key FROM timers WHERE ns = $1 AND due <= $2 ORDER BY due, key, event LIMIT 500)"
    " UNION (SELECT key FROM delayed WHERE ns = $1 AND at <= $3 ORDER BY at, number LIMIT 500)"};
/// rules::suits(): routes of $1 that workers may run who have $2 in versions $3, of builds from $4 to $5.
inline std::string suiting_routes() {
  return "(SELECT a.id FROM unnest($2::text[], $3::text[]) AS c (name, version) JOIN routes AS a ON a.ns = $1"
         " AND a.name = c.name AND a.version = c.version AND NOT a.terminating AND " +
         suits_build("a", "$4", "$5") +
         " UNION ALL SELECT b.id FROM routes AS b WHERE b.ns = $1 AND b.terminating) AS r";
}
inline constexpr Statement kReadyInstances{
    "postgres.ready_instances", [] {
      return table::select_instances(
          "FROM " + suiting_routes() +
          " CROSS JOIN LATERAL (SELECT * FROM instances AS l WHERE l.route = r.id AND l.due_at <= $6"
          " ORDER BY l.due_at, l.key LIMIT $7 FOR UPDATE SKIP LOCKED) AS i");
    }};
/// What kReadyInstances would find if nobody had locked anything.
inline constexpr Statement kReadyKeys{
    "postgres.ready_keys", [] {
      return "SELECT i.key FROM " + suiting_routes() +
             " CROSS JOIN LATERAL (SELECT l.key FROM instances AS l WHERE l.route = r.id"
             " AND l.due_at <= $6 ORDER BY l.due_at, l.key LIMIT $7) AS i";
    }};
inline constexpr Statement kHeldWithNews{
    "postgres.held_with_news",
    "SELECT h.key FROM unnest($1::bigint[], $2::bigint[]) AS h (key, seen) WHERE EXISTS (SELECT 1"
    " FROM messages AS m WHERE m.key = h.key AND m.waits IN (0, 1) AND m.id > h.seen) ORDER BY h.key"};
/// When the lock of an instance ends, other than of held ones with news, or an instance that this worker may
/// take becomes ready; and how many routes ask for a range of versions.
inline constexpr Statement kNextTurn{
    "postgres.next_turn", [] {
      return "SELECT min(i.due_at), (SELECT count(*) FROM routes AS q WHERE q.ns = $1 AND " +
             is_range("q.version") +
             ") FROM routes AS r CROSS JOIN LATERAL (SELECT l.due_at FROM instances AS l"
             " WHERE l.route = r.id AND l.due_at > $6 AND NOT EXISTS (SELECT 1"
             " FROM unnest($7::bigint[], $8::bigint[]) AS h (key, seen) JOIN messages AS m ON m.key = h.key"
             " AND m.waits IN (0, 1) AND m.id > h.seen WHERE h.key = l.key) AND (l.locked OR r.terminating "
             "OR (" +
             suits_build("r", "$4", "$5") +
             " AND EXISTS (SELECT 1 FROM unnest($2::text[], $3::text[]) AS c (name, version)"
             " WHERE r.name = c.name AND r.version = c.version))) ORDER BY l.due_at LIMIT 1) AS i"
             " WHERE r.ns = $1";
    }};
/// Instances that are locked by one token.
inline constexpr Statement kInstancesLockedBy{
    "postgres.instances_locked_by",
    "SELECT i.key FROM routes AS r CROSS JOIN LATERAL (SELECT l.key FROM instances AS l"
    " WHERE l.route = r.id AND l.due_at > $3 AND l.locked AND l.token = $2) AS i WHERE r.ns = $1"};
inline constexpr Statement kNextTimer{
    "postgres.next_timer", "SELECT due FROM timers WHERE ns = $1 AND due > $2 ORDER BY due LIMIT 1"};
inline constexpr Statement kNextDelayed{
    "postgres.next_delayed", "SELECT at FROM delayed WHERE ns = $1 AND at > $2 ORDER BY at LIMIT 1"};
inline constexpr Statement kInsertHistory{
    "postgres.insert_history",
    "INSERT INTO history (key, execution, first_event, bytes)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])"};
/// The same where some of them may be there: the server then notes each row twice in its log.
inline constexpr Statement kUpsertHistory{
    "postgres.upsert_history",
    "INSERT INTO history (key, execution, first_event, bytes)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])"
    " ON CONFLICT (key, execution, first_event) DO UPDATE SET bytes = EXCLUDED.bytes"};
inline constexpr Statement kReadHistory{
    "postgres.read_history",
    "SELECT first_event, bytes FROM (SELECT first_event, bytes, sum(length(bytes)) OVER"
    " (ORDER BY first_event ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total,"
    " row_number() OVER (ORDER BY first_event) AS n FROM (SELECT first_event, bytes FROM history"
    " WHERE key = $1 AND execution = $2 AND first_event > $3 ORDER BY first_event LIMIT 1000) AS s) AS t"
    " WHERE n = 1 OR total <= $4 ORDER BY first_event"};
inline constexpr Statement kAllHistory{"postgres.all_history",
                                       "SELECT h.key, h.execution, h.first_event, h.bytes FROM history AS h"
                                       " JOIN instances AS i ON i.key = h.key WHERE i.ns = $1"};
inline constexpr Statement kExecutions{
    "postgres.executions",
    "SELECT execution, count(*), sum(length(bytes))::bigint FROM history WHERE key = $1"
    " GROUP BY execution ORDER BY execution"};
inline constexpr Statement kPruneHistory{
    "postgres.prune_history",
    "WITH gone AS (DELETE FROM history WHERE key = $1 AND execution >= $2 AND execution < $3"
    " RETURNING execution) SELECT count(DISTINCT execution) FROM gone"};

// ---- messages ------------------------------------------------------------------------------------

/// Those that wake their instance, and deliveries after what its frame was given.
inline constexpr Statement kUnread{
    "postgres.unread", [] {
      return table::select_messages(
          "FROM unnest($1::bigint[], $2::bigint[]) AS w (key, seen)"
          " CROSS JOIN LATERAL (SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 0"
          " UNION ALL SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 1"
          " AND l.id > w.seen) AS m");
    }};
/// The last one for each address.
inline constexpr Statement kLastFor{
    "postgres.last_for", [] {
      return table::select_messages(
          "FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS w (key, kind, address)"
          " CROSS JOIN LATERAL (SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 1"
          " AND l.address_kind = w.kind AND l.address = w.address ORDER BY l.id DESC LIMIT 1) AS m");
    }};
inline constexpr Statement kWaking{
    "postgres.waking",
    [] { return table::select_messages("FROM messages AS m WHERE m.key = $1 AND m.waits = 0"); }};
inline constexpr Statement kMessagesAfter{
    "postgres.messages_after", [] {
      return table::select_messages(
          "FROM unnest($1::bigint[], $2::bigint[]) AS w (key, seen) JOIN messages AS m ON m.key = w.key"
          " AND m.waits IN (0, 1) AND m.id > w.seen");
    }};
inline constexpr Statement kMessage{"postgres.message", [] {
                                      return table::select_messages(
                                          "FROM messages AS m WHERE m.key = $1"
                                          " AND m.waits IN (0, 1) AND m.id = $2");
                                    }};
inline constexpr Statement kAllMessages{"postgres.all_messages", [] {
                                          return table::select_messages(
                                              "FROM messages AS m JOIN instances AS i ON i.key = m.key"
                                              " WHERE i.ns = $1");
                                        }};
inline constexpr Statement kCountUnread{
    "postgres.count_unread",
    [] { return "SELECT count(*) FROM messages WHERE key = $1 AND " + rules::is_no_start(); }};
/// A row without a key only takes a number: its message was made, and dropped again.
inline constexpr Statement kInsertMessages{
    "postgres.insert_messages", [] {
      const ColumnList columns = table::messages();
      return "INSERT INTO messages (key, id, waits, " + columns.names() +
             ") SELECT * FROM (SELECT m.key, coalesce(m.id, nextval('message_ids')), m.waits, " +
             columns.of("m") + " FROM unnest($1::bigint[], $2::bigint[], $3::integer[], " +
             columns.arrays(4) + ") AS m (key, id, waits, " + columns.names() +
             ") OFFSET 0) AS n WHERE n.key IS NOT NULL";
    }};
inline constexpr Statement kDeleteMessages{
    "postgres.delete_messages",
    "DELETE FROM messages AS m USING unnest($1::bigint[], $2::bigint[]) AS d (key, id)"
    " WHERE m.key = d.key AND m.waits IN (0, 1) AND m.id = d.id"};
inline constexpr Statement kDropAllButStarts{
    "postgres.drop_all_but_starts",
    [] { return "DELETE FROM messages WHERE key = ANY($1::bigint[]) AND " + rules::is_no_start(); }};
inline constexpr Statement kDropDelayedButStarts{
    "postgres.drop_delayed_but_starts",
    [] { return "DELETE FROM delayed WHERE key = ANY($1::bigint[]) AND " + rules::is_no_start(); }};
inline constexpr Statement kDropOfExecution{
    "postgres.drop_of_execution", [] {
      return "DELETE FROM messages WHERE key = ANY($1::bigint[]) AND waits = 0 AND " +
             rules::is_of_execution();
    }};

inline constexpr Statement kTimers{"postgres.timers",
                                   "SELECT key, event, due FROM timers WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kAllTimers{"postgres.all_timers",
                                      "SELECT key, event, due FROM timers WHERE ns = $1"};
inline constexpr Statement kInsertTimers{"postgres.insert_timers",
                                         "INSERT INTO timers (ns, key, event, due)"
                                         " SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"
                                         " ON CONFLICT (key, event) DO UPDATE SET due = EXCLUDED.due"};
inline constexpr Statement kDeleteTimers{
    "postgres.delete_timers",
    "DELETE FROM timers AS t USING unnest($1::bigint[], $2::bigint[]) AS d (key, event)"
    " WHERE t.key = d.key AND t.event = d.event"};

inline constexpr Statement kDelayed{
    "postgres.delayed",
    [] { return table::select_delayed("FROM delayed AS d WHERE d.key = ANY($1::bigint[])"); }};
inline constexpr Statement kAllDelayed{
    "postgres.all_delayed", [] { return table::select_delayed("FROM delayed AS d WHERE d.ns = $1"); }};
inline constexpr Statement kInsertDelayed{
    "postgres.insert_delayed",
    [] { return table::insert_numbered("delayed", "nextval('delayed_numbers')", table::delayed()); }};
inline constexpr Statement kDeleteDelayed{"postgres.delete_delayed",
                                          "DELETE FROM delayed WHERE number = ANY($1::bigint[])"};

// ---- activities ----------------------------------------------------------------------------------

/// Those named, and all of some instances: together, so that all who lock several do so in one order.
inline constexpr Statement kActivities{
    "postgres.activities", [] {
      return table::select_activities(
          "FROM (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"
          " UNION SELECT l.key, l.execution, l.event FROM activities AS l WHERE l.key = ANY($5::bigint[])) "
          "AS w (key, execution, event)"
          " JOIN activities AS a ON a.key = w.key AND a.execution = w.execution AND a.event = w.event"
          " AND a.ns + 0 = $1 ORDER BY a.key, a.execution, a.event FOR UPDATE OF a");
    }};
inline constexpr Statement kActivitiesIn{
    "postgres.activities_in", [] {
      return table::select_activities(
          "FROM unnest($2::text[]) AS w JOIN activities AS a ON a.ns = $1 AND a.session "
          "= w ORDER BY a.key, a.execution, a.event FOR UPDATE OF a");
    }};
inline constexpr Statement kUrgent{"postgres.urgent", [] {
                                     return table::select_activities(
                                         "FROM activities AS a WHERE a.ns = $1 AND a.rank < $2"
                                         " AND a.rank < 0 ORDER BY a.rank LIMIT 1000");
                                   }};
/// The same where not only what has a priority counts.
inline constexpr Statement kMoreUrgent{
    "postgres.more_urgent", [] {
      return table::select_activities(
                 "FROM kinds AS k CROSS JOIN LATERAL (SELECT * FROM activities AS l WHERE l.kind = k.id"
                 " AND NOT l.locked AND l.session IS NULL AND l.rank < $2 ORDER BY l.rank, l.ready_since"
                 " LIMIT 100) AS a WHERE k.ns = $1") +
             " UNION ALL (" +
             table::select_activities(
                 "FROM activities AS a WHERE a.ns = $1 AND a.session IS NOT NULL"
                 " AND a.rank < $2 LIMIT 1000") +
             ") UNION ALL (" +
             table::select_activities(
                 "FROM activities AS a WHERE a.ns = $1 AND a.locked AND a.session IS NULL"
                 " AND a.rank < $2 ORDER BY a.until LIMIT 1000") +
             ")";
    }};
inline constexpr Statement kReadActivitiesOf{
    "postgres.read_activities_of",
    [] { return table::select_activities("FROM activities AS a WHERE a.key = ANY($1::bigint[])"); }};
inline constexpr Statement kReadActivitiesIn{
    "postgres.read_activities_in", [] {
      return table::select_activities(
          "FROM unnest($2::text[]) AS w JOIN activities AS a ON a.ns = $1 AND a.session = w");
    }};
inline constexpr Statement kReadAllActivities{
    "postgres.read_all_activities",
    [] { return table::select_activities("FROM activities AS a WHERE a.ns = $1"); }};
/// Locks that are over: from now on these wait for a worker.
inline constexpr Statement kLetLapse{
    "postgres.let_lapse", [] {
      return "UPDATE activities AS a SET locked = false, ready_since = a.until, deadline = " +
             deadline_after_lock("a") +
             " FROM (SELECT key, execution, event FROM activities WHERE ns = $1 AND locked AND until <= $2"
             " AND session IS NULL ORDER BY until LIMIT 500 FOR UPDATE SKIP LOCKED) AS l"
             " WHERE a.key = l.key AND a.execution = l.execution AND a.event = l.event";
    }};
// $2 to $4 say what a worker can run.

/// At most $6, in the order of everybody. Rows are locked one by one, in the order in which they are looked
/// at, until there are so many: the others stay free for those who come at the same time. $7 of each kind are
/// looked at. Behind the columns the id of the instance.
inline constexpr Statement kFreeActivities{
    "postgres.free_activities", [] {
      return table::select_named_activities(
          "FROM (SELECT f.* FROM kinds AS k CROSS JOIN LATERAL (SELECT l.rank, l.ready_since, l.key,"
          " l.execution, l.event FROM activities AS l WHERE l.kind = k.id AND " +
          is_free("l", "$5") +
          " ORDER BY l.rank, l.ready_since, l.key, l.execution, l.event LIMIT $7) AS f WHERE k.ns = $1 AND " +
          can_run("k", "$2", "$3", "$4") +
          " ORDER BY f.rank, f.ready_since, f.key, f.execution, f.event OFFSET 0) AS c"
          " CROSS JOIN LATERAL (SELECT * FROM activities AS l WHERE l.key = c.key"
          " AND l.execution = c.execution AND l.event = c.event AND " +
          is_free("l", "$5") +
          " FOR UPDATE SKIP LOCKED) AS a LEFT JOIN LATERAL (SELECT x.name FROM instances AS x"
          " WHERE x.key = a.key) AS i ON true LIMIT $6");
    }};
/// Whether there is more, locked by others or not.
inline constexpr Statement kAnyFree{
    "postgres.any_free", [] {
      return "SELECT EXISTS (SELECT 1 FROM kinds AS k CROSS JOIN LATERAL (SELECT 1 FROM activities AS l"
             " WHERE l.kind = k.id AND " +
             is_free("l", "$5") + " LIMIT 1) AS a WHERE k.ns = $1 AND " + can_run("k", "$2", "$3", "$4") +
             ")";
    }};
/// What is locked by one token: free ones, and the sessions of the others.
inline constexpr Statement kFreeLockedBy{
    "postgres.free_locked_by", [] {
      return table::select_activities(
          "FROM activities AS a WHERE a.ns = $1 AND a.locked"
          " AND a.token = $2 AND a.until > $3 AND a.session IS NULL"
          " ORDER BY a.key, a.execution, a.event FOR UPDATE SKIP LOCKED");
    }};
inline constexpr Statement kSessionsLockedBy{
    "postgres.sessions_locked_by",
    "SELECT DISTINCT session FROM activities WHERE ns = $1 AND locked AND token = $2 AND until > $3"
    " AND session IS NOT NULL"};
/// Sessions that the worker holds, and, unless $8, those that it may claim, in the order of their first
/// activities that it may take: whether it holds it, since when the oldest of these waits (null: there is
/// none), and whether there are others that it can't run. Sessions without any activity are never looked at,
/// however many there are.
inline constexpr Statement kSessionsFor{
    "postgres.sessions_for", [] {
      const std::string runs = can_run("k", "$3", "$4", "$5");
      const std::string held = is_held_by("$2", "$6");
      return "WITH RECURSIVE busy (id) AS ((SELECT a.session FROM activities AS a WHERE a.ns = $1"
             " AND a.session IS NOT NULL ORDER BY a.session LIMIT 1) UNION ALL SELECT (SELECT a.session"
             " FROM activities AS a WHERE a.ns = $1 AND a.session > b.id ORDER BY a.session LIMIT 1)"
             " FROM busy AS b WHERE b.id IS NOT NULL)"
             " SELECT s.id, " +
             held +
             ", i.oldest, o.strange FROM busy AS b"
             " CROSS JOIN LATERAL (SELECT l.id, l.worker, l.lease_until, l.ended, l.ttl_until, l.reclaim,"
             " l.requirements, l.max_concurrent, l.restarted, l.last_owner, l.wanted FROM sessions AS l"
             " WHERE l.ns = $1 AND l.id = b.id OFFSET 0) AS s"
             " LEFT JOIN LATERAL (SELECT a.rank, d.since, a.key, a.execution, a.event,"
             " min(d.since) OVER () AS oldest FROM activities AS a JOIN kinds AS k ON k.id = a.kind AND " +
             runs + " CROSS JOIN LATERAL (SELECT " + waits_since("a") + ", " + deadline("a") +
             ") AS d (since, deadline) WHERE a.ns = $1 AND a.session = s.id AND d.since <= $6"
             " AND (d.deadline IS NULL OR d.deadline > $6) AND s.requirements <@ $7::text[]"
             " AND (s.max_concurrent = 0 OR s.max_concurrent > (SELECT count(*) FROM activities AS r"
             " WHERE r.ns = $1 AND r.session = s.id AND r.locked AND r.until + 0 > $6)"
             " + (SELECT count(*) FROM cancels AS c WHERE c.ns = $1 AND c.session = s.id AND " +
             rules::may_still_run("c.", "$6") +
             ")) ORDER BY a.rank, d.since, a.key, a.execution, a.event LIMIT 1) AS i ON true"
             " CROSS JOIN LATERAL (SELECT " +
             held + " AND EXISTS (SELECT 1 FROM activities AS a WHERE a.ns = $1 AND a.session = s.id AND " +
             waits_since("a") + " <= $6 AND NOT EXISTS (SELECT 1 FROM kinds AS k WHERE k.id = a.kind AND " +
             runs + "))) AS o (strange) WHERE s.ended IS NULL AND (" + held + " OR (NOT $8 AND " +
             is_claimable("$6") + " AND NOT " + is_kept_from("$2", "$6") +
             ")) AND (i.oldest IS NOT NULL OR o.strange)"
             " ORDER BY i.rank, i.since, i.key, i.execution, i.event";
    }};
/// When something that this worker could run is due: what backs off, and what sessions of others hold.
inline constexpr Statement kNextFree{
    "postgres.next_free", [] {
      return "SELECT min(a.ready_since) FROM kinds AS k CROSS JOIN LATERAL (SELECT l.ready_since"
             " FROM activities AS l WHERE l.kind = k.id AND NOT l.locked AND l.session IS NULL"
             " AND l.ready_since > $5 ORDER BY l.ready_since LIMIT 1) AS a WHERE k.ns = $1 AND " +
             can_run("k", "$2", "$3", "$4");
    }};
inline constexpr Statement kNextInSessions{
    "postgres.next_in_sessions", [] {
      const std::string held = is_held_by("$7", "$5");
      const std::string kept = is_kept_from("$7", "$5");
      return "SELECT min(CASE WHEN " + held + " THEN a.at WHEN s.lease_until > $5 AND (s.worker <> 0 OR " +
             kept +
             ") THEN greatest(a.at, s.lease_until) ELSE a.at END)"
             " FROM activities AS q JOIN kinds AS k ON k.id = q.kind"
             " JOIN sessions AS s ON s.ns = q.ns AND s.id = q.session"
             " CROSS JOIN LATERAL (SELECT " +
             waits_since("q") +
             " AS at) AS a WHERE q.ns = $1 AND q.session IS NOT NULL AND NOT (q.locked AND q.until > $5)"
             " AND s.ended IS NULL AND " +
             can_run("k", "$2", "$3", "$4") +
             " AND (a.at > $5 OR (s.worker <> $7 AND s.worker <> 0 AND s.lease_until > $5) OR " + kept +
             ") AND (a.at <= $5 OR s.requirements <@ $6::text[])"
             " AND (" +
             held +
             " OR s.reclaim OR s.worker = 0)"
             " AND (a.at > $5 OR (s.reclaim AND NOT $8))";
    }};
/// When an activity that was taken away, and counts in its session while its code runs, has ended for sure.
inline constexpr Statement kNextRoom{
    "postgres.next_room", [] {
      return "SELECT min(until) FROM cancels WHERE ns = $1 AND session IS NOT NULL AND " +
             rules::may_still_run("", "$2");
    }};
inline constexpr Statement kNextLapse{
    "postgres.next_lapse",
    "SELECT until FROM activities WHERE ns = $1 AND locked AND until > $2 ORDER BY until LIMIT 1"};
inline constexpr ShapedStatement kInsertActivities{
    "postgres.insert_activities", [](const Shape& shape) {
      const ColumnList columns = table::activities() + table::deadlines();
      return "INSERT INTO activities (ns, " + columns.names() + ") SELECT $1, " + columns.in_shape(shape, 2) +
             " FROM " + columns.rows_in_shape(shape, 2);
    }};
inline constexpr Statement kUpdateActivities{
    "postgres.update_activities", [] {
      const ColumnList changed = table::progress() + table::deadlines();
      const ColumnList columns = table::activity_ids() + changed;
      return "UPDATE activities AS a SET " + changed.taken_from("n") + " FROM unnest(" + columns.arrays(1) +
             ") AS n (" + columns.names() +
             ") WHERE a.key = n.key AND a.execution = n.execution AND a.event = n.event";
    }};
inline constexpr Statement kDeleteActivities{
    "postgres.delete_activities",
    "DELETE FROM activities AS a USING unnest($1::bigint[], $2::bigint[], $3::bigint[])"
    " AS d (key, execution, event)"
    " WHERE a.key = d.key AND a.execution = d.execution AND a.event = d.event"};

/// Rows that are kept: their versions are $5.
inline constexpr Statement kUpdateKeptActivities{
    "postgres.update_kept_activities", [] {
      const ColumnList changed = table::progress() + table::deadlines();
      return guarded("UPDATE activities AS a SET " + changed.taken_from("n") +
                     " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::xid[], " +
                     changed.arrays(6) + ") AS n (key, execution, event, version, " + changed.names() +
                     ") WHERE a.key = n.key AND a.execution = n.execution AND a.event = n.event"
                     " AND a.xmin = n.version RETURNING 1");
    }};
inline constexpr Statement kDeleteKeptActivities{
    "postgres.delete_kept_activities", [] {
      return guarded(
          "DELETE FROM activities AS a USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::xid[])"
          " AS d (key, execution, event, version)"
          " WHERE a.key = d.key AND a.execution = d.execution AND a.event = d.event"
          " AND a.xmin = d.version RETURNING 1");
    }};

inline constexpr Statement kCancel{"postgres.cancel", [] {
                                     return table::select_cancels(
                                         "FROM cancels AS c WHERE c.ns = $1 AND c.key = $2"
                                         " AND c.execution = $3 AND c.event = $4"
                                         " AND c.token = $5");
                                   }};
inline constexpr Statement kCancelsOfWorker{
    "postgres.cancels_of_worker", [] {
      return table::select_cancels("FROM cancels AS c WHERE c.worker = $2 AND c.ns = $1 AND " +
                                   rules::is_requested("c."));
    }};
inline constexpr Statement kCancelsOf{
    "postgres.cancels_of",
    [] { return table::select_cancels("FROM cancels AS c WHERE c.ns = $1 AND c.key = $2"); }};
/// Of sessions with a limit, those whose code may still run.
inline constexpr Statement kStopping{
    "postgres.stopping", [] {
      return table::select_cancels("FROM cancels AS c WHERE c.ns = $1 AND c.session = ANY($2::text[]) AND " +
                                   rules::may_still_run("c.", "$3"));
    }};
inline constexpr Statement kAllCancels{
    "postgres.all_cancels", [] { return table::select_cancels("FROM cancels AS c WHERE c.ns = $1"); }};
inline constexpr Statement kUpsertCancels{
    "postgres.upsert_cancels", [] {
      const ColumnList columns = table::cancels();
      return "INSERT INTO cancels (ns, " + columns.names() + ") SELECT $1, * FROM unnest(" +
             columns.arrays(2) + ") ON CONFLICT (key, execution, event, token) DO UPDATE SET " +
             columns.taken_from("EXCLUDED");
    }};

// ---- sessions ------------------------------------------------------------------------------------

/// $2 to $4: those of these activities. $5: those named. $6: those that have to do with instances which end.
inline constexpr Statement kSessions{
    "postgres.sessions", [] {
      return table::select_sessions(
          "FROM sessions AS s WHERE s.ns = $1 AND s.id = ANY($5::text[]"
          " || ARRAY(SELECT a.session FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"
          " AS w (key, execution, event) JOIN activities AS a ON a.key = w.key AND a.execution = w.execution"
          " AND a.event = w.event AND a.session IS NOT NULL)"
          " || ARRAY(SELECT a.session FROM activities AS a WHERE a.key = ANY($6::bigint[])"
          " AND a.session IS NOT NULL)"
          " || ARRAY(SELECT o.id FROM sessions AS o WHERE o.opener = ANY($6::bigint[]) AND o.opener <> 0"
          " AND o.ended IS NULL)) ORDER BY s.id FOR UPDATE");
    }};
inline constexpr Statement kSessionsNow{
    "postgres.sessions_now", [] {
      return table::select_sessions(
          "FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND "
          "s.id = w ORDER BY s.id FOR UPDATE OF s SKIP LOCKED");
    }};
/// Of those named the first $4 that worker $5 may claim, and that nobody else has locked: only these are
/// locked.
inline constexpr Statement kClaimableSessions{
    "postgres.claimable_sessions", [] {
      return table::select_sessions(
          "FROM unnest($2::text[]) AS w CROSS JOIN LATERAL (SELECT * FROM sessions AS s WHERE s.ns = $1"
          " AND s.id = w AND s.ended IS NULL AND " +
          is_claimable("$3") + " AND NOT " + is_kept_from("$5", "$3") +
          " FOR UPDATE OF s SKIP LOCKED) AS s LIMIT $4");
    }};
inline constexpr Statement kReadSessions{
    "postgres.read_sessions", [] {
      return table::select_sessions(
          "FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND s.id = w");
    }};
inline constexpr Statement kSaved{
    "postgres.saved",
    "SELECT s.id, s.saved FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND"
    " s.id = w WHERE s.saved IS NOT NULL"};
inline constexpr Statement kReserveSessions{
    "postgres.reserve_sessions", [] {
      return "SELECT pg_advisory_xact_lock(key) FROM (SELECT " + key_of_session_id("n") +
             " AS key FROM unnest($2::text[]) AS n ORDER BY key) AS keys";
    }};
/// $5: of this owner, if it is not null. $6: in one of these states, if there is any.
inline constexpr Statement kSessionsAfter{
    "postgres.sessions_after", [] {
      return "SELECT id FROM sessions WHERE ns = $1 AND id > $2 AND ($5::text IS NULL OR owner = $5)"
             " AND (cardinality($6::integer[]) = 0 OR " +
             rules::session_state("$4") + " = ANY($6::integer[])) ORDER BY id LIMIT $3";
    }};
/// By state, and of those whose lease is over by owner.
inline constexpr Statement kCountSessions{
    "postgres.count_sessions", [] {
      return "SELECT " + rules::session_state("$2") +
             " AS state, CASE WHEN ended IS NULL AND lease_until <= $2 THEN worker ELSE 0 END AS late,"
             " count(*) FROM sessions WHERE ns = $1 GROUP BY 1, 2";
    }};
inline constexpr Statement kSessionIds{"postgres.session_ids", "SELECT id FROM sessions WHERE ns = $1"};
/// Of one worker, without those named: how many it holds, and when the first lease of them ends.
inline constexpr Statement kHeldElsewhere{
    "postgres.held_elsewhere",
    "SELECT count(*)::integer, min(lease_until) FROM sessions WHERE ns = $1 AND worker = $2 AND ended IS NULL"
    " AND lease_until > $3 AND id <> ALL($4::text[])"};
/// The same of all workers.
inline constexpr Statement kHeldByAll{
    "postgres.held_by_all",
    "SELECT worker, count(*)::integer, min(lease_until) FROM sessions WHERE ns = $1 AND worker <> 0"
    " AND ended IS NULL AND lease_until > $2 GROUP BY worker"};
inline constexpr Statement kWantedSessions{
    "postgres.wanted_sessions",
    "SELECT id, generation, CASE WHEN ended IS NOT NULL THEN reason END FROM sessions"
    " WHERE ns = $1 AND worker = $2 AND wanted IS NOT NULL ORDER BY id"};
inline constexpr Statement kOwnedByNode{
    "postgres.owned_by_node",
    "SELECT id FROM sessions WHERE ns = $1 AND worker <> 0 AND ended IS NULL AND owner = $2"};
inline constexpr Statement kOpenedBy{"postgres.opened_by",
                                     "SELECT id, opener FROM sessions WHERE opener = ANY($1::bigint[])"
                                     " AND opener <> 0 AND ended IS NULL"};
/// $3: what was saved stays; else $4 is.
inline constexpr Statement kUpsertSessions{
    "postgres.upsert_sessions", [] {
      const ColumnList columns = table::sessions() + table::policy_parts();
      return "INSERT INTO sessions AS s (ns, id, saved, " + columns.names() + ") VALUES ($1, $2, $4, " +
             columns.places(5) +
             ") ON CONFLICT (ns, id) DO UPDATE SET saved = CASE WHEN $3 THEN s.saved ELSE $4 END, " +
             columns.taken_from("EXCLUDED");
    }};
inline constexpr Statement kDeleteSessions{"postgres.delete_sessions",
                                           "DELETE FROM sessions WHERE ns = $1 AND id = ANY($2::text[])"};
inline constexpr Statement kInsertLog{
    "postgres.insert_log",
    [] { return table::insert_numbered("session_log", "nextval('log_numbers')", table::log()); }};
inline constexpr Statement kLog{
    "postgres.log", [] {
      return "SELECT number, " + table::log().names() +
             " FROM session_log WHERE ns = $1 AND number > $2 AND ($3::text = '' OR session = $3)"
             " ORDER BY number LIMIT $4";
    }};
inline constexpr Statement kWatchers{"postgres.watchers",
                                     "SELECT session, key FROM watches WHERE ns = $1 AND session = $2"};
inline constexpr Statement kWatchesOf{"postgres.watches_of",
                                      "SELECT session, key FROM watches WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kAllWatches{"postgres.all_watches",
                                       "SELECT session, key FROM watches WHERE ns = $1"};
inline constexpr Statement kInsertWatches{
    "postgres.insert_watches",
    "INSERT INTO watches (ns, session, key) SELECT $1, * FROM unnest($2::text[], $3::bigint[])"
    " ON CONFLICT DO NOTHING"};
inline constexpr Statement kDeleteWatches{
    "postgres.delete_watches",
    "DELETE FROM watches AS w USING unnest($2::text[], $3::bigint[]) AS d (session, key)"
    " WHERE w.ns = $1 AND w.session = d.session AND w.key = d.key"};

// ---- workers -------------------------------------------------------------------------------------

inline constexpr Statement kWorker{
    "postgres.worker",
    [] { return table::select_workers("FROM workers AS w WHERE w.ns = $1 AND w.key = $2"); }};
inline constexpr Statement kLockWorker{
    "postgres.lock_worker",
    [] { return table::select_workers("FROM workers AS w WHERE w.ns = $1 AND w.key = $2 FOR UPDATE"); }};
inline constexpr Statement kNode{"postgres.node", [] {
                                   return table::select_workers(
                                       "FROM workers AS w WHERE w.ns = $1 AND w.node = $2"
                                       " ORDER BY w.key FOR UPDATE");
                                 }};
inline constexpr Statement kAllWorkers{
    "postgres.all_workers", [] { return table::select_workers("FROM workers AS w WHERE w.ns = $1"); }};
inline constexpr Statement kCountLiveWorkers{
    "postgres.count_live_workers",
    "SELECT count(*) FROM workers WHERE ns = $1 AND NOT superseded AND NOT draining"};
inline constexpr Statement kReserveNode{
    "postgres.reserve_node",
    [] { return "SELECT pg_advisory_xact_lock(" + key_of_name("'node ' || $2::text", "$1::integer") + ")"; }};
inline constexpr Statement kInsertWorker{"postgres.insert_worker", [] {
                                           return "INSERT INTO workers (ns, key, node, info, " +
                                                  table::workers().names() + ") VALUES ($1, $2, $3, $4, " +
                                                  table::workers().places(5) + ")";
                                         }};
inline constexpr Statement kUpdateWorker{
    "postgres.update_worker",
    [] { return "UPDATE workers SET " + table::workers().set_to(2) + " WHERE key = $1"; }};
inline constexpr Statement kDeleteWorkers{"postgres.delete_workers",
                                          "DELETE FROM workers WHERE key = ANY($1::bigint[])"};

// ---- clients -------------------------------------------------------------------------------------

inline constexpr Statement kEarly{
    "postgres.early", [] {
      return table::select_early(
          "FROM unnest($2::text[]) AS w JOIN early AS e ON e.ns = $1 AND e.instance = w ORDER BY e.number");
    }};
inline constexpr Statement kAllEarly{
    "postgres.all_early",
    [] { return table::select_early("FROM early AS e WHERE e.ns = $1 ORDER BY e.number"); }};
inline constexpr Statement kInsertEarly{
    "postgres.insert_early",
    [] { return table::insert_numbered("early", "nextval('early_numbers')", table::early()); }};
inline constexpr Statement kDeleteEarly{"postgres.delete_early",
                                        "DELETE FROM early WHERE ns = $1 AND instance = ANY($2::text[])"};
inline constexpr Statement kRequests{"postgres.requests",
                                     "SELECT r.request, r.at, r.answer FROM unnest($2::uuid[]) AS w JOIN "
                                     "requests AS r ON r.ns = $1 AND r.request = w"};
inline constexpr Statement kInsertRequests{
    "postgres.insert_requests",
    "INSERT INTO requests (ns, request, at, answer)"
    " SELECT $1, * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) ON CONFLICT DO NOTHING"};
inline constexpr Statement kValue{"postgres.value",
                                  "SELECT value FROM kept_values WHERE key = $1 AND name = $2"};
inline constexpr Statement kValueKeys{"postgres.value_keys",
                                      "SELECT name FROM kept_values WHERE key = $1 ORDER BY name"};
inline constexpr Statement kAllValues{"postgres.all_values",
                                      "SELECT v.key, v.name, v.value FROM kept_values AS v"
                                      " JOIN instances AS i ON i.key = v.key WHERE i.ns = $1"};
inline constexpr Statement kUpsertValues{"postgres.upsert_values",
                                         "INSERT INTO kept_values (key, name, value)"
                                         " SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])"
                                         " ON CONFLICT (key, name) DO UPDATE SET value = EXCLUDED.value"};
inline constexpr Statement kDeleteValues{
    "postgres.delete_values",
    "DELETE FROM kept_values AS v USING unnest($1::bigint[], $2::bytea[]) AS d (key, name)"
    " WHERE v.key = d.key AND v.name = d.name"};
inline constexpr Statement kCustomStatus{
    "postgres.custom_status", "SELECT key, bytes, version FROM custom_status WHERE key = ANY($1::bigint[])"};
inline constexpr Statement kShow{
    "postgres.show",
    "INSERT INTO custom_status AS c (key, bytes, version)"
    " SELECT key, bytes, times FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS n (key, bytes, times)"
    " ON CONFLICT (key) DO UPDATE SET bytes = EXCLUDED.bytes, version = c.version + EXCLUDED.version"};
inline constexpr Statement kInsertSetAside{
    "postgres.insert_set_aside",
    [] { return table::insert_numbered("set_aside", "nextval('set_aside_numbers')", table::set_aside()); }};
inline constexpr Statement kSetAside{
    "postgres.set_aside", [] {
      return "SELECT number, " + table::set_aside().names() +
             " FROM set_aside WHERE ns = $1 AND number > $2 ORDER BY number LIMIT $3";
    }};

inline constexpr Statement kQueueDepths{
    "postgres.queue_depths", [] {
      return "SELECT k.queue, k.name, count(*) FILTER (WHERE NOT running AND since <= $2),"
             " count(*) FILTER (WHERE NOT running AND since > $2), count(*) FILTER (WHERE running),"
             " min(since) FILTER (WHERE NOT running) FROM (SELECT l.kind,"
             " l.locked AND l.until > $2 AS running, " +
             waits_since("l") +
             " AS since FROM activities AS l WHERE l.ns = $1) AS a"
             " JOIN kinds AS k ON k.id = a.kind GROUP BY k.queue, k.name ORDER BY k.queue, k.name";
    }};

// ---- the sweep -----------------------------------------------------------------------------------

/// Those past their deadlines, and the next one that will be.
inline constexpr Statement kOverdue{
    "postgres.overdue",
    "SELECT key, execution, event, deadline, session FROM activities WHERE ns = $1 AND NOT locked"
    " AND deadline IS NOT NULL ORDER BY deadline, key, execution, event LIMIT $2"};
/// When those that run will be overdue unless they are answered.
inline constexpr Statement kNextOverdue{"postgres.next_overdue", [] {
                                          const std::string deadline = deadline_after_lock("l");
                                          return "SELECT min(greatest(l.until, " + deadline +
                                                 ")) FROM activities AS l WHERE l.ns = $1 AND l.locked AND " +
                                                 deadline + " IS NOT NULL";
                                        }};
/// See swept_session(). $6: so many.
inline constexpr Statement kDueSessions{"postgres.due_sessions", [] {
                                          return "SELECT s.id FROM sessions AS s WHERE s.ns = $1 AND " +
                                                 rules::may_be_swept(swept_session()) +
                                                 " ORDER BY s.id LIMIT $6";
                                        }};
/// What becomes due later, at the earliest: ends of lives and leases, and since when something is kept.
inline constexpr Statement kNextSession{
    "postgres.next_session",
    [] { return "SELECT " + rules::next_to_sweep(swept_session()) + " FROM sessions AS s WHERE s.ns = $1"; }};
inline constexpr Statement kTrimLog{
    "postgres.trim_log",
    "DELETE FROM session_log WHERE number IN (SELECT number FROM session_log WHERE ns = $1 ORDER BY number"
    " LIMIT $3) AND at <= $2"};
inline constexpr Statement kLapsedInSessions{
    "postgres.lapsed_in_sessions",
    "SELECT DISTINCT session FROM activities WHERE ns = $1 AND locked AND until <= $2"
    " AND session IS NOT NULL"};
inline constexpr Statement kDropEarly{
    "postgres.drop_early",
    "DELETE FROM early WHERE number IN (SELECT number FROM early WHERE ns = $1 AND until <= $2"
    " ORDER BY until LIMIT $3)"};
inline constexpr Statement kNextEarly{"postgres.next_early",
                                      "SELECT until FROM early WHERE ns = $1 ORDER BY until LIMIT 1"};
inline constexpr Statement kDropRequests{
    "postgres.drop_requests",
    "DELETE FROM requests WHERE ns = $1 AND request IN (SELECT request FROM requests WHERE ns = $1"
    " AND at <= $2 ORDER BY at, request LIMIT $3)"};
inline constexpr Statement kNextRequest{"postgres.next_request",
                                        "SELECT at FROM requests WHERE ns = $1 ORDER BY at LIMIT 1"};
inline constexpr Statement kDropCancels{
    "postgres.drop_cancels",
    "DELETE FROM cancels WHERE until <= $2 AND (key, execution, event, token) IN (SELECT key, execution,"
    " event, token FROM cancels WHERE ns = $1 AND until <= $2 ORDER BY until LIMIT $3)"};
inline constexpr Statement kNextCancel{"postgres.next_cancel",
                                       "SELECT until FROM cancels WHERE ns = $1 ORDER BY until LIMIT 1"};
inline constexpr Statement kDropRemains{
    "postgres.drop_remains",
    "DELETE FROM history AS h USING (SELECT h.key, h.execution, h.first_event FROM remains AS r"
    " JOIN history AS h ON h.key = r.key LIMIT $1) AS d"
    " WHERE h.key = d.key AND h.execution = d.execution AND h.first_event = d.first_event"};
inline constexpr Statement kDropEmptyRemains{
    "postgres.drop_empty_remains",
    "DELETE FROM remains AS r WHERE NOT EXISTS (SELECT 1 FROM history AS h WHERE h.key = r.key)"};
/// Who is connected is read once per transaction: it must not be older than the rows.
inline constexpr Statement kSeeConnections{"postgres.see_connections", "SELECT pg_stat_clear_snapshot()"};
/// By the backend that it was registered with: who registers anew at this moment stays.
inline constexpr Statement kForgetListeners{
    "postgres.forget_listeners",
    "DELETE FROM listeners AS l USING (SELECT o.id, o.backend FROM listeners AS o WHERE NOT EXISTS"
    " (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = o.backend) FOR UPDATE OF o SKIP LOCKED) AS gone"
    " WHERE l.id = gone.id AND l.backend = gone.backend"};
inline constexpr Statement kAnyRemains{"postgres.any_remains", "SELECT 1 FROM remains LIMIT 1"};

}  // namespace holdfast::postgres_store::sql
