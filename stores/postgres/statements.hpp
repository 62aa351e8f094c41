// All SQL of the calls, by name. Rows go there as one array per column.
#pragma once

#include "connection.hpp"

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

inline constexpr Statement kLockedNames{
    "postgres.locked_names",
    "SELECT n FROM unnest($2::text[]) AS n WHERE NOT pg_try_advisory_xact_lock($1, hashtext(n))"};
inline constexpr Statement kLockedSessionIds{
    "postgres.locked_session_ids",
    "SELECT n FROM unnest($2::text[]) AS n WHERE NOT pg_try_advisory_xact_lock(-$1::integer, hashtext(n))"};
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
                                   "SELECT id, name, version, build FROM routes WHERE ns = $1"};
inline constexpr Statement kInternRoute{
    "postgres.intern_route",
    "INSERT INTO routes (ns, name, version, build) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (ns, name, version, build) DO UPDATE SET build = EXCLUDED.build RETURNING id"};
inline constexpr Statement kKinds{"postgres.kinds", "SELECT id, queue, name FROM kinds WHERE ns = $1"};
inline constexpr Statement kInternKind{
    "postgres.intern_kind",
    "INSERT INTO kinds (ns, queue, name) VALUES ($1, $2, $3)"
    " ON CONFLICT (ns, queue, name) DO UPDATE SET name = EXCLUDED.name RETURNING id"};

// ---- instances -----------------------------------------------------------------------------------

// Rows are found by key or by name, whatever the planner knows of the tables: `ns + 0` keeps it from the
// index on names where keys are given.

#define HOLDFAST_INSTANCE_COLUMNS                                                                    \
  "i.key, i.name, i.route, i.execution, i.status, i.locked, i.woken, i.delivery, i.due_at, i.until," \
  " i.worker, i.seen, i.not_before, i.created_at, i.updated_at, i.token, i.stamp, i.request,"        \
  " i.fingerprint, i.parent, i.cancel_requested_at, i.waits, i.parked_because, i.output"

/// Nobody else gives these ids to new instances, or keeps anything for them, until the transaction is over.
inline constexpr Statement kReserve{
    "postgres.reserve",
    "SELECT pg_advisory_xact_lock($1, hashtext(n)) FROM unnest($2::text[]) AS n ORDER BY hashtext(n)"};
inline constexpr Statement kInstances{"postgres.instances",
                                      "SELECT " HOLDFAST_INSTANCE_COLUMNS
                                      " FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1"
                                      " ORDER BY i.key FOR UPDATE"};
inline constexpr Statement kInstancesNow{
    "postgres.instances_now", "SELECT " HOLDFAST_INSTANCE_COLUMNS
                              " FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1"
                              " ORDER BY i.key FOR UPDATE SKIP LOCKED"};
inline constexpr Statement kInstancesByName{
    "postgres.instances_by_name",
    "SELECT " HOLDFAST_INSTANCE_COLUMNS
    " FROM instances AS i WHERE i.key = ANY(ARRAY(SELECT n.key FROM unnest($3::text[]) AS w"
    " CROSS JOIN LATERAL (SELECT l.key FROM instances AS l WHERE l.ns = $1 AND l.name = w LIMIT 1) AS n)"
    " || $2::bigint[]) AND i.ns + 0 = $1 ORDER BY i.key FOR UPDATE"};
inline constexpr Statement kReadInstances{
    "postgres.read_instances", "SELECT " HOLDFAST_INSTANCE_COLUMNS
                               " FROM instances AS i WHERE i.key = ANY($2::bigint[]) AND i.ns + 0 = $1"};
inline constexpr Statement kReadInstancesByName{
    "postgres.read_instances_by_name",
    "SELECT " HOLDFAST_INSTANCE_COLUMNS
    " FROM unnest($2::text[]) AS w JOIN instances AS i ON i.ns = $1 AND i.name = w"};
inline constexpr Statement kReadChildren{"postgres.read_children",
                                         "SELECT " HOLDFAST_INSTANCE_COLUMNS
                                         " FROM instances AS i WHERE i.parent = $1 AND i.status + 0 < 3"
                                         " ORDER BY -i.key DESC LIMIT $2::integer"};
inline constexpr Statement kCountChildren{
    "postgres.count_children",
    "SELECT count(*) FROM instances AS i WHERE i.parent = $1 AND i.status + 0 < 3"};
inline constexpr Statement kReadAllInstances{"postgres.read_all_instances",
                                             "SELECT " HOLDFAST_INSTANCE_COLUMNS
                                             " FROM instances AS i WHERE i.ns = $1"};
inline constexpr Statement kParked{
    "postgres.parked", "SELECT " HOLDFAST_INSTANCE_COLUMNS
                       " FROM instances AS i WHERE i.ns = $1 AND i.status = 2 AND -i.key < -$2::bigint"
                       " ORDER BY -i.key DESC LIMIT $3 FOR UPDATE"};
// Lists come newest first, in an order that only the index has which they are to take: by `-key`. $2: before
// this key, $3 to $8: other filters, $9: so many.
#define HOLDFAST_IS_LISTED                                                      \
  "($4::text = '' OR r.name = $4) AND ($5::text = '' OR r.version = $5)"        \
  " AND starts_with(l.name, $6) AND ($7::bigint IS NULL OR l.created_at >= $7)" \
  " AND ($8::bigint IS NULL OR l.created_at < $8)"

/// Each status has its place in an index, so those of one are found however many others there are. $10: the
/// parent, if it matters; 0: none.
inline constexpr Statement kListed{
    "postgres.listed",
    "SELECT " HOLDFAST_INSTANCE_COLUMNS
    " FROM (SELECT f.key FROM unnest($3::integer[]) AS s (status) CROSS JOIN LATERAL (SELECT l.key"
    " FROM instances AS l LEFT JOIN routes AS r ON r.id = l.route WHERE l.ns = $1 AND l.status = s.status"
    " AND -l.key > -$2::bigint AND ($10::bigint IS NULL OR coalesce(l.parent, 0) = $10) "
    "AND " HOLDFAST_IS_LISTED
    " ORDER BY -l.key LIMIT $9) AS f ORDER BY f.key DESC LIMIT $9) AS w"
    " CROSS JOIN LATERAL (SELECT * FROM instances AS o WHERE o.key = w.key LIMIT 1) AS i"};
