// All SQL of the calls, by name. One Statements per connection.
#pragma once

#include "query.hpp"

namespace holdfast::sqlite_store {

struct Statements {
  // ---- counters and interned names --------------------------------------------------------------
  Query counters{"sqlite.counters",
                 "SELECT instances, messages, workers, generations, session_log, set_aside, turn_horizon,"
                 " activity_horizon, session_horizon FROM counters WHERE id = 1"};
  Query save_counters{"sqlite.save_counters",
                      "UPDATE counters SET instances = ?1, messages = ?2, workers = ?3, generations = ?4,"
                      " session_log = ?5, set_aside = ?6, turn_horizon = ?7, activity_horizon = ?8,"
                      " session_horizon = ?9 WHERE id = 1"};
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
  Query worker_state{"sqlite.worker_state", "SELECT superseded FROM workers WHERE key = ?1 AND ns = ?2"};

  Query supersede{"sqlite.supersede", "UPDATE workers SET superseded = 1 WHERE ns = ?1 AND node = ?2"};
  Query insert_worker{"sqlite.insert_worker",
                      "INSERT INTO workers (key, ns, node, info, draining, superseded, joined_at, seen)"
                      " VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6)"};

  // ---- instances --------------------------------------------------------------------------------
  Query instance{"sqlite.instance",
                 "SELECT i.name, i.route, i.execution, i.status, i.delivery, i.ready_at, i.stamp, i.waits,"
                 " i.updated_at, h.worker, h.token, h.until, h.delivery, h.stamp, h.lapsed, i.ns,"
                 " i.seen, i.woken, i.not_before"
                 " FROM instances AS i LEFT JOIN held AS h ON h.key = i.key WHERE i.key = ?1"};
  Query key_by_name{"sqlite.key_by_name", "SELECT key FROM instances WHERE ns = ?1 AND name = ?2"};
  Query insert_instance{"sqlite.insert_instance",
                        "INSERT INTO instances (key, ns, name, route, execution, status, delivery, ready_at,"
                        " created_at, updated_at, request, fingerprint, parent)"
                        " VALUES (?1, ?2, ?3, ?4, 1, 0, 0, ?5, ?6, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING"};
  Query update_instance{"sqlite.update_instance",
                        "UPDATE instances SET route = ?2, execution = ?3, status = ?4, delivery = ?5,"
                        " ready_at = ?6, stamp = ?7, waits = ?8, updated_at = ?9, seen = ?10, woken = ?11,"
                        " not_before = ?12 WHERE key = ?1"};
  Query end_instance{"sqlite.end_instance",
                     "UPDATE instances SET route = ?2, status = ?3, delivery = 0, ready_at = ?4, stamp = ?5,"
                     " waits = NULL, seen = 0, woken = 0, not_before = 0, updated_at = ?6, output = ?7,"
                     " parked_because = NULL WHERE key = ?1"};
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

