// All SQL of the calls, by name. One Statements per connection.
#pragma once

#include "lease_clock.hpp"
#include "query.hpp"
#include "rows.hpp"
#include "stores/rules/in_sql.hpp"
#include "stores/rules/transaction.hpp"

#include <string>

namespace holdfast::sqlite_store {

/// Parts of statements that are made from the columns of rows.
struct SqlTexts {
  static const SqlTexts& all() {
    static const SqlTexts texts;
    return texts;
  }

  static constexpr auto instance = [](auto& field) {
    InstanceRow row;
    instance_columns(row, field);
  };
  static constexpr auto birth = [](auto& field) {
    rules::Instance row;
    std::optional<InstanceKey> parent;
    birth_columns(row, parent, field);
  };
  static constexpr auto held = [](auto& field) {
    HeldRow row;
    held_columns(row, field);
  };
  static constexpr auto message = [](auto& field) {
    store::NewMessage row;
    message_columns(row, row.body, field);
  };
  static constexpr auto activity = [](auto& field) {
    rules::Activity row;
    ActivityCodes codes;
    activity_columns(row, codes, field);
  };
  static constexpr auto cancel = [](auto& field) {
    rules::Cancel row;
    rules::cancel_columns(row, field);
  };
  static constexpr auto session = [](auto& field) {
    rules::Session row;
    SessionCodes codes;
    session_columns(row, codes, field);
  };
  static constexpr auto worker = [](auto& field) {
    rules::Worker row;
    rules::worker_columns(row, field);
  };
  static constexpr auto log = [](auto& field) {
    store::SessionLogEntry row;
    numbered_log_columns(row, field);
  };
  static constexpr auto aside = [](auto& field) {
    store::SetAsideRow row;
    numbered_set_aside_columns(row, field);
  };
  static constexpr auto counter = [](auto& field) {
    Counters row;
    counter_columns(row, field);
  };
  static constexpr auto horizon = [](auto& field) {
    Horizons row;
    horizon_columns(row, field);
    rules::StatusChanges counts{};
    status_columns(counts, field);
  };

  template <class Visit>
  static ColumnNames names(Visit visit, int first = 1, const std::string& prefix = {}) {
    ColumnNames names(first, prefix);
    visit(names);
    return names;
  }
  static std::string activity_of(const std::string& table, const std::string& where) {
    const std::string lane = table == "queued" ? ", lane" : "";
    return "SELECT key, execution, event, " + names(activity).list + ", body" + lane + " FROM " + table +
           " " + where;
  }
  static std::string instance_of(const std::string& where) {
    return "SELECT i.key, " + names(birth, 1, "i.").list + ", " + names(instance, 1, "i.").list +
           ", i.start_id, CASE WHEN i.start_id IS NOT NULL THEN i.start_body END,"
           " (SELECT s.stamp FROM history AS s WHERE s.key = i.key"
           " ORDER BY s.execution DESC, s.first_event DESC LIMIT 1), " +
           names(held, 1, "h.").list + " FROM instances AS i LEFT JOIN held AS h ON h.key = i.key " + where;
  }
  static std::string message_of(const std::string& before, const std::string& from) {
    return "SELECT " + before + ", " + names(message).list + " FROM " + from;
  }
  static std::string cancel_of(const std::string& where) {
    return "SELECT key, execution, event, token, " + names(cancel).list + " FROM cancels " + where;
  }
  static std::string pack_of(const std::string& where) {
    return "SELECT key, execution, worker, token, until, session, generation, items FROM packs " + where;
  }
  static std::string insert(const std::string& into, const std::string& fixed, int fixed_count,
                            const ColumnNames& columns) {
    std::string places;
    for (int i = 1; i <= fixed_count; ++i) places += "?" + std::to_string(i) + ", ";
    return into + " (" + fixed + ", " + columns.list + ") VALUES (" + places + columns.places + ")";
  }

  using Names = ColumnNames;
  const Names birth_names = names(birth, 5);
  const Names instance_names = names(instance, 10);
  const std::string counters = "SELECT " + names(counter).list + ", " + names(horizon, 1, "n.").list +
                               " FROM counters, namespaces AS n WHERE counters.id = 1 AND n.id = ?1";
  const std::string save_counters = "UPDATE counters SET " + names(counter).changes + " WHERE id = 1";
  const std::string save_horizons = "UPDATE namespaces SET " + names(horizon, 2).changes + " WHERE id = ?1";

  const std::string workers =
      "SELECT key, node, info, " + names(worker).list + " FROM workers WHERE ns = ?1 ORDER BY key";
  const std::string insert_worker = insert("INSERT INTO workers", "key, ns, node, info", 4, names(worker, 5));
  const std::string update_worker = "UPDATE workers SET " + names(worker, 2).changes + " WHERE key = ?1";