/// Children of $10.
inline constexpr Statement kListedChildren{
    "postgres.listed_children",
    "SELECT " HOLDFAST_INSTANCE_COLUMNS
    " FROM (SELECT l.key FROM instances AS l LEFT JOIN routes AS r ON r.id = l.route WHERE l.parent = $10"
    " AND (l.parent, -l.key) > ($10, -$2::bigint) AND l.ns + 0 = $1 AND l.status + 0 = ANY($3::integer[])"
    " AND " HOLDFAST_IS_LISTED
    " ORDER BY -l.key LIMIT $9) AS w CROSS JOIN LATERAL (SELECT * FROM instances AS o"
    " WHERE o.key = w.key LIMIT 1) AS i"};
inline constexpr Statement kInstanceNames{"postgres.instance_names",
                                          "SELECT key, name FROM instances WHERE ns + 0 = $1"
                                          " AND key = ANY($2::bigint[])"};
inline constexpr Statement kInsertInstances{
    "postgres.insert_instances",
    "INSERT INTO instances (ns, key, name, route, execution, status, locked, woken, delivery, due_at, until,"
    " worker, seen, not_before, created_at, updated_at, token, stamp, request, fingerprint, parent,"
    " cancel_requested_at, waits, parked_because, output) SELECT $1, * FROM unnest($2::bigint[], $3::text[],"
    " $4::integer[], $5::bigint[], $6::integer[], $7::boolean[], $8::boolean[], $9::integer[], $10::bigint[],"
    " $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::uuid[],"
    " $18::uuid[], $19::uuid[], $20::uuid[], $21::bigint[], $22::bigint[], $23::bytea[], $24::bytea[],"
    " $25::bytea[])"};
/// What most turns change.
inline constexpr Statement kUpdateTurns{
    "postgres.update_turns",
    "UPDATE instances AS i SET locked = n.locked, woken = n.woken, delivery = n.delivery, due_at = n.due_at,"
    " until = n.until, worker = n.worker, seen = n.seen, not_before = n.not_before, token = n.token,"
    " stamp = n.stamp, waits = n.waits FROM unnest($1::bigint[], $2::boolean[], $3::boolean[], $4::integer[],"
    " $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::uuid[], $11::uuid[],"
    " $12::bytea[]) AS n (key, locked, woken, delivery, due_at, until, worker, seen, not_before, token,"
    " stamp, waits) WHERE i.key = n.key"};
inline constexpr Statement kUpdateInstances{
    "postgres.update_instances",
    "UPDATE instances AS i SET locked = n.locked, woken = n.woken, delivery = n.delivery, due_at = n.due_at,"
    " until = n.until, worker = n.worker, seen = n.seen, not_before = n.not_before, token = n.token,"
    " stamp = n.stamp, waits = n.waits, route = n.route, execution = n.execution, status = n.status,"
    " updated_at = n.updated_at, cancel_requested_at = n.cancel_requested_at,"
    " parked_because = n.parked_because, output = n.output"
    " FROM unnest($1::bigint[], $2::boolean[], $3::boolean[], $4::integer[],"
    " $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::uuid[], $11::uuid[],"
    " $12::bytea[], $13::integer[], $14::bigint[], $15::integer[], $16::bigint[], $17::bigint[],"
    " $18::bytea[], $19::bytea[]) AS n (key, locked, woken, delivery, due_at, until, worker, seen,"
    " not_before, token, stamp, waits, route, execution, status, updated_at, cancel_requested_at,"
    " parked_because, output) WHERE i.key = n.key"};
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
inline constexpr Statement kReadyInstances{
    "postgres.ready_instances",
    "SELECT " HOLDFAST_INSTANCE_COLUMNS
    " FROM unnest($2::text[], $3::text[]) AS c (name, version)"
    " JOIN routes AS r ON r.ns = $1 AND r.name = c.name AND r.version = c.version"
    " AND (r.build = 0 OR (r.build # (-9223372036854775808)) BETWEEN $4 AND $5)"
    " CROSS JOIN LATERAL (SELECT * FROM instances AS l WHERE l.route = r.id AND l.due_at <= $6"
    " ORDER BY l.due_at, l.key LIMIT $7 FOR UPDATE SKIP LOCKED) AS i"};
/// What kReadyInstances would find if nobody had locked anything.
inline constexpr Statement kReadyKeys{
    "postgres.ready_keys",
    "SELECT i.key FROM unnest($2::text[], $3::text[]) AS c (name, version)"
    " JOIN routes AS r ON r.ns = $1 AND r.name = c.name AND r.version = c.version"
    " AND (r.build = 0 OR (r.build # (-9223372036854775808)) BETWEEN $4 AND $5)"
    " CROSS JOIN LATERAL (SELECT l.key FROM instances AS l WHERE l.route = r.id AND l.due_at <= $6"
    " ORDER BY l.due_at, l.key LIMIT $7) AS i"};
inline constexpr Statement kHeldWithNews{
    "postgres.held_with_news",
    "SELECT h.key FROM unnest($1::bigint[], $2::bigint[]) AS h (key, seen) WHERE EXISTS (SELECT 1"
    " FROM messages AS m WHERE m.key = h.key AND m.waits IN (0, 1) AND m.id > h.seen) ORDER BY h.key"};
/// When the lock of an instance ends, other than of held ones with news, or an instance that this worker may
/// take becomes ready.
inline constexpr Statement kNextTurn{
    "postgres.next_turn",
    "SELECT min(i.due_at) FROM routes AS r CROSS JOIN LATERAL (SELECT l.due_at FROM instances AS l"
    " WHERE l.route = r.id AND l.due_at > $6 AND NOT EXISTS (SELECT 1 FROM unnest($7::bigint[], $8::bigint[])"
    " AS h (key, seen) JOIN messages AS m ON m.key = h.key AND m.waits IN (0, 1) AND m.id > h.seen"
    " WHERE h.key = l.key) AND (l.locked OR ((r.build = 0 OR"
    " (r.build # (-9223372036854775808)) BETWEEN $4 AND $5) AND EXISTS (SELECT 1"
    " FROM unnest($2::text[], $3::text[]) AS c (name, version) WHERE r.name = c.name"
    " AND r.version = c.version))) ORDER BY l.due_at LIMIT 1) AS i WHERE r.ns = $1"};
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

