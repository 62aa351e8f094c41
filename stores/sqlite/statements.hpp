// All SQL of the calls, by name. One Statements per connection.
#pragma once

#include "lease_clock.hpp"
#include "query.hpp"

namespace holdfast::sqlite_store {

struct Statements {
  Query begin_read{"sqlite.begin_read", "BEGIN"};

  // ---- counters and interned names --------------------------------------------------------------
  Query counters{"sqlite.counters",
                 "SELECT instances, messages, workers, generations, session_log, set_aside, turn_horizon,"
                 " activity_horizon, session_horizon FROM counters WHERE id = 1"};
  Query save_counters{"sqlite.save_counters",
                      "UPDATE counters SET instances = ?1, messages = ?2, workers = ?3, generations = ?4,"
                      " session_log = ?5, set_aside = ?6, turn_horizon = ?7, activity_horizon = ?8,"
                      " session_horizon = ?9 WHERE id = 1"};
  Query lease_clock{"sqlite.lease_clock", kReadLeaseClock};
  Query namespace_id{"sqlite.namespace_id", "SELECT id FROM namespaces WHERE name = ?1"};
  Query insert_namespace{"sqlite.insert_namespace",
                         "INSERT INTO namespaces (name) VALUES (?1) ON CONFLICT DO NOTHING"};
  Query routes{"sqlite.routes",
               "SELECT id, name, version, build FROM routes WHERE id > ?1 AND id < ?2 ORDER BY id"};
  Query insert_route{"sqlite.insert_route",
                     "INSERT INTO routes (id, name, version, build) VALUES (?1, ?2, ?3, ?4)"};
  Query kinds{"sqlite.kinds",
              "SELECT id, queue, name, requirements FROM kinds WHERE id > ?1 AND id < ?2 ORDER BY id"};
  Query insert_kind{"sqlite.insert_kind",
                    "INSERT INTO kinds (id, queue, name, requirements) VALUES (?1, ?2, ?3, ?4)"};

  // ---- workers ----------------------------------------------------------------------------------
  Query worker_state{"sqlite.worker_state",
                     "SELECT superseded, draining, node FROM workers WHERE key = ?1 AND ns = ?2"};

  Query worker_seen{"sqlite.worker_seen", "SELECT seen, info FROM workers WHERE key = ?1"};
  Query live_workers{
      "sqlite.live_workers",
      "SELECT info, key, seen FROM workers WHERE ns = ?1 AND superseded = 0 AND draining = 0 ORDER BY key"};
  Query count_live_workers{"sqlite.count_live_workers",
                           "SELECT count(*) FROM workers WHERE ns = ?1 AND superseded = 0 AND draining = 0"};
  Query refresh_worker{"sqlite.refresh_worker", "UPDATE workers SET draining = ?2, seen = ?3 WHERE key = ?1"};
  Query delete_worker{"sqlite.delete_worker", "DELETE FROM workers WHERE key = ?1 AND ns = ?2"};
  Query workers{"sqlite.workers",
                "SELECT key, info, draining, joined_at, seen, superseded FROM workers WHERE ns = ?1"
                " ORDER BY key"};
  Query supersede{"sqlite.supersede", "UPDATE workers SET superseded = 1 WHERE ns = ?1 AND node = ?2"};
  Query insert_worker{"sqlite.insert_worker",
                      "INSERT INTO workers (key, ns, node, info, draining, superseded, joined_at, seen)"
                      " VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6)"};

  // ---- instances --------------------------------------------------------------------------------
  Query instance{"sqlite.instance",
                 "SELECT i.name, i.route, i.execution, i.status, i.delivery, i.ready_at, i.stamp, i.waits,"
                 " i.updated_at, h.worker, h.token, h.until, h.delivery, h.stamp, h.lapsed, i.ns,"
                 " i.seen, i.woken, i.not_before, i.start_id"
                 " FROM instances AS i LEFT JOIN held AS h ON h.key = i.key WHERE i.key = ?1"};
  Query key_by_name{"sqlite.key_by_name", "SELECT key FROM instances WHERE ns = ?1 AND name = ?2"};
  Query insert_instance{"sqlite.insert_instance",
                        "INSERT INTO instances (key, ns, name, route, execution, status, delivery, ready_at,"
                        " created_at, updated_at, request, fingerprint, parent, start_id, start_body)"
                        " VALUES (?1, ?2, ?3, ?4, 1, 0, 0, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11)"
                        " ON CONFLICT DO NOTHING"};
  Query update_instance{"sqlite.update_instance",
                        "UPDATE instances SET route = ?2, execution = ?3, status = ?4, delivery = ?5,"
                        " ready_at = ?6, stamp = ?7, waits = ?8, updated_at = ?9, seen = ?10, woken = ?11,"
                        " not_before = ?12 WHERE key = ?1"};
  Query end_instance{"sqlite.end_instance",
                     "UPDATE instances SET route = ?2, status = ?3, delivery = 0, ready_at = ?4, stamp = ?5,"
                     " waits = NULL, seen = 0, woken = 0, not_before = 0, updated_at = ?6, output = ?7,"
                     " parked_because = NULL, start_id = NULL, start_body = NULL WHERE key = ?1"};
  Query start_body{"sqlite.start_body", "SELECT start_body FROM instances WHERE key = ?1"};
  Query forget_start{"sqlite.forget_start",
                     "UPDATE instances SET start_id = NULL, start_body = NULL WHERE key = ?1"};
  Query set_ready_at{"sqlite.set_ready_at", "UPDATE instances SET ready_at = ?2 WHERE key = ?1"};
  Query set_parked_because{"sqlite.set_parked_because",
                           "UPDATE instances SET parked_because = ?2 WHERE key = ?1"};
  Query set_custom_status{"sqlite.set_custom_status",
                          "INSERT INTO custom_status (key, version, bytes) VALUES (?1, 1, ?2)"
                          " ON CONFLICT (key) DO UPDATE SET version = version + 1, bytes = excluded.bytes"};