  const std::string instance_by_key = instance_of("WHERE i.key = ?1 AND i.ns = ?2");
  const std::string look = "SELECT i.key, " + names(birth, 1, "i.").list + ", " +
                           names(instance, 1, "i.").list +
                           ", c.bytes, c.version FROM instances AS i"
                           " LEFT JOIN custom_status AS c ON c.key = i.key WHERE i.key = ?1 AND i.ns = ?2";
  const std::string insert_instance = "INSERT INTO instances (key, ns, start_id, start_body, " +
                                      birth_names.list + ", " + instance_names.list +
                                      ") VALUES (?1, ?2, ?3, ?4, " + birth_names.places + ", " +
                                      instance_names.places + ")";
  const std::string update_instance =
      "UPDATE instances SET start_id = CASE WHEN ?2 THEN start_id END,"
      " start_body = CASE WHEN ?2 THEN start_body END, " +
      names(instance, 3).changes + " WHERE key = ?1";
  const std::string hold = insert("REPLACE INTO held", "key, ns", 2, names(held, 3));

  const std::string parked =
      "SELECT key FROM instances WHERE ns = ?1 AND status = " + rules::number(store::InstanceStatus::parked) +
      " ORDER BY key";
  const std::string open_children_of = "FROM instances WHERE parent = ?1 AND " + rules::is_open("status");
  const std::string open_children = "SELECT key " + open_children_of + " ORDER BY key LIMIT ?2";
  const std::string count_open_children = "SELECT count(*) " + open_children_of;

  const std::string drop_unread = "DELETE FROM messages WHERE key = ?1 AND " + rules::is_no_start();
  const std::string drop_answers =
      "DELETE FROM messages WHERE key = ?1 AND waits = 0 AND " + rules::is_of_execution();
  const std::string count_unread = "SELECT count(*) FROM messages WHERE key = ?1 AND " + rules::is_no_start();
  const std::string insert_message = insert("INSERT INTO messages", "key, waits, id", 3, names(message, 4));
  const std::string messages_after =
      message_of("id", "messages WHERE key = ?1 AND waits = ?2 AND id > ?3 ORDER BY id");
  const std::string one_message = message_of("id", "messages WHERE key = ?1 AND waits = ?2 AND id = ?3");
  const std::string insert_delayed =
      insert("INSERT INTO delayed", "number, key, ns, at", 4, names(message, 5));
  const std::string delayed_of = message_of("number, at", "delayed WHERE key = ?1");
  const std::string insert_early =
      insert("INSERT INTO early", "ns, instance, until, at", 4, names(message, 5));
  const std::string early_of =
      message_of("until, at", "early WHERE ns = ?1 AND instance = ?2 ORDER BY number");

  const Names activity_names = names(activity, 7);
  const std::string write_running = "REPLACE INTO running (key, execution, event, body, " +
                                    activity_names.list + ") VALUES (?1, ?2, ?3, ?4, " +
                                    activity_names.places + ")";
  const std::string write_queued = "REPLACE INTO queued (key, execution, event, body, lane, deadline, " +
                                   activity_names.list + ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, " +
                                   activity_names.places + ")";
  const std::string by_id = "WHERE key = ?1 AND execution = ?2 AND event = ?3 AND kind >> 32 = ?4";
  const std::string running = activity_of("running", by_id);
  const std::string queued = activity_of("queued", by_id);
  const std::string running_of = activity_of("running", "WHERE key = ?1 AND kind >> 32 = ?2");
  const std::string queued_of = activity_of("queued", "WHERE key = ?1 AND kind >> 32 = ?2");
  const std::string running_in = activity_of("running", "WHERE session = ?1 AND kind >> 32 = ?2");
  const std::string queued_in = activity_of("queued", "WHERE session = ?1 AND kind >> 32 = ?2");
  const std::string pack = pack_of("WHERE key = ?1 AND ns = ?2");
  const std::string packs_in = pack_of("WHERE session = ?1 AND ns = ?2");

  const std::string cancel_by_id =
      cancel_of("WHERE key = ?1 AND execution = ?2 AND event = ?3 AND token = ?4 AND ns = ?5");
  const std::string stopping =
      cancel_of("WHERE ns = ?1 AND session = ?2 AND " + rules::may_still_run("", "?3"));
  const std::string cancels_of_worker =
      cancel_of("WHERE worker = ?1 AND ns = ?2 AND " + rules::is_requested(""));
  const std::string cancels_of_instance = cancel_of("WHERE key = ?1");
  const std::string due_cancels = cancel_of("WHERE ns = ?1 AND until <= ?2 ORDER BY until LIMIT ?3");
  const std::string all_cancels = cancel_of("WHERE ns = ?1");
  const std::string write_cancel =
      insert("REPLACE INTO cancels", "key, execution, event, token, ns", 5, names(cancel, 6));