#define HOLDFAST_MESSAGE_COLUMNS \
  "m.key, m.id, m.kind, m.execution, m.source, m.address_kind, m.address, m.body"

/// Those that wake their instance, and deliveries after what its frame was given.
inline constexpr Statement kUnread{
    "postgres.unread",
    "SELECT " HOLDFAST_MESSAGE_COLUMNS
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (key, seen)"
    " CROSS JOIN LATERAL (SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 0"
    " UNION ALL SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 1 AND l.id > w.seen) AS m"};
/// The last one for each address.
inline constexpr Statement kLastFor{
    "postgres.last_for",
    "SELECT " HOLDFAST_MESSAGE_COLUMNS
    " FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS w (key, kind, address)"
    " CROSS JOIN LATERAL (SELECT * FROM messages AS l WHERE l.key = w.key AND l.waits = 1"
    " AND l.address_kind = w.kind AND l.address = w.address ORDER BY l.id DESC LIMIT 1) AS m"};
inline constexpr Statement kWaking{"postgres.waking", "SELECT " HOLDFAST_MESSAGE_COLUMNS
                                                      " FROM messages AS m WHERE m.key = $1 AND m.waits = 0"};
inline constexpr Statement kMessagesAfter{
    "postgres.messages_after",
    "SELECT " HOLDFAST_MESSAGE_COLUMNS
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (key, seen) JOIN messages AS m ON m.key = w.key"
    " AND m.waits IN (0, 1) AND m.id > w.seen"};
inline constexpr Statement kMessage{"postgres.message", "SELECT " HOLDFAST_MESSAGE_COLUMNS
                                                        " FROM messages AS m WHERE m.key = $1"
                                                        " AND m.waits IN (0, 1) AND m.id = $2"};
inline constexpr Statement kAllMessages{"postgres.all_messages",
                                        "SELECT " HOLDFAST_MESSAGE_COLUMNS
                                        " FROM messages AS m JOIN instances AS i ON i.key = m.key"
                                        " WHERE i.ns = $1"};
inline constexpr Statement kCountUnread{"postgres.count_unread",
                                        "SELECT count(*) FROM messages WHERE key = $1 AND kind <> 0"};
/// A row without a key only takes a number: its message was made, and dropped again.
inline constexpr Statement kInsertMessages{
    "postgres.insert_messages",
    "INSERT INTO messages (key, id, kind, waits, execution, source, address_kind, address, body)"
    " SELECT * FROM (SELECT m.key, coalesce(m.id, nextval('message_ids')), m.kind, m.waits, m.execution,"
    " m.source, m.address_kind, m.address, m.body FROM unnest($1::bigint[], $2::bigint[], $3::integer[],"
    " $4::integer[], $5::bigint[], $6::bigint[], $7::integer[], $8::text[], $9::bytea[]) AS m (key, id,"
    " kind, waits, execution, source, address_kind, address, body) OFFSET 0) AS n WHERE n.key IS NOT NULL"};
inline constexpr Statement kDeleteMessages{
    "postgres.delete_messages",
    "DELETE FROM messages AS m USING unnest($1::bigint[], $2::bigint[]) AS d (key, id)"
    " WHERE m.key = d.key AND m.waits IN (0, 1) AND m.id = d.id"};
inline constexpr Statement kDropAllButStarts{
    "postgres.drop_all_but_starts", "DELETE FROM messages WHERE key = ANY($1::bigint[]) AND kind <> 0"};
inline constexpr Statement kDropDelayedButStarts{
    "postgres.drop_delayed_but_starts", "DELETE FROM delayed WHERE key = ANY($1::bigint[]) AND kind <> 0"};
inline constexpr Statement kDropOfExecution{
    "postgres.drop_of_execution",
    "DELETE FROM messages WHERE key = ANY($1::bigint[]) AND waits = 0 AND kind BETWEEN 1 AND 5"};

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

#define HOLDFAST_DELAYED_COLUMNS \
  "d.number, d.key, d.at, d.kind, d.execution, d.source, d.address_kind, d.address, d.body"

inline constexpr Statement kDelayed{"postgres.delayed", "SELECT " HOLDFAST_DELAYED_COLUMNS
                                                        " FROM delayed AS d WHERE d.key = ANY($1::bigint[])"};
inline constexpr Statement kAllDelayed{
    "postgres.all_delayed", "SELECT " HOLDFAST_DELAYED_COLUMNS " FROM delayed AS d WHERE d.ns = $1"};
inline constexpr Statement kInsertDelayed{
    "postgres.insert_delayed",
    "INSERT INTO delayed (ns, number, key, at, kind, execution, source, address_kind, address, body)"
    " SELECT $1, nextval('delayed_numbers'), * FROM unnest($2::bigint[], $3::bigint[], $4::integer[],"
    " $5::bigint[], $6::bigint[], $7::integer[], $8::text[], $9::bytea[])"};
inline constexpr Statement kDeleteDelayed{"postgres.delete_delayed",
                                          "DELETE FROM delayed WHERE number = ANY($1::bigint[])"};

// ---- activities ----------------------------------------------------------------------------------

#define HOLDFAST_ACTIVITY_COLUMNS                                                                       \
  "a.key, a.execution, a.event, a.kind, a.rank, a.own_queue, a.start_within, a.total_until, a.session," \
  " a.session_over, a.body, a.attempt, a.delivery, a.last_failure, a.progress, a.locked, a.worker,"     \
  " a.token, a.until, a.generation, a.ready_since"

/// Those named, and all of some instances: together, so that all who lock several do so in one order.
inline constexpr Statement kActivities{
    "postgres.activities",
    "SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) UNION SELECT l.key, l.execution,"
    " l.event FROM activities AS l WHERE l.key = ANY($5::bigint[])) AS w (key, execution, event)"
    " JOIN activities AS a ON a.key = w.key AND a.execution = w.execution AND a.event = w.event"
    " AND a.ns + 0 = $1 ORDER BY a.key, a.execution, a.event FOR UPDATE OF a"};
