#include "workers.hpp"

#include "contract/rows.hpp"
#include "sessions.hpp"

#include <optional>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

/// Empty when it can't be decoded. The worker itself knows better, and goes on.
std::optional<store::WorkerInfo> read_info(std::string_view bytes) {
  store::WorkerInfo info;
  if (!store::from_bytes(bytes, info)) return std::nullopt;
  return info;
}

}  // namespace

StoreResult<WorkerKey> join(Transaction& tx, const store::WorkerInfo& info) {
  tx.run(tx.sql.supersede, tx.ns, info.node);
  const WorkerKey key{++tx.counters().workers};
  const std::string bytes = store::to_bytes(info);
  tx.run(tx.sql.insert_worker, key, tx.ns, info.node, Blob{bytes}, to_row(tx.calendar_now), tx.now);
  tx.memo.workers.clear();
  // What older incarnations of the node owned; a draining one keeps its sessions until it gives them up.
  std::vector<std::int64_t> owned;
  for (Cursor row = tx.rows(tx.sql.sessions_of_node, tx.ns, info.node); row.next();) {
    owned.push_back(row->int64(0));
  }
  for (const std::int64_t number : owned) {
    Session& session = session_of(tx, number);
    if (!session.ended) owner_restarted(tx, session);
  }
  tx.wake(store::kActivities);  // it may have the handler for work that its owner lacks
  return key;
}

StoreResult<void> refresh(Transaction& tx, WorkerKey worker, bool draining) {
  if (auto refused = tx.refuse_worker(worker, WorkerCall::keeps_what_it_has)) {
    return Unexpected(*std::move(refused));
  }
  tx.run(tx.sql.refresh_worker, worker, draining, tx.now);
  tx.memo.workers.erase(worker.value);
  return {};
}

StoreResult<void> leave(Transaction& tx, WorkerKey worker) {
  tx.memo.workers.erase(worker.value);
  if (tx.change(tx.sql.delete_worker, worker, tx.ns) == 1) return {};
  return Unexpected(store_error(StoreError::Kind::not_found,
                                "worker " + to_string(worker) + " is not registered: join again"));
}

StoreResult<std::vector<store::WorkerView>> view_workers(Transaction& tx) {
  std::vector<store::WorkerView> views;
  for (Cursor row = tx.rows(tx.sql.workers, tx.ns); row.next();) {
    const auto key = row->number<WorkerKey>(0);
    views.push_back({.key = key,
                     .info = read_info(row->blob(1)).value_or(store::WorkerInfo{.node = tx.node_of(key)}),
                     .draining = row->truth(2),
                     .superseded = row->truth(5),
                     .sessions_owned = sessions_held(tx, key),
                     .joined_at = calendar_from_row(row->int64(3)),
                     .last_seen = Duration(tx.now - row->int64(4))});
  }
  return views;
}

std::vector<LiveWorker> live_workers(Transaction& tx) {
  std::vector<LiveWorker> workers;
  for (Cursor row = tx.rows(tx.sql.live_workers, tx.ns); row.next();) {
    std::optional<store::WorkerInfo> info = read_info(row->blob(0));
    if (info) {
      workers.push_back({.key = row->number<WorkerKey>(1), .info = *std::move(info), .seen = row->int64(2)});
    }
  }
  return workers;
}

std::vector<LiveWorker> present_workers(Transaction& tx) {
  std::vector<LiveWorker> workers = live_workers(tx);
  std::erase_if(workers, [&](const LiveWorker& worker) {
    return Duration(tx.now - worker.seen) >= worker.info.stale_after;
  });
  return workers;
}

bool is_stale(Transaction& tx, WorkerKey worker) {
  Cursor row = tx.rows(tx.sql.worker_seen, worker);
  if (!row.next()) return true;
  const store::WorkerInfo info = read_info(row->blob(1)).value_or(store::WorkerInfo{});
  return Duration(tx.now - row->int64(0)) >= info.stale_after;
}

std::size_t count_live_workers(Transaction& tx) {
  Cursor row = tx.rows(tx.sql.count_live_workers, tx.ns);
  return row.next() ? row->uint64(0) : 0;
}

}  // namespace holdfast::sqlite_store