  const std::string session_by_id =
      "SELECT number, " + names(session).list + " FROM sessions WHERE ns = ?1 AND id = ?2";
  const std::string insert_session =
      insert("INSERT INTO sessions", "ns, id", 2, names(session, 3)) + " RETURNING number";
  const std::string update_session =
      "UPDATE sessions SET " + names(session, 2).changes + " WHERE number = ?1";
  const std::string session_counts =
      "SELECT " + rules::session_state("?2") +
      " AS state, CASE WHEN ended IS NULL AND lease_until <= ?2 THEN worker END AS owner, count(*)"
      " FROM sessions WHERE ns = ?1 GROUP BY 1, 2";
  /// ?1: the namespace, ?2: now, ?3 to ?5: since when what was left is kept, ?6: workers that stay, as JSON.
  const rules::SweptSession swept_session{
      .now = "?2",
      .state = "?3",
      .record = "?4",
      .both = "?5",
      .has_saved = "(s.saved_size IS NOT NULL)",
      .has_items =
          "(EXISTS (SELECT 1 FROM queued AS a WHERE a.session = s.id AND a.kind >> 32 = ?1)"
          " OR EXISTS (SELECT 1 FROM running AS a WHERE a.session = s.id AND a.kind >> 32 = ?1)"
          " OR EXISTS (SELECT 1 FROM packs AS a WHERE a.ns = ?1 AND a.session = s.id))",
      .stays = "(s.worker IN (SELECT value FROM json_each(?6)))"};
  const std::string due_sessions = "SELECT s.id, " + rules::is_late(swept_session) +
                                   " FROM sessions AS s WHERE s.ns = ?1 AND " +
                                   rules::may_be_swept(swept_session) + " ORDER BY s.id";
  const std::string next_sessions =
      "SELECT " + rules::next_to_sweep(swept_session) + " FROM sessions AS s WHERE s.ns = ?1";
  // Lists: what filters look at, and nothing that is long. ?2: before this key; ?3: whether they look at
  // attributes, which may stand behind much else in a row.
  static std::string list_of(const std::string& from) {
    return "SELECT i.key, i.name, i.route, i.status, i.parent, i.created_at,"
           " CASE WHEN ?3 THEN i.attributes END FROM " +
           from;
  }
  /// By the index of attributes; ?4 and ?5: from this entry on, before that one.
  static std::string list_by_entry(const std::string& where) {
    return list_of("attribute_entries AS a CROSS JOIN instances AS i ON i.key = a.key WHERE a.ns = ?1 AND " +
                   where);
  }
  const std::string listed = list_of("instances AS i WHERE i.key < ?2 AND +i.ns = ?1 ORDER BY i.key DESC");
  const std::string listed_by_status =
      list_of("instances AS i WHERE i.ns = ?1 AND i.status = ?4 AND i.key < ?2 ORDER BY i.key DESC");
  const std::string listed_by_parent =
      list_of("instances AS i WHERE i.parent = ?4 AND i.key < ?2 AND +i.ns = ?1 ORDER BY i.key DESC");
  const std::string listed_in_range = list_by_entry("a.entry >= ?4 AND a.entry < ?5 AND a.key < ?2");
  const std::string listed_by_entry = list_by_entry("a.entry = ?4 AND a.key < ?2 ORDER BY a.key DESC");
  const std::string listed_by_entry_back = list_by_entry("a.entry = ?4 AND a.key > ?2 ORDER BY a.key ASC");
  const std::string listed_up =
      list_by_entry("a.entry >= ?4 AND a.entry < ?5 ORDER BY a.entry ASC, a.key DESC");
  const std::string listed_down =
      list_by_entry("a.entry >= ?4 AND a.entry < ?5 ORDER BY a.entry DESC, a.key ASC");
  const std::string insert_log = insert("INSERT INTO session_log", "ns", 1, names(log, 2));
  const std::string log_of_all = "SELECT " + names(log).list +
                                 " FROM session_log WHERE number > ?1 AND ns = ?2 ORDER BY number LIMIT ?3";
  const std::string log_of_session =
      "SELECT " + names(log).list +
      " FROM session_log WHERE number > ?1 AND ns = ?2 AND session = ?4 ORDER BY number LIMIT ?3";
  const std::string insert_set_aside = insert("INSERT INTO set_aside", "ns", 1, names(aside, 2));
  const std::string set_aside_after =
      "SELECT " + names(aside).list +
      " FROM set_aside WHERE number > ?1 AND ns = ?2 ORDER BY number LIMIT ?3";
};

struct Statements {
  const SqlTexts& text = SqlTexts::all();

  Query begin_read{"sqlite.begin_read", "BEGIN"};