inline constexpr Statement kActivitiesIn{
    "postgres.activities_in", "SELECT " HOLDFAST_ACTIVITY_COLUMNS
                              " FROM unnest($2::text[]) AS w JOIN activities AS a ON a.ns = $1 AND a.session "
                              "= w ORDER BY a.key, a.execution, a.event FOR UPDATE OF a"};
inline constexpr Statement kUrgent{"postgres.urgent", "SELECT " HOLDFAST_ACTIVITY_COLUMNS
                                                      " FROM activities AS a WHERE a.ns = $1 AND a.rank < $2"
                                                      " AND a.rank < 0 ORDER BY a.rank LIMIT 1000"};
/// The same where not only what has a priority counts.
inline constexpr Statement kMoreUrgent{
    "postgres.more_urgent",
    "SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM kinds AS k CROSS JOIN LATERAL (SELECT * FROM activities AS l WHERE l.kind = k.id AND NOT l.locked"
    " AND l.session IS NULL AND l.rank < $2 ORDER BY l.rank, l.ready_since LIMIT 100) AS a WHERE k.ns = $1"
    " UNION ALL (SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM activities AS a WHERE a.ns = $1 AND a.session IS NOT NULL AND a.rank < $2 LIMIT 1000)"
    " UNION ALL (SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM activities AS a WHERE a.ns = $1 AND a.locked AND a.session IS NULL AND a.rank < $2"
    " ORDER BY a.until LIMIT 1000)"};
inline constexpr Statement kReadActivitiesOf{"postgres.read_activities_of",
                                             "SELECT " HOLDFAST_ACTIVITY_COLUMNS
                                             " FROM activities AS a WHERE a.key = ANY($1::bigint[])"};
inline constexpr Statement kReadActivitiesIn{
    "postgres.read_activities_in",
    "SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM unnest($2::text[]) AS w JOIN activities AS a ON a.ns = $1 AND a.session = w"};
inline constexpr Statement kReadAllActivities{"postgres.read_all_activities",
                                              "SELECT " HOLDFAST_ACTIVITY_COLUMNS
                                              " FROM activities AS a WHERE a.ns = $1"};
/// Locks that are over: from now on these wait for a worker.
inline constexpr Statement kLetLapse{
    "postgres.let_lapse",
    "UPDATE activities AS a SET locked = false, ready_since = a.until, deadline = CASE"
    " WHEN a.session_over IS NOT NULL THEN a.until"
    " ELSE least(a.until + a.start_within, a.total_until) END"
    " FROM (SELECT key, execution, event FROM activities WHERE ns = $1 AND locked AND until <= $2"
    " AND session IS NULL ORDER BY until LIMIT 500 FOR UPDATE SKIP LOCKED) AS l"
    " WHERE a.key = l.key AND a.execution = l.execution AND a.event = l.event"};
// What a fetch may take that is in no session: $2 to $4 say what the worker can run, $5 is the time.
#define HOLDFAST_IS_FREE(a)                                                                                  \
  "NOT " a ".locked AND " a ".session IS NULL AND " a ".ready_since <= $5 AND (" a ".deadline IS NULL OR " a \
  ".deadline > $5)"
#define HOLDFAST_KINDS_OF_WORKER \
  "k.ns = $1 AND k.name = ANY($2::text[]) AND ($3 OR k.queue = ANY($4::text[]))"

/// At most $6, in the order of everybody. Rows are locked one by one, in the order in which they are looked
/// at, until there are so many: the others stay free for those who come at the same time. $7 of each kind are
/// looked at.
inline constexpr Statement kFreeActivities{
    "postgres.free_activities",
    "SELECT " HOLDFAST_ACTIVITY_COLUMNS
    " FROM (SELECT f.* FROM kinds AS k CROSS JOIN LATERAL (SELECT l.rank, l.ready_since, l.key, l.execution,"
    " l.event FROM activities AS l WHERE l.kind = k.id AND " HOLDFAST_IS_FREE("l")
    " ORDER BY l.rank, l.ready_since, l.key, l.execution, l.event LIMIT $7) AS f"
    " WHERE " HOLDFAST_KINDS_OF_WORKER
    " ORDER BY f.rank, f.ready_since, f.key, f.execution, f.event OFFSET 0) AS c"
    " CROSS JOIN LATERAL (SELECT * FROM activities AS l WHERE l.key = c.key AND l.execution = c.execution"
    " AND l.event = c.event AND " HOLDFAST_IS_FREE("l") " FOR UPDATE SKIP LOCKED) AS a LIMIT $6"};
/// Whether there is more, locked by others or not.
inline constexpr Statement kAnyFree{
    "postgres.any_free",
    "SELECT EXISTS (SELECT 1 FROM kinds AS k CROSS JOIN LATERAL (SELECT 1 FROM activities AS l"
    " WHERE l.kind = k.id AND " HOLDFAST_IS_FREE("l") " LIMIT 1) AS a WHERE " HOLDFAST_KINDS_OF_WORKER ")"};
/// What is locked by one token: free ones, and the sessions of the others.
inline constexpr Statement kFreeLockedBy{"postgres.free_locked_by",
                                         "SELECT " HOLDFAST_ACTIVITY_COLUMNS
                                         " FROM activities AS a WHERE a.ns = $1 AND a.locked"
                                         " AND a.token = $2 AND a.until > $3 AND a.session IS NULL"
                                         " ORDER BY a.key, a.execution, a.event FOR UPDATE SKIP LOCKED"};
inline constexpr Statement kSessionsLockedBy{
    "postgres.sessions_locked_by",
    "SELECT DISTINCT session FROM activities WHERE ns = $1 AND locked AND token = $2 AND until > $3"
    " AND session IS NOT NULL"};
/// Whether a session is kept for another node than that of `worker`: the one that a person has named, or the
/// one that held it, which was started again.
#define HOLDFAST_KEPT_FROM(worker, now)                                                                      \
  "((s.restarted OR s.wanted IS NOT NULL) AND s.worker = 0 AND s.lease_until > " now                         \
  " AND coalesce(s.wanted, s.last_owner) <> coalesce((SELECT x.node FROM workers AS x WHERE x.key = " worker \
  "), ''))"