  // ---- locks of instances -----------------------------------------------------------------------
  Query hold{"sqlite.hold",
             "INSERT INTO held (key, worker, token, until, delivery, stamp, lapsed)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)"};
  Query hold_again{"sqlite.hold_again",
                   "REPLACE INTO held (key, worker, token, until, delivery, stamp, lapsed)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)"};
  Query unhold{"sqlite.unhold", "DELETE FROM held WHERE key = ?1"};
  Query extend_hold{"sqlite.extend_hold", "UPDATE held SET until = ?2, lapsed = 0 WHERE key = ?1"};
  Query count_hand_out{"sqlite.count_hand_out", "UPDATE held SET delivery = ?2, stamp = ?3 WHERE key = ?1"};
  Query held_by{"sqlite.held_by", "SELECT key FROM held WHERE token = ?1 AND until > ?2"};
  Query held_locks{"sqlite.held_locks", "SELECT key, until, lapsed FROM held"};
  Query mark_lapsed{"sqlite.mark_lapsed", "UPDATE held SET lapsed = 1 WHERE key = ?1"};

  // ---- ready instances --------------------------------------------------------------------------
  Query next_lane{"sqlite.next_lane",
                  "SELECT lane FROM ready WHERE lane > ?1 AND lane < ?2 ORDER BY lane LIMIT 1"};
  Query ready_in_lane{"sqlite.ready_in_lane",
                      "SELECT at, key FROM ready WHERE lane = ?1 AND at <= ?2 ORDER BY at, key LIMIT ?3"};
  Query next_in_lane{"sqlite.next_in_lane",
                     "SELECT at FROM ready WHERE lane = ?1 AND at > ?2 ORDER BY at LIMIT 1"};
  Query insert_ready{"sqlite.insert_ready", "INSERT INTO ready (lane, at, key) VALUES (?1, ?2, ?3)"};
  Query delete_ready{"sqlite.delete_ready", "DELETE FROM ready WHERE lane = ?1 AND at = ?2 AND key = ?3"};

  Query delete_ready_up_to{"sqlite.delete_ready_up_to",
                           "DELETE FROM ready WHERE lane = ?1 AND (at, key) <= (?2, ?3)"};

  // ---- history ----------------------------------------------------------------------------------
  Query last_stamp{
      "sqlite.last_stamp",
      "SELECT stamp FROM history WHERE key = ?1 ORDER BY execution DESC, first_event DESC LIMIT 1"};
  Query insert_segment{"sqlite.insert_segment",
                       "REPLACE INTO history (key, execution, first_event, stamp, bytes)"
                       " VALUES (?1, ?2, ?3, ?4, ?5)"};
  Query read_history{"sqlite.read_history",
                     "SELECT first_event, bytes FROM history"
                     " WHERE key = ?1 AND execution = ?2 AND first_event > ?3 ORDER BY first_event"};
  Query instance_exists{"sqlite.instance_exists", "SELECT 1 FROM instances WHERE key = ?1 AND ns = ?2"};

  // ---- messages ---------------------------------------------------------------------------------
  Query insert_message{"sqlite.insert_message",
                       "INSERT INTO messages (key, waits, id, kind, execution, source, address_kind, address,"
                       " body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"};
  Query messages_after{"sqlite.messages_after",
                       "SELECT id, kind, execution, source, address_kind, address, body FROM messages"
                       " WHERE key = ?1 AND waits = ?2 AND id > ?3 ORDER BY id"};
  Query message_heads{"sqlite.message_heads",
                      "SELECT kind, address_kind, address FROM messages"
                      " WHERE key = ?1 AND waits = ?2 AND id > ?3 ORDER BY id"};
  Query message{"sqlite.message",
                "SELECT kind, body FROM messages WHERE key = ?1 AND waits = ?2 AND id = ?3"};
  Query delete_message{"sqlite.delete_message",
                       "DELETE FROM messages WHERE key = ?1 AND waits = ?2 AND id = ?3"};
  Query drop_unread{"sqlite.drop_unread", "DELETE FROM messages WHERE key = ?1 AND kind <> 0"};
  Query drop_answers{"sqlite.drop_answers",
                     "DELETE FROM messages WHERE key = ?1 AND waits = 0 AND kind BETWEEN 1 AND 5"};
  Query insert_set_aside{"sqlite.insert_set_aside",
                         "INSERT INTO set_aside (number, ns, key, what, problem, bytes, at)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"};