  // ---- questions --------------------------------------------------------------------------------
  Query asks{"sqlite.asks", "SELECT id, row FROM asks WHERE ns = ?1"};
  Query any_ask{"sqlite.any_ask", "SELECT 1 FROM asks WHERE ns = ?1 LIMIT 1"};
  Query write_ask{"sqlite.write_ask", "REPLACE INTO asks (ns, id, row) VALUES (?1, ?2, ?3)"};
  Query delete_ask{"sqlite.delete_ask", "DELETE FROM asks WHERE ns = ?1 AND id = ?2"};

  // ---- counters and interned names --------------------------------------------------------------
  Query counters{"sqlite.counters", text.counters};
  Query save_counters{"sqlite.save_counters", text.save_counters};
  Query save_horizons{"sqlite.save_horizons", text.save_horizons};
  Query lease_clock{"sqlite.lease_clock", kReadLeaseClock};
  Query namespace_id{"sqlite.namespace_id", "SELECT id FROM namespaces WHERE name = ?1"};
  Query insert_namespace{"sqlite.insert_namespace",
                         "INSERT INTO namespaces (name) VALUES (?1) ON CONFLICT DO NOTHING"};
  Query routes{
      "sqlite.routes",
      "SELECT id, name, version, build, terminating FROM routes WHERE id > ?1 AND id < ?2 ORDER BY id"};
  Query insert_route{
      "sqlite.insert_route",
      "INSERT INTO routes (id, name, version, build, terminating) VALUES (?1, ?2, ?3, ?4, ?5)"};
  Query kinds{"sqlite.kinds",
              "SELECT id, queue, name, requirements FROM kinds WHERE id > ?1 AND id < ?2 ORDER BY id"};
  Query insert_kind{"sqlite.insert_kind",
                    "INSERT INTO kinds (id, queue, name, requirements) VALUES (?1, ?2, ?3, ?4)"};

  // ---- workers ----------------------------------------------------------------------------------
  Query workers{"sqlite.workers", text.workers};
  Query insert_worker{"sqlite.insert_worker", text.insert_worker};
  Query update_worker{"sqlite.update_worker", text.update_worker};
  Query delete_worker{"sqlite.delete_worker", "DELETE FROM workers WHERE key = ?1"};

  // ---- instances --------------------------------------------------------------------------------
  Query instance{"sqlite.instance", text.instance_by_key};
  Query look{"sqlite.look", text.look};
  Query key_by_name{"sqlite.key_by_name", "SELECT key FROM instances WHERE ns = ?1 AND name = ?2"};
  Query instance_name{"sqlite.instance_name", "SELECT name FROM instances WHERE key = ?1 AND ns = ?2"};
  Query insert_instance{"sqlite.insert_instance", text.insert_instance};
  Query update_instance{"sqlite.update_instance", text.update_instance};
  Query forget_start{"sqlite.forget_start",
                     "UPDATE instances SET start_id = NULL, start_body = NULL WHERE key = ?1"};
  Query parked{"sqlite.parked", text.parked};
  Query set_custom_status{"sqlite.set_custom_status",
                          "INSERT INTO custom_status (key, version, bytes) VALUES (?1, 1, ?2)"
                          " ON CONFLICT (key) DO UPDATE SET version = version + 1, bytes = excluded.bytes"};
  Query custom_status{"sqlite.custom_status", "SELECT bytes, version FROM custom_status WHERE key = ?1"};

  Query hold{"sqlite.hold", text.hold};
  Query unhold{"sqlite.unhold", "DELETE FROM held WHERE key = ?1"};
  Query held_by{"sqlite.held_by", "SELECT key FROM held WHERE token = ?1 AND until > ?2 AND ns = ?3"};
  Query held_locks{"sqlite.held_locks", "SELECT key, until FROM held WHERE ns = ?1 AND lapsed = 0"};

  // ---- ready instances --------------------------------------------------------------------------
  Query next_lane{"sqlite.next_lane",
                  "SELECT lane FROM ready WHERE lane > ?1 AND lane < ?2 ORDER BY lane LIMIT 1"};
  Query ready_in_lane{"sqlite.ready_in_lane",
                      "SELECT at, key FROM ready WHERE lane = ?1 AND at <= ?2 ORDER BY at, key LIMIT ?3"};
  Query next_in_lane{"sqlite.next_in_lane",
                     "SELECT at FROM ready WHERE lane = ?1 AND at > ?2 ORDER BY at LIMIT 1"};
  Query insert_ready{"sqlite.insert_ready", "INSERT INTO ready (lane, at, key) VALUES (?1, ?2, ?3)"};
  Query delete_ready{"sqlite.delete_ready", "DELETE FROM ready WHERE lane = ?1 AND at = ?2 AND key = ?3"};
  Query count_ready_up_to{
      "sqlite.count_ready_up_to",
      "SELECT count(*) FROM (SELECT 1 FROM ready WHERE lane = ?1 AND (at, key) <= (?2, ?3) LIMIT ?4)"};
  Query delete_ready_up_to{"sqlite.delete_ready_up_to",
                           "DELETE FROM ready WHERE lane = ?1 AND (at, key) <= (?2, ?3)"};