/// Sessions that the worker holds, and, unless $8, those that it may claim, in the order of their first
/// activities that it may take: whether it holds it, since when the oldest of these activities waits (null:
/// there is none), and whether there are others that it can't run. Sessions without any activity are never
/// looked at, however many there are.
inline constexpr Statement kSessionsFor{
    "postgres.sessions_for",
    "WITH RECURSIVE busy (id) AS ((SELECT a.session FROM activities AS a WHERE a.ns = $1"
    " AND a.session IS NOT NULL ORDER BY a.session LIMIT 1) UNION ALL SELECT (SELECT a.session"
    " FROM activities AS a WHERE a.ns = $1 AND a.session > b.id ORDER BY a.session LIMIT 1)"
    " FROM busy AS b WHERE b.id IS NOT NULL)"
    " SELECT s.id, s.worker = $2 AND s.lease_until > $6, i.oldest, o.strange FROM busy AS b"
    " CROSS JOIN LATERAL (SELECT l.id, l.worker, l.lease_until, l.ended, l.ttl_until, l.reclaim,"
    " l.requirements, l.max_concurrent, l.restarted, l.last_owner, l.wanted FROM sessions AS l WHERE l.ns = $1 AND l.id = b.id OFFSET 0) AS s"
    " LEFT JOIN LATERAL (SELECT a.rank, d.since, a.key, a.execution, a.event, min(d.since) OVER () AS oldest"
    " FROM activities AS a JOIN kinds AS k ON k.id = a.kind AND k.name = ANY($3::text[])"
    " AND ($4 OR k.queue = ANY($5::text[])) CROSS JOIN LATERAL (SELECT CASE WHEN a.locked THEN a.until"
    " ELSE a.ready_since END, CASE WHEN NOT a.locked THEN a.deadline WHEN a.session_over IS NOT NULL"
    " THEN a.until ELSE least(a.until + a.start_within, a.total_until) END) AS d (since, deadline)"
    " WHERE a.ns = $1 AND a.session = s.id AND d.since <= $6 AND (d.deadline IS NULL OR d.deadline > $6)"
    " AND s.requirements <@ $7::text[] AND (s.max_concurrent = 0 OR s.max_concurrent > (SELECT count(*)"
    " FROM activities AS r WHERE r.ns = $1 AND r.session = s.id AND r.locked AND r.until + 0 > $6)"
    " + (SELECT count(*) FROM cancels AS c WHERE c.ns = $1 AND c.session = s.id AND c.state <> 1"
    " AND c.until > $6)) ORDER BY a.rank, d.since, a.key, a.execution, a.event LIMIT 1) AS i ON true"
    " CROSS JOIN LATERAL (SELECT s.worker = $2 AND s.lease_until > $6 AND EXISTS (SELECT 1"
    " FROM activities AS a WHERE a.ns = $1 AND a.session = s.id"
    " AND (CASE WHEN a.locked THEN a.until ELSE a.ready_since END) <= $6"
    " AND NOT EXISTS (SELECT 1 FROM kinds AS k WHERE k.id = a.kind AND k.name = ANY($3::text[])"
    " AND ($4 OR k.queue = ANY($5::text[]))))) AS o (strange)"
    " WHERE s.ended IS NULL AND ((s.worker = $2 AND s.lease_until > $6) OR (NOT $8 AND s.ttl_until > $6"
    " AND (s.worker = 0 OR (s.reclaim AND s.lease_until <= $6)) AND NOT " HOLDFAST_KEPT_FROM("$2", "$6")
    ")) AND (i.oldest IS NOT NULL OR o.strange)"
    " ORDER BY i.rank, i.since, i.key, i.execution, i.event"};
/// When something that this worker could run is due: what backs off, and what sessions of others hold.
inline constexpr Statement kNextFree{
    "postgres.next_free",
    "SELECT min(a.ready_since) FROM kinds AS k CROSS JOIN LATERAL (SELECT l.ready_since FROM activities AS l"
    " WHERE l.kind = k.id AND NOT l.locked AND l.session IS NULL AND l.ready_since > $5"
    " ORDER BY l.ready_since LIMIT 1) AS a"
    " WHERE k.ns = $1 AND k.name = ANY($2::text[]) AND ($3 OR k.queue = ANY($4::text[]))"};
inline constexpr Statement kNextInSessions{
    "postgres.next_in_sessions",
    "SELECT min(CASE WHEN s.worker = $7 AND s.lease_until > $5 THEN a.at"
    " WHEN s.lease_until > $5 AND (s.worker <> 0 OR " HOLDFAST_KEPT_FROM("$7", "$5")
    ") THEN greatest(a.at, s.lease_until) ELSE a.at END)"
    " FROM activities AS q JOIN kinds AS k ON k.id = q.kind"
    " JOIN sessions AS s ON s.ns = q.ns AND s.id = q.session"
    " CROSS JOIN LATERAL (SELECT CASE WHEN q.locked THEN q.until ELSE q.ready_since END AS at) AS a"
    " WHERE q.ns = $1 AND q.session IS NOT NULL AND NOT (q.locked AND q.until > $5) AND s.ended IS NULL"
    " AND k.name = ANY($2::text[]) AND ($3 OR k.queue = ANY($4::text[]))"
    " AND (a.at > $5 OR (s.worker <> $7 AND s.worker <> 0 AND s.lease_until > $5)"
    " OR " HOLDFAST_KEPT_FROM("$7", "$5") ")"
    " AND (a.at <= $5 OR s.requirements <@ $6::text[])"
    " AND ((s.worker = $7 AND s.lease_until > $5) OR s.reclaim OR s.worker = 0)"
    " AND (a.at > $5 OR (s.reclaim AND NOT $8))"};
/// When an activity that was taken away, and counts in its session while its code runs, has ended for sure.
inline constexpr Statement kNextRoom{"postgres.next_room",
                                     "SELECT min(until) FROM cancels WHERE ns = $1 AND session IS NOT NULL"
                                     " AND state <> 1 AND until > $2"};
inline constexpr Statement kNextLapse{
    "postgres.next_lapse",
    "SELECT until FROM activities WHERE ns = $1 AND locked AND until > $2 ORDER BY until LIMIT 1"};
