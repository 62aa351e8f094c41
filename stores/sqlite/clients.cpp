// What clients send to instances that exist or will, and how they remove them.
#include "clients.hpp"

#include "activities.hpp"
#include "requests.hpp"
#include "sessions.hpp"
#include "views.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

// ---- sending ------------------------------------------------------------------------------------

StoreResult<InstanceKey> send_early(Transaction& tx, const store::ClientMessage& item) {
  if (item.message.kind != store::MessageKind::delivery || item.keep_early <= Duration{}) {
    return no_instance(item.instance);
  }
  keep_early(tx, item.instance, item.message, item.keep_early, item.delay);
  return InstanceKey{};
}

StoreResult<InstanceKey> send_anew(Transaction& tx, const store::ClientMessage& item) {
  if (item.message.kind != store::MessageKind::control && item.message.kind != store::MessageKind::delivery) {
    return refuse(StoreError::Kind::invalid, "clients send control messages and deliveries only");
  }
  const std::optional<InstanceKey> key = key_of(tx, item.instance);
  if (!key) return item.life == InstanceKey{} ? send_early(tx, item) : no_instance(item.instance);
  if (item.life != InstanceKey{} && *key != item.life) {
    return refuse(StoreError::Kind::gone, "instance '" + item.instance + "' is gone: another one has its id");
  }
  Instance* instance = load_instance(tx, *key);
  if (has_ended(instance->status)) {
    return refuse(StoreError::Kind::conflict, "instance '" + item.instance + "' has ended");
  }
  if (item.cancels) tx.run(tx.sql.request_cancel, *key, to_row(tx.calendar_now));
  if (item.delay > Duration{}) {
    deliver_at(tx, *key, later(tx.now, item.delay), letter(item.message));
  } else {
    deliver(tx, *instance, letter(item.message));
  }
  return *key;
}

}  // namespace

StoreResult<InstanceKey> send(Transaction& tx, const store::ClientMessage& item) {
  if (const auto answer = answer_of(tx, item.request)) return *answer;
  StoreResult<InstanceKey> sent = send_anew(tx, item);
  if (sent) remember_request(tx, item.request, *sent);
  return sent;
}

// ---- removing -----------------------------------------------------------------------------------

namespace {

// More segments than this are left to sweeps, which remove them bit by bit.
constexpr std::size_t kMaxSegmentsAtOnce = 2000;

bool has_long_history(Transaction& tx, InstanceKey key) {
  Cursor row = tx.rows(tx.sql.count_segments, key, kMaxSegmentsAtOnce + 1);
  return row.next() && row->uint64(0) > kMaxSegmentsAtOnce;
}

}  // namespace

void remove_instance(Transaction& tx, InstanceKey key) {
  cancel_all_activities(tx, key, CancelReason::instance_deleted);
  leave_sessions(tx, key);
  take_out(tx, *load_instance(tx, key));
  remember_start(tx, key);
  for (Query* query :
       {&tx.sql.unhold, &tx.sql.drop_timers, &tx.sql.delete_delayed_of, &tx.sql.delete_messages_of,
        &tx.sql.delete_values_of, &tx.sql.delete_custom_status, &tx.sql.delete_instance}) {
    tx.run(*query, key);
  }
  if (has_long_history(tx, key)) {
    tx.run(tx.sql.insert_remains, key);
    tx.sweep_by(tx.now);
  } else {
    tx.run(tx.sql.delete_history_of, key);
  }
  tx.memo.instances.remove(key);
  tx.news.instances.push_back(key);
}

StoreResult<void> delete_instance(Transaction& tx, std::string_view name, bool force, InstanceKey life) {
  const std::optional<InstanceKey> key = key_of(tx, name);
  if (!key || (life != InstanceKey{} && *key != life)) return no_instance(name);
  const Instance* instance = load_instance(tx, *key);
  if (!force && !has_ended(instance->status)) {
    return refuse(StoreError::Kind::conflict,
                  "instance '" + std::string(name) + "' has not ended: end it first, or set force");
  }
  remove_instance(tx, *key);
  return {};
}

namespace {

// Of executions from `first` on and before `end`; answers how many rows. The last segment may be among them:
// the instance's row keeps its stamp then.
std::int64_t drop_history(Transaction& tx, Instance& instance, ExecutionNumber first, ExecutionNumber end) {
  const TurnStamp stamp = stamp_of(tx, instance);
  const auto dropped = tx.change(tx.sql.prune_history, instance.key, first, end);
  instance.last_stamp.reset();
  if (instance.stamp.empty() && stamp_of(tx, instance) != stamp) {
    instance.stamp = stamp;
    save_instance(tx, instance);
  }
  return dropped;
}

}  // namespace

StoreResult<std::uint64_t> prune_executions(Transaction& tx, std::string_view name, std::uint64_t keep) {
  const std::optional<InstanceKey> key = key_of(tx, name);
  if (!key) return no_instance(name);
  Instance* instance = load_instance(tx, *key);
  const std::uint64_t current = instance->execution.value;
  const std::uint64_t before = current - std::clamp<std::uint64_t>(keep, 1, current) + 1;
  std::uint64_t pruned = 0;
  if (Cursor row = tx.rows(tx.sql.count_executions, *key, before); row.next()) pruned = row->uint64(0);
  if (pruned == 0) return pruned;
  drop_history(tx, *instance, ExecutionNumber{}, ExecutionNumber{before});
  return pruned;
}

StoreResult<bool> prune_execution(Transaction& tx, std::string_view name, ExecutionNumber execution) {
  const std::optional<InstanceKey> key = key_of(tx, name);
  if (!key) return no_instance(name);
  Instance* instance = load_instance(tx, *key);
  if (execution == ExecutionNumber{} || execution > instance->execution) {
    return refuse(StoreError::Kind::not_found, "instance '" + std::string(name) + "' has no execution " +
                                                   to_string(execution) + ": it is at " +
                                                   to_string(instance->execution));
  }
  if (execution == instance->execution) {
    return refuse(StoreError::Kind::conflict, "execution " + to_string(execution) + " of instance '" +
                                                  std::string(name) + "' is not over: its history is needed");
  }
  return drop_history(tx, *instance, execution, ExecutionNumber{execution.value + 1}) > 0;
}

}  // namespace holdfast::sqlite_store