  // ---- history ----------------------------------------------------------------------------------
  Query insert_segment{"sqlite.insert_segment",
                       "REPLACE INTO history (key, execution, first_event, stamp, bytes)"
                       " VALUES (?1, ?2, ?3, ?4, ?5)"};
  Query read_history{"sqlite.read_history",
                     "SELECT first_event, bytes FROM history"
                     " WHERE key = ?1 AND execution = ?2 AND first_event > ?3 ORDER BY first_event"};
  Query history_of{"sqlite.history_of",
                   "SELECT execution, first_event, bytes FROM history WHERE key = ?1"
                   " ORDER BY execution, first_event"};
  Query last_stamp{
      "sqlite.last_stamp",
      "SELECT stamp FROM history WHERE key = ?1 ORDER BY execution DESC, first_event DESC LIMIT 1"};
  Query executions{"sqlite.executions",
                   "SELECT execution, count(*), sum(length(bytes)) FROM history WHERE key = ?1"
                   " GROUP BY execution ORDER BY execution"};
  Query count_executions{"sqlite.count_executions",
                         "SELECT count(DISTINCT execution) FROM history"
                         " WHERE key = ?1 AND execution >= ?2 AND execution < ?3"};
  Query prune_history{"sqlite.prune_history",
                      "DELETE FROM history WHERE key = ?1 AND execution >= ?2 AND execution < ?3"};

  // ---- messages ---------------------------------------------------------------------------------
  Query insert_message{"sqlite.insert_message", text.insert_message};
  Query messages_after{"sqlite.messages_after", text.messages_after};
  Query message{"sqlite.message", text.one_message};
  Query message_heads{"sqlite.message_heads",
                      "SELECT id, address_kind, address FROM messages"
                      " WHERE key = ?1 AND waits = 1 AND id > ?2 ORDER BY id"};
  Query delete_message{"sqlite.delete_message",
                       "DELETE FROM messages WHERE key = ?1 AND waits = ?2 AND id = ?3"};
  Query drop_unread{"sqlite.drop_unread", text.drop_unread};
  Query drop_answers{"sqlite.drop_answers", text.drop_answers};
  Query count_unread{"sqlite.count_unread", text.count_unread};
  Query insert_set_aside{"sqlite.insert_set_aside", text.insert_set_aside};
  Query set_aside_after{"sqlite.set_aside_after", text.set_aside_after};

  // ---- timers and delayed messages --------------------------------------------------------------
  Query insert_timer{"sqlite.insert_timer",
                     "REPLACE INTO timers (key, event, ns, due) VALUES (?1, ?2, ?3, ?4)"};
  Query delete_timer{"sqlite.delete_timer", "DELETE FROM timers WHERE key = ?1 AND event = ?2"};
  Query timers_of{"sqlite.timers_of", "SELECT event, due FROM timers WHERE key = ?1"};
  Query due_timers{"sqlite.due_timers",
                   "SELECT key FROM timers WHERE ns = ?1 AND due <= ?2 ORDER BY due, key LIMIT ?3"};
  Query first_timer{"sqlite.first_timer", "SELECT due FROM timers WHERE ns = ?1 ORDER BY due LIMIT 1"};
  Query insert_delayed{"sqlite.insert_delayed", text.insert_delayed};
  Query delete_delayed{"sqlite.delete_delayed", "DELETE FROM delayed WHERE number = ?1"};
  Query delayed_of{"sqlite.delayed_of", text.delayed_of};
  Query due_delayed{"sqlite.due_delayed",
                    "SELECT key FROM delayed WHERE ns = ?1 AND at <= ?2 ORDER BY at, number LIMIT ?3"};
  Query first_delayed{"sqlite.first_delayed", "SELECT at FROM delayed WHERE ns = ?1 ORDER BY at LIMIT 1"};