inline constexpr Statement kInsertActivities{
    "postgres.insert_activities",
    "INSERT INTO activities (ns, key, execution, event, kind, rank, own_queue, start_within, total_until,"
    " session, session_over, body, attempt, delivery, last_failure, progress, locked, worker, token, until,"
    " generation, ready_since, deadline) SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[],"
    " $5::integer[], $6::integer[], $7::boolean[], $8::bigint[], $9::bigint[], $10::text[], $11::integer[],"
    " $12::bytea[], $13::integer[], $14::integer[], $15::bytea[], $16::bytea[], $17::boolean[],"
    " $18::bigint[], $19::uuid[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[])"};
inline constexpr Statement kUpdateActivities{
    "postgres.update_activities",
    "UPDATE activities AS a SET kind = n.kind, session_over = n.session_over, attempt = n.attempt,"
    " delivery = n.delivery, last_failure = n.last_failure, progress = n.progress, locked = n.locked,"
    " worker = n.worker, token = n.token, until = n.until, generation = n.generation,"
    " ready_since = n.ready_since, deadline = n.deadline FROM unnest($1::bigint[], $2::bigint[],"
    " $3::bigint[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::bytea[], $9::bytea[],"
    " $10::boolean[], $11::bigint[], $12::uuid[], $13::bigint[], $14::bigint[], $15::bigint[],"
    " $16::bigint[]) AS n (key, execution, event, kind, session_over, attempt, delivery, last_failure,"
    " progress, locked, worker, token, until, generation, ready_since, deadline)"
    " WHERE a.key = n.key AND a.execution = n.execution AND a.event = n.event"};
inline constexpr Statement kDeleteActivities{
    "postgres.delete_activities",
    "DELETE FROM activities AS a USING unnest($1::bigint[], $2::bigint[], $3::bigint[])"
    " AS d (key, execution, event)"
    " WHERE a.key = d.key AND a.execution = d.execution AND a.event = d.event"};

#define HOLDFAST_CANCEL_COLUMNS \
  "c.key, c.execution, c.event, c.token, c.name, c.reason, c.state, c.worker, c.at, c.until, c.session"

inline constexpr Statement kCancel{"postgres.cancel", "SELECT " HOLDFAST_CANCEL_COLUMNS
                                                      " FROM cancels AS c WHERE c.ns = $1 AND c.key = $2"
                                                      " AND c.execution = $3 AND c.event = $4"
                                                      " AND c.token = $5"};
inline constexpr Statement kCancelsOfWorker{
    "postgres.cancels_of_worker",
    "SELECT " HOLDFAST_CANCEL_COLUMNS " FROM cancels AS c WHERE c.worker = $2 AND c.ns = $1 AND c.state = 0"};
inline constexpr Statement kCancelsOf{"postgres.cancels_of",
                                      "SELECT " HOLDFAST_CANCEL_COLUMNS
                                      " FROM cancels AS c WHERE c.ns = $1 AND c.key = $2"};
/// Of sessions with a limit, those whose code may still run.
inline constexpr Statement kStopping{"postgres.stopping", "SELECT " HOLDFAST_CANCEL_COLUMNS
                                                          " FROM cancels AS c WHERE c.ns = $1"
                                                          " AND c.session = ANY($2::text[])"
                                                          " AND c.state <> 1 AND c.until > $3"};
inline constexpr Statement kAllCancels{
    "postgres.all_cancels", "SELECT " HOLDFAST_CANCEL_COLUMNS " FROM cancels AS c WHERE c.ns = $1"};
inline constexpr Statement kUpsertCancels{
    "postgres.upsert_cancels",
    "INSERT INTO cancels (ns, key, execution, event, token, name, reason, state, worker, at, until,"
    " session) SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::text[],"
    " $7::integer[], $8::integer[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[])"
    " ON CONFLICT (key, execution, event, token) DO UPDATE SET reason = EXCLUDED.reason,"
    " state = EXCLUDED.state, at = EXCLUDED.at, until = EXCLUDED.until"};

// ---- sessions ------------------------------------------------------------------------------------

/// What was saved is not among them: it may be long, and is of interest to few.
#define HOLDFAST_SESSION_COLUMNS                                                                        \
  "s.id, s.policy, s.ended, s.reason, s.note, s.owner, s.worker, s.generation, s.lease_until, s.lease," \
  " s.idle_timeout, s.last_owner, s.last_worker, s.planned, s.restarted, s.ran, s.last_activity,"       \
  " s.changed, s.ttl_until, s.opener, s.opened_by, octet_length(s.saved), s.saved_version,"             \
  " s.created_at, s.updated_at, s.held_since, s.wanted, s.wanted_for"

/// $2 to $4: those of these activities. $5: those named. $6: those that have to do with instances which end.
inline constexpr Statement kSessions{
    "postgres.sessions",
    "SELECT " HOLDFAST_SESSION_COLUMNS
    " FROM sessions AS s WHERE s.ns = $1 AND s.id = ANY($5::text[]"
    " || ARRAY(SELECT a.session FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"
    " AS w (key, execution, event) JOIN activities AS a ON a.key = w.key AND a.execution = w.execution"
    " AND a.event = w.event AND a.session IS NOT NULL)"
    " || ARRAY(SELECT a.session FROM activities AS a WHERE a.key = ANY($6::bigint[])"
    " AND a.session IS NOT NULL)"
    " || ARRAY(SELECT o.id FROM sessions AS o WHERE o.opener = ANY($6::bigint[]) AND o.opener <> 0"
    " AND o.ended IS NULL)) ORDER BY s.id FOR UPDATE"};
inline constexpr Statement kSessionsNow{"postgres.sessions_now",
                                        "SELECT " HOLDFAST_SESSION_COLUMNS
                                        " FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND "
                                        "s.id = w ORDER BY s.id FOR UPDATE OF s SKIP LOCKED"};
/// Of those named the first $4 that worker $5 may claim, and that nobody else has locked: only these are
/// locked.
inline constexpr Statement kClaimableSessions{
    "postgres.claimable_sessions",
    "SELECT " HOLDFAST_SESSION_COLUMNS
    " FROM unnest($2::text[]) AS w CROSS JOIN LATERAL (SELECT * FROM sessions AS s WHERE s.ns = $1"
    " AND s.id = w AND s.ended IS NULL AND s.ttl_until > $3 AND (s.worker = 0"
    " OR (s.reclaim AND s.lease_until <= $3)) AND NOT " HOLDFAST_KEPT_FROM(
        "$5", "$3") " FOR UPDATE OF s SKIP LOCKED) AS s LIMIT $4"};
