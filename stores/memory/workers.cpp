// Workers join, say that they live, and leave.
#include "sessions.hpp"
#include "store.hpp"
#include "views.hpp"

namespace holdfast::memory_store {

namespace {

Unexpected<StoreError> not_registered(WorkerKey worker) {
  return refuse(StoreError::Kind::not_found,
                "worker " + to_string(worker) + " is not registered: join again");
}

/// What older incarnations of the node owned; a draining one keeps its sessions until it gives them up.
void take_from_older(Transaction& tx, const Worker& joined) {
  for (auto& [id, session] : tx.space.sessions) {
    if (session.ended || session.worker == WorkerKey{} || session.owner != joined.info.node) continue;
    const auto owner = tx.space.workers.find(session.worker);
    if (owner != tx.space.workers.end() && owner->second.draining) continue;
    owner_restarted(tx, session);
  }
}

}  // namespace

StoreResult<WorkerKey> MemoryStore::join(const WorkerInfo& info) {
  return answer<WorkerKey>("memory.join", [&](Transaction& tx) -> StoreResult<WorkerKey> {
    for (auto& [key, worker] : tx.space.workers) {
      if (worker.info.node == info.node) worker.superseded = true;
    }
    const WorkerKey key{++tx.counters.workers};
    const Worker& joined =
        tx.space.workers
            .emplace(key, Worker{.key = key, .info = info, .joined_at = tx.calendar, .seen = tx.now})
            .first->second;
    take_from_older(tx, joined);
    tx.news.work |= kActivities;  // it may have the handler for work that its owner lacks
    return key;
  });
}

StoreResult<void> MemoryStore::refresh(WorkerKey worker, bool draining) {
  return answer<void>("memory.refresh", [&](Transaction& tx) -> StoreResult<void> {
    if (auto refused = refusal(tx.space, worker, Call::keeps_what_it_has)) return Unexpected(*refused);
    Worker& row = tx.space.workers.at(worker);
    row.draining = draining;
    row.seen = tx.now;
    return {};
  });
}

StoreResult<void> MemoryStore::leave(WorkerKey worker) {
  return answer<void>("memory.leave", [&](Transaction& tx) -> StoreResult<void> {
    if (tx.space.workers.erase(worker) == 0) return not_registered(worker);
    return {};
  });
}

StoreResult<std::vector<WorkerView>> MemoryStore::workers() {
  return answer<std::vector<WorkerView>>("memory.workers",
                                         [&](Transaction& tx) -> StoreResult<std::vector<WorkerView>> {
                                           std::vector<WorkerView> views;
                                           for (const auto& [key, worker] : tx.space.workers)
                                             views.push_back(view(tx, worker));
                                           return views;
                                         });
}

}  // namespace holdfast::memory_store