  // ---- activities -------------------------------------------------------------------------------
  Query write_running{"sqlite.write_running", text.write_running};
  Query write_queued{"sqlite.write_queued", text.write_queued};
  Query delete_running{"sqlite.delete_running",
                       "DELETE FROM running WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query delete_queued{"sqlite.delete_queued",
                      "DELETE FROM queued WHERE key = ?1 AND execution = ?2 AND event = ?3"};
  Query running{"sqlite.running", text.running};
  Query queued{"sqlite.queued", text.queued};
  Query running_of{"sqlite.running_of", text.running_of};
  Query queued_of{"sqlite.queued_of", text.queued_of};
  Query running_in{"sqlite.running_in", text.running_in};
  Query queued_in{"sqlite.queued_in", text.queued_in};
  Query running_by{"sqlite.running_by",
                   "SELECT key, execution, event FROM running WHERE token = ?1 AND until > ?2"
                   " AND kind >> 32 = ?3"};
  Query running_until{"sqlite.running_until",
                      "SELECT key, execution, event FROM running WHERE until <= ?1 AND kind >> 32 = ?2"};
  Query running_with_deadlines{
      "sqlite.running_with_deadlines",
      "SELECT until, start_within, total_until, session_over FROM running WHERE kind >> 32 = ?1"
      " AND (start_within <> ?2 OR total_until <> ?2 OR session_over IS NOT NULL)"};
  Query all_packs{"sqlite.all_packs", "SELECT until, items FROM packs WHERE ns = ?1"};
  Query write_pack{"sqlite.write_pack",
                   "REPLACE INTO packs (key, ns, execution, worker, token, until, session, generation, items)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"};
  Query delete_pack{"sqlite.delete_pack", "DELETE FROM packs WHERE key = ?1"};
  Query pack{"sqlite.pack", text.pack};
  Query packs_in{"sqlite.packs_in", text.packs_in};
  Query packs_until{"sqlite.packs_until", "SELECT key FROM packs WHERE until <= ?1 AND ns = ?2"};
  Query first_end_of_lock{"sqlite.first_end_of_lock",
                          "SELECT min(until) FROM (SELECT min(until) AS until FROM running"
                          " WHERE until > ?1 AND kind >> 32 = ?2"
                          " UNION ALL SELECT min(until) FROM packs WHERE until > ?1 AND ns = ?2)"};
  Query any_queued{"sqlite.any_queued", "SELECT 1 FROM queued LIMIT 1"};
  Query top_priority{"sqlite.top_priority",
                     "SELECT priority FROM queued WHERE priority > 0 ORDER BY priority DESC LIMIT 1"};
  Query next_queue_lane{"sqlite.next_queue_lane",
                        "SELECT lane FROM queued WHERE lane > ?1 AND lane < ?2 ORDER BY lane LIMIT 1"};
  Query next_priority{
      "sqlite.next_priority",
      "SELECT priority FROM queued WHERE lane = ?1 AND priority < ?2 ORDER BY priority DESC LIMIT 1"};
  Query queued_in_lane{
      "sqlite.queued_in_lane",
      "SELECT since, key, execution, event FROM queued WHERE lane = ?1 AND priority = ?2 AND since <= ?3"
      " AND (since, key, execution, event) > (?4, ?5, ?6, ?7)"
      " ORDER BY since, key, execution, event LIMIT ?8"};
  Query next_ready{
      "sqlite.next_ready",
      "SELECT since FROM queued WHERE lane = ?1 AND priority = ?2 AND since > ?3 ORDER BY since LIMIT 1"};
  Query overdue{"sqlite.overdue",
                "SELECT key, execution, event FROM queued WHERE kind >> 32 = ?1 AND deadline IS NOT NULL"
                " AND deadline <= ?2 ORDER BY deadline, key, execution, event LIMIT ?3"};
  Query next_deadline{"sqlite.next_deadline",
                      "SELECT min(deadline) FROM queued WHERE kind >> 32 = ?1 AND deadline IS NOT NULL"
                      " AND deadline > ?2"};
  Query queue_counts{
      "sqlite.queue_counts",
      "SELECT kind, count(*) FILTER (WHERE since <= ?2), count(*) FILTER (WHERE since > ?2), 0, min(since)"
      " FROM queued WHERE kind >> 32 = ?1 GROUP BY kind"};
  Query running_counts{
      "sqlite.running_counts",
      "SELECT kind, count(*) FILTER (WHERE until <= ?2), 0, count(*) FILTER (WHERE until > ?2), min(until)"
      " FROM running WHERE kind >> 32 = ?1 GROUP BY kind"};

  Query cancel{"sqlite.cancel", text.cancel_by_id};
  Query stopping{"sqlite.stopping", text.stopping};
  Query cancels_of_worker{"sqlite.cancels_of_worker", text.cancels_of_worker};
  Query cancels_of_instance{"sqlite.cancels_of_instance", text.cancels_of_instance};
  Query due_cancels{"sqlite.due_cancels", text.due_cancels};
  Query next_cancel{"sqlite.next_cancel", "SELECT min(until) FROM cancels WHERE ns = ?1 AND until > ?2"};
  Query all_cancels{"sqlite.all_cancels", text.all_cancels};
  Query write_cancel{"sqlite.write_cancel", text.write_cancel};
  Query delete_cancel{"sqlite.delete_cancel",
                      "DELETE FROM cancels WHERE key = ?1 AND execution = ?2 AND event = ?3 AND token = ?4"};