inline constexpr Statement kReadSessions{
    "postgres.read_sessions", "SELECT " HOLDFAST_SESSION_COLUMNS
                              " FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND s.id = w"};
inline constexpr Statement kSaved{
    "postgres.saved",
    "SELECT s.id, s.saved FROM unnest($2::text[]) AS w JOIN sessions AS s ON s.ns = $1 AND"
    " s.id = w WHERE s.saved IS NOT NULL"};
inline constexpr Statement kReserveSessions{"postgres.reserve_sessions",
                                            "SELECT pg_advisory_xact_lock(-$1::integer, hashtext(n)) FROM "
                                            "unnest($2::text[]) AS n ORDER BY hashtext(n)"};
/// The number of the state that a session is in.
#define HOLDFAST_SESSION_STATE(now) \
  "coalesce(ended::integer, CASE WHEN worker = 0 THEN 0 WHEN lease_until > " now " THEN 1 ELSE 2 END)"
/// $5: of this owner, if it is not null. $6: in one of these states, if there is any.
inline constexpr Statement kSessionsAfter{
    "postgres.sessions_after",
    "SELECT id FROM sessions WHERE ns = $1 AND id > $2 AND ($5::text IS NULL OR owner = $5)"
    " AND (cardinality($6::integer[]) = 0 OR " HOLDFAST_SESSION_STATE("$4") " = ANY($6::integer[]))"
    " ORDER BY id LIMIT $3"};
/// By state, and of those whose lease is over by owner.
inline constexpr Statement kCountSessions{
    "postgres.count_sessions",
    "SELECT " HOLDFAST_SESSION_STATE("$2") " AS state, CASE WHEN ended IS NULL AND lease_until <= $2"
    " THEN worker ELSE 0 END AS late, count(*) FROM sessions WHERE ns = $1 GROUP BY 1, 2"};
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
/// $32: what was saved stays.
inline constexpr Statement kUpsertSessions{
    "postgres.upsert_sessions",
    "INSERT INTO sessions AS s (ns, id, policy, ended, reason, note, owner, worker, generation, lease_until,"
    " lease, idle_timeout, last_owner, last_worker, planned, restarted, ran, last_activity, changed,"
    " ttl_until, opener, opened_by, saved, saved_version, created_at, updated_at, reclaim, on_record,"
    " max_concurrent, held_since, requirements, wanted, wanted_for)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,"
    " $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $33, $34)"
    " ON CONFLICT (ns, id) DO UPDATE SET policy = $3, ended = $4, reason = $5, note = $6, owner = $7,"
    " worker = $8, generation = $9, lease_until = $10, lease = $11, idle_timeout = $12, last_owner = $13,"
    " last_worker = $14, planned = $15, restarted = $16, ran = $17, last_activity = $18, changed = $19,"
    " ttl_until = $20, opener = $21, opened_by = $22,"
    " saved = CASE WHEN $32 THEN s.saved ELSE $23 END, saved_version = $24, created_at = $25,"
    " updated_at = $26, reclaim = $27, on_record = $28, max_concurrent = $29, held_since = $30,"
    " requirements = $31, wanted = $33, wanted_for = $34"};
inline constexpr Statement kDeleteSessions{"postgres.delete_sessions",
                                           "DELETE FROM sessions WHERE ns = $1 AND id = ANY($2::text[])"};
inline constexpr Statement kInsertLog{
    "postgres.insert_log",
    "INSERT INTO session_log (ns, number, session, kind, reason, owner, previous_owner, generation, at,"
    " quiet_for) SELECT $1, nextval('log_numbers'), * FROM unnest($2::text[], $3::integer[], $4::integer[],"
    " $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])"};
inline constexpr Statement kLog{
    "postgres.log",
    "SELECT number, session, kind, reason, owner, previous_owner, generation, at, quiet_for FROM session_log"
    " WHERE ns = $1 AND number > $2 AND ($3::text = '' OR session = $3) ORDER BY number LIMIT $4"};
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

#define HOLDFAST_WORKER_COLUMNS "w.key, w.draining, w.superseded, w.joined_at, w.seen, w.info"

inline constexpr Statement kWorker{
    "postgres.worker", "SELECT " HOLDFAST_WORKER_COLUMNS " FROM workers AS w WHERE w.ns = $1 AND w.key = $2"};
inline constexpr Statement kLockWorker{"postgres.lock_worker",
                                       "SELECT " HOLDFAST_WORKER_COLUMNS
                                       " FROM workers AS w WHERE w.ns = $1 AND w.key = $2 FOR UPDATE"};
inline constexpr Statement kNode{"postgres.node", "SELECT " HOLDFAST_WORKER_COLUMNS
                                                  " FROM workers AS w WHERE w.ns = $1 AND w.node = $2"
                                                  " ORDER BY w.key FOR UPDATE"};
inline constexpr Statement kAllWorkers{
    "postgres.all_workers", "SELECT " HOLDFAST_WORKER_COLUMNS " FROM workers AS w WHERE w.ns = $1"};
inline constexpr Statement kCountLiveWorkers{
    "postgres.count_live_workers",
    "SELECT count(*) FROM workers WHERE ns = $1 AND NOT superseded AND NOT draining"};
inline constexpr Statement kReserveNode{"postgres.reserve_node",
                                        "SELECT pg_advisory_xact_lock($1, hashtext('node ' || $2))"};
inline constexpr Statement kInsertWorker{
    "postgres.insert_worker",
    "INSERT INTO workers (ns, key, node, info, draining, superseded, joined_at, seen)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"};
inline constexpr Statement kUpdateWorker{
    "postgres.update_worker", "UPDATE workers SET draining = $2, superseded = $3, seen = $4 WHERE key = $1"};
inline constexpr Statement kDeleteWorkers{"postgres.delete_workers",
                                          "DELETE FROM workers WHERE key = ANY($1::bigint[])"};

// ---- clients -------------------------------------------------------------------------------------