  // ---- timers and delayed messages --------------------------------------------------------------
  Query insert_timer{"sqlite.insert_timer",
                     "REPLACE INTO timers (key, execution, event, ns, due) VALUES (?1, ?2, ?3, ?4, ?5)"};
  Query delete_timer{"sqlite.delete_timer",
                     "DELETE FROM timers WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query drop_timers{"sqlite.drop_timers", "DELETE FROM timers WHERE key = ?1"};
  Query due_timers{"sqlite.due_timers",
                   "SELECT key, execution, event, due FROM timers WHERE ns = ?1 AND due <= ?2"
                   " ORDER BY due, key, execution, event LIMIT ?3"};
  Query first_timer{"sqlite.first_timer", "SELECT due FROM timers WHERE ns = ?1 ORDER BY due LIMIT 1"};
  Query insert_delayed{
      "sqlite.insert_delayed",
      "INSERT INTO delayed (key, ns, at, kind, execution, source, address_kind, address, body)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"};
  Query due_delayed{"sqlite.due_delayed",
                    "SELECT number, key, kind, execution, source, address_kind, address, body FROM delayed"
                    " WHERE ns = ?1 AND at <= ?2 ORDER BY at, number LIMIT ?3"};
  Query first_delayed{"sqlite.first_delayed", "SELECT at FROM delayed WHERE ns = ?1 ORDER BY at LIMIT 1"};
  Query delayed_start{"sqlite.delayed_start",
                      "SELECT at FROM delayed WHERE key = ?1 AND kind = 0 ORDER BY at LIMIT 1"};
  Query delete_delayed{"sqlite.delete_delayed", "DELETE FROM delayed WHERE number = ?1"};
  Query drop_delayed{"sqlite.drop_delayed", "DELETE FROM delayed WHERE key = ?1 AND kind <> 0"};

  // ---- what an execution leaves -----------------------------------------------------------------
  Query leftovers{"sqlite.leftovers",
                  "SELECT EXISTS (SELECT 1 FROM running WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM queued WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM timers WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM messages WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM delayed WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM sessions WHERE opener = ?1),"
                  " EXISTS (SELECT 1 FROM watches WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM packs WHERE key = ?1)"};

  // ---- activities -------------------------------------------------------------------------------
  Query insert_running_plain{"sqlite.insert_running_plain",
                             "INSERT INTO running (key, execution, event, kind, worker, token, until, body)"
                             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"};
  Query insert_running{
      "sqlite.insert_running",
      "INSERT INTO running (key, execution, event, kind, worker, token, until, body, priority,"
      " attempt, delivery, session, generation, start_within, total_until, last_failure,"
      " progress, session_over) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
      " ?14, ?15, ?16, ?17, ?18)"};
  Query insert_queued{
      "sqlite.insert_queued",
      "INSERT INTO queued (key, execution, event, kind, worker, token, until, body, rank,"
      " attempt, delivery, session, generation, start_within, total_until, last_failure,"
      " progress, session_over, lane, at, adopts, deadline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
      " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)"};
  Query running{
      "sqlite.running",
      "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
      " session, generation, start_within, total_until, last_failure, progress, session_over, 0, 0, 0"
      " FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3 AND kind >> 32 = ?4"};
  Query queued{"sqlite.queued",
               "SELECT key, execution, event, kind, worker, token, until, body, -rank, attempt, delivery,"
               " session, generation, start_within, total_until, last_failure, progress, session_over, lane, "
               "at, adopts"
               " FROM queued WHERE key = ?1 AND execution = ?2 AND event = ?3 AND kind >> 32 = ?4"};
  Query running_of{
      "sqlite.running_of",
      "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
      " session, generation, start_within, total_until, last_failure, progress, session_over, 0, 0, 0"
      " FROM running WHERE key = ?1 ORDER BY execution, event"};
  Query queued_of{"sqlite.queued_of",
                  "SELECT key, execution, event, kind, worker, token, until, body, -rank, attempt, delivery,"
                  " session, generation, start_within, total_until, last_failure, progress, session_over, "
                  "lane, at, adopts"
                  " FROM queued WHERE key = ?1 ORDER BY execution, event"};
  Query running_tokens{"sqlite.running_tokens",
                       "SELECT event, token, session FROM running WHERE key = ?1 AND execution = ?2"
                       " ORDER BY event"};
  Query delete_running{"sqlite.delete_running",
                       "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query delete_queued{"sqlite.delete_queued",
                      "DELETE FROM queued WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query running_by{"sqlite.running_by",
                   "SELECT key, execution, event FROM running WHERE token = ?1 AND until > ?2"};
  Query extend_running{"sqlite.extend_running",
                       "UPDATE running SET until = ?4 WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query extend_running_progress{"sqlite.extend_running_progress",
                                "UPDATE running SET until = ?4, progress = ?5"
                                " WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query running_until{
      "sqlite.running_until",
      "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
      " session, generation, start_within, total_until, last_failure, progress, session_over, 0, 0, 0"
      " FROM running WHERE until <= ?1 ORDER BY key, execution, event"};
  Query first_end_of_lock{"sqlite.first_end_of_lock",
                          "SELECT min(until) FROM (SELECT min(until) AS until FROM running"
                          " UNION ALL SELECT min(until) FROM packs)"};
  Query write_pack{"sqlite.write_pack",
                   "REPLACE INTO packs (key, ns, execution, worker, token, until, session, generation, items)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"};
  Query delete_pack{"sqlite.delete_pack", "DELETE FROM packs WHERE key = ?1"};
  Query pack_of{"sqlite.pack_of",
                "SELECT key, ns, execution, worker, token, until, session, generation, items FROM packs"
                " WHERE key = ?1 AND ns = ?2"};
  Query all_packs{"sqlite.all_packs",
                  "SELECT key, ns, execution, worker, token, until, session, generation, items FROM packs"
                  " WHERE ns = ?1"};
  Query packs_until{"sqlite.packs_until",
                    "SELECT key, ns, execution, worker, token, until, session, generation, items FROM packs"
                    " WHERE until <= ?1"};
  Query packs_in_session{"sqlite.packs_in_session",
                         "SELECT key, ns, execution, worker, token, until, session, generation, items"
                         " FROM packs WHERE session = ?1 ORDER BY key"};
  Query any_queued{"sqlite.any_queued", "SELECT 1 FROM queued LIMIT 1"};
  Query top_rank{"sqlite.top_rank", "SELECT rank FROM queued WHERE rank < 0 ORDER BY rank LIMIT 1"};
  Query next_queue_lane{"sqlite.next_queue_lane",
                        "SELECT lane FROM queued WHERE lane > ?1 AND lane < ?2 ORDER BY lane LIMIT 1"};
  Query next_rank{"sqlite.next_rank",
                  "SELECT rank FROM queued WHERE lane = ?1 AND rank > ?2 ORDER BY rank LIMIT 1"};
  Query queued_in_rank{
      "sqlite.queued_in_rank",
      "SELECT at, key, execution, event FROM queued WHERE lane = ?1 AND rank = ?2 AND at <= ?3"
      " AND (at, key, execution, event) > (?4, ?5, ?6, ?7)"
      " ORDER BY at, key, execution, event LIMIT ?8"};
  Query next_in_rank{"sqlite.next_in_rank",
                     "SELECT at FROM queued WHERE lane = ?1 AND rank = ?2 AND at > ?3 ORDER BY at LIMIT 1"};
  Query finish_running{"sqlite.finish_running",
                       "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3 AND token = ?4"
                       " AND session IS NULL AND kind >> 32 = ?5"};
  Query instance_name{"sqlite.instance_name", "SELECT name FROM instances WHERE key = ?1"};
  Query insert_cancel{"sqlite.insert_cancel",
                      "REPLACE INTO cancels (key, execution, event, token, ns, worker, name, reason, state,"
                      " until, at, session) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?12, ?9, ?10, ?11)"};
  Query cancel_reason{"sqlite.cancel_reason",
                      "SELECT reason FROM cancels WHERE key = ?1 AND execution = ?2 AND event = ?3"
                      " AND token = ?4 AND ns = ?5"};

  // ---- sessions ---------------------------------------------------------------------------------
  Query session_by_id{
      "sqlite.session_by_id",
      "SELECT number, id, begun, open, policy, ended, reason, note, owner, worker, generation,"
      " lease_until, lease, idle_timeout, last_owner, last_worker, planned, restarted, ran,"
      " last_activity, changed, ttl_until, opener, opened_by, saved, saved_version, created_at,"
      " updated_at, held_since, wanted, wanted_for FROM sessions WHERE ns = ?1 AND id = ?2"};
  Query session_by_number{"sqlite.session_by_number",
                          "SELECT number, id, begun, open, policy, ended, reason, note, owner, worker,"
                          " generation, lease_until, lease, idle_timeout, last_owner, last_worker, planned,"
                          " restarted, ran, last_activity, changed, ttl_until, opener, opened_by, saved,"
                          " saved_version, created_at, updated_at, held_since, wanted, wanted_for"
                          " FROM sessions"
                          " WHERE number = ?1"};
  Query sessions_after{
      "sqlite.sessions_after",
      "SELECT number, id, begun, open, policy, ended, reason, note, owner, worker, generation,"
      " lease_until, lease, idle_timeout, last_owner, last_worker, planned, restarted, ran,"
      " last_activity, changed, ttl_until, opener, opened_by, CASE WHEN ?3 THEN saved END, saved_version,"
      " created_at, updated_at, held_since, wanted, wanted_for, length(saved)"
      " FROM sessions WHERE ns = ?1 AND id > ?2 AND begun ORDER BY id"};
  /// By state, and of those whose lease is over by owner.
  Query session_counts{
      "sqlite.session_counts",
      "SELECT coalesce(ended, CASE WHEN worker IS NULL THEN 0 WHEN lease_until > ?2 THEN 1 ELSE 2 END) AS"
      " state, CASE WHEN ended IS NULL AND lease_until <= ?2 THEN worker END AS owner, count(*)"
      " FROM sessions WHERE ns = ?1 AND begun GROUP BY 1, 2"};
  Query insert_session{"sqlite.insert_session",
                       "INSERT INTO sessions (ns, id, begun, open, policy, reason, note, owner, generation,"
                       " lease_until, lease, idle_timeout, last_owner, last_worker, planned, restarted, ran,"
                       " last_activity, changed, opened_by, saved_version, created_at, updated_at)"
                       " VALUES (?1, ?2, 0, 0, x'', 0, '', '', 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, '', 0, 0, 0)"
                       " RETURNING number"};
  Query save_session{
      "sqlite.save_session",
      "UPDATE sessions SET begun = 1, open = ?2, policy = ?3, ended = ?4, reason = ?5, note = ?6,"
      " owner = ?7, worker = ?8, generation = ?9, lease_until = ?10, lease = ?11,"
      " idle_timeout = ?12, last_owner = ?13, last_worker = ?14, planned = ?15, restarted = ?16,"
      " ran = ?17, last_activity = ?18, changed = ?19, ttl_until = ?20, opener = ?21,"
      " opened_by = ?22, saved = ?23, saved_version = ?24, created_at = ?25, updated_at = ?26,"
      " held_since = ?27, wanted = ?28, wanted_for = ?29 WHERE number = ?1"};
  Query sessions_wanted{"sqlite.sessions_wanted",
                        "SELECT id, generation, CASE WHEN ended IS NOT NULL THEN reason END FROM sessions"
                        " WHERE worker = ?1 AND wanted IS NOT NULL ORDER BY id"};
  Query delete_session{"sqlite.delete_session", "DELETE FROM sessions WHERE number = ?1"};
  Query extend_session{"sqlite.extend_session",
                       "UPDATE sessions SET lease_until = ?2, last_activity = ?3 WHERE number = ?1"};
  Query sessions_of_worker{"sqlite.sessions_of_worker",
                           "SELECT number FROM sessions WHERE worker = ?1 AND ended IS NULL"};
  Query sessions_held{
      "sqlite.sessions_held",
      "SELECT count(*) FROM sessions WHERE worker = ?1 AND ended IS NULL AND lease_until > ?2"};
  Query sessions_of_node{"sqlite.sessions_of_node",
                         "SELECT s.number FROM sessions AS s LEFT JOIN workers AS w ON w.key = s.worker"
                         " WHERE s.ns = ?1 AND s.worker IS NOT NULL AND s.ended IS NULL AND s.owner = ?2"
                         " AND coalesce(w.draining, 0) = 0 ORDER BY s.id"};
  Query sessions_of_opener{"sqlite.sessions_of_opener",
                           "SELECT number FROM sessions WHERE opener = ?1 AND ended IS NULL ORDER BY id"};
  Query session_leases{"sqlite.session_leases",
                       "SELECT number, lease_until FROM sessions"
                       " WHERE worker IS NOT NULL AND ended IS NULL AND open = 0"};
  Query set_session_open{"sqlite.set_session_open", "UPDATE sessions SET open = ?2 WHERE number = ?1"};
  Query queued_in_session{"sqlite.queued_in_session",
                          "SELECT key, execution, event FROM queued WHERE session = ?1"
                          " ORDER BY key, execution, event"};
  Query running_in_session{"sqlite.running_in_session",
                           "SELECT key, execution, event FROM running WHERE session = ?1"
                           " ORDER BY key, execution, event"};
  Query count_queued{"sqlite.count_queued", "SELECT count(*) FROM queued WHERE session = ?1"};
  Query count_running{"sqlite.count_running",
                      "SELECT count(*) FROM running WHERE session = ?1 AND until > ?2"};
  Query runs_on_worker{"sqlite.runs_on_worker",
                       "SELECT 1 FROM running WHERE session = ?1 AND until > ?2 AND worker = ?3 LIMIT 1"};
  // Those whose code may still run.
  Query stopping_in_session{"sqlite.stopping_in_session",
                            "SELECT until FROM cancels WHERE ns = ?1 AND session = ?2 AND state <> 1"
                            " AND until > ?3"};
  Query count_lapsed{"sqlite.count_lapsed",
                     "SELECT count(*) FROM running WHERE session = ?1 AND until <= ?2"};
  Query ready_in_session{"sqlite.ready_in_session",
                         "SELECT 1 FROM queued WHERE session = ?1 AND at <= ?2 LIMIT 1"};
  Query ready_kinds_in_session{"sqlite.ready_kinds_in_session",
                               "SELECT DISTINCT kind FROM queued WHERE session = ?1 AND at <= ?2"};
  Query items_to_kinds{"sqlite.items_to_kinds", "UPDATE queued SET lane = kind WHERE session = ?1"};
  Query items_to_session{"sqlite.items_to_session", "UPDATE queued SET lane = -session WHERE session = ?1"};
  Query adopt_item{
      "sqlite.adopt_item",
      "UPDATE queued SET kind = ?4, adopts = 0 WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query end_running_in_session{"sqlite.end_running_in_session",
                               "UPDATE running SET session_over = ?2 WHERE session = ?1"};
  Query insert_log{"sqlite.insert_log",
                   "INSERT INTO session_log (number, ns, session, kind, reason, owner, previous_owner,"
                   " generation, at, quiet_for) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"};
  Query log_of_all{"sqlite.log_of_all",
                   "SELECT number, session, kind, reason, owner, previous_owner, generation, at, quiet_for"
                   " FROM session_log WHERE number > ?1 AND ns = ?2 ORDER BY number LIMIT ?3"};
  Query log_of_session{
      "sqlite.log_of_session",
      "SELECT number, session, kind, reason, owner, previous_owner, generation, at, quiet_for"
      " FROM session_log WHERE ns = ?1 AND session = ?2 AND number > ?3"
      " ORDER BY number LIMIT ?4"};
  Query watch{"sqlite.watch", "INSERT OR IGNORE INTO watches (ns, session, key) VALUES (?1, ?2, ?3)"};
  Query unwatch_all{"sqlite.unwatch_all", "DELETE FROM watches WHERE key = ?1"};
  Query watchers{"sqlite.watchers", "SELECT key FROM watches WHERE ns = ?1 AND session = ?2 ORDER BY key"};

  // ---- values -----------------------------------------------------------------------------------
  Query set_value{"sqlite.set_value", "REPLACE INTO kept_values (key, name, value) VALUES (?1, ?2, ?3)"};
  Query remove_value{"sqlite.remove_value", "DELETE FROM kept_values WHERE key = ?1 AND name = ?2"};
  Query value{"sqlite.value", "SELECT value FROM kept_values WHERE key = ?1 AND name = ?2"};

  // ---- early deliveries -------------------------------------------------------------------------
  Query early_of{"sqlite.early_of",
                 "SELECT at, until, kind, execution, source, address_kind, address, body FROM early"
                 " WHERE ns = ?1 AND instance = ?2 ORDER BY number"};
  Query any_early{"sqlite.any_early", "SELECT 1 FROM early LIMIT 1"};
  Query drop_early{"sqlite.drop_early", "DELETE FROM early WHERE ns = ?1 AND instance = ?2"};
  // ---- clients ----------------------------------------------------------------------------------
  Query former_life{"sqlite.former_life",
                    "SELECT key, status, request, fingerprint FROM instances WHERE ns = ?1 AND name = ?2"};
  Query insert_early{
      "sqlite.insert_early",
      "INSERT INTO early (ns, instance, until, at, kind, execution, source, address_kind, address,"
      " body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"};
  Query request_cancel{"sqlite.request_cancel",
                       "UPDATE instances SET cancel_requested_at = ?2"
                       " WHERE key = ?1 AND cancel_requested_at IS NULL"};
  Query any_request{"sqlite.any_request", "SELECT 1 FROM requests LIMIT 1"};
  Query request{"sqlite.request", "SELECT answer FROM requests WHERE ns = ?1 AND request = ?2"};
  Query remember_request{"sqlite.remember_request",
                         "INSERT OR IGNORE INTO requests (ns, request, at, answer) VALUES (?1, ?2, ?3, ?4)"};
  Query remember_start{"sqlite.remember_start",
                       "INSERT OR IGNORE INTO requests (ns, request, at, answer)"
                       " SELECT ns, request, ?2, key FROM instances WHERE key = ?1 AND request IS NOT NULL"};
  Query delete_instance{"sqlite.delete_instance", "DELETE FROM instances WHERE key = ?1"};
  Query delete_delayed_of{"sqlite.delete_delayed_of", "DELETE FROM delayed WHERE key = ?1"};
  Query delete_messages_of{"sqlite.delete_messages_of", "DELETE FROM messages WHERE key = ?1"};
  Query delete_values_of{"sqlite.delete_values_of", "DELETE FROM kept_values WHERE key = ?1"};
  Query delete_custom_status{"sqlite.delete_custom_status", "DELETE FROM custom_status WHERE key = ?1"};
  Query delete_history_of{"sqlite.delete_history_of", "DELETE FROM history WHERE key = ?1"};
  Query count_segments{"sqlite.count_segments",
                       "SELECT count(*) FROM (SELECT 1 FROM history WHERE key = ?1 LIMIT ?2)"};
  Query insert_remains{"sqlite.insert_remains", "INSERT INTO remains (key) VALUES (?1)"};
  Query count_executions{"sqlite.count_executions",
                         "SELECT count(DISTINCT execution) FROM history WHERE key = ?1 AND execution < ?2"};
  Query prune_history{"sqlite.prune_history",
                      "DELETE FROM history WHERE key = ?1 AND execution >= ?2 AND execution < ?3"};
  Query acknowledge_cancel{"sqlite.acknowledge_cancel",
                           "UPDATE cancels SET state = ?6 WHERE key = ?1 AND execution = ?2 AND event = ?3"
                           " AND token = ?4 AND ns = ?5 RETURNING session IS NOT NULL"};
  Query parked{"sqlite.parked", "SELECT key FROM instances WHERE ns = ?1 AND status = 2 ORDER BY key"};

  // ---- the sweep --------------------------------------------------------------------------------
  Query overdue{"sqlite.overdue",
                "SELECT key, execution, event FROM queued WHERE kind >> 32 = ?1 AND deadline <= ?2"
                " ORDER BY deadline, key, execution, event LIMIT ?3"};
  Query first_deadline{"sqlite.first_deadline",
                       "SELECT deadline FROM queued WHERE kind >> 32 = ?1 AND deadline IS NOT NULL"
                       " ORDER BY deadline LIMIT 1"};
  Query running_with_deadlines{
      "sqlite.running_with_deadlines",
      "SELECT until, start_within, total_until, session_over IS NOT NULL FROM running"
      " WHERE kind >> 32 = ?1 AND (start_within IS NOT NULL OR total_until IS NOT NULL"
      " OR session_over IS NOT NULL)"};
  Query trim_session_log{"sqlite.trim_session_log",
                         "DELETE FROM session_log WHERE number IN (SELECT number FROM session_log"
                         " WHERE ns = ?1 ORDER BY number LIMIT ?3) AND at <= ?2"};
  Query instance_lives{"sqlite.instance_lives", "SELECT 1 FROM instances WHERE key = ?1 AND status < 3"};
  Query session_numbers{"sqlite.session_numbers",
                        "SELECT number FROM sessions WHERE ns = ?1 AND begun ORDER BY id"};
  Query delete_empty_places{"sqlite.delete_empty_places",
                            "DELETE FROM sessions WHERE ns = ?1 AND NOT begun AND NOT EXISTS"
                            " (SELECT 1 FROM queued WHERE session = number)"};
  Query drop_old_early{"sqlite.drop_old_early",
                       "DELETE FROM early WHERE number IN"
                       " (SELECT number FROM early WHERE ns = ?1 AND until <= ?2 LIMIT ?3)"};
  Query first_early{"sqlite.first_early", "SELECT until FROM early WHERE ns = ?1 ORDER BY until LIMIT 1"};
  Query drop_old_requests{"sqlite.drop_old_requests",
                          "DELETE FROM requests WHERE (ns, request) IN"
                          " (SELECT ns, request FROM requests WHERE ns = ?1 AND at <= ?2"
                          " ORDER BY at, request LIMIT ?3)"};
  Query first_request{"sqlite.first_request", "SELECT at FROM requests WHERE ns = ?1 ORDER BY at LIMIT 1"};
  Query drop_old_cancels{"sqlite.drop_old_cancels",
                         "DELETE FROM cancels WHERE (key, execution, event, token) IN (SELECT key, execution,"
                         " event, token FROM cancels WHERE ns = ?1 AND until <= ?2 LIMIT ?3)"};
  Query first_cancel{"sqlite.first_cancel", "SELECT until FROM cancels WHERE ns = ?1 ORDER BY until LIMIT 1"};
  Query drop_remaining_history{"sqlite.drop_remaining_history",
                               "DELETE FROM history WHERE (key, execution, first_event) IN"
                               " (SELECT h.key, h.execution, h.first_event FROM remains AS r"
                               " JOIN history AS h ON h.key = r.key LIMIT ?1)"};
  Query drop_empty_remains{"sqlite.drop_empty_remains",
                           "DELETE FROM remains WHERE NOT EXISTS"
                           " (SELECT 1 FROM history WHERE history.key = remains.key)"};
  Query any_remains{"sqlite.any_remains", "SELECT 1 FROM remains LIMIT 1"};

  // ---- looking ----------------------------------------------------------------------------------
  Query view_by_key{
      "sqlite.view_by_key",
      "SELECT i.key, i.name, i.route, i.execution, i.status, i.output, i.parked_because, i.parent,"
      " i.created_at, i.updated_at, i.cancel_requested_at, c.bytes, c.version"
      " FROM instances AS i LEFT JOIN custom_status AS c ON c.key = i.key"
      " WHERE i.key = ?1 AND i.ns = ?2"};
  Query view_by_name{
      "sqlite.view_by_name",
      "SELECT i.key, i.name, i.route, i.execution, i.status, i.output, i.parked_because, i.parent,"
      " i.created_at, i.updated_at, i.cancel_requested_at, c.bytes, c.version"
      " FROM instances AS i LEFT JOIN custom_status AS c ON c.key = i.key"
      " WHERE i.ns = ?1 AND i.name = ?2"};
  // The newest first; what filters look at, and nothing that is long.
  Query listed{"sqlite.listed",
               "SELECT key, name, route, status, parent, created_at FROM instances"
               " WHERE key < ?2 AND +ns = ?1 ORDER BY key DESC"};
  Query listed_by_status{"sqlite.listed_by_status",
                         "SELECT key, name, route, status, parent, created_at FROM instances"
                         " WHERE ns = ?1 AND status = ?3 AND key < ?2 ORDER BY key DESC"};
  Query listed_by_parent{"sqlite.listed_by_parent",
                         "SELECT key, name, route, status, parent, created_at FROM instances"
                         " WHERE parent = ?3 AND key < ?2 AND +ns = ?1 ORDER BY key DESC"};
  Query open_children{
      "sqlite.open_children",
      "SELECT i.key, i.name, i.route, i.execution, i.status, i.output, i.parked_because, i.parent,"
      " i.created_at, i.updated_at, i.cancel_requested_at, c.bytes, c.version"
      " FROM instances AS i LEFT JOIN custom_status AS c ON c.key = i.key"
      " WHERE i.parent = ?1 AND i.status < 3 ORDER BY i.key LIMIT ?2"};
  Query timers_of{"sqlite.timers_of",
                  "SELECT event, due FROM timers WHERE key = ?1 ORDER BY execution, event"};
  Query count_open_children{"sqlite.count_open_children",
                            "SELECT count(*) FROM instances WHERE parent = ?1 AND status < 3"};
  Query count_unread{"sqlite.count_unread", "SELECT count(*) FROM messages WHERE key = ?1 AND kind <> 0"};
  Query value_keys{"sqlite.value_keys", "SELECT name FROM kept_values WHERE key = ?1 ORDER BY name"};
  Query executions{"sqlite.executions",
                   "SELECT execution, count(*), sum(length(bytes)) FROM history WHERE key = ?1"
                   " GROUP BY execution ORDER BY execution"};
  Query set_aside_after{"sqlite.set_aside_after",
                        "SELECT number, key, what, problem, bytes, at FROM set_aside"
                        " WHERE number > ?1 AND ns = ?2 ORDER BY number LIMIT ?3"};
  Query all_running{
      "sqlite.all_running",
      "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
      " session, generation, start_within, total_until, last_failure, progress, session_over, 0, 0, 0"
      " FROM running WHERE kind > ?1 AND kind < ?2"};
  Query all_queued{"sqlite.all_queued",
                   "SELECT key, execution, event, kind, worker, token, until, body, -rank, attempt, delivery,"
                   " session, generation, start_within, total_until, last_failure, progress, session_over, "
                   "lane, at, adopts"
                   " FROM queued WHERE kind > ?1 AND kind < ?2"};
  Query session_id{"sqlite.session_id", "SELECT id FROM sessions WHERE number = ?1"};
  Query cancels_of_worker{
      "sqlite.cancels_of_worker",
      "SELECT key, execution, event, token, name, reason, state, worker, at FROM cancels"
      " WHERE worker = ?1 AND ns = ?2 AND state = 0 ORDER BY key, execution, event, token"};
  Query cancels_of_instance{
      "sqlite.cancels_of_instance",
      "SELECT key, execution, event, token, name, reason, state, worker, at FROM cancels"
      " WHERE key = ?1 ORDER BY execution, event, token"};
  Query queue_counts{"sqlite.queue_counts",
                     "SELECT kind, count(*) FILTER (WHERE at <= ?3), min(at), count(*) FILTER (WHERE at > ?3)"
                     " FROM queued WHERE kind > ?1 AND kind < ?2 GROUP BY kind"};
  Query running_counts{
      "sqlite.running_counts",
      "SELECT kind, count(*) FILTER (WHERE until <= ?3), min(until), count(*) FILTER (WHERE until > ?3)"
      " FROM running WHERE kind > ?1 AND kind < ?2 GROUP BY kind"};

  // ---- the whole --------------------------------------------------------------------------------
  Query all_keys{"sqlite.all_keys", "SELECT key FROM instances WHERE ns = ?1 ORDER BY key"};
  Query request_of{"sqlite.request_of", "SELECT request, fingerprint FROM instances WHERE key = ?1"};
  Query delayed_of{"sqlite.delayed_of",
                   "SELECT kind, execution, source, address_kind, address, body FROM delayed WHERE key = ?1"
                   " ORDER BY at, number"};
  Query values_of{"sqlite.values_of", "SELECT name, value FROM kept_values WHERE key = ?1 ORDER BY name"};
  Query history_of{"sqlite.history_of",
                   "SELECT execution, first_event, bytes FROM history WHERE key = ?1"
                   " ORDER BY execution, first_event"};
  Query watched_by{"sqlite.watched_by", "SELECT session FROM watches WHERE key = ?1 ORDER BY session"};
  Query all_cancels{"sqlite.all_cancels",
                    "SELECT key, execution, event, token, name, reason, state, worker, at FROM cancels"
                    " WHERE ns = ?1"
                    " ORDER BY key, execution, event, token"};
  Query all_early{"sqlite.all_early",
                  "SELECT instance, until, kind, execution, source, address_kind, address, body FROM early"
                  " WHERE ns = ?1 ORDER BY instance, number"};
};

}  // namespace holdfast::sqlite_store