  // ---- sessions ---------------------------------------------------------------------------------
  Query session{"sqlite.session", text.session_by_id};
  Query insert_session{"sqlite.insert_session", text.insert_session};
  Query update_session{"sqlite.update_session", text.update_session};
  Query delete_session{"sqlite.delete_session", "DELETE FROM sessions WHERE number = ?1"};
  Query session_id{"sqlite.session_id", "SELECT id FROM sessions WHERE number = ?1 AND ns = ?2"};
  Query session_ids{"sqlite.session_ids", "SELECT id FROM sessions WHERE ns = ?1 AND id > ?2 ORDER BY id"};
  Query due_sessions{"sqlite.due_sessions", text.due_sessions};
  Query next_sessions{"sqlite.next_sessions", text.next_sessions};
  Query save{"sqlite.save", "REPLACE INTO saved (number, bytes) VALUES (?1, ?2)"};
  Query saved{"sqlite.saved", "SELECT bytes FROM saved WHERE number = ?1"};
  Query unsave{"sqlite.unsave", "DELETE FROM saved WHERE number = ?1"};
  Query sessions_owned{"sqlite.sessions_owned",
                       "SELECT id, lease_until FROM sessions"
                       " WHERE worker = ?1 AND worker <> 0 AND ended IS NULL AND ns = ?2"};
  Query sessions_of_node{"sqlite.sessions_of_node",
                         "SELECT id FROM sessions WHERE ns = ?1 AND worker <> 0 AND ended IS NULL"
                         " AND owner = ?2 ORDER BY id"};
  Query sessions_opened_by{"sqlite.sessions_opened_by",
                           "SELECT id FROM sessions WHERE opener = ?1 AND opener <> 0 ORDER BY id"};
  Query sessions_wanted{"sqlite.sessions_wanted",
                        "SELECT id FROM sessions WHERE worker = ?1 AND wanted IS NOT NULL AND ns = ?2"};
  Query lapsed_leases{"sqlite.lapsed_leases",
                      "SELECT id FROM sessions WHERE ns = ?1 AND worker <> 0 AND open = 0"
                      " AND lease_until <= ?2"};
  Query next_lapse{"sqlite.next_lapse",
                   "SELECT min(lease_until) FROM sessions WHERE ns = ?1 AND worker <> 0 AND open = 0"
                   " AND lease_until > ?2"};
  /// By state, and of those whose lease is over by owner.
  Query session_counts{"sqlite.session_counts", text.session_counts};
  Query insert_log{"sqlite.insert_log", text.insert_log};
  Query log_of_all{"sqlite.log_of_all", text.log_of_all};
  Query log_of_session{"sqlite.log_of_session", text.log_of_session};
  Query trim_session_log{"sqlite.trim_session_log",
                         "DELETE FROM session_log WHERE number IN (SELECT number FROM session_log"
                         " WHERE ns = ?1 ORDER BY number LIMIT ?3) AND at <= ?2"};
  Query watch{"sqlite.watch", "INSERT OR IGNORE INTO watches (ns, session, key) VALUES (?1, ?2, ?3)"};
  Query unwatch{"sqlite.unwatch", "DELETE FROM watches WHERE ns = ?1 AND session = ?2 AND key = ?3"};
  Query watchers{"sqlite.watchers", "SELECT key FROM watches WHERE ns = ?1 AND session = ?2 ORDER BY key"};
  Query watched_by{"sqlite.watched_by", "SELECT session FROM watches WHERE key = ?1"};

  // ---- values, early deliveries and requests ----------------------------------------------------
  Query set_value{"sqlite.set_value", "REPLACE INTO kept_values (key, name, value) VALUES (?1, ?2, ?3)"};
  Query remove_value{"sqlite.remove_value", "DELETE FROM kept_values WHERE key = ?1 AND name = ?2"};
  Query value{"sqlite.value", "SELECT value FROM kept_values WHERE key = ?1 AND name = ?2"};
  Query values_of{"sqlite.values_of", "SELECT name, value FROM kept_values WHERE key = ?1"};
  Query value_keys{"sqlite.value_keys", "SELECT name FROM kept_values WHERE key = ?1 ORDER BY name"};
  Query any_early{"sqlite.any_early", "SELECT 1 FROM early LIMIT 1"};
  Query early_of{"sqlite.early_of", text.early_of};
  Query insert_early{"sqlite.insert_early", text.insert_early};
  Query drop_early{"sqlite.drop_early", "DELETE FROM early WHERE ns = ?1 AND instance = ?2"};
  Query due_early{"sqlite.due_early",
                  "SELECT instance FROM early WHERE ns = ?1 AND until <= ?2 ORDER BY until LIMIT ?3"};
  Query next_early{"sqlite.next_early", "SELECT min(until) FROM early WHERE ns = ?1 AND until > ?2"};
  Query all_early{"sqlite.all_early", "SELECT DISTINCT instance FROM early WHERE ns = ?1"};
  Query any_request{"sqlite.any_request", "SELECT 1 FROM requests LIMIT 1"};
  Query request{"sqlite.request", "SELECT at, answer FROM requests WHERE ns = ?1 AND request = ?2"};
  Query due_requests{
      "sqlite.due_requests",
      "SELECT request, at, answer FROM requests WHERE ns = ?1 AND at <= ?2 ORDER BY at, request LIMIT ?3"};
  Query next_request{"sqlite.next_request", "SELECT min(at) FROM requests WHERE ns = ?1 AND at > ?2"};
  Query remember_request{"sqlite.remember_request",
                         "INSERT OR IGNORE INTO requests (ns, request, at, answer) VALUES (?1, ?2, ?3, ?4)"};
  Query forget_request{"sqlite.forget_request", "DELETE FROM requests WHERE ns = ?1 AND request = ?2"};

