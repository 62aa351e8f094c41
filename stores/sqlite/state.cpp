// Everything that the namespace holds, as of one moment.
#include "contract/rows.hpp"
#include "sessions.hpp"
#include "views.hpp"
#include "workers.hpp"

#include <limits>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::int64_t>::max();

void add_lock(Transaction& tx, const Instance& instance, store::InstanceRow& row) {
  if (!instance.held) return;
  row.locked_by = instance.held->worker;
  row.token = instance.held->token;
  row.lease_left = left_until(instance.held->until, tx.now);
}

/// Whether a fetch would return it once its lock is over: nobody is left then who was given anything.
bool is_ready(Transaction& tx, const Instance& instance) {
  const bool counts_seen = !instance.held || instance.held->lapsed;
  return instance.not_before <= tx.now && needs_turn(tx, instance, counts_seen ? instance.seen : MessageId{});
}

store::InstanceRow instance_row(Transaction& tx, InstanceKey key) {
  Instance* instance = load_instance(tx, key);
  store::InstanceRow row{.view = *view_instance(tx, key),
                         .stamp = stamp_of(tx, *instance),
                         .ready = is_ready(tx, *instance),
                         .waits = waits_of(*instance),
                         .messages = peek_messages(tx, *instance),
                         .timers = timers_of(tx, key)};
  row.delivery = delivery_of(tx, *instance);
  add_lock(tx, *instance, row);
  if (Cursor found = tx.rows(tx.sql.request_of, key); found.next()) {
    row.request = found->token<RequestId>(0);
    row.fingerprint = found->token<Fingerprint>(1);
  }
  for (Cursor found = tx.rows(tx.sql.delayed_of, key); found.next();) {
    store::NewMessage message = read_new_message(found, 0);
    row.delayed_messages.push_back({.kind = message.kind,
                                    .execution = message.execution,
                                    .source = message.source,
                                    .address = std::move(message.address),
                                    .body = std::move(message.body)});
  }
  for (Cursor found = tx.rows(tx.sql.values_of, key); found.next();) {
    row.values.emplace(found->text(0), found->blob(1));
  }
  for (Cursor found = tx.rows(tx.sql.history_of, key); found.next();) {
    row.history[found->uint64(0)].push_back({found->number<EventId>(1), std::string(found->blob(2))});
  }
  for (Cursor found = tx.rows(tx.sql.watched_by, key); found.next();) {
    row.watched_sessions.emplace_back(found->text(0));
  }
  return row;
}

store::ActivityRow activity_row(Transaction& tx, const Activity& activity) {
  return {.view = view_activity(tx, activity),
          .token = activity.token,
          .lease_left = activity.token.empty() ? Duration{} : left_until(activity.until, tx.now),
          .start_within = activity.start_within,
          .total_left = left_until(activity.total_until, tx.now),
          .body = activity.body,
          .generation = activity.generation};
}

}  // namespace

StoreResult<store::StoreState> state(Transaction& tx) {
  store::StoreState state;
  std::vector<InstanceKey> keys;
  for (Cursor row = tx.rows(tx.sql.all_keys, tx.ns); row.next();) keys.push_back(row->number<InstanceKey>(0));
  for (const InstanceKey key : keys) state.instances.push_back(instance_row(tx, key));
  for (const Activity& activity : all_activities(tx, {})) {
    state.activities.push_back(activity_row(tx, activity));
  }
  state.sessions = *view_sessions(tx, {.limit = kAll}, store::Saved::bytes);
  state.session_log = *read_session_log(tx, {}, 0, kAll);
  state.workers = *view_workers(tx);
  for (Cursor row = tx.rows(tx.sql.all_cancels, tx.ns); row.next();)
    state.cancels.push_back(read_cancel(tx, row));
  for (Cursor row = tx.rows(tx.sql.all_early, tx.ns); row.next();) {
    state.early.push_back({.instance = std::string(row->text(0)),
                           .message = read_new_message(row, 2),
                           .keeps_for = left_until(row->int64(1), tx.now)});
  }
  state.set_aside = *view_set_aside(tx, 0, kAll);
  return state;
}

}  // namespace holdfast::sqlite_store