#define HOLDFAST_EARLY_COLUMNS \
  "e.instance, e.number, e.at, e.until, e.kind, e.execution, e.source, e.address_kind, e.address, e.body"

inline constexpr Statement kEarly{
    "postgres.early",
    "SELECT " HOLDFAST_EARLY_COLUMNS
    " FROM unnest($2::text[]) AS w JOIN early AS e ON e.ns = $1 AND e.instance = w ORDER BY e.number"};
inline constexpr Statement kAllEarly{"postgres.all_early",
                                     "SELECT " HOLDFAST_EARLY_COLUMNS
                                     " FROM early AS e WHERE e.ns = $1 ORDER BY e.number"};
inline constexpr Statement kInsertEarly{
    "postgres.insert_early",
    "INSERT INTO early (ns, number, instance, at, until, kind, execution, source, address_kind, address,"
    " body) SELECT $1, nextval('early_numbers'), * FROM unnest($2::text[], $3::bigint[], $4::bigint[],"
    " $5::integer[], $6::bigint[], $7::bigint[], $8::integer[], $9::text[], $10::bytea[])"};
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
    "INSERT INTO set_aside (ns, number, key, what, problem, bytes, at) SELECT $1,"
    " nextval('set_aside_numbers'), * FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[],"
    " $6::bigint[])"};
inline constexpr Statement kSetAside{
    "postgres.set_aside",
    "SELECT number, key, what, problem, bytes, at FROM set_aside WHERE ns = $1 AND number > $2"
    " ORDER BY number LIMIT $3"};

inline constexpr Statement kQueueDepths{
    "postgres.queue_depths",
    "SELECT k.queue, k.name, count(*) FILTER (WHERE NOT running AND since <= $2),"
    " count(*) FILTER (WHERE NOT running AND since > $2), count(*) FILTER (WHERE running),"
    " min(since) FILTER (WHERE NOT running) FROM (SELECT kind, locked AND until > $2 AS running,"
    " CASE WHEN locked THEN until ELSE ready_since END AS since FROM activities WHERE ns = $1) AS a"
    " JOIN kinds AS k ON k.id = a.kind GROUP BY k.queue, k.name ORDER BY k.queue, k.name"};

// ---- the sweep -----------------------------------------------------------------------------------

/// Those past their deadlines, and the next one that will be.
inline constexpr Statement kOverdue{
    "postgres.overdue",
    "SELECT key, execution, event, deadline, session FROM activities WHERE ns = $1 AND NOT locked"
    " AND deadline IS NOT NULL ORDER BY deadline, key, execution, event LIMIT $2"};
/// When those that run will be overdue unless they are answered.
inline constexpr Statement kNextOverdue{
    "postgres.next_overdue",
    "SELECT min(greatest(until, CASE WHEN session_over IS NOT NULL THEN until"
    " ELSE least(until + start_within, total_until) END)) FROM activities"
    " WHERE ns = $1 AND locked AND (session_over IS NOT NULL OR start_within IS NOT NULL"
    " OR total_until IS NOT NULL)"};
/// Until when a session was of use: to its owner, or, of one that nobody owns, to the node that it is kept
/// for.
#define HOLDFAST_LEFT_AT(of) \
  "(CASE WHEN " of "worker <> 0 THEN " of "lease_until ELSE greatest(" of "changed, " of "lease_until) END)"
/// $2: now, $3 and $4: what was left or has ended since is kept, with saved state and on record. $6: workers
/// that stay registered, and with them what they own. What has activities stays.
inline constexpr Statement kDueSessions{
    "postgres.due_sessions",
    "SELECT s.id FROM sessions AS s WHERE s.ns = $1 AND ((s.ended IS NULL AND (s.ttl_until <= $2"
    " OR (s.worker <> 0 AND NOT s.reclaim AND s.lease_until <= $2)"
    " OR (s.worker <> 0 AND s.reclaim AND s.lease_until > $2 AND s.worker <> ALL($6::bigint[]))))"
    " OR ((CASE WHEN s.ended IS NOT NULL THEN s.changed <= $4 WHEN s.worker = ANY($6::bigint[]) THEN false"
    " WHEN s.on_record THEN (s.worker <> 0 OR (s.ttl_until = 9223372036854775807 AND NOT EXISTS (SELECT 1"
    " FROM instances AS i WHERE i.key = s.opener AND i.status < 3)))"
    " AND " HOLDFAST_LEFT_AT("s.")
    " <= (CASE WHEN s.saved IS NOT NULL THEN least($3::bigint, $4::bigint) ELSE $4::bigint END)"
    " ELSE " HOLDFAST_LEFT_AT("s.")
    " <= (CASE WHEN s.saved IS NOT NULL THEN $3::bigint ELSE $2::bigint END) END)"
    " AND NOT EXISTS (SELECT 1 FROM activities AS a WHERE a.ns = $1 AND a.session = s.id)))"
    " ORDER BY s.id LIMIT $5"};
/// What becomes due later, at the earliest: ends of lives and leases, and since when something is kept.
inline constexpr Statement kNextSession{
    "postgres.next_session",
    "SELECT min(ttl_until) FILTER (WHERE ended IS NULL AND ttl_until > $2),"
    " min(lease_until) FILTER (WHERE ended IS NULL AND worker <> 0 AND lease_until > $2),"
    " min(greatest(changed, lease_until)) FILTER (WHERE ended IS NULL AND worker = 0 AND NOT on_record"
    " AND saved IS NULL AND greatest(changed, lease_until) > $2),"
    " min" HOLDFAST_LEFT_AT("")
    " FILTER (WHERE ended IS NULL AND NOT on_record AND saved IS NOT NULL"
    " AND " HOLDFAST_LEFT_AT("") " > $3),"
    " min(changed) FILTER (WHERE ended IS NOT NULL AND changed > $4),"
    " min" HOLDFAST_LEFT_AT("")
    " FILTER (WHERE ended IS NULL AND on_record AND saved IS NULL"
    " AND " HOLDFAST_LEFT_AT("") " > $4),"
    " min" HOLDFAST_LEFT_AT("")
    " FILTER (WHERE ended IS NULL AND on_record AND saved IS NOT NULL"
    " AND " HOLDFAST_LEFT_AT("") " > least($3, $4))"
    " FROM sessions WHERE ns = $1"};
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