  // ---- what a deleted instance leaves -----------------------------------------------------------
  Query delete_instance{"sqlite.delete_instance", "DELETE FROM instances WHERE key = ?1"};
  Query delete_messages_of{"sqlite.delete_messages_of", "DELETE FROM messages WHERE key = ?1"};
  Query delete_timers_of{"sqlite.delete_timers_of", "DELETE FROM timers WHERE key = ?1"};
  Query delete_delayed_of{"sqlite.delete_delayed_of", "DELETE FROM delayed WHERE key = ?1"};
  Query delete_values_of{"sqlite.delete_values_of", "DELETE FROM kept_values WHERE key = ?1"};
  Query delete_status_of{"sqlite.delete_status_of", "DELETE FROM custom_status WHERE key = ?1"};
  Query delete_watches_of{"sqlite.delete_watches_of", "DELETE FROM watches WHERE key = ?1"};
  Query delete_history_of{"sqlite.delete_history_of", "DELETE FROM history WHERE key = ?1"};
  Query count_segments{"sqlite.count_segments",
                       "SELECT count(*) FROM (SELECT 1 FROM history WHERE key = ?1 LIMIT ?2)"};
  Query insert_remains{"sqlite.insert_remains", "INSERT INTO remains (key) VALUES (?1)"};
  Query drop_remaining_history{"sqlite.drop_remaining_history",
                               "DELETE FROM history WHERE (key, execution, first_event) IN"
                               " (SELECT h.key, h.execution, h.first_event FROM remains AS r"
                               " JOIN history AS h ON h.key = r.key LIMIT ?1)"};
  Query drop_empty_remains{"sqlite.drop_empty_remains",
                           "DELETE FROM remains WHERE NOT EXISTS"
                           " (SELECT 1 FROM history WHERE history.key = remains.key)"};
  Query any_remains{"sqlite.any_remains", "SELECT 1 FROM remains LIMIT 1"};

  // ---- looking ----------------------------------------------------------------------------------
  Query listed{"sqlite.listed", text.listed};
  Query listed_by_status{"sqlite.listed_by_status", text.listed_by_status};
  Query listed_by_parent{"sqlite.listed_by_parent", text.listed_by_parent};
  Query listed_in_range{"sqlite.listed_in_range", text.listed_in_range};
  Query listed_by_entry{"sqlite.listed_by_entry", text.listed_by_entry};
  Query listed_by_entry_back{"sqlite.listed_by_entry_back", text.listed_by_entry_back};
  Query listed_up{"sqlite.listed_up", text.listed_up};
  Query listed_down{"sqlite.listed_down", text.listed_down};
  Query count_entries{"sqlite.count_entries",
                      "SELECT count(*) FROM (SELECT 1 FROM attribute_entries WHERE ns = ?1 AND entry >= ?2"
                      " AND entry < ?3 LIMIT ?4)"};
  Query insert_entry{"sqlite.insert_entry",
                     "INSERT OR IGNORE INTO attribute_entries (ns, entry, key) VALUES (?1, ?2, ?3)"};
  Query delete_entry{"sqlite.delete_entry",
                     "DELETE FROM attribute_entries WHERE ns = ?1 AND entry = ?2 AND key = ?3"};
  /// Of an instance of which nobody knows them any more: goes through all.
  Query delete_entries_of{"sqlite.delete_entries_of",
                          "DELETE FROM attribute_entries WHERE ns = ?1 AND key = ?2"};
  Query open_children{"sqlite.open_children", text.open_children};
  Query count_open_children{"sqlite.count_open_children", text.count_open_children};
  Query all_keys{"sqlite.all_keys", "SELECT key FROM instances WHERE ns = ?1 ORDER BY key"};
};

}  // namespace holdfast::sqlite_store