  // ---- history ----------------------------------------------------------------------------------
  Query last_stamp{
      "sqlite.last_stamp",
      "SELECT stamp FROM history WHERE key = ?1 ORDER BY execution DESC, first_event DESC LIMIT 1"};
  Query insert_segment{"sqlite.insert_segment",
                       "INSERT INTO history (key, execution, first_event, stamp, bytes)"
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
  Query delete_delayed{"sqlite.delete_delayed", "DELETE FROM delayed WHERE number = ?1"};
  Query drop_delayed{"sqlite.drop_delayed", "DELETE FROM delayed WHERE key = ?1 AND kind <> 0"};

  // ---- what an execution leaves -----------------------------------------------------------------
  Query leftovers{"sqlite.leftovers",
                  "SELECT EXISTS (SELECT 1 FROM running WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM queued WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM timers WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM messages WHERE key = ?1),"
                  " EXISTS (SELECT 1 FROM delayed WHERE key = ?1)"};

  // ---- activities -------------------------------------------------------------------------------
  Query insert_running_plain{"sqlite.insert_running_plain",
                             "INSERT INTO running (key, execution, event, kind, worker, token, until, body)"
                             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"};
  Query insert_running{
      "sqlite.insert_running",
      "INSERT INTO running (key, execution, event, kind, worker, token, until, body, priority,"
      " attempt, delivery, session, generation, start_within, total_until, last_failure,"
      " progress) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
      " ?16, ?17)"};
  Query insert_queued{"sqlite.insert_queued",
                      "INSERT INTO queued (key, execution, event, kind, worker, token, until, body, rank,"
                      " attempt, delivery, session, generation, start_within, total_until, last_failure,"
                      " progress, lane, at, deadline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
                      " ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"};
  Query running{"sqlite.running",
                "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
                " session, generation, start_within, total_until, last_failure, progress, 0, 0"
                " FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query queued{"sqlite.queued",
               "SELECT key, execution, event, kind, worker, token, until, body, -rank, attempt, delivery,"
               " session, generation, start_within, total_until, last_failure, progress, lane, at"
               " FROM queued WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query running_of{
      "sqlite.running_of",
      "SELECT key, execution, event, kind, worker, token, until, body, priority, attempt, delivery,"
      " session, generation, start_within, total_until, last_failure, progress, 0, 0"
      " FROM running WHERE key = ?1 ORDER BY execution, event"};
  Query queued_of{"sqlite.queued_of",
                  "SELECT key, execution, event, kind, worker, token, until, body, -rank, attempt, delivery,"
                  " session, generation, start_within, total_until, last_failure, progress, lane, at"
                  " FROM queued WHERE key = ?1 ORDER BY execution, event"};
  Query running_tokens{"sqlite.running_tokens",
                       "SELECT event, token, session, generation FROM running"
                       " WHERE key = ?1 AND execution = ?2 AND event BETWEEN ?3 AND ?4 ORDER BY event"};
  Query delete_running_range{
      "sqlite.delete_running_range",
      "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event BETWEEN ?3 AND ?4"};
  Query delete_running{"sqlite.delete_running",
                       "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query delete_queued{"sqlite.delete_queued",
                      "DELETE FROM queued WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query extend_running{"sqlite.extend_running",
                       "UPDATE running SET until = ?4 WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query extend_running_progress{"sqlite.extend_running_progress",
                                "UPDATE running SET until = ?4, progress = ?5"
                                " WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query running_locks{"sqlite.running_locks", "SELECT key, execution, event, until FROM running"};
  Query any_queued{"sqlite.any_queued", "SELECT 1 FROM queued LIMIT 1"};
  Query next_rank{"sqlite.next_rank",
                  "SELECT lane, rank FROM queued WHERE (lane, rank) > (?1, ?2) AND lane < ?3"
                  " ORDER BY lane, rank LIMIT 1"};
  Query queued_in_rank{
      "sqlite.queued_in_rank",
      "SELECT at, key, execution, event FROM queued WHERE lane = ?1 AND rank = ?2 AND at <= ?3"
      " ORDER BY at, key, execution, event LIMIT ?4"};
  Query next_in_rank{"sqlite.next_in_rank",
                     "SELECT at FROM queued WHERE lane = ?1 AND rank = ?2 AND at > ?3 ORDER BY at LIMIT 1"};
  Query finish_running{"sqlite.finish_running",
                       "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3 AND token = ?4"
                       " AND session IS NULL"};
  Query instance_name{"sqlite.instance_name", "SELECT name FROM instances WHERE key = ?1"};
  Query insert_cancel{"sqlite.insert_cancel",
                      "REPLACE INTO cancels (key, execution, event, token, ns, worker, name, reason, state,"
                      " until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9)"};
  Query cancel_reason{"sqlite.cancel_reason",
                      "SELECT reason FROM cancels WHERE key = ?1 AND execution = ?2 AND event = ?3 AND"
                      " token = ?4"};

  // ---- values -----------------------------------------------------------------------------------
  Query set_value{"sqlite.set_value", "REPLACE INTO kept_values (key, name, value) VALUES (?1, ?2, ?3)"};
  Query remove_value{"sqlite.remove_value", "DELETE FROM kept_values WHERE key = ?1 AND name = ?2"};
  Query value{"sqlite.value", "SELECT value FROM kept_values WHERE key = ?1 AND name = ?2"};

  // ---- early deliveries -------------------------------------------------------------------------
  Query early_of{"sqlite.early_of",
                 "SELECT at, kind, execution, source, address_kind, address, body FROM early"
                 " WHERE ns = ?1 AND instance = ?2 AND until > ?3 ORDER BY number"};
  Query drop_early{"sqlite.drop_early", "DELETE FROM early WHERE ns = ?1 AND instance = ?2"};
};

}  // namespace holdfast::sqlite_store
